/**
 * The reservations and the exclusive section within which an effect runs, and what of a call of an allocator is counted already.
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
 * In the context of an effect that runs within reservations, the innermost first. Where a pool was asked for one, the
 * effect is given that pool as one that draws from it; the other pools on the memory find it here.
 */
export const CurrentReservations = Context.Reference<Reservations | undefined>("effect-gpu-pool/CurrentReservations", {
  defaultValue: () => undefined
})

/** In the context of an effect that runs in an exclusive section: sections inside it do not wait, and its requests go first. */
export const CurrentSection = Context.Reference<Reservation | undefined>("effect-gpu-pool/CurrentSection", {
  defaultValue: () => undefined
})

/** In the context of a pool's call of its allocator: the bytes that the limits of that count already, as pending in the pool. */
export const CurrentCounted = Context.Reference<Counted | undefined>("effect-gpu-pool/CurrentCounted", {
  defaultValue: () => undefined
})
