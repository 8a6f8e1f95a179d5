/**
 * A request of a recording that is replayed exactly: what the machine is given of it next, and by whom, the recording says.
 *
 * @internal
 */
import { type Expected, inHandler, ownerClosed } from "../../recording/Inputs.ts"
import { type MachineRequest, ReplayedRequest } from "../MachineRequest.ts"

export class ExactRequest extends ReplayedRequest {
  request: MachineRequest<ExactRequest> | undefined = undefined
  expected: Expected = "Asked"

  /** What its last row tells besides. */
  hear(how: number): void {
    this.inHandler = (how & inHandler) !== 0
    this.closed = (how & ownerClosed) !== 0
  }
}
