/**
 * Values that contain leases, so that the leases can move with the value from scope to scope.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../domain/GpuError.ts"
import { validated } from "../calls/Validated.ts"
import { type Lease, transfer } from "./Lease.ts"

/**
 * The method that yields the leases of a value.
 *
 * **Example** (A record of leases with a method of its own)
 *
 * ```ts
 * import { type BufferPool, LeaseHolder } from "effect-gpu-pool"
 *
 * const rows = (leases: ReadonlyArray<BufferPool.PooledBuffer>): LeaseHolder.LeaseHolder => ({
 *   [LeaseHolder.LeaseHolder]: () => leases
 * })
 * LeaseHolder.leases(rows([])).size // => 0
 * ```
 *
 * @category symbols
 * @since 0.1.0
 */
export const LeaseHolder: unique symbol = Symbol.for("effect-gpu-pool/LeaseHolder")

/**
 * A value with leases, as a device array or a struct of buffers of your own.
 *
 * **Example** (A pair of buffers that moves as one)
 *
 * ```ts
 * import { type BufferPool, LeaseHolder } from "effect-gpu-pool"
 *
 * class Complex implements LeaseHolder.LeaseHolder {
 *   readonly re: BufferPool.PooledBuffer
 *   readonly im: BufferPool.PooledBuffer
 *   constructor(re: BufferPool.PooledBuffer, im: BufferPool.PooledBuffer) {
 *     this.re = re
 *     this.im = im
 *   }
 *   [LeaseHolder.LeaseHolder]() {
 *     return [this.re, this.im]
 *   }
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface LeaseHolder {
  [LeaseHolder](): Iterable<Lease>
}

const isHolder = (value: object): value is LeaseHolder => LeaseHolder in value

/** Only arrays and plain objects are walked: other objects may have private members. */
const isRecord = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * The leases in a value, each once: those of LeaseHolders, and of LeaseHolders in tuples, arrays and records.
 *
 * **Example** (Finding the leases of a result)
 *
 * ```ts
 * import { LeaseHolder } from "effect-gpu-pool"
 *
 * LeaseHolder.leases({ sum: 3, parts: [] }).size // => 0
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const leases = (value: unknown): ReadonlySet<Lease> => {
  const found: Array<LeaseHolder> = []
  for (const holder of walk(value)) if (holder !== undefined) found.push(holder)
  return leasesOf(found)
}

/**
 * The leases that holders have, each once.
 *
 * @category getters
 * @since 0.1.0
 */
export const leasesOf = (holders: Iterable<LeaseHolder>): ReadonlySet<Lease> => {
  const found = new Set<Lease>()
  for (const holder of holders) for (const lease of holder[LeaseHolder]()) found.add(lease)
  return found
}

/** How many elements are visited before the fiber yields: about a millisecond's work. */
const perTurn = 65_536

/**
 * The holders in a value, each once: itself, or those in tuples, arrays and records. Other fibers run in between when
 * the value is a large one.
 *
 * @category functions
 * @since 0.1.0
 */
export const holders = (operation: string, value: unknown): Effect.Effect<ReadonlyArray<LeaseHolder>, GpuError> =>
  Effect.suspend(() => {
    const found: Array<LeaseHolder> = []
    const steps = walk(value)
    const turn: Effect.Effect<ReadonlyArray<LeaseHolder>, GpuError> = validated(operation, () => {
      for (let step = steps.next(); step.done !== true; step = steps.next()) {
        if (step.value === undefined) return Effect.andThen(Effect.yieldNow, turn)
        found.push(step.value)
      }
      return Effect.succeed(found)
    })
    return turn
  })

/**
 * Visits a value, and the elements of tuples, arrays and records in it. Yields its holders; and `undefined` after each
 * {@link perTurn} elements, not after each one, which would cost more than the visit.
 */
function* walk(value: unknown): Generator<LeaseHolder | undefined, void> {
  const seen = new Set<object>()
  const pending: Array<object> = [[value]]
  let visited = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const element of Array.isArray(next) ? next : Object.values(next)) {
      visited++
      if (visited % perTurn === 0) yield undefined
      if (typeof element !== "object" || element === null || seen.has(element)) continue
      seen.add(element)
      if (isHolder(element)) yield element
      else if (Array.isArray(element) || isRecord(element)) pending.push(element)
    }
  }
}

/**
 * Runs an effect in a scope of its own and moves the leases in its result to the caller's scope; everything else that
 * it acquired is released at once. Leases are found in `LeaseHolder`s, and in tuples, arrays and records of these; leases
 * that the inner scope does not own stay where they are. If the caller's scope has closed, the leases are released and it
 * fails with Released.
 *
 * **Example** (Keeping the result, dropping the intermediates)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, LeaseHolder } from "effect-gpu-pool"
 *
 * const sum = LeaseHolder.extract(Effect.gen(function*() {
 *   const scratch = yield* BufferPool.allocate(1 << 20)
 *   const out = yield* BufferPool.allocate(4096)
 *   yield* CommandQueue.copy(scratch, out, { size: 4096 })
 *   return out
 * }))
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const extract = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, Exclude<R, Scope.Scope> | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.scope, (outer) => {
      const inner = Scope.makeUnsafe()
      const moved = Effect.flatMap(
        restore(Scope.provide(effect, inner)),
        (result) => Effect.as(move(result, inner, outer), result)
      )
      return Effect.onExit(moved, (exit) => Scope.close(inner, exit))
    })
  )

/**
 * Moves the leases in a value from one scope to another, as {@link extract} does; leases that the first scope does not own stay
 * where they are. If the other scope has closed, the leases are released and it fails with Released.
 *
 * **Example** (Keeping one of several buffers)
 *
 * ```ts
 * import { Effect, Exit, Scope } from "effect"
 * import { BufferPool, LeaseHolder } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const round = yield* Scope.make()
 *   const buffers = yield* Scope.provide(Effect.all([BufferPool.allocate(64), BufferPool.allocate(64)]), round)
 *   yield* LeaseHolder.move({ kept: buffers[0] }, round, yield* Effect.scope)
 *   yield* Scope.close(round, Exit.void)
 *   return (yield* BufferPool.stats).activeBlocks
 * }) // => 1
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const move = (value: unknown, from: Scope.Scope, to: Scope.Scope): Effect.Effect<void, GpuError> =>
  Effect.flatMap(holders("LeaseHolder.move", value), (found) =>
    Effect.forEach(
      leasesOf(found),
      (lease) => lease.list?.scope === from ? transfer(lease, to) : Exit.void,
      { discard: true }
    ))
