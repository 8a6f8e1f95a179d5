import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import { buffers, endedAnywhere, lateByte, type LateWork } from "../../packages/testing/src/pool/EndedLeases.ts"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import * as KernelArgument from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl, Svm } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { onSvm, ownQueue, type SvmServices } from "../support/svmDevice.ts"
import { blockQueue, type Watched } from "../support/watchedOpenCl.ts"

const fine = { grain: "fine" } as const

const scale = Kernel.make({
  name: "scale",
  args: [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", "a")],
  body: { opencl: "x[i] = a * x[i];" }
})

const numbers = (buffer: PooledBuffer.PooledBuffer) =>
  Effect.map(CommandQueue.read(buffer, Uint32Array), (array) => [...array])

/** Yields before the k-th step, so that an interruption can come there. */
class YieldAt extends Scheduler.MixedScheduler {
  constructor(k: number) {
    super()
    this.shouldYield = () => k-- === 0
  }
}

const isOver = (mapped: Mapping.MappedArray<Float32Array>) => {
  strictEqual(mapped.data.length, 0)
  strictEqual(mapped.data.buffer.byteLength, 0)
  strictEqual(mapped.data[0], undefined)
  assert.throws(() => mapped.data.fill(1), TypeError)
  assert.throws(() => mapped.getUnsafe(0), /MappedArray.getUnsafe: the mapping of \d+ bytes/)
  assert.throws(() => mapped.setUnsafe(1, 0), /MappedArray.setUnsafe/)
}

/** Elements one by one: methods of an array that ended with its lease throw. */
const elements = (data: Uint8Array) => Uint8Array.from({ length: data.length }, (_, at) => data[at]!)

const storeLate = (data: Uint8Array) => {
  for (let at = 0; at < data.length; at++) data[at] = lateByte
}

const nothing = new Uint8Array(0)

const late: ReadonlyArray<
  readonly [name: string, grain: Svm.Grain, work: LateWork<PooledBuffer.PooledBuffer, OpenCl.OpenCl>]
> = [
  ["a view", "fine", (x) => Effect.map(Svm.view(x, Uint8Array), ({ data }) => elements(data))],
  [
    "a view that is written",
    "fine",
    (x) => Effect.as(Effect.map(Svm.view(x, Uint8Array), ({ data }) => storeLate(data)), nothing)
  ],
  [
    "a mapping",
    "coarse",
    (x) => Effect.map(Mapping.map(x, Uint8Array, { access: "read" }), ({ data }) => elements(data))
  ],
  [
    "a mapping that is written",
    "coarse",
    (x) =>
      Effect.as(Effect.map(Mapping.map(x, Uint8Array, { access: "write" }), ({ data }) => storeLate(data)), nothing)
  ]
]

describeWith(["finegrain"], "Shared virtual memory of fine grain whose lease ends at any step", () => {
  it.live.each(late.filter(([, grain]) => grain === "fine"))(
    "is never reached late by %s",
    ([, grain, work]) => onSvm(() => endedAnywhere(buffers, work), { grain })
  )
})

describeWith(["opencl"], "Shared virtual memory of coarse grain whose lease ends at any step", () => {
  it.live.each(late.filter(([, grain]) => grain === "coarse"))(
    "is never reached late by %s",
    ([, grain, work]) => onSvm(() => endedAnywhere(buffers, work), { grain })
  )
})

const isOfTheMemoryItself = (options: Svm.PoolOptions) =>
  onSvm(({ count }) =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      yield* CommandQueue.fill(x, 7)
      const over = yield* Effect.scoped(Effect.gen(function*() {
        const mapped = yield* Mapping.map(x, Float32Array, { shape: [4, 4] })
        mapped.setUnsafe(2, 3, 3)
        strictEqual(yield* reasonOf(CommandQueue.fill(x, 0)), "InvalidRequest")
        strictEqual(yield* reasonOf(Mapping.map(x, Float32Array)), "InvalidRequest")
        return mapped
      }))
      isOver(over)
      const array = yield* CommandQueue.read(x, Uint32Array)
      deepStrictEqual([array[0], array[15]], [7, 0x40000000])
      yield* Effect.scoped(Mapping.map(x, Uint32Array))
      const called = ["clEnqueueSVMMap", "clEnqueueSVMUnmap", "clEnqueueMapBuffer"].map(count)
      deepStrictEqual(called, [2, 2, 0])
    }), options)

