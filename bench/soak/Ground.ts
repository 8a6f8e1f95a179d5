/** What the fibers of a soak share. */
import { Effect } from "effect"
import type { BufferPool, CommandQueue } from "effect-gpu-pool"
import * as Random from "../Random.ts"
import type { Watch } from "./Watch.ts"

export interface Ground {
  readonly pool: BufferPool.Pool
  /** Looks at the pool's bytes. */
  readonly look: Effect.Effect<void>
  readonly queue: CommandQueue.CommandQueue["Service"]
  readonly watch: Watch
  /** Whether the pool hands memory out cleared. */
  readonly clears: boolean
}

const mebibyte = 2 ** 20

/** The limit of a pool while nobody changes it: a few of the largest requests, so that there is never enough. */
export const limitBytes = 24 * mebibyte

const leastBytes = 256
const mostBytes = 4 * mebibyte

/** Many small requests, few large ones. */
export const size = (next: () => number): number => Random.logUniform(next, leastBytes, mostBytes)

/** Some rounds of the event loop, or some milliseconds. */
export const pause = (next: () => number): Effect.Effect<void> =>
  next() < 0.8
    ? Effect.replicateEffect(Effect.yieldNow, Random.integer(next, 0, 3), { discard: true })
    : Effect.sleep(Random.integer(next, 0, 5))

/** A pool whose bytes are checked at each lease, and on demand. */
export const watched = (
  pool: BufferPool.Pool,
  watch: Watch
): { readonly pool: BufferPool.Pool; readonly look: Effect.Effect<void> } => {
  const look = Effect.map(pool.stats, ({ managedBytes, pendingBytes, waiters }) => {
    watch.look(managedBytes + pendingBytes)
    if (waiters > 0) watch.count("seen with waiters")
  })
  return {
    look,
    pool: {
      ...pool,
      allocate: (size, options) => Effect.tap(pool.allocate(size, options), look),
      use: (size, f, options) => pool.use(size, (lease) => Effect.andThen(look, f(lease)), options)
    }
  }
}
