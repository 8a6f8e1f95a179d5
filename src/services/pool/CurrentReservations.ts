/**
 * The context of an effect that runs within reservations, an exclusive section, or an allocator call of a pool, or that must not wait.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { Reservation } from "../../domain/pool/machine/Reservation.ts"
import type { Counted } from "../../domain/pool/machine/SharedLimit.ts"

/** A reservation, and those around it. */
export interface Reservations {
  readonly inner: Reservation
  readonly outer: Reservations | undefined
}

/**
 * In the context of an effect that runs within reservations, the innermost first. The pool that made a reservation is
 * provided to the effect as one that draws from it; the other pools on the memory find the reservation here.
 */
export const CurrentReservations = Context.Reference<Reservations | undefined>("effect-gpu-pool/CurrentReservations", {
  defaultValue: () => undefined
})

/** In the context of an effect that runs in an exclusive section: sections inside it do not wait, and its requests go first. */
export const CurrentSection = Context.Reference<Reservation | undefined>("effect-gpu-pool/CurrentSection", {
  defaultValue: () => undefined
})

/** In the context of a pool's allocator call: the bytes that the allocator's limits count already, since they are pending in the pool. */
export const CurrentCounted = Context.Reference<Counted | undefined>("effect-gpu-pool/CurrentCounted", {
  defaultValue: () => undefined
})

/**
 * In the context of an effect whose allocations answer in the step that asks, as those of a deferred allocator, and wait for nothing
 * that the driver does.
 */
export const CurrentDeferred = Context.Reference<boolean>("effect-gpu-pool/CurrentDeferred", {
  defaultValue: () => false
})
