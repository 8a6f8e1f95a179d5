/**
 * Which events say that a request fails for want of memory.
 *
 * @internal
 */
import type { GaveUp, PoolEvent, RanOut } from "effect-gpu-pool/PoolEvent"

/** A request that is larger than a limit. */
export interface TooLarge extends GaveUp {
  readonly why: "limitExceeded"
}

export const isTooLarge = (event: PoolEvent): event is TooLarge =>
  event._tag === "GaveUp" && event.why === "limitExceeded"

/** It ran out of memory, or is larger than a limit. */
export const isFailure = (event: PoolEvent): event is RanOut | TooLarge => event._tag === "RanOut" || isTooLarge(event)
