/**
 * The functions of a pool's module, written once: each concerns the pool in context. A module binds them to its service.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { GpuError } from "../../domain/GpuError.ts"
import type * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import type { BudgetOptions, ReserveOptions } from "../../domain/pool/PoolOptions.ts"
import type { OfMemory, OfPool } from "./Accessors.ts"
import type { MemoryControls, PoolControls } from "./Pool.ts"

/** A service, as far as most accessors need it. */
interface Service<I, P = MemoryControls> {
  readonly use: <A, E, R>(f: (pool: P) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | I>
}

export const stats = <I>(service: Service<I>): OfMemory<I>["stats"] => service.use((pool) => pool.stats)

export const holders = <I>(service: Service<I>): OfMemory<I>["holders"] => (count) =>
  service.use((pool) => pool.holders(count))

export const maxBytes = <I>(service: Service<I>): OfMemory<I>["maxBytes"] => service.use((pool) => pool.maxBytes)

export const setLimit = <I>(service: Service<I>): OfMemory<I>["setLimit"] => (limit) =>
  service.use((pool) => pool.setLimit(limit))

export const trimTo = <I>(service: Service<I>): OfMemory<I>["trimTo"] => (bytes) =>
  service.use((pool) => pool.trimTo(bytes))

export const freeHeld = <I>(service: Service<I>): OfMemory<I>["freeHeld"] => service.use((pool) => pool.freeHeld)

export const freeHeldOf = <I>(service: Service<I>): OfMemory<I>["freeHeldOf"] => (queue) =>
  service.use((pool) => pool.freeHeldOf(queue))

export const statsOf = <I>(service: Service<I>): OfMemory<I>["statsOf"] => (queue) =>
  service.use((pool) => pool.statsOf(queue))

export const stopHolding = <I>(service: Service<I>): OfMemory<I>["stopHolding"] =>
  service.use((pool) => pool.stopHolding)

export const resumeHolding = <I>(service: Service<I>): OfMemory<I>["resumeHolding"] =>
  service.use((pool) => pool.resumeHolding)

export const onOutOfMemory = <I, P>(service: Service<I, PoolControls<P>>): OfPool<I, P>["onOutOfMemory"] => (handler) =>
  service.use((pool) => pool.onOutOfMemory(handler))

export const exclusively = <I, P>(service: Service<I, PoolControls<P>>): OfPool<I, P>["exclusively"] => (effect) =>
  service.use((pool) => pool.exclusively(effect))

export const budget = <I, P>(service: Service<I, PoolControls<P>>): OfPool<I, P>["budget"] => (limit, options) =>
  service.use((pool) => pool.budget(limit, options))

/** Runs an effect with an inner pool in its context, in place of the one there. */
type Provide<I, P> = <A, E, R>(effect: Effect.Effect<A, E, R>, inner: P, outer: P) => Effect.Effect<A, E, Exclude<R, I>>

const provider = <I, P>(service: Context.Service<I, P>): Provide<I, P> => (effect, inner) =>
  Effect.provideService(effect, service, inner)

export const withBudget = <I, P extends PoolControls<P>>(
  service: Context.Service<I, P>,
  provide: Provide<I, P> = provider(service)
): OfPool<I, P>["withBudget"] =>
  dual(
    (args) => Effect.isEffect(args[0]),
    <A, E, R>(
      effect: Effect.Effect<A, E, R>,
      limit: MemoryLimit.ByteAmount,
      options?: BudgetOptions
    ): Effect.Effect<A, E | GpuError, R | I> =>
      service.use((pool) =>
        Effect.flatMap(
          pool.budget(limit, options, "withBudget"),
          (inner) => provide(effect, inner, pool)
        )
      )
  )

export const reserve = <I, P extends PoolControls<P>>(
  service: Context.Service<I, P>
): OfPool<I, P>["reserve"] =>
  dual(
    (args) => Effect.isEffect(args[0]),
    <A, E, R>(
      effect: Effect.Effect<A, E, R>,
      bytes: MemoryLimit.ByteAmount,
      options?: ReserveOptions
    ): Effect.Effect<A, E | GpuError, R | I> =>
      service.use((pool) => pool.reserve(bytes, (inner) => Effect.provideService(effect, service, inner), options))
  )
