/**
 * The exclusive sections, for effects that do not know how much memory they will need. One runs at a time, so that no two of them have
 * memory and wait for each other. A section is a reservation of no bytes.
 *
 * @since 0.1.0
 */
import type { GpuError, WaitingJob } from "../../GpuError.ts"
import type { PoolState } from "./PoolState.ts"
import type { Account, Request, Served } from "./Request.ts"
import type { Reservation } from "./Reservation.ts"
import { WaitQueue } from "./WaitQueue.ts"

/**
 * The account number of the exclusive sections, in every memory.
 *
 * @category functions
 * @since 0.1.0
 */
export const ofSections = -1

/**
 * The machine of a memory, as far as its sections need it.
 *
 * @category models
 * @since 0.1.0
 */
export interface SectionedMemory {
  readonly state: PoolState
  readonly memory: Account
}

/**
 * The section that runs, and those that wait for it to end.
 *
 * @category models
 * @since 0.1.0
 */
export class ExclusiveSections implements Account {
  readonly number = ofSections
  readonly queue: WaitQueue
  hasHandlers = false
  readonly #memory: Account
  #running: Reservation | undefined = undefined

  /** Takes the account of the memory: what comes back to that may be what the running section waits for. */
  constructor(state: PoolState, memory: Account) {
    this.queue = new WaitQueue(this, state, 0)
    this.#memory = memory
  }

  get isFree(): boolean {
    return this.#running?.isOpen !== true
  }

  isRunning(section: Reservation): boolean {
    return section === this.#running
  }

  hasAdmitted({ asks }: Request): boolean {
    return asks!.isOpen
  }

  tryAdmit({ asks }: Request): boolean {
    if (!this.isFree) return false
    this.#running = asks
    asks!.open(0, 0)
    return true
  }

  missing(): number {
    return 0
  }

  mayWait(): boolean {
    return true
  }

  mayServe(): boolean {
    return this.isFree
  }

  serve(request: Request): Served | undefined {
    return this.tryAdmit(request) ? "admitted" : undefined
  }

  hasServed(request: Request): boolean {
    return this.hasAdmitted(request)
  }

  countedBytes(): number {
    return this.isFree ? 0 : 1
  }

  returned(): number {
    return this.#memory.returned()
  }

  room(): number {
    return 0
  }

  served(): number {
    return 0
  }

  outOfMemory(request: Request, waitedMillis?: number, deadlock?: ReadonlyArray<WaitingJob>): GpuError {
    return this.#memory.outOfMemory(request, waitedMillis, deadlock)
  }
}

/**
 * The exclusive sections of a memory. They are made when they are first asked for, so a program that has none has not their code either.
 *
 * @category functions
 * @since 0.1.0
 */
export const sectionsOf = ({ memory, state }: SectionedMemory): NonNullable<PoolState["sections"]> =>
  state.sections ??= new ExclusiveSections(state, memory)
