/**
 * Pools that split slabs on OpenCL: which sub-buffers their leases need, that none is left, and that no command sees the bytes of
 * another lease.
 */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { interruptedAt } from "../../packages/testing/src/pool/Interruption.ts"
import { Random } from "../../packages/testing/src/Random.ts"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import * as KernelArgument from "../../src/domain/kernel/KernelArgument.ts"
import * as PoolStrategy from "../../src/domain/pool/PoolStrategy.ts"
import { OpenCl, OpenClMemory, Svm } from "../../src/opencl.ts"
import type * as BufferLike from "../../src/services/buffers/BufferLike.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { onDevice, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { onSvm } from "../support/svmDevice.ts"
import type { Bends } from "../support/watchedOpenCl.ts"

const CL_OUT_OF_RESOURCES = -5
const CL_INVALID_VALUE = -30

const add = Kernel.make({
  name: "add",
  args: [KernelArgument.VectorArg("u32", "y"), KernelArgument.ScalarArg("u32", "a")],
  body: { opencl: "y[i] = y[i] + a;" }
})

const pool = (slabBytes: number) => BufferPool.make({ strategy: PoolStrategy.arena({ unitBytes: 16, slabBytes }) })

const words = (lease: BufferLike.BufferLike) => Effect.map(CommandQueue.read(lease, Uint32Array), (all) => [...all])

const all = (length: number, value: number) => Array.from({ length }, () => value)

const parts = Effect.map(DeviceContext, ({ driverObjects }) => driverObjects.liveByKind["part"] ?? 0)

/** The buffer that each sub-buffer is made of. */
const noting = (wholes: Array<bigint>): Bends => (api) => ({
  clCreateSubBuffer: (...args) => {
    wholes.push(args[0])
    return api.clCreateSubBuffer(...args)
  }
})

/** A driver that refuses sub-buffers while `refuses` is set. */
class Refusing {
  refuses = true
  readonly code: number

  constructor(code: number) {
    this.code = code
  }

  readonly bends: Bends = (api) => ({
    clCreateSubBuffer: (...args) => this.refuses ? setCode(args[4], this.code) : api.clCreateSubBuffer(...args)
  })
}

