/**
 * Which requests may have memory after jobs have waited for each other. A recording does not say whose job a request is, but what each
 * request did: so under the recorded policy the limit of jobs lets those have memory that had it then.
 *
 * @internal
 */
import type { AdmittedJobs } from "../../domain/pool/machine/HoldingJobs.ts"
import type { MemoryAccount } from "../../domain/pool/machine/MemoryAccount.ts"
import type { EventRow } from "../recording/EventRow.ts"
import { columns, kinds, placeOf } from "../recording/EventShape.ts"
import type { MachineRequest } from "./MachineRequest.ts"

const waiting = placeOf("Waiting")!

export class RecordedJobs implements AdmittedJobs {
  readonly countsReservations = true
  readonly count = 1
  readonly limit = { isWide: false, most: Infinity, mostLeft: () => Infinity, silent: () => false }
  /** What the replay is to tell next. */
  readonly #next: () => EventRow | undefined
  readonly #memory: Pick<MemoryAccount, "mayFit">

  constructor(next: () => EventRow | undefined, memory: Pick<MemoryAccount, "mayFit">) {
    this.#next = next
    this.#memory = memory
  }

  has(): boolean {
    return false
  }

  lookAgain(): void {
    // Each request is looked up in the recording.
  }

  /**
   * One in a queue that may have memory leaves it in this step, and tells so. One that has just been made and waits has had to wait for
   * jobs if there was room for it.
   */
  admit(request: MachineRequest): boolean {
    const { exactSize, inQueue, replayed: { asked } } = request
    const next = this.#next()
    if (next === undefined) return true
    const isNext = kinds[next.kind]!.isOfRequest && next.values[columns.request] === asked.request
    if (!isNext) return !inQueue
    return next.kind !== waiting || (!inQueue && !this.#memory.mayFit(request, exactSize))
  }
}
