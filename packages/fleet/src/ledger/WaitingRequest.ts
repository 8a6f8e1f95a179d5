/**
 * A reservation that waits for its place.
 *
 * @internal
 */
import type { Place } from "../protocol/BrokerRpcs.ts"
import { textOf } from "./Where.ts"

/** A place in the order: first come, first served. No two requests have the same. */
export interface Order {
  readonly since: number
  readonly arrival: number
}

export const isBefore = (a: Order, b: Order): boolean => a.since === b.since ? a.arrival < b.arrival : a.since < b.since

export class WaitingRequest implements Order {
  readonly id: string
  readonly bytes: number
  readonly where: Place["where"]
  /** Equal for requests that name the same devices. */
  readonly named: string
  readonly label: string | undefined
  readonly onExhausted: Place["onExhausted"]
  readonly since: number
  readonly arrival: number
  /** When the ledger got it, and when its wait is over, in milliseconds. */
  readonly began: number
  readonly deadline: number

  constructor(place: Place, arrival: number, now: number) {
    this.id = place.id
    this.bytes = place.bytes
    this.where = place.where
    this.named = textOf(place.where)
    this.label = place.label
    this.onExhausted = place.onExhausted
    // The clock of a client may be fast: it does not come behind those that ask after it.
    this.since = Math.min(place.since, now)
    this.arrival = arrival
    this.began = now
    this.deadline = now + place.waitAtMost
  }
}
