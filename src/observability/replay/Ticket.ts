/**
 * A request of a recording while it is replayed.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { GpuError } from "../../domain/GpuError.ts"
import type { Reservation } from "../../domain/pool/machine/Reservation.ts"
import type { OfRequest } from "../../domain/pool/PoolEvent.ts"
import type { Lease } from "../../services/lease/Lease.ts"
import type { LeaseRequest } from "../../services/pool/LeaseRequest.ts"
import type { Fate } from "./Script.ts"
import type { SimulatedMemory } from "./simulated/SimulatedMemory.ts"
import type { Timer } from "./VirtualTime.ts"

export class Ticket {
  /** As its first event tells it. */
  readonly asked: OfRequest
  readonly fate: Fate
  readonly memory: SimulatedMemory
  /** It asks for a reservation that it has not got yet. */
  isWaiting: boolean
  fiber: Fiber.Fiber<unknown, GpuError> | undefined = undefined
  /** Known from its first event on, if it does not hit at once. */
  request: LeaseRequest | undefined = undefined
  lease: Lease | undefined = undefined
  /** When its lease or its reservation has begun here. */
  begunAt: number | undefined = undefined
  /** The reservation that it asked for, while its effect runs. */
  reserved: Reservation | undefined = undefined
  /** The turn in which its effect runs: itself, or the one around it. */
  turn: Reservation | undefined = undefined
  /** Ends the effect of its reservation. */
  endReservation: (() => void) | undefined = undefined
  /** Requests under the reservation that it waits for. */
  behind: Array<Ticket> | undefined = undefined
  /** Its events so far: those of the recording that have come, and those that the replay has told. */
  heard = 0
  told = 0
  /** Where its fibers go on that stand until it is its turn. */
  standing: Array<() => void> | undefined = undefined
  /** How often it has called the driver. */
  calls = 0
  /** The driver's answer, while it works on a call. */
  answer: ((why: string | undefined, block: number | undefined) => void) | undefined = undefined
  /** The handlers' answer, while they are asked for it. */
  answerHandlers: ((answer: Exit.Exit<boolean, GpuError>) => void) | undefined = undefined
  /** The end of its time to wait. */
  sleeps: Set<Timer> | undefined = undefined
  /** The recording has told its end already: how many milliseconds after its beginning. */
  endsAfter: number | undefined = undefined
  isOver = false

  constructor(asked: OfRequest, fate: Fate, memory: SimulatedMemory) {
    this.asked = asked
    this.fate = fate
    this.memory = memory
    this.isWaiting = fate.isReservation
  }

  /** Whether the recording tells of nothing more that it does: it goes on when it can. */
  get isDone(): boolean {
    return this.told >= this.fate.events
  }

  /** The scope that closes before it has a lease. */
  scope: Scope.Closeable | undefined = undefined

  /** The lease that it has now, whether or not its fiber has heard of it. */
  get live(): Lease | undefined {
    const lease = this.lease ?? this.request?.granted
    return lease?.list === undefined ? undefined : lease
  }
}

/** The request that a fiber makes. */
export const CurrentTicket = Context.Reference<Ticket | undefined>("effect-gpu-pool/ReplayedRequest", {
  defaultValue: () => undefined
})
