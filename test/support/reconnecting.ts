/** Host devices that are opened one after another, and what is left of them. */
import { strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as Reconnecting from "../../src/services/backend/reconnecting/Reconnecting.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"

/** One layer, and all devices that it opens. */
export interface Series {
  readonly faults: Host.Faults
  /** The driver objects of each successful opening, in order. */
  readonly devices: ReadonlyArray<DriverObjects>
  readonly layer: Layer.Layer<Reconnecting.Reconnecting, GpuError>
  /** The most devices that were open and not lost at the same time. */
  readonly mostAlive: () => number
  /** Driver objects of all devices. */
  readonly live: () => number
}

export interface SeriesOptions extends Reconnecting.PooledOptions {
  readonly host?: Host.HostOptions | undefined
  /** Runs before a device opens. */
  readonly before?: Effect.Effect<unknown, GpuError> | undefined
  /** Runs when a device is open, before it is used. */
  readonly after?: Effect.Effect<unknown, GpuError> | undefined
  readonly faults?: Host.Faults | undefined
}

export const series = (
  { after = Effect.void, before = Effect.void, faults = Host.makeFaults(), host, ...options }: SeriesOptions = {}
): Series => {
  const devices: Array<DriverObjects> = []
  let alive = 0
  let mostAlive = 0
  const watched = Host.layer({ ...host, faults }).pipe(
    Layer.tap((context) =>
      Effect.sync(() => {
        const { driverObjects, status } = Context.get(context, DeviceContext)
        devices.push(driverObjects)
        alive += 1
        mostAlive = Math.max(mostAlive, alive)
        status.onLost(() => {
          alive -= 1
        })
      })
    )
  )
  const opening: Layer.Layer<Device.Services, GpuError> = Layer.unwrap(Effect.as(before, watched)).pipe(
    Layer.tap(() => after)
  )
  return {
    faults,
    devices,
    layer: Reconnecting.layer(opening, options),
    mostAlive: () => mostAlive,
    live: () => devices.reduce((sum, { live }) => sum + live, 0)
  }
}

/** A lease, a command and a read. */
export const work = Effect.scoped(Effect.gen(function*() {
  const buffer = yield* BufferPool.allocate(64)
  yield* CommandQueue.fill(buffer, 7)
  strictEqual((yield* CommandQueue.read(buffer, Uint32Array))[0], 7)
}))

/** Loses the current device. */
export const lose = (series: Series, detail?: string): Effect.Effect<void> =>
  Effect.sync(() => series.faults.lose(detail))

export const again = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(effect, { while: Reconnecting.isDeviceLost, times: 10 })
