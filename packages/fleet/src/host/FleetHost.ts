/**
 * A host of a fleet: the devices that it offers, the reservations on them, and what it answers its clients.
 *
 * @internal
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { BufferPools } from "effect-gpu-pool/BufferPools"
import * as DeviceContext from "effect-gpu-pool/DeviceContext"
import { invalidRequest } from "effect-gpu-pool/GpuError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { OfferedDevice } from "../protocol/FleetModel.ts"
import type { Timing } from "../protocol/Timing.ts"
import * as HostHandlers from "./HostHandlers.ts"
import { HostLeases } from "./HostLeases.ts"
import type { DeviceOptions, HostOptions } from "./HostOptions.ts"
import { HostState } from "./HostState.ts"

const usualInputBytes = 2 ** 28

/** Opens a device to see what it offers. */
const offered = Effect.fnUntraced(function*(
  operation: string,
  name: string,
  { labels = {}, maxBytes }: DeviceOptions
) {
  const pools = yield* BufferPools
  const facts = Effect.all({ info: DeviceContext.info, limit: BufferPool.maxBytes })
  const { info, limit } = yield* pools.on(name, facts)
  const capacity = Math.min(maxBytes ?? Infinity, limit, info.limits.memoryBytes ?? Infinity)
  if (!Number.isSafeInteger(capacity) || capacity <= 0) {
    return yield* invalidRequest(
      operation,
      `the device "${name}" offers ${capacity} bytes`,
      "Give maxBytes, a whole number above 0, to the device or to its pool in BufferPools."
    )
  }
  const numbers = Object.entries(info.limits).filter((entry): entry is [string, number] => typeof entry[1] === "number")
  return {
    name,
    backend: info.backend,
    description: info.name,
    capacity,
    labels,
    facts: Object.fromEntries(numbers)
  } satisfies OfferedDevice
})

/** A host that is in no fleet yet. Errors say that `operation` was called. */
export const make = Effect.fnUntraced(function*<R>(
  options: HostOptions<R>,
  timing: Timing,
  operation: string = "Fleet.layerHost"
) {
  const { devices, host, jobs = [], maxInputBytes = usualInputBytes } = options
  const clock = yield* Clock.Clock
  const offers = yield* Effect.forEach(Object.entries(devices), ([name, device]) => offered(operation, name, device))
  const state = new HostState(host, offers, timing, () => clock.currentTimeMillisUnsafe())
  const leases = new HostLeases(state, maxInputBytes)
  return { state, leases, handlers: yield* HostHandlers.make(state, leases, jobs) }
})
