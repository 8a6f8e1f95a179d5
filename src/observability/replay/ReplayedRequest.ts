/**
 * A request of a recording while it is replayed.
 *
 * @internal
 */
import type { PoolOutput } from "../../domain/pool/machine/PoolMachine.ts"
import type { Request, RequestOwner } from "../../domain/pool/machine/Request.ts"
import type { Reservation } from "../../domain/pool/machine/Reservation.ts"
import type { OfRequest } from "../../domain/pool/PoolEvent.ts"
import type { MachineRequest, Told } from "./MachineRequest.ts"
import type { Reclaiming, ReplayedMemory } from "./ReplayedMemory.ts"
import type { ReplayedLease } from "./ReplayedSource.ts"
import type { Outcome } from "./Trace.ts"
import type { Timer } from "./VirtualTime.ts"

export class ReplayedRequest implements RequestOwner, Told {
  /** As its first event tells it. */
  readonly asked: OfRequest
  readonly outcome: Outcome
  readonly memory: ReplayedMemory<ReplayedRequest>
  /** It asks for a reservation that it has not got yet. */
  isWaiting: boolean
  /** Known if it does not hit at once. */
  request: MachineRequest<ReplayedRequest> | undefined = undefined
  lease: ReplayedLease | undefined = undefined
  /** When its lease or its reservation has begun here. */
  begunAt: number | undefined = undefined
  /** The effect of its reservation runs. */
  isRunning = false
  /** The reservation that it asked for, while its effect runs. */
  reserved: Reservation | undefined = undefined
  /** The exclusive section in which its effect runs: its own, or the one around it. */
  section: Reservation | undefined = undefined
  /** Requests under the reservation that it waits for. */
  behind: Array<ReplayedRequest> | undefined = undefined
  /** Its events so far: those of the recording that have come, and those that the replay has told. */
  heard = 0
  told = 0
  /** What it goes on with: it stands until then. */
  goesOnWith: (() => PoolOutput | undefined) | undefined = undefined
  /** While it waits until the driver has memory back. */
  reclaiming: Reclaiming<ReplayedRequest> | undefined = undefined
  /** How often it has called the driver. */
  calls = 0
  /** The driver's answer, while it works on a call. */
  answer: ((why: string | undefined, block: number | undefined) => void) | undefined = undefined
  /** The handlers' answer, while they are asked for it. */
  answerHandlers: ((answer: boolean | "failed") => void) | undefined = undefined
  /** It waits for no longer than it may. Under another policy than the recorded one there is a timer for it. */
  isTimed = false
  timer: Timer | undefined = undefined
  /** The recording has told its end already: how many milliseconds after its beginning. */
  endsAfter: number | undefined = undefined
  isOver = false
  /** The scope that will own its lease has closed, and the request for that stands in a queue. */
  closed = false
  #awaiting: Request | undefined = undefined

  constructor(asked: OfRequest, outcome: Outcome, memory: ReplayedMemory<ReplayedRequest>) {
    this.asked = asked
    this.outcome = outcome
    this.memory = memory
    this.isWaiting = outcome.isReservation
  }

  /** Whether the recording tells of nothing more that it does: it goes on when it can. */
  get isDone(): boolean {
    return this.told >= this.outcome.events
  }

  /** The lease that it has now, whether or not it has heard of it. */
  get live(): ReplayedLease | undefined {
    const lease = this.lease ?? this.request?.granted
    return lease?.block === undefined ? undefined : lease
  }

  /** Which requests have memory is not recorded of scopes. */
  readonly hasLeases = false

  addAwaiting(request: Request): void {
    this.#awaiting = request
  }

  removeAwaiting(): void {
    this.#awaiting = undefined
  }

  /** The scope closes. */
  close(): void {
    this.closed = true
    const queue = this.#awaiting?.queue
    queue?.endRequest(this.#awaiting!)
    if (this.live !== undefined) this.memory.endLease(this.live, "scopeClosed")
    queue?.serve()
  }
}
