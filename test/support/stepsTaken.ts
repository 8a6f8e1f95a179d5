/**
 * How many steps a synchronous piece of work takes in the sources of this library: every call of a function and every
 * iteration of a loop counts as one, by the engine's coverage. A function counts its loops if it is first called after this
 * module has loaded, and calls of optimized code are not counted: a test file that imports this has a process of its own, among
 * `alone` in vitest.config.ts.
 */
import { Session } from "node:inspector"
import { setFlagsFromString } from "node:v8"

for (const compiler of ["opt", "maglev", "sparkplug"]) setFlagsFromString(`--no-${compiler}`)

const session = new Session()

const ask = (method: string, params: object = {}): unknown => {
  let answer: unknown
  session.post(method, params, (error, result) => {
    if (error !== null) throw error
    answer = result
  })
  return answer
}

session.connect()
ask("Profiler.enable")
ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true })

interface Coverage {
  readonly result: ReadonlyArray<{
    readonly url: string
    readonly functions: ReadonlyArray<{ readonly ranges: ReadonlyArray<{ readonly count: number }> }>
  }>
}

/** Counts the steps in sources whose path contains `part`. */
export const stepsTaken = (part: string, work: () => void): number => {
  // Resets the counts.
  ask("Profiler.takePreciseCoverage")
  work()
  const { result } = ask("Profiler.takePreciseCoverage") as Coverage
  return result.filter(({ url }) => url.includes(part))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
    .reduce((sum, count) => sum + count, 0)
}
