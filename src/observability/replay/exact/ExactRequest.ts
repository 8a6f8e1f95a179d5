/**
 * A request of a recording that is replayed exactly: what the machine is given of it next, and by whom, the recording says.
 *
 * @internal
 */
import type { PoolOutput } from "../../../domain/pool/machine/PoolMachine.ts"
import type { RequestOwner } from "../../../domain/pool/machine/Request.ts"
import type { OfRequest } from "../../../domain/pool/PoolEvent.ts"
import type { MachineRequest, Told } from "../MachineRequest.ts"

/** What the machine said last to a request, or what has happened to that since. */
export type Expected = PoolOutput | "Asked" | "Answered" | "HandlersEnded"

/** It is its own owner: which requests have one scope is of no interest, but whether that has closed. */
export class ExactRequest implements RequestOwner, Told {
  readonly asked: OfRequest
  closed = false
  inHandler = false
  readonly hasLeases = false
  request: MachineRequest<ExactRequest> | undefined = undefined
  expected: Expected = "Asked"

  constructor(asked: OfRequest) {
    this.asked = asked
  }

  addAwaiting(): void {
    // The recording says when its scope closes.
  }

  removeAwaiting(): void {
    // As above.
  }
}
