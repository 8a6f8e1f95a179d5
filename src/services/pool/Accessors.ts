/**
 * The functions of a pool's module, written once: each concerns the pool in context. A module binds them to its service.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { GpuError, Holder } from "../../domain/GpuError.ts"
import type * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import type { BudgetOptions, PoolLimit, ReserveOptions } from "../../domain/pool/PoolOptions.ts"
import type * as PoolStats from "../../domain/pool/PoolStats.ts"
import type { QueueStats } from "../../domain/pool/PoolStats.ts"
import type * as QueueEvent from "../device/QueueEvent.ts"
import type { Need } from "./Handlers.ts"

/**
 * The functions of a module whose service `I` is the memory of one pool, or of several: see those of `BufferPool`.
 *
 * **Example** (Freeing what is held, of whatever has a module like these)
 *
 * ```ts
 * import { BufferPool, StagingPool } from "effect-gpu-pool"
 *
 * const trims = [BufferPool.trimTo("1 MiB"), StagingPool.trimTo("64 KiB")]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface OfMemory<I> {
  readonly stats: Effect.Effect<PoolStats.PoolStats, never, I>
  readonly holders: (count?: number) => Effect.Effect<ReadonlyArray<Holder>, never, I>
  readonly maxBytes: Effect.Effect<number, never, I>
  readonly setLimit: (limit: MemoryLimit.ByteAmount | PoolLimit) => Effect.Effect<void, GpuError, I>
  readonly trimTo: (bytes: MemoryLimit.ByteAmount) => Effect.Effect<void, GpuError, I>
  readonly freeHeld: Effect.Effect<void, GpuError, I>
  readonly freeHeldOf: (queue: QueueEvent.QueueLike) => Effect.Effect<void, GpuError, I>
  readonly statsOf: (queue: QueueEvent.QueueLike) => Effect.Effect<QueueStats, GpuError, I>
  readonly stopHolding: Effect.Effect<void, GpuError, I>
  readonly resumeHolding: Effect.Effect<void, never, I>
}

/**
 * The functions of a module whose service `I` is a pool `P`, besides those that lease: see those of `BufferPool`.
 *
 * **Example** (A job that knows what it needs of two pools)
 *
 * ```ts
 * import type { Effect } from "effect"
 * import { BufferPool, StagingPool } from "effect-gpu-pool"
 *
 * const reserved = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   job.pipe(StagingPool.reserve("64 KiB"), BufferPool.reserve("1 MiB"))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface OfPool<I, P> extends OfMemory<I> {
  readonly onOutOfMemory: <R>(
    handler: (need: Need) => Effect.Effect<boolean, GpuError, R>
  ) => Effect.Effect<void, GpuError, I | R | Scope.Scope>
  readonly exclusively: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | GpuError, R | I>
  readonly budget: (limit: MemoryLimit.ByteAmount, options?: BudgetOptions) => Effect.Effect<P, GpuError, I>
  readonly withBudget: {
    /**
     * Runs an effect with a pool that leases at most `limit` bytes (or "64 MiB", or "25%") at a time, on the memory of
     * the pool around it.
     */
    (
      limit: MemoryLimit.ByteAmount,
      options?: BudgetOptions
    ): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | GpuError, R | I>
    <A, E, R>(
      effect: Effect.Effect<A, E, R>,
      limit: MemoryLimit.ByteAmount,
      options?: BudgetOptions
    ): Effect.Effect<A, E | GpuError, R | I>
  }
  readonly reserve: {
    /**
     * Waits until `bytes` (or "64 MiB", or "25%") are free, reserves them for an effect, and then runs it. As long as
     * the effect's requests together stay within these bytes, they bypass every wait queue. Bytes that its leases release
     * are reserved for it again, until the effect ends. Leases that outlive it stay.
     */
    (
      bytes: MemoryLimit.ByteAmount,
      options?: ReserveOptions
    ): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | GpuError, R | I>
    <A, E, R>(
      effect: Effect.Effect<A, E, R>,
      bytes: MemoryLimit.ByteAmount,
      options?: ReserveOptions
    ): Effect.Effect<A, E | GpuError, R | I>
  }
}
