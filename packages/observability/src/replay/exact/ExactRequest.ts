/**
 * A request of an exact replay: the recording has each of its inputs to the machine.
 *
 * @internal
 */
import { type Expected, inHandler, ownerClosed } from "../../recording/Inputs.ts"
import { type MachineRequest, ReplayedRequest } from "../MachineRequest.ts"

export class ExactRequest extends ReplayedRequest {
  request: MachineRequest<ExactRequest> | undefined = undefined
  expected: Expected = "Asked"

  /** Sets the state that the `how` of its last row has. */
  hear(how: number): void {
    this.inHandler = (how & inHandler) !== 0
    this.closed = (how & ownerClosed) !== 0
  }
}
