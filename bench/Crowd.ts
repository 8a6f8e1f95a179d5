/** Many fibers at once that want more blocks than there are. */
import { Effect, Fiber } from "effect"
import { constVoid } from "effect/Function"

/** How many blocks, or permits, there are. */
export const blocks = 64

/** Bytes of a block. */
export const blockSize = 4096

/** The numbers of fibers at which a contended pair is measured: it should cost the same at each. */
export const counts = [1000, 10_000, 100_000] as const

const repeated = <E, R>(pair: Effect.Effect<unknown, E, R>, times: number): Effect.Effect<void, E, R> =>
  Effect.suspend(() => {
    let done = 0
    return Effect.whileLoop({
      while: () => done < times,
      body: () => {
        done++
        return pair
      },
      step: constVoid
    })
  })

/**
 * Nanoseconds per pair of so many fibers, each with so many pairs; their start and end included. It is processor time of the
 * program's own thread, which never waits here: on a machine that does nothing else it is the time by the clock.
 */
export const nanosPerPair = Effect.fnUntraced(
  function*<E, R>(fibers: number, pair: Effect.Effect<unknown, E, R>, times: number) {
    const from = process.threadCpuUsage()
    const running: Array<Fiber.Fiber<void, E>> = []
    for (let index = 0; index < fibers; index++) running.push(yield* Effect.forkChild(repeated(pair, times)))
    for (const fiber of running) yield* Fiber.join(fiber)
    const { system, user } = process.threadCpuUsage(from)
    return (user + system) * 1e3 / (fibers * times)
  }
)
