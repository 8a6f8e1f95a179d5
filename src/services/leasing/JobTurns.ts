/**
 * The turns of jobs that cannot say how much memory they will need: one of them runs at a time, so that no two of them hold
 * memory and wait for each other.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { Gate } from "./Admission.ts"
import { LastResort, type LastResortOptions } from "./LastResort.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"
import type { SetAside } from "./SetAside.ts"
import { passed, WaitLine, type WaitLineOptions, type WaitLines } from "./WaitLine.ts"

/** @internal */
export interface JobTurnsOptions
  extends Pick<WaitLineOptions, "returned" | "standstill" | "ended">, Pick<LastResortOptions, "evidence" | "over">
{
  readonly lines: WaitLines
}

/**
 * Known to what runs in a turn, so that turns within it do not wait, and to its requests.
 *
 * @internal
 */
export const CurrentTurn = Context.Reference<SetAside | undefined>("effect-gpu-pool/CurrentTurn", {
  defaultValue: () => undefined
})

/** @internal */
export class JobTurns implements Gate {
  readonly line: WaitLine
  readonly lastResort: LastResort
  /** The job whose turn it is. A turn is a reservation of no bytes. */
  #running: SetAside | undefined = undefined

  constructor(options: JobTurnsOptions) {
    this.line = new WaitLine({
      ...options,
      maxOvertakes: 0,
      mayServe: () => this.#isFree,
      serve: ({ request }) => this.tryAdmit(request) ? passed : undefined,
      given: (request) => this.hasAdmitted(request) ? passed : undefined,
      countedBytes: () => this.#isFree ? 0 : 1
    })
    this.lastResort = new LastResort({
      ...options,
      pool: options.lines,
      line: this.line,
      room: () => 0,
      served: () => 0
    })
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
}
