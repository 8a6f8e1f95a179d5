import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { create, destroy, held, interruptEverywhere, mebi, onDevice } from "../support/nullDevice.ts"
import type { Bends } from "../support/watchedGpu.ts"

/** A driver that completes its work only when the test says so. */
const late = () => {
  const finished = Deferred.makeUnsafe<void>()
  const bends: Bends = {
    "GPUQueue.onSubmittedWorkDone": (proceed) => Effect.runPromise(Deferred.await(finished)).then(proceed)
  }
  return { bends, finish: Deferred.succeed(finished, undefined) }
}

describe("WebGpu buffers", () => {
  it.live("raises the driver's out-of-memory, keeps nothing of the failed buffer, and recovers", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        yield* held(256 * mebi)
        const second = yield* create(256 * mebi)
        const error = yield* Effect.flip(create(256 * mebi))
        strictEqual(error.reason._tag, "OutOfMemory")
        deepStrictEqual(device.driverObjects.liveByKind["buffer"], 2)
        yield* destroy(second)
        yield* held(256 * mebi)
      })))

  it.live("makes no more staging buffers than the system has maps for", () =>
    Effect.gen(function*() {
      const device = yield* DeviceContext
      const make = device.createBuffer(4, BufferUsage.download)
      const first = yield* make
      yield* Effect.replicateEffect(make, 39_999, { concurrency: "unbounded", discard: true })
      strictEqual((yield* Effect.flip(make)).reason._tag, "OutOfMemory")
      yield* device.destroyBufferUnsafe(first)
      yield* make
    }).pipe(Effect.provide(WebGpu.layer({ flags: ["backend=null"] }))))

  it.live("makes no more of them either for creations that wait for destroyed memory", () => {
    const { bends, finish } = late()
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const make = device.createBuffer(4, BufferUsage.download)
        yield* make
        yield* Effect.flatMap(create(24 * mebi), destroy)
        const waiting = yield* Effect.forkChild(
          Effect.replicateEffect(Effect.exit(make), 40_000, { concurrency: "unbounded" }),
          { startImmediately: true }
        )
        yield* finish
        strictEqual((yield* Fiber.join(waiting)).filter(Exit.isFailure).length, 1)
      }))
  })

  it.live("keeps the scopes of concurrent fibers apart", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        yield* held(256 * mebi)
        const sizes = [200 * mebi, 4, 200 * mebi, 4, 4, 200 * mebi]
        const exits = yield* Effect.forEach(sizes, (size) => Effect.exit(held(size)), { concurrency: "unbounded" })
        deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true, true, false])
      })))

  it.live("reports a refused size as the driver's error", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(create(512 * mebi))
        strictEqual(error.reason._tag, "DriverError")
        assert.include(error.message, "GPUDevice.createBuffer")
      })))

  it.live("turns an exception of createBuffer into an error and leaves the scope stack as it was", () => {
    let broken = true
    const bends: Bends = {
      "GPUDevice.createBuffer": (proceed) => {
        if (!broken) return proceed()
        throw new RangeError("no host memory")
      }
    }
    return onDevice(bends, (watched) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(create(256))
        assert.include(error.message, "no host memory")
        strictEqual(watched.count("GPUDevice.pushErrorScope"), watched.count("GPUDevice.popErrorScope"))
        broken = false
        yield* held(256)
      }))
  })

  it.live("destroys what an interrupted creation has made", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const fiber = yield* Effect.forkChild(create(4096), { startImmediately: true })
        strictEqual(watched.count("GPUDevice.createBuffer"), 1)
        yield* Fiber.interrupt(fiber)
        strictEqual(device.driverObjects.liveByKind["buffer"], undefined)
      })))

  it.live("leaks nothing wherever a scoped creation or a read is interrupted", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const program = Effect.scoped(Effect.flatMap(held(256), (buffer) => CommandQueue.read(buffer, Uint8Array)))
        const steps = yield* interruptEverywhere(program, (step) => {
          // A read that got through leaves its buffer to the next one.
          const { staging = 0, ...others } = driverObjects.liveByKind
          deepStrictEqual(others, { device: 1 }, `step ${step}`)
          assert.isAtMost(staging, 1, `step ${step}`)
        })
        assert.isAbove(steps, 20)
      })))

  it.live("destroys no buffer whose mapping is pending when a read is interrupted", () => {
    const done: Array<string> = []
    const bends: Bends = {
      "GPUDevice.createBuffer": (proceed) => {
        const buffer = proceed() as GPUBuffer
        const [destroy, mapAsync] = [buffer.destroy.bind(buffer), buffer.mapAsync.bind(buffer)]
        buffer.mapAsync = async (mode) => {
          done.push("map")
          await mapAsync(mode)
          done.push("mapped")
          buffer.destroy = () => {
            done.push("destroy")
            return destroy()
          }
        }
        buffer.destroy = () => {
          done.push("destroy while pending")
          return destroy()
        }
        return buffer
      }
    }
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const buffer = yield* create(256)
        const fiber = yield* Effect.forkChild(CommandQueue.read(buffer, Uint8Array), { startImmediately: true })
        deepStrictEqual(done, ["map"])
        yield* Fiber.interrupt(fiber)
        yield* CommandQueue.finish
        deepStrictEqual(done, ["map", "mapped", "destroy"])
      }))
  })

  it.live("leaves a pool's ledger and the driver agreed wherever a miss is interrupted", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const steps = yield* interruptEverywhere(
          Effect.scoped(Effect.provide(BufferPool.allocate(256), BufferPool.layer())),
          (step) => deepStrictEqual(driverObjects.liveByKind, { device: 1 }, `step ${step}`)
        )
        assert.isAbove(steps, 20)
      })))

  it.live("ends requests of a pool that the driver refuses at the same time", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        yield* BufferPool.allocateAll([150 * mebi, 150 * mebi])
        const asked = [230, 240, 250].map((size) => Effect.flip(BufferPool.allocate(size * mebi)))
        const errors = yield* Effect.all(asked, { concurrency: "unbounded" })
        deepStrictEqual(errors.map(({ reason }) => reason._tag), ["OutOfMemory", "OutOfMemory", "OutOfMemory"])
      }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()))))

  it.live("rounds odd sizes up, so that every byte can be copied and bound", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const buffer = yield* held(7)
        strictEqual(buffer.size, 7)
        strictEqual((yield* WebGpu.handle(buffer)).size, 8)
        const { size } = yield* WebGpu.binding(buffer)
        strictEqual(size, 8)
      })))

  it.live("submits now and then while buffers come and go, or the driver would never free them", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        for (let index = 0; index < 256; index++) yield* Effect.flatMap(create(4096), destroy)
        strictEqual(watched.count("GPUQueue.submit"), 4)
      })))

  describe("while the driver has not given destroyed memory back", () => {
    const churn = Effect.replicateEffect(Effect.flatMap(create(8 * mebi), destroy), 3, { discard: true })

    it.live("lets creations wait for it", () => {
      const { bends, finish } = late()
      return onDevice(bends, (watched) =>
        Effect.gen(function*() {
          yield* churn
          const created = watched.count("GPUDevice.createBuffer")
          const fiber = yield* Effect.forkChild(create(8 * mebi), { startImmediately: true })
          strictEqual(watched.count("GPUDevice.createBuffer"), created)
          yield* finish
          yield* destroy(yield* Fiber.join(fiber))
          strictEqual(watched.count("GPUDevice.createBuffer"), created + 1)
        }))
    })

    it.live("lets none wait for less than what is alive", () => {
      const { bends, finish } = late()
      return onDevice(bends, () =>
        Effect.gen(function*() {
          yield* held(24 * mebi)
          yield* churn
          yield* Effect.flatMap(create(8 * mebi), destroy)
          yield* finish
        }))
    })

    it.live("fails creations that wait when the device is lost", () => {
      const { bends, finish } = late()
      return onDevice(bends, () =>
        Effect.gen(function*() {
          const { device } = yield* WebGpu.WebGpu
          yield* churn
          const fiber = yield* Effect.forkChild(create(8 * mebi), { startImmediately: true })
          device.destroy()
          strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason._tag, "DeviceLost")
          yield* finish
        }))
    })
  })

  it.live("reclaims with an empty submit, since destroyed memory only returns with a later one", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const driver = yield* QueueDriver
        yield* driver.reclaim
        strictEqual(watched.count("GPUQueue.submit"), 1)
        strictEqual(watched.count("GPUQueue.onSubmittedWorkDone"), 1)
      })))

  it.live("destroys a buffer once, and none of another device", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const buffer = yield* held(256)
        yield* destroy(buffer)
        yield* destroy(buffer)
        strictEqual(device.driverObjects.live, 1)
        const foreign = yield* Effect.provide(Effect.scoped(held(256)), WebGpu.layer({ flags: ["backend=null"] }))
        foreign.destroyed = false
        const error = yield* Effect.flip(destroy(foreign))
        strictEqual(error.reason._tag, "ForeignDevice")
        strictEqual((yield* Effect.flip(WebGpu.handle(foreign))).reason._tag, "ForeignDevice")
        strictEqual((yield* Effect.flip(WebGpu.binding(buffer))).reason._tag, "Released")
      })))
})
