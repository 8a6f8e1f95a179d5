/**
 * Looks for deadlocks while requests wait, every `deadlockTimeout`. The code of a look is loaded when a request has first waited for that
 * long.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as LazyModule from "../calls/LazyModule.ts"
import { Marks, type Seen } from "./DeadlockMarks.ts"
import type { Watched } from "./DeadlockView.ts"

export const deadlockSearch = LazyModule.module("services/pool/DeadlockSearch", () => import("./DeadlockSearch.ts"))

export class DeadlockWatch {
  readonly #pool: Watched
  readonly #deadlockTimeoutMillis: number
  readonly #run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Runs only while requests wait. */
  #timer: Fiber.Fiber<void> | undefined = undefined
  #seen: Seen | undefined = undefined

  constructor(pool: Watched, deadlockTimeoutMillis: number, run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.#pool = pool
    this.#deadlockTimeoutMillis = deadlockTimeoutMillis
    this.#run = run
  }

  /** A request begins to wait. */
  start(): void {
    const deadlockTimeoutMillis = this.#deadlockTimeoutMillis
    if (this.#timer !== undefined || deadlockTimeoutMillis === Infinity || this.#pool.closed) return
    this.#seen = { marks: new Marks(this.#pool), fingerprint: -1, toLeaveOut: 0, leftOut: 0 }
    const timer = this.#run(Effect.whileLoop({
      while: () => {
        const goesOn = this.#pool.machine.state.queues.size > 0
        // In the same step: otherwise a request that begins to wait before the fiber has ended would start no timer.
        if (!goesOn) this.#timer = undefined
        return goesOn
      },
      body: () => Effect.andThen(Effect.sleep(deadlockTimeoutMillis), this.#look),
      step: () => {}
    }))
    this.#timer = timer
    timer.addObserver(() => {
      if (this.#timer === timer) this.#timer = undefined
    })
  }

  stop(): void {
    this.#timer?.interruptUnsafe()
    this.#timer = undefined
  }

  readonly #look = Effect.suspend(() => {
    const seen = this.#seen!
    if (deadlockSearch.value === undefined && !seen.marks.hasQuiet) {
      this.#seen = { ...seen, marks: seen.marks.renewed() }
      return Effect.void
    }
    return Effect.catch(
      deadlockSearch.use(({ look }) =>
        Effect.sync(() => {
          this.#seen = look(this.#pool, seen)
        })
      ),
      ({ message }) => Effect.logWarning(`Requests may wait for each other, and nobody looks: ${message}`)
    )
  })
}
