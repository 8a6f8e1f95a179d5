/**
 * Several queues on OpenCL: the calls of the driver, and that it has no object left at their end, whatever it answers.
 */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { interruptedAt } from "../../packages/testing/src/pool/Interruption.ts"
import { OpenCl, Svm } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice, read, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering, blockQueue } from "../support/watchedOpenCl.ts"

const CL_OUT_OF_HOST_MEMORY = -6
const CL_INVALID_CONTEXT = -34
const CL_DEVICE_VERSION = 0x102f

const pool = BufferPool.make({ maxBytes: 65_536 })

describeWith(["opencl"], "Several queues on OpenCL", () => {
  it.live("make no event and no marker while there is one", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        for (let turn = 0; turn < 3; turn++) {
          yield* Effect.scoped(Effect.flatMap(allocate(64), (x) => CommandQueue.fill(x, turn)))
        }
        strictEqual(watched.count("clEnqueueMarkerWithWaitList"), 0)
        const queue = yield* CommandQueue.make()
        const x = yield* allocate(64)
        yield* queue.fill(x, 1)
        yield* queue.finish
        // It may have had to wait for the first one once.
        assert.isAtMost(watched.count("clEnqueueMarkerWithWaitList"), 1)
      })
    ))

  it.live("run beside a queue that is blocked, and wait for it alone where its memory is used", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const queue = yield* CommandQueue.make()
        const x = yield* allocate(64)
        const y = yield* allocate(64)
        yield* CommandQueue.finish
        const end = yield* blockQueue(yield* OpenCl.handle(x))
        deepStrictEqual(
          yield* Effect.andThen(queue.fill(y, 7), queue.read(y, Uint32Array, { length: 1 })),
          Uint32Array.of(7)
        )
        yield* CommandQueue.fill(y, 8)
        const event = yield* CommandQueue.event
        const ordered = CommandQueue.on(CommandQueue.after(read(y), [event]), queue)
        const reading = yield* Effect.forkChild(ordered, { startImmediately: true })
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        strictEqual(reading.pollUnsafe(), undefined)
        end()
        strictEqual((yield* Fiber.join(reading))[0], 8)
      })
    ))

  it.live("that the driver refuses are a typed error", () =>
    onDevice(
      () => Effect.map(reasonOf(Effect.scoped(CommandQueue.make())), (reason) => strictEqual(reason, "DriverError")),
      (api) => {
        let queues = 0
        return {
          clCreateCommandQueue: (context, device, properties, code) =>
            ++queues === 1
              ? api.clCreateCommandQueue(context, device, properties, code)
              : setCode(code, CL_OUT_OF_HOST_MEMORY)
        }
      }
    ))

  it.live("fail a command whose wait the driver refuses, and leave no queue", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* allocate(64)
          yield* CommandQueue.finish
          const queue = yield* CommandQueue.make()
          const end = yield* blockQueue(yield* OpenCl.handle(x))
          yield* CommandQueue.fill(x, 1)
          const event = yield* CommandQueue.event
          const refused = CommandQueue.on(CommandQueue.after(Effect.void, [event]), queue)
          const reason = yield* reasonOf(refused)
          end()
          strictEqual(reason, "OutOfMemory")
        }),
      () => ({ clEnqueueMarkerWithWaitList: () => CL_OUT_OF_HOST_MEMORY })
    ))

  it.live("are lost with their device, all at once", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const queues = yield* Effect.replicateEffect(CommandQueue.make(), 2)
          const x = yield* allocate(64)
          strictEqual(yield* reasonOf(CommandQueue.copy(x, yield* allocate(64))), "DeviceLost")
          for (const queue of queues) strictEqual(yield* reasonOf(queue.fill(x, 1)), "DeviceLost")
          strictEqual(yield* reasonOf(Effect.scoped(CommandQueue.make())), "DeviceLost")
        }),
      () => ({ clEnqueueCopyBuffer: () => CL_INVALID_CONTEXT })
    ))

  it.live("leave nothing behind: 1,000 one after the other, 100 at a time, and in a scope that outlives the device", () =>
    Effect.gen(function*() {
      const outer = yield* Scope.make()
      yield* onDevice(() =>
        Effect.gen(function*() {
          const { driverObjects } = yield* DeviceContext
          const leases = yield* pool
          const x = yield* allocate(64)
          for (let turn = 0; turn < 1000; turn++) {
            yield* Effect.scoped(Effect.flatMap(CommandQueue.make(), (queue) => queue.fill(x, turn)))
          }
          strictEqual((yield* read(x))[0], 999 % 256)
          strictEqual(driverObjects.liveByKind["queue"], 1)
          yield* Effect.scoped(Effect.gen(function*() {
            const queues = yield* Effect.replicateEffect(CommandQueue.make(), 100)
            for (const [at, queue] of queues.entries()) {
              yield* CommandQueue.on(leases.use(64, (lease) => CommandQueue.fill(lease, at)), queue)
            }
          }))
          strictEqual(driverObjects.liveByKind["queue"], 1)
          yield* Scope.provide(CommandQueue.make(), outer)
        })
      )
      yield* Scope.close(outer, Exit.void)
    }))

  it.live("leave nothing behind wherever a job on one of its own is interrupted", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const leases = yield* pool
        const job = Effect.scoped(Effect.flatMap(CommandQueue.make(), (queue) =>
          CommandQueue.on(
            leases.use(64, (x) => Effect.andThen(CommandQueue.fill(x, 3), CommandQueue.read(x, Uint32Array))),
            queue
          )))
        yield* job
        for (let step = 1; step <= 200; step++) {
          yield* interruptedAt(job, step)
          strictEqual(driverObjects.liveByKind["queue"], 1, `after ${step} steps`)
        }
        strictEqual((yield* leases.stats).activeBlocks, 0)
      })
    ))

  it.live("that are closing keep no pool from freeing its blocks, nor the layer from ending after them", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const leases = yield* pool
        const x = yield* allocate(64)
        yield* leases.use(64, (lease) => CommandQueue.fill(lease, 1))
        const scope = yield* Scope.make()
        const queue = yield* Scope.provide(CommandQueue.make({ label: "B" }), scope)
        const end = yield* queue.on(Effect.flatMap(OpenCl.handle(x), blockQueue))
        const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void), { startImmediately: true })
        const freeing = yield* Effect.forkChild(leases.freeHeld, { startImmediately: true })
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        strictEqual(closing.pollUnsafe(), undefined)
        end()
        yield* Fiber.join(freeing)
        strictEqual((yield* leases.stats).heldBlocks, 0)
        assert.isAtLeast(watched.count("clCreateCommandQueue"), 2)
      })
    ))

  it.live("wait for what the program itself has enqueued by a handle", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const leases = yield* pool
        const queue = yield* CommandQueue.make()
        const { api } = yield* OpenCl.OpenCl
        const late = new Uint8Array(64).fill(0xee)
        let end: (() => void) | undefined
        yield* leases.use(64, (lease) =>
          Effect.gen(function*() {
            yield* CommandQueue.finish
            end = yield* blockQueue(yield* OpenCl.handle(lease))
            const cl = yield* OpenCl.OpenCl
            const handle = yield* cl.handleUnsafe(lease)
            api.clEnqueueWriteBuffer(cl.queue, handle, 0, 0, 64, late, 0, null, null)
          }))
        const next = yield* Effect.forkChild(
          queue.on(
            leases.use(64, (lease) => Effect.andThen(CommandQueue.fill(lease, 0), CommandQueue.read(lease, Uint8Array)))
          ),
          { startImmediately: true }
        )
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        end?.()
        deepStrictEqual([...new Set(yield* Fiber.join(next))], [0])
        yield* CommandQueue.finish
      })
    ))

  it.live("are shared where OpenCL 1.1 has no way to order them", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          strictEqual(yield* reasonOf(Effect.scoped(CommandQueue.make())), "Unsupported")
          strictEqual(yield* CommandQueue.make({ share: true }), yield* CommandQueue.CommandQueue)
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 bent") })
    ))

  it.live("that are closing are waited for by their layer", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const x = yield* allocate(64)
        const scope = yield* Scope.make()
        const queue = yield* Scope.provide(CommandQueue.make(), scope)
        const end = yield* queue.on(Effect.flatMap(OpenCl.handle(x), blockQueue))
        yield* Effect.forkDetach(Scope.close(scope, Exit.void), { startImmediately: true })
        // The layer closes before the queue can.
        setImmediate(end)
      })
    ))

  it.live("may end before memory that is bound to a queue of the program's by them", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const { api, context, device } = yield* OpenCl.OpenCl
        const theirs = api.clCreateCommandQueue(context, device.id, 0, new Int32Array(1))!
        yield* Effect.scoped(Effect.gen(function*() {
          const x = yield* Effect.provide(Allocator.allocate(64), Svm.layerAllocator())
          yield* Effect.scoped(Effect.flatMap(CommandQueue.make(), (queue) => queue.on(Svm.bindToQueue(x, theirs))))
        }))
        yield* CommandQueue.finish
        strictEqual(driverObjects.liveByKind["svm"], undefined)
        api.clReleaseCommandQueue(theirs)
        const late = yield* Effect.scoped(CommandQueue.make())
        const y = yield* Effect.provide(Allocator.allocate(64), Svm.layerAllocator())
        strictEqual(yield* reasonOf(late.on(Svm.bindToQueue(y, (yield* OpenCl.OpenCl).queue))), "Released")
      })
    ))
})