describeWith(["opencl"], "Parts of slabs on OpenCL", () => {
  it.live("need no sub-buffer for commands that take an offset", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(4096)
        const [x, y] = [yield* allocate(256), yield* allocate(256)]
        yield* CommandQueue.write(x, Uint32Array.from({ length: 64 }, (_, at) => at))
        yield* CommandQueue.fill(y, 7)
        yield* CommandQueue.fill(y, Uint32Array.from({ length: 32 }, (_, at) => at))
        yield* CommandQueue.copy(x, y, { size: 8 })
        yield* CommandQueue.writeRect(y, Uint32Array.of(90, 91), { region: [4, 2], buffer: { rowPitch: 16 } })
        yield* MemoryObjects.migrate([x], { contentUndefined: true })
        yield* MemoryObjects.migrate([x])
        deepStrictEqual(
          [...(yield* CommandQueue.readRect(y, Uint32Array, { region: [4, 3], buffer: { rowPitch: 16 } }))],
          [90, 91, 8]
        )
        yield* CommandQueue.copyRect(y, x, { region: [4, 3], source: { rowPitch: 16 }, target: { rowPitch: 8 } })
        deepStrictEqual((yield* words(x)).slice(0, 5), [90, 1, 91, 3, 8])
        deepStrictEqual((yield* words(y)).slice(0, 8), [90, 1, 2, 3, 91, 5, 6, 7])
        strictEqual(watched.count("clCreateBuffer"), 1)
        strictEqual(watched.count("clCreateSubBuffer"), 0)
      })
    ))

  it.live("have one sub-buffer of the slab for kernels, which the next lease of the same bytes uses", () => {
    const wholes: Array<bigint> = []
    return onDevice((watched) =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(4096)
        const first = yield* allocate(512)
        yield* CommandQueue.fill(first, 1)
        for (let turn = 1; turn <= 5; turn++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const x = yield* allocate(512)
            yield* CommandQueue.fill(x, turn)
            yield* CommandQueue.dispatch(add, { y: x, a: 10 }, 128)
            // OpenCL has no sub-buffers of sub-buffers.
            const half = yield* SubRegion.make(x, { offset: 256 })
            yield* CommandQueue.dispatch(add, { y: half, a: 100 }, 64)
            deepStrictEqual(yield* words(x), [...all(64, turn + 10), ...all(64, turn + 110)])
          }))
        }
        deepStrictEqual(yield* words(first), all(128, 1))
        strictEqual(watched.count("clCreateBuffer"), 1)
        strictEqual(wholes.length, 1 + 5)
        strictEqual(new Set(wholes).size, 1)
        strictEqual(yield* parts, 1)
      }), noting(wholes))
  })

  it.live(
    "leave no sub-buffer after many random leases, and make few",
    () =>
      onDevice((watched) =>
        Effect.gen(function*() {
          const random = new Random(1)
          yield* Effect.scoped(Effect.gen(function*() {
            const { allocate } = yield* pool(65_536)
            const live: Array<{ readonly lease: PooledBuffer.PooledBuffer; readonly value: number }> = []
            const end = Effect.fnUntraced(function*(at: number) {
              const [{ lease, value }] = live.splice(at, 1) as [typeof live[number]]
              if (random.integer(1, 10) === 1) deepStrictEqual(yield* words(lease), all(lease.size / 4, value))
              yield* Lease.release(lease)
            })
            for (let turn = 0; turn < 10_000; turn++) {
              const lease = yield* allocate(4 * random.integer(1, 1000))
              yield* CommandQueue.fill(lease, turn)
              const isUsed = random.integer(1, 3) === 1
              if (isUsed) yield* CommandQueue.dispatch(add, { y: lease, a: 1 }, lease.size / 4)
              live.push({ lease, value: turn + (isUsed ? 1 : 0) })
              while (live.length > 40) yield* end(random.integer(0, live.length - 1))
            }
            // A third of the leases is used by kernels, and some of these have the bytes of one before.
            assert.isAtMost(watched.count("clCreateSubBuffer"), 3500)
            assert.isAtMost(yield* parts, 200)
            while (live.length > 0) yield* end(live.length - 1)
          }))
          strictEqual(yield* parts, 0)
        })
      ),
    60_000
  )

  it.live("are used at once by kernels on two queues, each with its own bytes", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(1_048_576)
        const [x, y] = [yield* allocate(262_144), yield* allocate(262_144)]
        const queue = yield* CommandQueue.make()
        yield* CommandQueue.fill(x, 0)
        yield* queue.fill(y, 1000)
        for (let turn = 0; turn < 50; turn++) {
          yield* CommandQueue.dispatch(add, { y: x, a: 1 }, 65_536)
          yield* queue.dispatch(add, { y, a: 2 }, 65_536)
        }
        const [there, here] = yield* Effect.all([queue.read(y, Uint32Array), CommandQueue.read(x, Uint32Array)], {
          concurrency: 2
        })
        assert.isTrue(here.every((word) => word === 50))
        assert.isTrue(there.every((word) => word === 1100))
      })
    ))

  it.live("are named by their sub-buffers alone while one is mapped, or other code has a handle", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(4096)
        const [x, y, z] = [yield* allocate(256), yield* allocate(256), yield* allocate(256)]
        yield* CommandQueue.fill(x, 1)
        const mapped = yield* Mapping.map(x, Uint32Array, { access: "readwrite" })
        mapped.data[0] = 5
        strictEqual(watched.count("clCreateSubBuffer"), 1)
        yield* CommandQueue.fill(y, 2)
        strictEqual(watched.count("clCreateSubBuffer"), 2)
        yield* Mapping.unmap(mapped)
        deepStrictEqual(yield* words(x), [5, ...all(63, 1)])
        yield* CommandQueue.copy(y, z)
        deepStrictEqual(yield* words(z), all(64, 2))
      })
    ))

  it.live("have handles that other code can use, and that can be adopted", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(4096)
        const [x, y] = [yield* allocate(256), yield* allocate(256)]
        yield* CommandQueue.fill(y, 3)
        const { associatedMemory, offset, size } = yield* OpenClMemory.info(y)
        strictEqual(size, 256)
        strictEqual(offset, 256)
        assert.isTrue(associatedMemory !== undefined && associatedMemory > 0n)
        const adopted = yield* OpenClMemory.adopt(yield* OpenCl.handle(y))
        assert.isTrue(Equal.equals(adopted, y.block?.value))
        deepStrictEqual([...(yield* CommandQueue.read(adopted, Uint32Array))], all(64, 3))
        yield* CommandQueue.copy(adopted, x)
        deepStrictEqual(yield* words(x), all(64, 3))
        strictEqual(yield* reasonOf(CommandQueue.copy(y, adopted)), "InvalidRequest")
        yield* CommandQueue.dispatch(add, { y: adopted, a: 4 }, 64)
        deepStrictEqual(yield* words(y), all(64, 7))
        const region = yield* SubRegion.make(y, { offset: 128 })
        const other = yield* OpenClMemory.adopt(yield* OpenClMemory.retain(region))
        yield* CommandQueue.copy(other, x, { size: 128 })
        strictEqual(yield* reasonOf(CommandQueue.copy(other, y)), "InvalidRequest")
      })
    ))

  it.live("are adopted for as long as the program wants, also after the slab", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const { allocate } = yield* Scope.provide(pool(4096), scope)
        const x = yield* Scope.provide(allocate(256), scope)
        yield* CommandQueue.fill(x, 6)
        const adopted = yield* OpenClMemory.adopt(yield* OpenCl.handle(x))
        yield* Scope.close(scope, Exit.void)
        deepStrictEqual([...(yield* CommandQueue.read(adopted, Uint32Array))], all(64, 6))
      })
    ))

  for (const [code, reason] of [[CL_OUT_OF_RESOURCES, "OutOfMemory"], [CL_INVALID_VALUE, "DriverError"]] as const) {
    it.live(`fail with ${reason} where the driver refuses the sub-buffer that a command needs`, () => {
      const driver = new Refusing(code)
      return onDevice((watched) =>
        Effect.gen(function*() {
          const { allocate } = yield* pool(4096)
          const [x, y] = [yield* allocate(256), yield* allocate(256)]
          yield* CommandQueue.fill(x, 1)
          for (
            const refused of [
              CommandQueue.dispatch(add, { y: x, a: 1 }, 64),
              Effect.scoped(Mapping.map(x, Uint32Array)),
              OpenCl.handle(x),
              OpenClMemory.info(x),
              Effect.scoped(OpenClMemory.retain(x))
            ]
          ) {
            strictEqual(yield* reasonOf<unknown, OpenCl.Services>(refused), reason)
          }
          driver.refuses = false
          yield* CommandQueue.dispatch(add, { y: x, a: 1 }, 64)
          deepStrictEqual(yield* words(x), all(64, 2))
          driver.refuses = true
          yield* CommandQueue.make()
          for (
            const refused of [
              CommandQueue.fill(y, 1),
              CommandQueue.write(y, Uint32Array.of(1)),
              CommandQueue.read(y, Uint32Array),
              CommandQueue.copy(x, y),
              CommandQueue.copy(y, x),
              CommandQueue.readRect(y, Uint32Array, { region: [4, 1] })
            ]
          ) {
            strictEqual(yield* reasonOf<unknown, OpenCl.Services>(refused), reason)
          }
          assert.isAbove(watched.count("clCreateSubBuffer"), 0)
        }), driver.bends)
    })
  }

  it.live("get another sub-buffer where theirs was released for a part that overlaps them", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { createBuffer, partUnsafe } = yield* DeviceContext
        const slab = yield* Effect.acquireRelease(
          createBuffer(4096, BufferUsage.defaultUsage),
          (slab) => DeviceContext.useSync((device) => device.destroyBufferUnsafe(slab))
        )
        const [first, second] = [partUnsafe!(slab, 0, 512), partUnsafe!(slab, 256, 512)]
        yield* CommandQueue.fill(slab, 1)
        for (const part of [first, second, first]) {
          yield* OpenCl.handle(part)
          yield* CommandQueue.dispatch(add, { y: part, a: 1 }, 128)
          strictEqual(yield* parts, 1)
        }
        strictEqual(watched.count("clCreateSubBuffer"), 3)
        deepStrictEqual(yield* words(slab), [...all(64, 3), ...all(64, 4), ...all(64, 2), ...all(832, 1)])
      })
    ))

  it.live("are leased to nobody again after a command on a sub-region of them has failed", () => {
    let fails = false
    return onDevice(() =>
      Effect.gen(function*() {
        const { allocate, stats } = yield* pool(4096)
        const beside = yield* allocate(256)
        yield* Effect.scoped(Effect.gen(function*() {
          const region = yield* SubRegion.make(yield* allocate(256), { offset: 128 })
          fails = true
          strictEqual(yield* reasonOf(CommandQueue.fill(region, 1)), "OutOfMemory")
          fails = false
        }))
        yield* CommandQueue.fill(beside, 1)
        yield* CommandQueue.fill(yield* allocate(256), 2)
        strictEqual((yield* stats).driverAllocations, 2)
      }), (api) => ({
        clEnqueueFillBuffer: (...args) => fails ? CL_OUT_OF_RESOURCES : api.clEnqueueFillBuffer(...args)
      }))
  })

  it.live("leave nothing, at whichever step their work is interrupted", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(4096)
        const beside = yield* allocate(256)
        yield* CommandQueue.fill(beside, 9)
        const work = Effect.scoped(Effect.gen(function*() {
          const x = yield* allocate(300)
          yield* CommandQueue.dispatch(add, { y: x, a: 1 }, 75)
          const mapped = yield* Mapping.map(x, Uint32Array)
          yield* Mapping.unmap(mapped)
          yield* CommandQueue.copy(x, beside, { size: 4, targetOffset: 252 })
          yield* CommandQueue.read(x, Uint32Array)
        }))
        yield* work
        for (let step = 0; step < 60; step++) yield* interruptedAt(work, step)
        deepStrictEqual((yield* words(beside)).slice(0, 63), all(63, 9))
      })
    ))

  it.live("leave memory that the program took away to it, and lease nothing of its slab again", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }
          const { allocate, stats } = yield* pool(4096)
          const beside = yield* allocate(256)
          yield* CommandQueue.fill(beside, 4)
          const taken = yield* Effect.scoped(Effect.gen(function*() {
            const x = yield* allocate(256)
            yield* CommandQueue.fill(x, 0x01010101)
            const { data } = yield* Mapping.map(x, Uint8Array, { access: "read" })
            return new Uint8Array(transfer.call(data.buffer as ArrayBuffer))
          }))
          for (let owner = 0; owner < 20; owner++) yield* CommandQueue.fill(yield* allocate(256), 0x02020202)
          yield* CommandQueue.dispatch(add, { y: beside, a: 1 }, 64)
          deepStrictEqual(yield* words(beside), all(64, 5))
          deepStrictEqual([...taken], all(256, 1))
          strictEqual((yield* stats).managedBlocks, 3)
        }),
      undefined,
      { clCreateBuffer: 1, clEnqueueMapBuffer: 1 }
    ))

  it.live("end with a lost device, and with a layer that closes over them", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(4096)
        const [x, y] = [yield* allocate(256), yield* allocate(256)]
        yield* CommandQueue.dispatch(add, { y: x, a: 1 }, 64)
        yield* Mapping.map(y, Uint32Array)
        const { status } = yield* DeviceContext
        status.lose("the test said so")
        const made = watched.count("clCreateSubBuffer")
        strictEqual(yield* reasonOf(CommandQueue.dispatch(add, { y, a: 1 }, 64)), "DeviceLost")
        strictEqual(yield* reasonOf(OpenCl.handle(x)), "DeviceLost")
        strictEqual(watched.count("clCreateSubBuffer"), made)
      })
    ))

  it.live("end with a layer that closes while fibers work on them", () =>
    Effect.gen(function*() {
      const fibers: Array<Fiber.Fiber<never, GpuError>> = []
      yield* onDevice(() =>
        Effect.gen(function*() {
          const { use } = yield* pool(4096)
          for (let owner = 0; owner < 8; owner++) {
            const turn = use(200 + 4 * owner, (x) =>
              Effect.gen(function*() {
                yield* CommandQueue.fill(x, owner)
                yield* CommandQueue.dispatch(add, { y: x, a: 1 }, 50)
                yield* CommandQueue.read(x, Uint32Array)
              }))
            fibers.push(yield* Effect.forkDetach(Effect.forever(turn), { startImmediately: true }))
          }
          yield* CommandQueue.finish
          for (let yields = 0; yields < 50; yields++) yield* Effect.yieldNow
        })
      )
      for (const fiber of fibers) {
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        assert.include(["DeviceLost", "Released"], reason._tag)
      }
    }))

  it.live("have an image over them, or a driver that makes none is a typed error", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { allocate } = yield* pool(4096)
        const x = yield* allocate(256)
        yield* CommandQueue.fill(x, 3)
        const made = yield* Effect.result(Images.overBuffer(x, ImageFormat.make("r", "uint32")))
        if (Result.isSuccess(made)) {
          return deepStrictEqual([...(yield* Images.read(made.success, Uint32Array))], all(64, 3))
        }
        strictEqual(made.failure.reason._tag, "Unsupported")
        assert.include(made.failure.message, "a part of a slab")
        assert.include(made.failure.message, "without PoolStrategy.arena")
        deepStrictEqual(yield* words(x), all(64, 3))
      })
    ))

  it.live("are leases of shared virtual memory at addresses in one allocation", () =>
    onSvm(
      (watched) =>
        Effect.gen(function*() {
          const [x, y] = [yield* BufferPool.allocate(256), yield* BufferPool.allocate(256)]
          const [from, to] = [yield* Svm.pointer(x), yield* Svm.pointer(y)]
          strictEqual(to.address - from.address, 256n)
          yield* CommandQueue.fill(x, 1)
          yield* CommandQueue.fill(y, 2)
          yield* CommandQueue.dispatch(add, { y, a: 1 }, 64)
          yield* Effect.scoped(Effect.gen(function*() {
            const mapped = yield* Mapping.map(y, Uint32Array, { access: "readwrite" })
            deepStrictEqual([...mapped.data], all(64, 3))
            yield* CommandQueue.dispatch(add, { y: x, a: 10 }, 64)
            mapped.data[63] = 8
          }))
          deepStrictEqual(yield* words(x), all(64, 11))
          deepStrictEqual(yield* words(y), [...all(63, 3), 8])
          strictEqual(watched.count("clSVMAlloc"), 1)
        }),
      { strategy: PoolStrategy.arena({ unitBytes: 16, slabBytes: 4096 }) }
    ))
})

describeWith(["finegrain"], "Parts of slabs of fine grain", () => {
  it.live("are viewed in place", () =>
    onSvm(
      () =>
        Effect.gen(function*() {
          const [x, y] = [yield* BufferPool.allocate(256), yield* BufferPool.allocate(256)]
          yield* CommandQueue.fill(x, 1)
          const { data } = yield* Svm.view(y, Uint32Array)
          data.fill(2)
          yield* CommandQueue.dispatch(add, { y, a: 3 }, 64)
          yield* CommandQueue.finish
          deepStrictEqual([...data], all(64, 5))
          deepStrictEqual(yield* words(x), all(64, 1))
          yield* Lease.release(y)
          strictEqual(data.length, 0)
        }),
      { grain: "fine", strategy: PoolStrategy.arena({ unitBytes: 16, slabBytes: 4096 }) }
    ))
})
