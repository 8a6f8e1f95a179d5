import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { markAsUntransferable } from "node:worker_threads"
import { OpenCl, OpenClMemory } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as QueueEvent from "../../src/services/device/QueueEvent.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice, read, reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { blockQueue, watch } from "../support/watchedOpenCl.ts"

const CL_MAP_FAILURE = -12
const CL_OUT_OF_RESOURCES = -5

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const mapped = DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind["mapping"] ?? 0)

/** A buffer, and a queue that waits for `end` from here on. */
const blocked = Effect.gen(function*() {
  const x = yield* allocate(64, "x")
  yield* CommandQueue.fill(x, 5)
  const end = yield* blockQueue(yield* OpenCl.handle(x))
  return { x, end }
})

const markedMemory = (bytes: number): ArrayBuffer => {
  const memory = new ArrayBuffer(bytes)
  markAsUntransferable(memory)
  return memory
}

describeWith(["opencl"], "Mapping an OpenCL buffer", () => {
  it.live("shows the driver's own memory, and cuts it off before the driver gets it back", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const x = yield* allocate(64)
          const views = yield* Effect.scoped(Effect.gen(function*() {
            const numbers = yield* Mapping.map(x, Uint32Array)
            strictEqual(yield* mapped, 1)
            numbers.data[2] = 77
            return [numbers.data, new Uint8Array(numbers.data.buffer, 4, 8)]
          }))
          strictEqual(yield* mapped, 0)
          deepStrictEqual(views.map(({ length }) => length), [0, 0])
          deepStrictEqual((yield* read(x)).slice(8, 12), [77, 0, 0, 0])
          strictEqual(watched.count("clEnqueueMapBuffer"), 1)
          strictEqual(watched.count("clEnqueueUnmapMemObject"), 1)
        })
    ))

  it.live("leaves memory that the program took away to it, and neither unmaps nor frees it", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }
          const kept = yield* Effect.scoped(Effect.gen(function*() {
            const x = yield* allocate(64)
            yield* CommandQueue.fill(x, 0x01010101)
            const { data } = yield* Mapping.map(x, Uint8Array, { access: "read" })
            return new Uint8Array(transfer.call(data.buffer as ArrayBuffer))
          }))
          yield* CommandQueue.finish
          strictEqual(yield* mapped, 0)
          strictEqual(watched.count("clEnqueueUnmapMemObject"), 0)
          for (let owner = 0; owner < 20; owner++) {
            const next = yield* allocate(64)
            yield* CommandQueue.fill(next, 0x02020202)
          }
          yield* CommandQueue.finish
          deepStrictEqual([...kept], [...new Uint8Array(64).fill(1)])
        }),
      undefined,
      { clCreateBuffer: 1, clEnqueueMapBuffer: 1 }
    ))

  it.live("leaves memory that was taken through its handle as well, and lets no command use it", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }
          const x = yield* allocate(64, "x")
          const twin = yield* OpenClMemory.adopt(yield* OpenCl.handle(x))
          const { driverObjects } = yield* DeviceContext
          const mapped = yield* Mapping.map(twin, Uint8Array)
          transfer.call(mapped.data.buffer as ArrayBuffer)
          strictEqual(yield* reasonOf(Mapping.unmap(mapped)), "InvalidRequest")
          strictEqual(x.recyclable, false)
          for (const buffer of [x, twin]) {
            const error = yield* Effect.flip(CommandQueue.fill(buffer, 0))
            assert.include(error.message, "was transferred to another ArrayBuffer")
            strictEqual(yield* reasonOf(Effect.scoped(Mapping.map(buffer, Uint8Array))), "InvalidRequest")
          }
          strictEqual(driverObjects.taken, 1)
          yield* (yield* DeviceContext).destroyBufferUnsafe(x)
          strictEqual(driverObjects.taken, 2)
        }),
      undefined,
      { clCreateBuffer: 1, clEnqueueMapBuffer: 1 }
    ))

  it.live("leaves memory to a program that keeps it from being cut off", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const x = yield* allocate(64)
          const mapped = yield* Mapping.map(x, Uint8Array)
          strictEqual(yield* reasonOf(Mapping.unmap(mapped)), "InvalidRequest")
          strictEqual(x.recyclable, false)
          strictEqual(mapped.data.length, 64)
          strictEqual(watched.count("clEnqueueUnmapMemObject"), 0)
        }),
      // Other memory than the driver's: Node crashes at its exit if a view of driver memory was marked.
      () => ({ view: (_, bytes) => markedMemory(bytes) }),
      { clCreateBuffer: 1, clEnqueueMapBuffer: 1 }
    ))

  it.live("asks for what the program does, and no more", () => {
    const flags: Array<number> = []
    return onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* allocate(64)
          for (const access of ["read", "write", "readwrite"] as const) {
            yield* Effect.scoped(Mapping.map(x, Uint32Array, { access, offset: 16, shape: [4] }))
          }
          yield* Effect.scoped(Mapping.map(x, Uint32Array, { access: "write", shape: [4], strides: [2] }))
          deepStrictEqual(flags, [1, 4, 3, 3])
        }),
      (api) => ({
        clEnqueueMapBuffer: (...args) => {
          flags.push(args[3])
          return api.clEnqueueMapBuffer(...args)
        }
      })
    )
  })

  it.live("unmaps what is interrupted while the device is busy, and views nothing", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { end, x } = yield* blocked
        const fiber = yield* start(Effect.scoped(Mapping.map(x, Uint32Array)))
        strictEqual(yield* mapped, 1)
        yield* Fiber.interrupt(fiber)
        strictEqual(yield* mapped, 0)
        end()
        yield* CommandQueue.fill(x, 6)
        deepStrictEqual((yield* read(x)).slice(0, 4), [6, 0, 0, 0])
        strictEqual(watched.count("view"), 0)
      })
    ))

  it.live("unmaps with the lease, whose mapping then fails", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const end = yield* blockQueue(yield* OpenCl.handle(x))
        const fiber = yield* start(reasonOf(Mapping.map(x, Uint32Array)))
        yield* Lease.release(x)
        strictEqual(yield* mapped, 0)
        end()
        strictEqual(yield* Fiber.join(fiber), "Released")
        strictEqual(watched.count("view"), 0)
      }).pipe(Effect.provide(BufferPool.layer()))
    ))

  it.live("takes a refused mapping for a failure, and does not trust the block again", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          for (const tag of ["DriverError", "OutOfMemory"]) {
            const lease = yield* BufferPool.allocate(64)
            strictEqual(yield* reasonOf(Mapping.map(lease, Uint32Array)), tag)
            yield* CommandQueue.fill(lease, 0)
            yield* Lease.release(lease)
          }
          const { driverFrees, heldBlocks } = yield* BufferPool.stats
          deepStrictEqual({ driverFrees, heldBlocks }, { driverFrees: 2, heldBlocks: 0 })
          strictEqual(yield* mapped, 0)
        }).pipe(Effect.provide(BufferPool.layer())),
      () => {
        const codes = [CL_MAP_FAILURE, CL_OUT_OF_RESOURCES]
        return {
          clEnqueueMapBuffer: (...args) => {
            const code = args[9]
            if (code instanceof Int32Array) code[0] = codes.shift()!
            return null
          }
        }
      }
    ))

  it.live("releases what is mapped when the device closes first", () =>
    Effect.gen(function*() {
      const watched = yield* watch()
      const outer = yield* Scope.make()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(OpenCl.layerFrom(watched.api), scope)
      const { device, numbers } = yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        const x = yield* device.createBuffer(64, 13)
        return { device, numbers: yield* Scope.provide(Mapping.map(x, Uint32Array), outer) }
      }).pipe(Effect.provide(context))
      strictEqual(numbers.data.length, 16)
      yield* Scope.close(scope, Exit.void)
      strictEqual(numbers.data.length, 0)
      deepStrictEqual(device.driverObjects.liveByKind, {})
      deepStrictEqual(watched.alive(), {})
      yield* Scope.close(outer, Exit.void)
      strictEqual(watched.count("clEnqueueUnmapMemObject"), 1)
    }))

  it.live("releases what is mapped on a lost device", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { status } = yield* DeviceContext
        const x = yield* allocate(64)
        const numbers = yield* Effect.scoped(Effect.gen(function*() {
          const numbers = yield* Mapping.map(x, Uint32Array)
          status.lose("unplugged")
          return numbers
        }))
        strictEqual(numbers.data.length, 0)
        strictEqual(yield* mapped, 0)
      })
    ))
})

describeWith(["opencl"], "Events of an OpenCL queue", () => {
  it.live("end before what comes after them, while that waits", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const x = yield* allocate(64)
        yield* CommandQueue.fill(x, 1)
        const filled = yield* CommandQueue.event
        // Each queue has one native wait at a time; commands that end meanwhile are noticed when that wait has ended.
        yield* CommandQueue.finish
        const end = yield* blockQueue(yield* OpenCl.handle(x))
        const later = yield* CommandQueue.event
        const events = driverObjects.liveByKind["event"]
        const waiting = yield* start(QueueEvent.wait(later))
        yield* QueueEvent.wait(filled)
        assert.isTrue(yield* QueueEvent.isDone(filled))
        assert.isFalse(yield* QueueEvent.isDone(later))
        assert.isAtMost(driverObjects.liveByKind["event"] ?? 0, events ?? 0)
        end()
        yield* Fiber.join(waiting)
        assert.isTrue(yield* QueueEvent.isDone(later))
        strictEqual(watched.count("clEnqueueMarkerWithWaitList"), 0)
      })
    ))
})
