/**
 * Which schedules an exploration runs, and in which order.
 *
 * @internal
 */
import { anyOption, type Chooser, fewDeviations, following, Random } from "./Chooser.ts"
import type { ScheduledRun } from "./ScheduledRun.ts"
import type { SchedulePath } from "./SchedulePath.ts"

/** A schedule to run. */
export interface Trial {
  readonly choose: Chooser
  /** The schedule ran before, and runs again only to count its decisions. */
  readonly repeated: boolean
  /** How many options the last decision of its path had in the run before. */
  readonly expected?: { readonly decision: number; readonly options: number } | undefined
}

/** Gets the run of each trial before it yields the next. */
export type Search = Generator<Trial, void, ScheduledRun>

/**
 * Each schedule with at most `most` deviations once, fewer deviations first. With `Infinity`, all schedules in another
 * order.
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
 * The schedule of the path, and those with up to `depth` more deviations. With `only`, just those with exactly `depth`
 * more are new. Returns whether there were any.
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
 * Random schedules without an end. Most have few deviations, at equally likely places; every eighth takes random
 * options throughout.
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
    // A deviation may lead to more decisions; an endless schedule must not raise the bound without limit.
    decisions = Math.min(Math.max(options.length, run.options.length), 4 * options.length)
  }
}
