/**
 * Who decides what goes on next, wherever more than one thing can.
 *
 * @internal
 */
import type { Random } from "../Random.ts"
import type { SchedulePath } from "./SchedulePath.ts"

/** Takes one of `options` options; 0 is the usual one. */
export type Chooser = (options: number, decision: number) => number

/** Takes what the path says. An option that is not there any more is the usual one. */
export const following = (path: SchedulePath): Chooser => {
  let next = 0
  return (options, decision) => {
    while (next < path.length && path[next]!.decision < decision) next++
    if (next === path.length || path[next]!.decision !== decision) return 0
    const { option } = path[next++]!
    return option < options ? option : 0
  }
}

/** Deviates at `times` places among the first `decisions` decisions, or less often where places coincide. */
export const fewDeviations = (random: Random, times: number, decisions: number): Chooser => {
  const places = new Set<number>()
  for (let nth = 0; nth < times; nth++) places.add(random.integer(0, Math.max(0, decisions - 1)))
  return (options, decision) => places.has(decision) ? random.integer(1, options - 1) : 0
}

/** Takes any option, as likely as another, at one decision in `every`. */
export const anyOption = (random: Random, every: number): Chooser => (options) =>
  random.integer(1, every) === 1 ? random.integer(0, options - 1) : 0