describeWith(["finegrain"], "Views of shared virtual memory", () => {
  describe("a view", () => {
    it.live("shows what a kernel made of what the host stored", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(4096)
          const view = yield* Svm.view(x, Float32Array)
          view.data.fill(3)
          yield* CommandQueue.dispatch(scale, { x, a: 2 }, 1024)
          yield* CommandQueue.finish
          deepStrictEqual([view.data.length, view.data[0], view.data[1023]], [1024, 6, 6])
        }), fine))

    it.live("waits for what the last owner of the block has recorded", () =>
      onSvm(() =>
        Effect.gen(function*() {
          yield* BufferPool.use(1 << 20, (x) => CommandQueue.fill(x, 1))
          const x = yield* BufferPool.allocate(1 << 20)
          const { data } = yield* Svm.view(x, Uint32Array)
          data.fill(2)
          yield* CommandQueue.finish
          assert.isTrue(data.every((value) => value === 2))
        }), fine))

    it.live("has a shape, and a part of the buffer", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(32)
          const whole = yield* Svm.view(x, Float32Array, { shape: [2, 4] })
          const column = yield* Svm.view(x, Float32Array, { offset: 4, shape: [2], strides: [4] })
          const bytes = yield* Svm.view(x, Uint8Array, { offset: 5, shape: [3] })
          whole.setUnsafe(7, 1, 1)
          deepStrictEqual([column.getUnsafe(1), column.shape, column.strides, whole.dtype], [7, [2], [4], "f32"])
          strictEqual(bytes.data.length, 3)
          strictEqual((yield* Svm.view(yield* BufferPool.allocate(0), Float32Array)).data.length, 0)
        }), fine))

    it.live("is not shown when the program has destroyed the buffer while it waited for the device", () =>
      onSvm(({ count }) =>
        Effect.gen(function*() {
          const { destroyBufferUnsafe } = yield* DeviceContext
          const x = yield* (yield* Allocator.Allocator).allocate(64)
          const end = yield* blockQueue(yield* OpenCl.handle(x))
          const viewing = yield* Effect.forkChild(reasonOf(Svm.view(x, Float32Array)), { startImmediately: true })
          deepStrictEqual(destroyBufferUnsafe(x), Exit.void)
          end()
          deepStrictEqual([yield* Fiber.join(viewing), count("view")], ["Released", 0])
        }), fine))

    it.live("ends with its scope, with the lease, or when it is asked to", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(64)
          const scoped = yield* Effect.scoped(Svm.view(x, Float32Array))
          isOver(scoped)
          const asked = yield* Svm.view(x, Float32Array)
          yield* Mapping.unmap(asked)
          isOver(asked)
          strictEqual(yield* reasonOf(Mapping.unmap(asked)), "Released")
          const [one, two] = [yield* Svm.view(x, Float32Array), yield* Svm.view(x, Float32Array)]
          yield* Lease.release(x)
          isOver(one)
          isOver(two)
          strictEqual(yield* reasonOf(Svm.view(x, Float32Array)), "Released")
          const again = yield* BufferPool.allocate(64)
          two.data[0] = 9
          yield* CommandQueue.fill(again, 1)
          strictEqual((yield* numbers(again))[0], 1)
        }), fine))

    it.live("ends with the pool", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const scope = yield* Scope.make()
          const pool = yield* Scope.provide(BufferPool.make(), scope)
          const lease = yield* pool.allocate(64)
          const view = yield* Svm.view(lease, Float32Array)
          yield* Scope.close(scope, Exit.void)
          isOver(view)
        }), fine))

    it.live("ends with a buffer without a pool, also one that is destroyed under it", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const allocator = yield* Allocator.Allocator
          const given = yield* allocator.allocate(64)
          const view = yield* Svm.view(given, Float32Array)
          yield* allocator.freeUnsafe(given)
          isOver(view)
          const destroyed = yield* allocator.allocate(64)
          const left = yield* Svm.view(destroyed, Float32Array)
          yield* (yield* DeviceContext).destroyBufferUnsafe(destroyed)
          strictEqual(left.data.length, 0)
        }), fine))

    it.live("cannot take the memory with it", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const { data } = yield* Svm.view(yield* BufferPool.allocate(64), Float32Array)
          const { buffer } = data as Float32Array & { readonly buffer: { readonly transfer: () => ArrayBuffer } }
          assert.throws(() => buffer.transfer(), /cannot be transferred/)
          assert.throws(() => structuredClone(data, { transfer: [data.buffer] }))
          strictEqual(structuredClone(data).length, 16)
          strictEqual(data.length, 16)
        }), fine))

    it.live("that a program takes away all the same never shows the next owner's bytes", () =>
      onSvm(
        () =>
          Effect.gen(function*() {
            const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }
            const scope = yield* Scope.make()
            const x = yield* Scope.provide(BufferPool.allocate(256), scope)
            yield* CommandQueue.fill(x, 0x01010101)
            const view = yield* Scope.provide(Svm.view(x, Uint8Array), scope)
            const kept = new Uint8Array(transfer.call(view.data.buffer as ArrayBuffer))
            assert.include((yield* Effect.flip(Mapping.unmap(view))).message, "transferred to another ArrayBuffer")
            const there = (yield* Svm.pointer(x)).address
            yield* Scope.close(scope, Exit.void)
            for (let owner = 0; owner < 4; owner++) {
              const next = yield* BufferPool.allocate(256)
              assert.notStrictEqual((yield* Svm.pointer(next)).address, there)
              yield* CommandQueue.fill(next, 0x02020202)
              yield* CommandQueue.finish
            }
            deepStrictEqual([...kept], [...new Uint8Array(256).fill(1)])
          }),
        fine,
        undefined,
        { clCreateBuffer: 1, clSVMAlloc: 1 }
      ))

    it.live("leaves nothing behind wherever its fiber is interrupted", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(64)
          for (let k = 0; k < 40; k++) {
            yield* CommandQueue.fill(x, k)
            const seen: Array<Mapping.MappedArray<Float32Array>> = []
            const context = yield* Effect.context<SvmServices>()
            const fiber = Effect.runForkWith(context)(
              Effect.scoped(Effect.tap(Svm.view(x, Float32Array), (view) => Effect.sync(() => seen.push(view)))).pipe(
                Effect.provideService(Scheduler.Scheduler, new YieldAt(k))
              )
            )
            yield* Fiber.interrupt(fiber)
            for (const view of seen) isOver(view)
            strictEqual(x.attached?.size ?? 0, 0)
          }
        }), fine))

    it.live("of coarse grain is Unsupported", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(Svm.view(yield* BufferPool.allocate(64), Float32Array))
          strictEqual(error.reason._tag, "Unsupported")
          assert.include(error.message, "Use Mapping.map")
        })
      ))

    it.live("of what is none is refused", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(30)
          const noReads = yield* BufferPool.allocate(32, { usage: BufferUsage.storage | BufferUsage.copyDst })
          const refused = [
            Svm.view(x, Float32Array),
            Svm.view(x, Float32Array, { offset: 2, shape: [1] }),
            Svm.view(x, Float32Array, { offset: 32, shape: [0] }),
            Svm.view(x, Float32Array, { shape: [8] }),
            Svm.view(x, Float32Array, { offset: NaN }),
            Svm.view(x, DataView as never),
            Svm.view(noReads, Float32Array)
          ]
          for (const view of refused) strictEqual(yield* reasonOf(view), "InvalidRequest")
        }), fine))
  })

  it.live("are no mappings, which work on such memory too", () => isOfTheMemoryItself(fine))

  describe("a lost device", () => {
    it.live("ends views, and its memory goes back at the close", () =>
      Effect.suspend(() => {
        let fails = false
        let watched: Watched | undefined
        return Effect.tap(
          onSvm(
            (opened) =>
              Effect.gen(function*() {
                watched = opened
                const x = yield* BufferPool.allocate(64)
                const queue = yield* ownQueue()
                yield* Svm.bindToQueue(x, queue)
                const view = yield* Svm.view(x, Float32Array)
                fails = true
                strictEqual(yield* reasonOf(CommandQueue.fill(x, 1)), "DeviceLost")
                strictEqual(yield* reasonOf(Svm.pointer(x)), "DeviceLost")
                yield* Lease.release(x)
                isOver(view)
                strictEqual(opened.count("clSVMFree"), 0)
              }),
            fine,
            ({ clEnqueueFillBuffer }) => ({
              clEnqueueFillBuffer: (...args) => fails ? -2 : clEnqueueFillBuffer(...args)
            })
          ),
          () => Effect.sync(() => strictEqual(watched!.count("clSVMFree"), 1))
        )
      }))
  })
})

