/** A trace on a buffer pool on the host: what its requests meet, and what it manages. */
import { Effect, Exit, Layer } from "effect"
import { BufferPool, Lease, type PoolStats } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import type { Step } from "./Traces.ts"

export interface Played {
  /** Requests that ran out of memory. */
  readonly refused: number
  /** The most managed bytes, over the bytes that leases asked for at that moment. */
  readonly mostManagedToLive: number
  readonly stats: PoolStats.PoolStats
}

/** The steps between two readings of the managed and the leased bytes: one step of a growing cache. */
const stepsPerLook = 96

const playOn = Effect.fnUntraced(function*(pool: BufferPool.BufferPool["Service"], steps: ReadonlyArray<Step>) {
  const live = new Map<number, BufferPool.PooledBuffer>()
  let refused = 0
  let mostManagedToLive = 0
  for (const [at, { size, slot }] of steps.entries()) {
    const old = live.get(slot)
    if (old !== undefined) yield* Lease.release(old)
    live.delete(slot)
    if (size > 0) {
      const exit = yield* Effect.exit(pool.allocate(size))
      if (Exit.isSuccess(exit)) live.set(slot, exit.value)
      else refused++
    }
    if ((at + 1) % stepsPerLook !== 0) continue
    const { activeBytes, managedBytes } = yield* pool.stats
    mostManagedToLive = Math.max(mostManagedToLive, managedBytes / activeBytes)
  }
  return { refused, mostManagedToLive, stats: yield* pool.stats } satisfies Played
}, Effect.scoped)

/** Plays one phase on a pool of its own. */
export const play = (steps: ReadonlyArray<Step>, options: BufferPool.BufferPoolOptions = {}): Effect.Effect<Played> =>
  Effect.flatMap(BufferPool.BufferPool, (pool) => playOn(pool, steps)).pipe(
    Effect.provide(BufferPool.layer(options).pipe(Layer.provide(Host.layer()))),
    Effect.orDie
  )
