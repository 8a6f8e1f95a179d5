/**
 * Chooses what runs next, wherever there are several options.
 *
 * @internal
 */
import type { Random } from "../Random.ts"
import type { SchedulePath } from "./SchedulePath.ts"

/** Takes one of `options` options; 0 is the usual one. */
export type Chooser = (options: number, decision: number) => number

/** Takes the options of the path, and the usual one where the path's option does not exist. */
export const following = (path: SchedulePath): Chooser => {
  let next = 0
  return (options, decision) => {
    while (next < path.length && path[next]!.decision < decision) next++
    if (next === path.length || path[next]!.decision !== decision) return 0
    const { option } = path[next++]!
    return option < options ? option : 0
  }
}

/** Deviates at `times` random places among the first `decisions` decisions; some places may coincide. */
export const fewDeviations = (random: Random, times: number, decisions: number): Chooser => {
  const places = new Set<number>()
  for (let nth = 0; nth < times; nth++) places.add(random.integer(0, Math.max(0, decisions - 1)))
  return (options, decision) => places.has(decision) ? random.integer(1, options - 1) : 0
}

/** Takes a random option at one decision in `every`; all options are equally likely. */
export const anyOption = (random: Random, every: number): Chooser => (options) =>
  random.integer(1, every) === 1 ? random.integer(0, options - 1) : 0
