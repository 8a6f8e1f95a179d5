import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import { OpenCl, Svm } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { onDevice, reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { onSvm, ownQueue } from "../support/svmDevice.ts"

const numbers = (buffer: PooledBuffer.PooledBuffer) =>
  Effect.map(CommandQueue.read(buffer, Uint32Array), (array) => [...array])

/**
 * A queue whose commands wait until `letGo` is called, which then waits for their end. The scope's end calls it too.
 */
const heldBack = Effect.gen(function*() {
  const { api, context } = yield* OpenCl.OpenCl
  const queue = yield* ownQueue()
  const koffi = yield* Effect.promise(() => import("koffi"))
  const library = koffi.load("libOpenCL.so.1")
  const event = new BigUint64Array([library.func("void* clCreateUserEvent(void*, void*)")(context, null) as bigint])
  api.clEnqueueMarkerWithWaitList(queue, 1, event, null)
  let isHeld = true
  const letGo = () => {
    if (isHeld) library.func("int32_t clSetUserEventStatus(void*, int32_t)")(event[0], 0)
    isHeld = false
    library.func("int32_t clFinish(void*)")(queue)
  }
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      letGo()
      library.func("int32_t clReleaseEvent(void*)")(event[0])
    })
  )
  return { queue, letGo }
})

const fillOn = (queue: bigint, x: PooledBuffer.PooledBuffer, value: number) =>
  Effect.gen(function*() {
    const { api } = yield* OpenCl.OpenCl
    const { address, size } = yield* Svm.pointer(x)
    strictEqual(api.clEnqueueSVMMemFill(queue, address, Uint32Array.of(value), 4, size, 0, null, null), 0)
  })

/** Yields before the k-th step, so that another fiber runs there. */
class YieldAt extends Scheduler.MixedScheduler {
  constructor(k: number) {
    super()
    this.shouldYield = () => k-- === 0
  }
}

const endings: Readonly<
  Record<string, (lease: PooledBuffer.PooledBuffer, scope: Scope.Closeable) => Effect.Effect<void, unknown>>
> = {
  release: (lease) => Lease.release(lease),
  "the end of the scope": (_lease, scope) => Scope.close(scope, Exit.void)
}

