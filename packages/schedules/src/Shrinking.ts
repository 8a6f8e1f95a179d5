/**
 * Makes the path of a bad schedule shorter, as long as it stays bad in the same way.
 *
 * @internal
 */
import type { Problem } from "./ScheduledRun.ts"
import type { SchedulePath } from "./SchedulePath.ts"

/** A bad run, with its path and its problem. */
export interface Bad {
  readonly problem: Problem
  readonly path: SchedulePath
}

/** Runs a path, and returns the run if it is bad. */
export type Attempt = (path: SchedulePath) => Bad | undefined

/** Removes deviations, many at once and then one by one, and takes smaller options, until no shorter path stays bad. */
export const shrink = (bad: Bad, attempt: Attempt): Bad => {
  let best = bad
  const isBetter = (path: SchedulePath): boolean => {
    const found = attempt(path)
    if (found?.problem.kind !== best.problem.kind || !isSmaller(found.path, best.path)) return false
    best = found
    return true
  }
  for (let again = true; again;) {
    again = false
    for (let size = Math.ceil(best.path.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = 0; at < best.path.length;) {
        if (isBetter([...best.path.slice(0, at), ...best.path.slice(at + size)])) again = true
        else at += size
      }
    }
    for (let at = 0; at < best.path.length; at++) {
      for (let option = 1; option < (best.path[at]?.option ?? 0); option++) {
        if (isBetter(best.path.map((deviation, index) => index === at ? { ...deviation, option } : deviation))) {
          again = true
        }
      }
    }
  }
  return best
}

/** Whether a path has fewer deviations, or as many with smaller options or earlier decisions. */
const isSmaller = (one: SchedulePath, other: SchedulePath): boolean => {
  if (one.length !== other.length) return one.length < other.length
  for (const [index, { decision, option }] of one.entries()) {
    const { decision: otherDecision, option: otherOption } = other[index]!
    if (option !== otherOption) return option < otherOption
    if (decision !== otherDecision) return decision < otherDecision
  }
  return false
}
