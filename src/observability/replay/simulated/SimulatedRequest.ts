/**
 * A request of a recording while it is replayed.
 *
 * @internal
 */
import type { Reservation } from "../../../domain/pool/machine/Reservation.ts"
import type { OfRequest } from "../../../domain/pool/PoolEvent.ts"
import { type MachineRequest, ReplayedRequest } from "../MachineRequest.ts"
import type { ReplayedLease } from "../ReplayedSource.ts"
import type { SimulatedMemory } from "./SimulatedMemory.ts"
import type { Outcome } from "./Trace.ts"
import type { Timer } from "./VirtualTime.ts"

/** No scope of a simulation closes, and it does not know which handlers make requests. */
export class SimulatedRequest extends ReplayedRequest {
  readonly outcome: Outcome
  readonly memory: SimulatedMemory<SimulatedRequest>
  /** It asks for a reservation that it has not got yet. */
  isWaiting: boolean
  /** Known if it does not hit at once. */
  request: MachineRequest<SimulatedRequest> | undefined = undefined
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
  behind: Array<SimulatedRequest> | undefined = undefined
  /** How often it has called the driver. */
  calls = 0
  /** The handlers' answer, while they are asked for it. */
  answerHandlers: ((freed: boolean) => void) | undefined = undefined
  /** Ends its waiting when its time is over. */
  timer: Timer | undefined = undefined
  /** The recording has told its end already: how many milliseconds after its beginning. */
  endsAfter: number | undefined = undefined
  isOver = false

  constructor(asked: OfRequest, outcome: Outcome, memory: SimulatedMemory<SimulatedRequest>) {
    super(asked)
    this.outcome = outcome
    this.memory = memory
    this.isWaiting = outcome.isReservation
  }

  /** The lease that it has now, whether or not it has heard of it. */
  get live(): ReplayedLease | undefined {
    const lease = this.lease ?? this.request?.granted
    return lease?.block === undefined ? undefined : lease
  }
}
