/**
 * Keeps held memory small: within `maxHeldBytes` at once, and down to a floor by the clock while no request takes it.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Block } from "../lease/Lease.ts"
import type { Blocks } from "./Blocks.ts"
import type { MemorySettings } from "./PoolOptions.ts"

export class Trimming {
  readonly #blocks: Blocks
  readonly #settings: Pick<MemorySettings, "idle" | "stepMillis">
  /** Requests may wait for the memory that was freed. */
  readonly #serve: () => void
  readonly #run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Runs only while there is something to trim. */
  #timer: Fiber.Fiber<void> | undefined = undefined
  /** What the pool had got back at the last step, and the steps since in which nothing came back and nothing went. */
  #seen = 0
  #stillSteps = 0

  constructor(
    blocks: Blocks,
    settings: Pick<MemorySettings, "idle" | "stepMillis">,
    serve: () => void,
    run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  ) {
    this.#blocks = blocks
    this.#settings = settings
    this.#serve = serve
    this.#run = run
  }

  /** After a block became held: frees the longest held ones above the limit. */
  trimExcess(): Effect.Effect<void> | undefined {
    this.#startTimer()
    return this.#blocks.core.excessHeld ? this.#blocks.freeAll(this.#excess(), "heldLimit") : undefined
  }

  stop(): void {
    this.#timer?.interruptUnsafe()
    this.#timer = undefined
  }

  get #hasIdle(): boolean {
    const { idle } = this.#settings
    const { closed, core } = this.#blocks
    return idle !== undefined && core.heldBytes > idle.keepBytes && !closed
  }

  *#excess(): Generator<Block> {
    const { core } = this.#blocks
    while (core.excessHeld) {
      const oldest = core.evictOldest()
      if (oldest === undefined) return
      yield oldest
    }
  }

  *#idle(): Generator<Block> {
    const { core } = this.#blocks
    for (let block = core.evictIdle(); block !== undefined; block = core.evictIdle()) yield block
  }

  #startTimer(): void {
    if (this.#timer !== undefined || !this.#hasIdle) return
    this.#stillSteps = 0
    const timer = this.#run(this.#decay)
    this.#timer = timer
    timer.addObserver(() => {
      if (this.#timer === timer) this.#timer = undefined
    })
  }

  #step(ticks: number): Effect.Effect<void> {
    const { core, events } = this.#blocks
    core.tick(ticks)
    events?.idleStep(ticks)
    const freed = core.driverFrees
    const failures = this.#blocks.freeAll(this.#idle(), "idle")
    const { progress } = this.#blocks
    this.#stillSteps = progress === this.#seen ? this.#stillSteps + ticks : 0
    this.#seen = progress
    if (core.driverFrees === freed) return failures
    this.#serve()
    const reclaimed = Effect.catch(
      this.#blocks.reclaim,
      (error) => Effect.logWarning(`Idle memory was freed, and may not be back yet: ${error.message}`)
    )
    return Effect.andThen(failures, reclaimed)
  }

  /** By the clock: a timer may be late, and is so whenever the steps are shorter than it can wait for. */
  #steps(start: number): Effect.Effect<void> {
    const { idle, stepMillis } = this.#settings
    let now = start
    let ended = 0
    const step = Effect.flatMap(Clock.currentTimeMillis, (woken) => {
      now = woken
      const ticks = Math.max(1, Math.floor((now - start) / stepMillis) - ended)
      ended += ticks
      return this.#step(ticks)
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
    // What comes back in the same turn, as all leases of a scope do, has been idle for as long from here on.
    return Effect.andThen(
      Effect.yieldNow,
      Effect.flatMap(Clock.currentTimeMillis, (start) => {
        this.#blocks.core.tick()
        this.#blocks.events?.idleStep(1)
        return this.#steps(start)
      })
    )
  })
}
