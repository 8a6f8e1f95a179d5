/**
 * The smallest limit under which the requests of a recording pass.
 *
 * @since 0.1.0
 */
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import type { Recording } from "../recording/Recording.ts"
import { planOf, type ReplayOptions } from "./ReplayOptions.ts"
import { type FailedRequest, failedRequest } from "./ReplayReport.ts"
import { Simulator } from "./simulated/Simulator.ts"
import { Trace } from "./simulated/Trace.ts"

/**
 * Which limit to search for, and under which policies.
 *
 * @category models
 * @since 0.1.0
 */
export interface SmallestLimitOptions extends Omit<ReplayOptions, "maxBytes"> {
  /** Whether requests may wait in the wait queue under it, as long as each is served at last. Default: true. */
  readonly mayWait?: boolean | undefined
  /** How far above the smallest limit the result may be: less than this, in bytes. Default: 1, which is exact. */
  readonly within?: number | undefined
}

/**
 * A limit under which all requests pass, and a smaller one under which they do not.
 *
 * @category models
 * @since 0.1.0
 */
export interface SmallestLimit {
  /** Bytes. */
  readonly maxBytes: number
  /**
   * The largest limit tried below it, under which a request failed or waited: `within` bytes less, or 0. It is further below in a
   * plan whose search took too long.
   */
  readonly failsAt: number
  /** The first request that fails under `failsAt`; undefined where one only waits, or where a program fails for another reason. */
  readonly failed: FailedRequest | undefined
  /** How often the recording was replayed, or the program run. */
  readonly tries: number
  /** Whether no limit failed above one that passed, among those tried. */
  readonly isMonotonic: boolean
}

/** @internal */
export interface Try {
  readonly passes: boolean
  readonly failed: FailedRequest | undefined
  readonly peakBytes: number
}

type Attempt<E, R> = (maxBytes: number) => Effect.Effect<Try, E, R>

const mostDoublings = 53

/** How many times the search continues above a limit that fails. */
const mostRounds = 64

/** One search for a limit: {@link run} or {@link near}. @internal */
export class Search<E, R> {
  tries = 0
  isMonotonic = true
  readonly #try: Attempt<E, R>
  readonly #within: number
  readonly #mayTry: (tries: number) => boolean
  /** The smallest limit that passed, and the largest below it that failed. */
  #passes = Infinity
  #fails = 0
  #failed: FailedRequest | undefined

  constructor(within: number, attempt: Attempt<E, R>, mayTry: (tries: number) => boolean = () => true) {
    this.#within = within
    this.#try = attempt
    this.#mayTry = mayTry
  }

  /** Searches all limits. */
  run(): Effect.Effect<SmallestLimit | undefined, E, R> {
    return Effect.gen({ self: this }, function*() {
      const unlimited = yield* this.#look(Infinity)
      if (!unlimited.passes) return undefined
      let most = Math.max(1, unlimited.peakBytes)
      // The peak without a limit may be too small as a limit, which pending bytes count against too.
      for (let doublings = 0; doublings < mostDoublings; doublings++) {
        if ((yield* this.#look(most)).passes) break
        most *= 2
      }
      let least = 0
      for (let round = 1;; round++) {
        this.#fails = least
        this.#passes = most
        yield* this.#bisect()
        const above = yield* this.#failureAbove(most)
        if (above === undefined) return this.#found
        this.isMonotonic = false
        if (round === mostRounds) return this.#found
        least = above
      }
    })
  }

  /**
   * Searches from a guess on, with few tries if it is close. Returns the smallest limit found so far when no more may be tried. A limit of `least`
   * bytes is known to be too small.
   */
  near({ failed, maxBytes }: SmallestLimit, least: number): Effect.Effect<SmallestLimit | undefined, E, R> {
    return Effect.gen({ self: this }, function*() {
      this.#failed = failed
      const hasPassed = (yield* this.#look(maxBytes)).passes
      this.#passes = hasPassed ? maxBytes : Infinity
      this.#fails = hasPassed ? least : maxBytes
      let step = 1
      let next = hasPassed ? maxBytes - step : maxBytes + step
      for (let steps = 0; steps < mostDoublings && next > least && this.#mayTry(this.tries); steps++) {
        yield* this.#narrow(next)
        if (hasPassed ? this.#fails === next : this.#passes === next) break
        step *= 2
        next = hasPassed ? next - step : next + step
      }
      if (this.#passes === Infinity) return undefined
      yield* this.#bisect()
      return this.#found
    })
  }

  get #found(): SmallestLimit {
    const { isMonotonic, tries } = this
    return { maxBytes: this.#passes, failsAt: this.#fails, failed: this.#failed, tries, isMonotonic }
  }

  #look(maxBytes: number): Effect.Effect<Try, E, R> {
    this.tries++
    return this.#try(maxBytes)
  }

  /** Tries a limit, and moves the bound that failed or the one that passed to it. */
  #narrow(maxBytes: number): Effect.Effect<void, E, R> {
    return Effect.map(this.#look(maxBytes), ({ failed, passes }) => {
      if (passes) {
        this.#passes = maxBytes
      } else {
        this.#fails = maxBytes
        this.#failed = failed
      }
    })
  }

  #bisect(): Effect.Effect<void, E, R> {
    return Effect.whileLoop({
      while: () => this.#passes - this.#fails > this.#within && this.#mayTry(this.tries),
      body: () => this.#narrow(this.#fails + Math.floor((this.#passes - this.#fails) / 2)),
      step: () => {}
    })
  }

  /** The largest limit that fails among some above the result, each twice as far above as the one before. */
  #failureAbove(most: number): Effect.Effect<number | undefined, E, R> {
    return Effect.gen({ self: this }, function*() {
      let found: number | undefined
      for (let more = this.#within; this.#passes + more < most; more *= 2) {
        const { failed, passes } = yield* this.#look(this.#passes + more)
        if (passes) continue
        found = this.#passes + more
        this.#failed = failed
      }
      return found
    })
  }
}

const operation = "Replay.smallestLimit"

/** @internal */
export const smallestLimitOf = (
  recording: Recording,
  { mayWait = true, within = 1, ...options }: SmallestLimitOptions
): Effect.Effect<SmallestLimit | undefined, GpuError> =>
  Effect.suspend((): Effect.Effect<SmallestLimit | undefined, GpuError> => {
    if (!Number.isSafeInteger(within) || within < 1) {
      const hint = "Leave it out for 1 byte."
      return invalidRequest(operation, `within ${within} is no whole number of bytes from 1`, hint)
    }
    const trace = new Trace(recording)
    const endsWith = mayWait ? "failure" : "wait"
    const attempt = (maxBytes: number): Effect.Effect<Try, GpuError> => {
      const plan = planOf(operation, recording, { ...options, maxBytes })
      if (isGpuError(plan)) return plan
      const simulator = new Simulator(recording, { plan, trace, keepsEvents: false, endsWith })
      const problem = simulator.run(operation)
      if (problem !== undefined) return problem
      const { failures, tally: { totals: { peakManagedBytes, waits } } } = simulator
      const [first] = failures
      const tried = {
        passes: first === undefined && (mayWait || waits === 0),
        failed: first === undefined ? undefined : failedRequest(first),
        peakBytes: peakManagedBytes
      }
      return Effect.as(Effect.yieldNow, tried)
    }
    return new Search(within, attempt).run()
  })
