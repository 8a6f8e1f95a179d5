/** A device that is lost again and again leaves nothing behind, whatever is interrupted meanwhile. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { Host } from "../../src/host.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as Reconnecting from "../../src/services/backend/reconnecting/Reconnecting.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { nextTurn } from "../support/hostPool.ts"
import { lose, series, work } from "../support/reconnecting.ts"
import { watchedGpu } from "../support/watchedGpu.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const nothing = Kernel.make({ name: "nothing", args: [VectorArg("f32", "x")], body: { wgsl: "", host: () => {} } })

const tagged = (error: GpuError): string => error.reason._tag

const heapBytes = Effect.sync(() => {
  collectGarbage()
  return process.memoryUsage().heapUsed
})

const times = <E, R>(count: number, effect: Effect.Effect<unknown, E, R>) =>
  Effect.forEach(Array.from({ length: count }), () => effect, { discard: true })

/**
 * Runs the rounds once before, so that what is built once exists. A leaked device would be some thousand bytes per
 * round.
 */
const isFlat = <E, R>(rounds: number, round: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function*() {
    yield* times(rounds, round)
    yield* nextTurn
    const before = yield* heapBytes
    yield* times(rounds, round)
    yield* nextTurn
    const grown = (yield* heapBytes) - before
    assert.isBelow(grown, rounds * 256 + 2 ** 18, `${grown / rounds} bytes per loss`)
  })

/**
 * Keeps the counts of the last two devices. When the next one opens, the one before the last must have no driver
 * objects.
 */
const watched = (opening: Layer.Layer<Device.Services, GpuError>) => {
  let before: DriverObjects | undefined
  let last: DriverObjects | undefined
  let opened = 0
  // A request waits for memory of its own scope until the device is lost.
  const pool: BufferPool.BufferPoolOptions = { maxBytes: 4096, onExhausted: "wait", deadlockTimeout: Infinity }
  const layer = Reconnecting.layer(
    Layer.tap(opening, (context) =>
      Effect.sync(() => {
        deepStrictEqual(before?.liveByKind ?? {}, {})
        before = last
        last = Context.get(context, DeviceContext).driverObjects
        opened += 1
      })),
    { pool, onLost: () => Effect.yieldNow }
  )
  return { layer, opened: () => opened, left: () => ({ ...before?.liveByKind, ...last?.liveByKind }) }
}

/** Another request waits for the lease, and a command is on its way. */
const losing = (lose: Effect.Effect<unknown, GpuError, DeviceContext>) =>
  Effect.gen(function*() {
    const buffer = yield* BufferPool.allocate(4096)
    const waiting = yield* Effect.forkChild(Effect.orDie(Effect.flip(BufferPool.allocate(64))), {
      startImmediately: true
    })
    yield* CommandQueue.dispatch(nothing, { x: buffer }, 64)
    yield* CommandQueue.finish
    yield* CommandQueue.dispatch(nothing, { x: buffer }, 64)
    yield* lose
    strictEqual((yield* Fiber.join(waiting)).reason._tag, "DeviceLost")
    return yield* CommandQueue.read(buffer, Float32Array)
  }).pipe(Effect.scoped)

const isLost = (lose: Effect.Effect<unknown, GpuError, DeviceContext>) =>
  Effect.map(
    Effect.flip(Effect.mapError(Reconnecting.provide(losing(lose)), tagged)),
    (tag) => strictEqual(tag, "DeviceLost")
  )

describe("memory stays flat", () => {
  it.live("over losses of a host device, a thousand and a thousand more", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      const { layer, left, opened } = watched(Host.layer({ faults }))
      yield* isFlat(1000, isLost(Effect.sync(() => faults.lose()))).pipe(Effect.provide(layer))
      deepStrictEqual([opened(), left()], [2000, {}])
    }))

  it.live("over losses of Dawn's null device, a hundred and a hundred more", () =>
    Effect.gen(function*() {
      const { count, gpu } = watchedGpu()
      const { layer, left, opened } = watched(WebGpu.layerFrom(gpu))
      const lose = DeviceContext.useSync(({ status }) => status.lose("unplugged"))
      yield* isFlat(100, isLost(lose)).pipe(Effect.provide(layer))
      deepStrictEqual([opened(), count("GPUDevice.destroy"), left()], [200, 200, {}])
    }))
})

/** Interrupts the fiber at its nth step. */
class InterruptAt extends Scheduler.MixedScheduler {
  reached = false
  constructor(step: number) {
    super()
    this.shouldYield = (fiber) => {
      if (step-- !== 0) return false
      this.reached = true
      fiber.interruptUnsafe()
      return true
    }
  }
}

describe("an interruption at any step", () => {
  it.live("of an effect on a device that opens, or is lost, leaves the next one a device", () =>
    Effect.gen(function*() {
      const devices = series({ before: Effect.yieldNow, after: Effect.yieldNow })
      const losing = Effect.andThen(work, Effect.andThen(lose(devices), Effect.ignore(work)))
      yield* Effect.gen(function*() {
        let reached = true
        for (let step = 0; reached; step++) {
          const scheduler = new InterruptAt(step)
          const fiber = yield* Effect.forkChild(
            Effect.provideService(Reconnecting.provide(losing), Scheduler.Scheduler, scheduler)
          )
          yield* Fiber.await(fiber)
          reached = scheduler.reached
          yield* Reconnecting.provide(work)
          yield* lose(devices)
          yield* nextTurn
          strictEqual(devices.live(), 0)
          assert.isBelow(step, 1000)
        }
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))
})
