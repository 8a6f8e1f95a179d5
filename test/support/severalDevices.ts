/** Host devices that one service opens by name, and what is left of them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"

/** One service, and all devices that it opens. */
export interface Several {
  readonly layer: Layer.Layer<BufferPools.BufferPools, GpuError>
  /** The faults of device 0. */
  readonly faults: Host.Faults
  /** The faults of a device, which each of its openings has. */
  readonly faultsOf: (device: string) => Host.Faults
  /** The devices that were opened, in that order. */
  readonly openings: ReadonlyArray<string>
  /** The number of devices that are open now. */
  readonly alive: () => number
  /** Driver objects of all devices that were ever open. */
  readonly live: () => number
  /** The live driver objects of all devices, by kind. */
  readonly left: () => Readonly<Record<string, number>>
}

export interface SeveralOptions<R = never> extends BufferPools.Options<R> {
  readonly host?: Host.HostOptions | undefined
  /** Runs before a device opens. */
  readonly before?: Effect.Effect<unknown, GpuError> | undefined
  /** Runs when a device is open, before it is used. */
  readonly after?: Effect.Effect<unknown, GpuError> | undefined
  /** The faults of device 0. */
  readonly faults?: Host.Faults | undefined
}

export const several = (
  { after = Effect.void, before = Effect.void, faults = Host.makeFaults(), host, ...options }: SeveralOptions = {}
): Several => {
  const all = new Map([["0", faults]])
  const faultsOf = (device: string) => {
    const known = all.get(device) ?? Host.makeFaults()
    all.set(device, known)
    return known
  }
  const opened: Array<readonly [device: string, objects: DriverObjects]> = []
  let alive = 0
  const open = (device: string) =>
    Layer.unwrap(Effect.as(
      before,
      Layer.mergeAll(
        Host.layer({ ...host, faults: faultsOf(device) }).pipe(
          Layer.tap((context) =>
            Effect.sync(() => {
              opened.push([device, Context.get(context, DeviceContext).driverObjects])
            })
          )
        ),
        Layer.effectDiscard(Effect.acquireRelease(
          Effect.sync(() => {
            alive += 1
          }),
          () =>
            Effect.sync(() => {
              alive -= 1
            })
        ))
      )
    )).pipe(Layer.tap(() => after))
  return {
    layer: BufferPools.layer(open, options),
    faults,
    faultsOf,
    get openings() {
      return opened.map(([device]) => device)
    },
    alive: () => alive,
    live: () => opened.reduce((sum, [, { live }]) => sum + live, 0),
    left: () => Object.fromEntries(opened.map(([device, { live }], index) => [`${device}, opening ${index}`, live]))
  }
}
