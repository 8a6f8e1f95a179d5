/** The least that a waiting fiber can cost: a queue of parked fibers and a count, and nothing else. */
import { Effect } from "effect"

type Resume = (answer: Effect.Effect<void>) => void

/**
 * Runs an effect while it has one of `permits` permits. Waiting fibers are resumed in order, in a later task of the
 * event loop, as in a pool; interruption is not handled.
 */
export const make = (permits: number) => {
  let free = permits
  let waiting: Array<Resume> = []
  let first = 0
  let told: Array<Resume> = []
  const tell = () => {
    const resumed = told
    told = []
    for (const resume of resumed) resume(Effect.void)
  }
  const acquire = Effect.callback<void>((resume) => {
    if (free === 0) {
      waiting.push(resume)
    } else {
      free--
      resume(Effect.void)
    }
  })
  const next = (): Resume | undefined => {
    if (first < waiting.length) return waiting[first++]
    waiting = []
    first = 0
    return undefined
  }
  const release = () => {
    const resume = next()
    if (resume === undefined) free++
    else if (told.push(resume) === 1) setImmediate(tell)
    return undefined
  }
  return <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.onExitPrimitive(Effect.flatMap(acquire, () => effect), release)
}