describeWith(["opencl"], "Mappings of shared virtual memory", () => {
  it.live("are of the memory itself, and unmapped by their scope", () => isOfTheMemoryItself({}))

  it.live("ends with the lease, and what was stored is there for the next owner", () =>
    onSvm(({ count }) =>
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const mapped = yield* Mapping.map(x, Float32Array)
        mapped.data.fill(1)
        yield* Lease.release(x)
        isOver(mapped)
        strictEqual(count("clEnqueueSVMUnmap"), 1)
        const again = yield* BufferPool.allocate(64)
        strictEqual((yield* numbers(again))[3], 0x3f800000)
      })
    ))

  it.live("is undone wherever its fiber is interrupted", () =>
    onSvm(({ count }) =>
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        for (let k = 0; k < 40; k++) {
          const context = yield* Effect.context<SvmServices>()
          const fiber = Effect.runForkWith(context)(
            Effect.provideService(Effect.scoped(Mapping.map(x, Float32Array)), Scheduler.Scheduler, new YieldAt(k))
          )
          yield* Fiber.interrupt(fiber)
          strictEqual(count("clEnqueueSVMUnmap"), count("clEnqueueSVMMap"))
          yield* CommandQueue.fill(x, k)
        }
        assert.isAbove(count("clEnqueueSVMMap"), 0)
      })
    ))
})
