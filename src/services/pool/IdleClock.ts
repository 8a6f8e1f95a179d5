/**
 * The clock of idle blocks: it tells the machine how many steps have passed, while anything is held that may be freed.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { GpuError } from "../../domain/GpuError.ts"
import type { PoolMachine } from "../../domain/pool/machine/PoolMachine.ts"
import type { MemorySettings } from "./PoolOptions.ts"

/** The memory whose idle blocks are freed. */
interface IdleMemory {
  readonly machine: Pick<PoolMachine, "closed" | "idleStep" | "startIdleClock"> & {
    readonly core: { readonly heldBytes: number }
    readonly state: { readonly epoch: number }
  }
  readonly settings: Pick<MemorySettings, "idle" | "stepMillis">
  readonly reclaim: Effect.Effect<void, GpuError>
}

export class IdleClock {
  readonly #pool: IdleMemory
  readonly #run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Runs only while there is something to trim. */
  #timer: Fiber.Fiber<void> | undefined = undefined
  /** What the pool had got back at the last step, and the steps since in which nothing came back and nothing went. */
  #seen = 0
  #stillSteps = 0

  constructor(pool: IdleMemory, run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.#pool = pool
    this.#run = run
  }

  start(): void {
    if (this.#timer !== undefined || !this.#hasIdle) return
    this.#stillSteps = 0
    const timer = this.#run(this.#decay)
    this.#timer = timer
    timer.addObserver(() => {
      if (this.#timer === timer) this.#timer = undefined
    })
  }

  stop(): void {
    this.#timer?.interruptUnsafe()
    this.#timer = undefined
  }

  get #hasIdle(): boolean {
    const { machine, settings: { idle } } = this.#pool
    return idle !== undefined && machine.core.heldBytes > idle.keepBytes && !machine.closed
  }

  #step(steps: number): Effect.Effect<void> {
    const { machine, machine: { state } } = this.#pool
    const hasFreed = machine.idleStep(steps)
    const { epoch } = state
    this.#stillSteps = epoch === this.#seen ? this.#stillSteps + steps : 0
    this.#seen = epoch
    if (!hasFreed) return Effect.void
    return Effect.catch(
      this.#pool.reclaim,
      (error) => Effect.logWarning(`Idle memory was freed, and may not be back yet: ${error.message}`)
    )
  }

  /** By the clock: a timer may be late, and is so whenever the steps are shorter than it can wait for. */
  #steps(start: number): Effect.Effect<void> {
    const { idle, stepMillis } = this.#pool.settings
    let now = start
    let ended = 0
    const step = Effect.flatMap(Clock.currentTimeMillis, (woken) => {
      now = woken
      const steps = Math.max(1, Math.floor((now - start) / stepMillis) - ended)
      ended += steps
      return this.#step(steps)
    })
    return Effect.whileLoop({
      while: () => {
        // After a whole time to live no more blocks are freed: the rest is above the floor by less than its oldest
        // block.
        const goesOn = this.#hasIdle && this.#stillSteps <= idle!.steps
        // In the same step, or a release that comes before the fiber has ended would start no other.
        if (!goesOn) this.#timer = undefined
        return goesOn
      },
      // Where the clock is set back, a step is as long as ever.
      body: () =>
        Effect.andThen(Effect.sleep(Math.min(Math.max(start + (ended + 1) * stepMillis - now, 0), stepMillis)), step),
      step: () => {}
    })
  }

  readonly #decay: Effect.Effect<void> = Effect.suspend(() => {
    // What comes back in the same task, as all leases of a scope do, has been idle for as long from here on.
    return Effect.andThen(
      Effect.yieldNow,
      Effect.flatMap(Clock.currentTimeMillis, (start) => {
        this.#pool.machine.startIdleClock()
        return this.#steps(start)
      })
    )
  })
}
