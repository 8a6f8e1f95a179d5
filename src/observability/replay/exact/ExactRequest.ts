/**
 * A request of a recording that is replayed exactly: what the machine is given of it next, and by whom, the recording says.
 *
 * @internal
 */
import type { RequestOwner } from "../../../domain/pool/machine/Request.ts"
import type { OfRequest } from "../../../domain/pool/PoolEvent.ts"
import { type Expected, inHandler, ownerClosed } from "../../recording/Inputs.ts"
import type { MachineRequest, Told } from "../MachineRequest.ts"

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

  /** What its last row tells besides. */
  hear(how: number): void {
    this.inHandler = (how & inHandler) !== 0
    this.closed = (how & ownerClosed) !== 0
  }

  addAwaiting(): void {
    // The recording says when its scope closes.
  }

  removeAwaiting(): void {
    // As above.
  }
}
