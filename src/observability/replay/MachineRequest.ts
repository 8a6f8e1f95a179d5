/**
 * A request of a replay, as the machine knows it.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import { type Answer, type Asked, Request } from "../../domain/pool/machine/Request.ts"
import type { OfRequest } from "../../domain/pool/PoolEvent.ts"
import type { ReplayedLease, ReplayedSource } from "./ReplayedSource.ts"

/** What a memory has to know of a request of the recording. */
export interface Told {
  /** As its first row tells it. */
  readonly asked: OfRequest
  /** Whether a handler makes it. */
  readonly inHandler: boolean
}

/** Whose job it is is not recorded. */
export class MachineRequest<T extends Told = Told> extends Request {
  declare readonly source: ReplayedSource
  declare granted: ReplayedLease | undefined
  readonly replayed: T

  constructor(replayed: T, asked: Asked & { readonly source: ReplayedSource }) {
    super(asked)
    this.replayed = replayed
    const numbered = asked.asks ?? this
    numbered.number = replayed.asked.request
  }

  override get inHandler(): boolean {
    return this.replayed.inHandler
  }

  /** It sees for itself how it goes on. */
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
