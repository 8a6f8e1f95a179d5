/**
 * Which schedules are tried, and in which order.
 *
 * @internal
 */
import { Random } from "../Random.ts"
import { anyOption, type Chooser, fewDeviations, following } from "./Chooser.ts"
import type { ScheduledRun } from "./ScheduledRun.ts"
import type { SchedulePath } from "./SchedulePath.ts"

/** A schedule to be tried. */
export interface Trial {
  readonly choose: Chooser
  /** It was tried before, and is run only for the decisions that it has. */
  readonly repeated: boolean
  /** How many options the last decision of its path had when it was planned. */
  readonly expected?: { readonly decision: number; readonly options: number } | undefined
}

/** Gets each trial's run before it names the next one. */
export type Search = Generator<Trial, void, ScheduledRun>

/**
 * Each schedule with at most `most` deviations once, those with fewer of them first; all schedules, in no such order,
 * when `most` is Infinity.
 */
export function* everySchedule(most: number): Search {
  if (most === Infinity) {
    yield* below([], Infinity, false)
    return
  }
  for (let depth = 0; depth <= most; depth++) {
    if (!(yield* below([], depth, true))) return
  }
}

/**
 * The schedule of the path, and those that deviate `depth` times more; of which only the deepest are new, if `only`.
 * Answers whether there were any so deep.
 */
function* below(
  path: SchedulePath,
  depth: number,
  only: boolean,
  expected?: Trial["expected"]
): Generator<Trial, boolean, ScheduledRun> {
  const { options } = yield { choose: following(path), repeated: only && depth > 0, expected }
  if (depth === 0) return true
  let reached = false
  for (let decision = (path.at(-1)?.decision ?? -1) + 1; decision < options.length; decision++) {
    for (let option = 1; option < options[decision]!; option++) {
      const further = yield* below([...path, { decision, option }], depth - 1, only, {
        decision,
        options: options[decision]!
      })
      reached ||= further
    }
  }
  return reached
}

/**
 * Random schedules without an end. Most have few deviations, at places that are as likely as others; every eighth takes
 * options at random all the way.
 */
export function* randomSchedules(seed: number, most: number): Search {
  const { options } = yield { choose: following([]), repeated: true }
  let decisions = options.length
  for (let nth = 0;; nth++) {
    const random = new Random(Math.imul(seed, 0x9e3779b1) + nth)
    const choose = nth % 8 === 7
      ? anyOption(random, 2 ** random.integer(0, 5))
      : fewDeviations(random, random.integer(1, most), decisions)
    const run = yield { choose, repeated: false }
    // Follows what programs do after a deviation, but not one endless schedule.
    decisions = Math.min(Math.max(options.length, run.options.length), 4 * options.length)
  }
}
