/**
 * When the steps of the idle clock are due, and when the clock stops.
 *
 * @since 0.1.0
 */
import { idleDecay, type IdleDecayOptions, type IdleRule } from "../IdleDecay.ts"
import type { PoolInputs } from "./PoolInputs.ts"

/**
 * How idle blocks are freed as time passes.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdleClockOptions extends IdleRule {
  /** The time of one step. */
  readonly stepMillis: number
}

/**
 * The options of a clock whose steps take so many milliseconds.
 *
 * @category constructors
 * @since 0.1.0
 */
export const idleClockOf = (options: IdleDecayOptions & { readonly stepMillis: number }): IdleClockOptions => ({
  ...idleDecay(options),
  stepMillis: options.stepMillis
})

/**
 * The memory whose idle blocks are freed.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdleMemory {
  readonly machine: { readonly core: { readonly evictableBytes: number }; readonly state: { readonly epoch: number } }
  readonly inputs: Pick<PoolInputs, "idleStep" | "startIdleClock">
}

/**
 * The clock of a memory that gives idle blocks back, step by step.
 *
 * @category models
 * @since 0.1.0
 */
export class IdleSchedule {
  readonly #memory: IdleMemory
  readonly #idle: IdleClockOptions | undefined
  readonly #stepMillis: number
  /** When the clock started, and how many steps have ended since. */
  #start = 0
  #ended = 0
  /** Milliseconds until the next step. */
  wait = 0
  /** The epoch at the last step, and how many steps have passed without a new epoch. */
  #seen = 0
  #stillSteps = 0

  constructor(memory: IdleMemory, idle: IdleClockOptions | undefined) {
    this.#memory = memory
    this.#idle = idle
    this.#stepMillis = idle?.stepMillis ?? Infinity
  }

  /** Whether blocks are held that may be freed. A closed memory holds none. */
  get hasIdle(): boolean {
    return this.#idle !== undefined && this.#memory.machine.core.evictableBytes > this.#idle.keepBytes
  }

  begin(now: number): void {
    this.#stillSteps = 0
    this.#memory.inputs.startIdleClock()
    this.#start = now
    this.#ended = 0
    this.wait = this.#stepMillis
  }

  /**
   * Whether the clock keeps running. After a whole time to live without a new epoch the machine frees no more blocks: the held bytes
   * exceed `keepBytes` by less than the oldest block.
   */
  get goesOn(): boolean {
    return this.hasIdle && this.#stillSteps <= this.#idle!.steps
  }

  /**
   * The timer has fired, at `now`. It may be late, above all when a step is shorter than a timer can wait, so several steps may have
   * ended. Returns whether the machine freed blocks.
   */
  wake(now: number): boolean {
    const stepMillis = this.#stepMillis
    const steps = Math.max(1, Math.floor((now - this.#start) / stepMillis) - this.#ended)
    this.#ended += steps
    // If the system's clock was set back, never wait longer than one step.
    this.wait = Math.min(Math.max(this.#start + (this.#ended + 1) * stepMillis - now, 0), stepMillis)
    return this.step(steps)
  }

  /** Tells the machine that so many steps have ended. Returns whether it freed blocks. */
  step(steps: number): boolean {
    const hasFreed = this.#memory.inputs.idleStep(steps)
    const { epoch } = this.#memory.machine.state
    this.#stillSteps = epoch === this.#seen ? this.#stillSteps + steps : 0
    this.#seen = epoch
    return hasFreed
  }
}
