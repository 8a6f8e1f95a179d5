/**
 * How many steps a synchronous piece of work takes in the sources of this library: every call of a function and every
 * iteration of a loop counts as one, by the engine's coverage. That counts no loops in functions that were compiled before it began, and
 * may count a call made shortly before: repeat the work, or compare with room to spare.
 */
import { Session } from "node:inspector"

const ask = (session: Session, method: string, params: object = {}): unknown => {
  let answer: unknown
  session.post(method, params, (error, result) => {
    if (error !== null) throw error
    answer = result
  })
  return answer
}

interface Coverage {
  readonly result: ReadonlyArray<{
    readonly url: string
    readonly functions: ReadonlyArray<{ readonly ranges: ReadonlyArray<{ readonly count: number }> }>
  }>
}

/** Counts the steps in sources whose path contains `part`. */
export const stepsTaken = (part: string, work: () => void): number => {
  const session = new Session()
  session.connect()
  try {
    ask(session, "Profiler.enable")
    ask(session, "Profiler.startPreciseCoverage", { callCount: true, detailed: true })
    // Resets the counts.
    ask(session, "Profiler.takePreciseCoverage")
    work()
    const { result } = ask(session, "Profiler.takePreciseCoverage") as Coverage
    return result.filter(({ url }) => url.includes(part))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
      .reduce((sum, count) => sum + count, 0)
  } finally {
    session.disconnect()
  }
}
