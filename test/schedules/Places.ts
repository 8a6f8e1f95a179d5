/**
 * Which schedules with one deviation are run, of a scene with one of its intruders.
 *
 * An intruder acts when the scene's own fibers have ended, unless a deviation runs it earlier. So a deviation among the scene's own
 * fibers makes the same schedule with each intruder, up to what the intruder does after it: these deviations are dealt out among
 * the intruders of the scene, and each is run with one of them. The deviations that run the intruder, and those after it has begun,
 * are its own.
 *
 * Each of these schedules has as many steps as the program, and their number grows with the steps too, so a program of 2,000 steps
 * costs a hundred times as much as one of 200. Where they are more than `mostSteps` in all, every second is tried, or every third,
 * and so on, and with the next intruder others than with the one before.
 */
import { following } from "../../packages/schedules/src/Chooser.ts"
import type { ScheduledRun } from "../../packages/schedules/src/ScheduledRun.ts"
import type { Deviation } from "../../packages/schedules/src/SchedulePath.ts"
import type { Search } from "../../packages/schedules/src/Search.ts"

export interface Part {
  /** Which of the scene's intruders it is, from 0. */
  readonly nth: number
  /** How many intruders the scene has. */
  readonly of: number
  /** About how many steps all schedules may have together. */
  readonly mostSteps: number
}

/** The deviations from the usual schedule that are the same with each intruder, and those of this one. */
const deviationsOf = ({ intrusions, options }: ScheduledRun) => {
  const shared: Array<Deviation> = []
  const own: Array<Deviation> = []
  for (let decision = 0; decision < options.length; decision++) {
    const intrusion = intrusions[decision]!
    for (let option = 1; option < options[decision]!; option++) {
      const isShared = intrusion > 0 && option !== intrusion
      const list = isShared ? shared : own
      list.push({ decision, option })
    }
  }
  return { own, shared }
}

const each = <A>(all: ReadonlyArray<A>, every: number, first: number): ReadonlyArray<A> =>
  all.filter((_, index) => index % every === first % every)

/** The usual schedule, and those with one deviation that this part has. */
export function* oneDeviation({ mostSteps, nth, of }: Part): Search {
  const usual = yield { choose: following([]), repeated: false }
  const { own, shared } = deviationsOf(usual)
  const dealt = each(shared, of, nth)
  const every = Math.max(1, Math.ceil((own.length + dealt.length) * usual.steps / mostSteps))
  for (const deviation of [...each(own, every, nth), ...each(dealt, every, nth)]) {
    const { decision } = deviation
    yield {
      choose: following([deviation]),
      repeated: false,
      expected: { decision, options: usual.options[decision]! }
    }
  }
}