describeWith(["opencl"], "Commands on shared virtual memory", () => {
  describe("operations on what they do not fit", () => {
    it.live("refuse what no driver should see", () =>
      onSvm(({ calls }) =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(24)
          const before = calls.length
          const refused = [
            Svm.bindToQueue(x, 0n),
            Svm.bindToQueue(x, 7 as never)
          ]
          for (const command of refused) strictEqual(yield* reasonOf(command), "InvalidRequest")
          strictEqual(calls.length, before)
          yield* Lease.release(x)
          strictEqual(yield* reasonOf(Svm.pointer(x)), "Released")
        })
      ))

    it.live("refuse buffers that are not in shared memory", () =>
      onDevice(() =>
        Effect.gen(function*() {
          const buffer = yield* Allocator.allocate(64)
          for (const command of [Svm.pointer(buffer), Svm.view(buffer, Float32Array)]) {
            const error = yield* Effect.flip<unknown, never, never>(command as never)
            assert.include(String(error), "the buffer is not in shared virtual memory")
          }
        })
      ))
  })

  describe("on a queue of the program's own", () => {
    it.live.each(Object.keys(endings))(
      "what was enqueued there comes before the next owner's work, after %s",
      (ending) =>
        onSvm(() =>
          Effect.gen(function*() {
            const { letGo, queue } = yield* heldBack
            const scope = yield* Scope.make()
            const x = yield* Scope.provide(BufferPool.allocate(64), scope)
            const { address } = yield* Svm.pointer(x)
            yield* Svm.bindToQueue(x, queue)
            yield* fillOn(queue, x, 1)
            yield* endings[ending]!(x, scope)
            const next = yield* BufferPool.allocate(64)
            strictEqual((yield* Svm.pointer(next)).address, address)
            yield* CommandQueue.fill(next, 2)
            const read = yield* Effect.forkChild(numbers(next), { startImmediately: true })
            letGo()
            deepStrictEqual(new Set(yield* Fiber.join(read)), new Set([2]))
            deepStrictEqual(new Set(yield* numbers(next)), new Set([2]))
            yield* Scope.close(scope, Exit.void)
          })
        )
    )

    it.live("what was recorded before comes before what is enqueued there, and unbinding orders it back", () =>
      onSvm(({ count }) =>
        Effect.gen(function*() {
          const [queue, other] = [yield* ownQueue(), yield* ownQueue()]
          const x = yield* BufferPool.allocate(1 << 22)
          const sums: Array<number> = []
          for (let value = 1; value < 10; value++) {
            yield* CommandQueue.fill(x, value)
            yield* Svm.bindToQueue(x, value % 2 === 0 ? queue : other)
            yield* fillOn(value % 2 === 0 ? queue : other, x, 100 + value)
            // bound elsewhere without being unbound
            if (value % 3 === 0) {
              yield* Svm.bindToQueue(x, value % 2 === 0 ? other : queue)
              yield* fillOn(value % 2 === 0 ? other : queue, x, 200 + value)
            }
            yield* Svm.unbindFromQueue(x)
            sums.push((yield* numbers(x)).at(-1)!)
          }
          deepStrictEqual(sums, [101, 102, 203, 104, 105, 206, 107, 108, 209])
          yield* Svm.unbindFromQueue(x)
          strictEqual(count("clRetainCommandQueue"), 12)
        })
      ))

    it.live("the queue is retained: the program may release it first", () =>
      onSvm(() =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(64)
          const queue = yield* Effect.scoped(Effect.gen(function*() {
            const queue = yield* ownQueue()
            yield* Svm.bindToQueue(x, queue)
            yield* fillOn(queue, x, 5)
            return queue
          }))
          assert.isTrue(queue > 0n)
          yield* Svm.unbindFromQueue(x)
          deepStrictEqual(new Set(yield* numbers(x)), new Set([5]))
        })
      ))

    it.live("queues out of order, and of another context, are refused", () =>
      onSvm(({ count }) =>
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(64)
          const disorderly = yield* Effect.flip(Svm.bindToQueue(x, yield* ownQueue(1)))
          assert.include(disorderly.message, "executes out of order")
          const foreign = yield* Effect.provide(
            Effect.map(OpenCl.OpenCl, ({ queue }) => queue),
            yield* Layer.build(Layer.fresh(OpenCl.layer()))
          )
          strictEqual(yield* reasonOf(Svm.bindToQueue(x, foreign)), "InvalidRequest")
          strictEqual(count("clEnqueueMarkerWithWaitList"), 0)
        })
      ))

    it.live("a lease that is released while it is being bound leaves the queue alone", () =>
      onSvm(({ count }) =>
        Effect.gen(function*() {
          const queue = yield* ownQueue()
          for (let k = 0; k < 20; k++) {
            const x = yield* BufferPool.allocate(64)
            const binding = Effect.provideService(
              Effect.exit(Svm.bindToQueue(x, queue)),
              Scheduler.Scheduler,
              new YieldAt(k)
            )
            const fiber = yield* Effect.forkChild(binding, { startImmediately: true })
            yield* Lease.release(x)
            yield* Fiber.join(fiber)
            strictEqual(count("clReleaseCommandQueue"), count("clRetainCommandQueue"), `released at step ${k}`)
          }
          assert.isAbove(count("clRetainCommandQueue"), 0)
        })
      ))

    it.live("a queue that the driver refuses is the program's mistake, not the device's end", () =>
      Effect.suspend(() => {
        let refused = ""
        let own = 0n
        const refusing =
          <Args extends [queue: bigint, ...ReadonlyArray<unknown>]>(name: string, call: (...args: Args) => number) =>
          (...args: Args): number => refused === name && args[0] === own ? -36 : call(...args)
        return onSvm(
          () =>
            Effect.gen(function*() {
              const queue = yield* ownQueue()
              own = queue
              const x = yield* BufferPool.allocate(64)
              const reasons: Array<string> = []
              for (refused of ["clGetCommandQueueInfo", "clRetainCommandQueue"]) {
                reasons.push(yield* reasonOf(Svm.bindToQueue(x, queue)))
              }
              refused = ""
              yield* Svm.bindToQueue(x, queue)
              refused = "clFlush"
              reasons.push(yield* reasonOf(Svm.unbindFromQueue(x)))
              refused = ""
              deepStrictEqual(reasons, ["InvalidRequest", "DriverError", "DriverError"])
              yield* CommandQueue.fill(x, 1)
              deepStrictEqual(new Set(yield* numbers(x)), new Set([1]))
            }),
          undefined,
          ({ clFlush, clGetCommandQueueInfo, clRetainCommandQueue }) => ({
            clFlush: refusing("clFlush", clFlush),
            clGetCommandQueueInfo: refusing("clGetCommandQueueInfo", clGetCommandQueueInfo),
            clRetainCommandQueue: refusing("clRetainCommandQueue", clRetainCommandQueue)
          })
        )
      }))

    it.live("memory whose work cannot be ordered is not leased again, nor freed before the close", () =>
      Effect.suspend(() => {
        let fails = false
        return onSvm(
          ({ count }) =>
            Effect.gen(function*() {
              const queue = yield* ownQueue()
              const x = yield* BufferPool.allocate(64)
              yield* Svm.bindToQueue(x, queue)
              fails = true
              yield* Effect.provide(Lease.release(x), Logger.layer([]))
              fails = false
              const stats = yield* BufferPool.stats
              deepStrictEqual([stats.releaseFailures, stats.managedBlocks], [1, 0])
              deepStrictEqual([count("clEnqueueSVMFree"), count("clSVMFree")], [0, 0])
              strictEqual((yield* DeviceContext).driverObjects.liveByKind.svm, 1)
            }),
          undefined,
          ({ clEnqueueMarkerWithWaitList }) => ({
            clEnqueueMarkerWithWaitList: (...args) => fails ? -5 : clEnqueueMarkerWithWaitList(...args)
          })
        )
      }))
  })
})
