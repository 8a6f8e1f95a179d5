/**
 * The idle clock: while blocks are held that may be freed, it gives the machine the steps that have passed.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { GpuError } from "../../domain/GpuError.ts"
import { type IdleMemory, IdleSchedule } from "../../domain/pool/machine/IdleSchedule.ts"
import type { MemorySettings } from "../../domain/pool/PoolOptions.ts"
import type { Warn } from "../calls/Warnings.ts"

/** The memory whose idle blocks are freed. */
interface Clocked extends IdleMemory {
  readonly settings: Pick<MemorySettings, "idle">
  readonly reclaim: Effect.Effect<void, GpuError>
  readonly warn: Warn
}

export class IdleClock {
  readonly #memory: Clocked
  readonly #run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly #schedule: IdleSchedule
  /** Runs only while there is something to trim. */
  #timer: Fiber.Fiber<void> | undefined = undefined

  constructor(
    memory: Clocked,
    run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  ) {
    this.#memory = memory
    this.#run = run
    this.#schedule = new IdleSchedule(memory, memory.settings.idle)
  }

  start(): void {
    if (this.#timer !== undefined || !this.#schedule.hasIdle) return
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

  readonly #step: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    this.#schedule.wake(now)
      ? Effect.catch(
        this.#memory.reclaim,
        (error) => this.#memory.warn(`Idle memory was freed, and may not be back yet: ${error.message}`)
      )
      : Effect.void)

  readonly #steps: Effect.Effect<void> = Effect.whileLoop({
    while: () => {
      const { goesOn } = this.#schedule
      // In the same step: otherwise a release before the fiber has ended would start no timer.
      if (!goesOn) this.#timer = undefined
      return goesOn
    },
    body: () => Effect.andThen(Effect.sleep(this.#schedule.wait), this.#step),
    step: () => {}
  })

  // Yields first, so that all blocks that come back in the same task, as those of one scope do, are idle from the same time on.
  readonly #decay: Effect.Effect<void> = Effect.andThen(
    Effect.yieldNow,
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      this.#schedule.begin(now)
      return this.#steps
    })
  )
}
