/**
 * What disturbs the fibers of a soak: other limits, trims, faults, and a cache that is dropped when memory is short.
 */
import { Effect, Exit, Scope } from "effect"
import type { GpuError } from "effect-gpu-pool"
import type { FaultyAllocator } from "effect-gpu-pool/allocators"
import * as Random from "../Random.ts"
import { type Ground, limitBytes, size } from "./Ground.ts"
import { plannedFault } from "./Watch.ts"

export interface Means extends Ground {
  readonly faults: FaultyAllocator.Faults
  /** Where the device reports its memory, limits are set as shares of it too. */
  readonly memoryBytes: number | undefined
}

type Deed = (means: Means, next: () => number) => Effect.Effect<unknown, GpuError.GpuError>

/** Changes the pool's limit, and the watch's with it. */
export const setLimit = Effect.fnUntraced(function*(
  { memoryBytes, pool, watch }: Pick<Means, "memoryBytes" | "pool" | "watch">,
  bytes: number,
  asFraction: boolean
) {
  watch.limitChanges(bytes)
  yield* pool.setLimit(
    asFraction && memoryBytes !== undefined ? { maxFraction: bytes / memoryBytes } : { maxBytes: bytes }
  )
  const { managedBytes, pendingBytes } = yield* pool.stats
  watch.limitIs(yield* pool.maxBytes, managedBytes + pendingBytes)
})

const window = (next: () => number) => ({
  nth: Random.integer(next, 1, 5),
  times: Random.integer(next, 1, 3),
  log: plannedFault
})

const deeds: Readonly<Record<string, Deed>> = {
  setLimit: (means, next) => setLimit(means, Random.integer(next, limitBytes / 8, limitBytes), next() < 0.5),
  trimTo: ({ pool }, next) => pool.trimTo(Random.integer(next, 0, limitBytes / 2)),
  freeHeld: ({ pool }) => pool.freeHeld,
  stopHolding: ({ pool }, next) =>
    Effect.ensuring(
      Effect.andThen(pool.stopHolding, Effect.sleep(Random.integer(next, 0, 5))),
      pool.resumeHolding
    ),
  holders: ({ pool }) => pool.holders(5),
  failAllocations: ({ faults }, next) =>
    Effect.sync(() => {
      faults.failAllocations({ ...window(next), error: Random.pick(next, ["OutOfMemory", "DriverError"]) })
    }),
  failFrees: ({ faults }, next) => Effect.sync(() => faults.failFrees(window(next))),
  failReclaims: ({ faults }, next) => Effect.sync(() => faults.failReclaims(window(next))),
  delayAllocations: ({ faults }, next) =>
    Effect.sync(() => faults.delayAllocations(next() < 0.5 ? undefined : Random.integer(next, 0, 3)))
}

const names = Object.keys(deeds)

/** One disturbance after the other, forever. */
export const meddle = (means: Means, next: () => number): Effect.Effect<never> =>
  Effect.forever(Effect.suspend(() => {
    const name = Random.pick(next, names)
    return Effect.andThen(
      means.watch.settle(name, deeds[name]!(means, next)),
      Effect.sleep(Random.integer(next, 1, 10))
    )
  }))

/** Leases that nobody needs at the moment, until memory is short: then the pool's handler drops them. */
export const cache = Effect.fnUntraced(function*({ pool, watch }: Ground, next: () => number) {
  let kept: Scope.Closeable | undefined
  // The request that calls the handler may be interrupted at any step: between these two steps, the scope would never
  // be closed.
  const drop = Effect.uninterruptible(Effect.suspend(() => {
    const dropped = kept
    kept = undefined
    return dropped === undefined ? Effect.succeed(false) : Effect.as(Scope.close(dropped, Exit.void), true)
  }))
  // The fiber is interrupted only after this finalizer, and must not fill the cache again until then.
  let isOver = false
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isOver = true
      return drop
    })
  )
  yield* pool.onOutOfMemory(() =>
    Effect.tap(drop, (freed) => Effect.sync(() => watch.count(freed ? "cache dropped" : "cache empty")))
  )
  const keep = Effect.suspend(() => {
    if (kept !== undefined || isOver) return Effect.void
    const scope = Scope.makeUnsafe()
    kept = scope
    const lease = pool.allocate(size(next), { label: "cache" })
    return Scope.provide(Effect.replicateEffect(lease, 4, { discard: true }), scope).pipe(
      // Memory was so short that the cache was dropped while it was filled.
      Effect.catchReason("GpuError", "Released", () => Effect.sync(() => watch.count("cache dropped too early")))
    )
  })
  return yield* Effect.forever(Effect.andThen(watch.settle("cache", keep), Effect.sleep(10)))
})
