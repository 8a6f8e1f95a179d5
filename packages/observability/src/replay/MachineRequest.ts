/**
 * A request of a replay: in the recording, and in the machine.
 *
 * @internal
 */
import type { OfRequest } from "effect-gpu-pool/PoolEvent"
import { type Answer, type Asked, Request, type RequestOwner } from "effect-gpu-pool/Request"
import * as Exit from "effect/Exit"
import type { ReplayedLease, ReplayedSource } from "./ReplayedSource.ts"

/** A request of the recording. It is its own owner: a replay needs no scopes, only whether the request's scope has closed. */
export class ReplayedRequest implements RequestOwner {
  /** Its facts in its first row. */
  readonly asked: OfRequest
  /** Whether a handler makes it. */
  inHandler = false
  closed = false
  readonly hasLeases = false

  constructor(asked: OfRequest) {
    this.asked = asked
  }

  addAwaiting(): void {
    // The recording says when its scope closes.
  }

  removeAwaiting(): void {
    // As above.
  }

  /** Is called when it gets its lease. */
  granted(): void {
    // The recording says when the lease ends.
  }
}

/** The machine's request. It belongs to no job, since jobs are not recorded. */
export class MachineRequest extends Request {
  declare readonly source: ReplayedSource
  declare granted: ReplayedLease | undefined
  readonly replayed: ReplayedRequest

  constructor(replayed: ReplayedRequest, asked: Asked & { readonly source: ReplayedSource }) {
    super(asked)
    this.replayed = replayed
    const numbered = asked.asks ?? this
    numbered.number = replayed.asked.request
  }

  override get inHandler(): boolean {
    return this.replayed.inHandler
  }

  /** Unused: the replay itself acts on the machine's outputs. */
  override get answer(): Answer {
    return Exit.void
  }

  override get hasEnded(): boolean {
    return this.granted === undefined ? this.isOver || this.state === "failed" : this.granted.block === undefined
  }

  override get jobKeys(): ReadonlyArray<never> {
    return []
  }

  override get memoryKeys(): ReadonlyArray<never> {
    return []
  }
}
