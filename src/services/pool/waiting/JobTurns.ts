/**
 * The turns of jobs that do not know how much memory they will need: one of them runs at a time, so that no two of them
 * have memory and wait for each other.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { Gate } from "./Admission.ts"
import { LastResort } from "./LastResort.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"
import type { SetAside } from "./SetAside.ts"
import { type Answer, passed } from "./Waiter.ts"
import { type LineOwner, type Waiter, WaitLine, type WaitLines } from "./WaitLine.ts"

/** In the context of an effect that runs in a turn: turns inside it do not wait, and its requests go first. */
export const CurrentTurn = Context.Reference<SetAside | undefined>("effect-gpu-pool/CurrentTurn", {
  defaultValue: () => undefined
})

export class JobTurns implements Gate {
  readonly line: WaitLine
  readonly lastResort: LastResort
  readonly outOfMemory: LineOwner["outOfMemory"]
  readonly returned: () => number
  /** The job whose turn it is. A turn is a reservation of no bytes. */
  #running: SetAside | undefined = undefined

  constructor(lines: WaitLines, outOfMemory: LineOwner["outOfMemory"], returned: () => number) {
    this.outOfMemory = outOfMemory
    this.returned = returned
    this.line = new WaitLine(this, lines, 0)
    this.lastResort = new LastResort(this, this.line, lines)
  }

  get #isFree(): boolean {
    return this.#running?.isOpen !== true
  }

  isRunning(job: SetAside): boolean {
    return job === this.#running
  }

  hasAdmitted({ asks }: LeaseRequest): boolean {
    return asks!.isOpen
  }

  tryAdmit({ asks, waiter }: LeaseRequest): boolean {
    if (!this.#isFree) return false
    this.#running = asks
    asks!.open(0, 0)
    waiter?.line.served(waiter)
    return true
  }

  missing(): number {
    return 0
  }

  mayWait(): boolean {
    return true
  }

  mayServe(): boolean {
    return this.#isFree
  }

  serve({ request }: Waiter): Answer | undefined {
    return this.tryAdmit(request) ? passed : undefined
  }

  given(request: LeaseRequest): Answer | undefined {
    return this.hasAdmitted(request) ? passed : undefined
  }

  countedBytes(): number {
    return this.#isFree ? 0 : 1
  }

  room(): number {
    return 0
  }

  served(): number {
    return 0
  }
}
