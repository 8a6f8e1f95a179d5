/**
 * The lease: what a program holds of a pooled buffer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import { isInstance } from "../domain/ArgumentProblem.ts"
import * as BufferUsage from "../domain/BufferUsage.ts"
import { type GpuError, invalidRequest, make as makeError, Released } from "../domain/GpuError.ts"
import type { PoolBlock } from "../domain/PoolCore.ts"
import { inOneLine, showing, state } from "../domain/Showing.ts"
import { checkedStep } from "./CheckedStep.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import { LeaseHolder } from "./LeaseHolder.ts"
import type { LeaseAccount } from "./leasing/LeaseAccount.ts"
import type { LeaseList } from "./leasing/LeaseList.ts"
import type { Attachments } from "./memory/Attachments.ts"
import { wrongArgument } from "./WrongArgument.ts"

/**
 * A lease on a block of a pool. It is valid until its scope closes, `release` is called or its pool closes; each
 * acquire makes a new one, so using it afterwards is a Released error and never another owner's memory.
 *
 * It implements {@link LeaseHolder}, as everything that holds leases should. A lease equals itself alone: two live leases
 * never share memory, and one that has ended has none.
 *
 * **Example** (Size and capacity)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = BufferPool.use(1000, (lease) => Effect.succeed([lease.size, lease.capacity])).pipe(
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => [1000, 1024]
 * ```
 *
 * @see pyopencl.tools.PooledBuffer, whose `size` is the block's instead of the request's
 * @category models
 * @since 0.1.0
 */
export class PooledBuffer implements LeaseHolder, Equal.Equal {
  /** Bytes that were asked for. */
  readonly size: number
  /** Bytes of the block, at least `size`. */
  readonly capacity: number
  readonly usage: BufferUsage.BufferUsage
  readonly label: string | undefined

  /** The block while the lease is live; a zero-byte lease has none. @internal */
  block: PoolBlock<DeviceBuffer> | undefined
  /** Why the lease ended, `undefined` while it is live. @internal */
  ended: Released["why"] | undefined = undefined
  /** The list that owns the lease while it is live. @internal */
  list: LeaseList | undefined = undefined
  /** @internal */
  previousInList: PooledBuffer | undefined = undefined
  /** @internal */
  nextInList: PooledBuffer | undefined = undefined
  /** The fiber that runs the function which it is lent to; 0 for one that belongs to a scope. @internal */
  borrowerId = 0
  /** Sub-regions and mappings, which end before the block goes back. @internal */
  attached: Attachments | undefined = undefined
  /** Which lease of the pool this is, in order of granting. @internal */
  readonly sequence: number

  /** @internal */
  constructor(
    block: PoolBlock<DeviceBuffer> | undefined,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    sequence: number
  ) {
    this.block = block
    this.size = size
    this.capacity = block === undefined ? 0 : block.capacity
    this.usage = usage
    this.label = label
    this.sequence = sequence
  }

  /** What it uses of a budget and of a reservation. @internal */
  get account(): LeaseAccount | undefined {
    return undefined
  }

  [LeaseHolder](): Iterable<PooledBuffer> {
    return [this]
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return this === that
  }

  [Hash.symbol](): number {
    return Hash.random(this)
  }
}

showing<PooledBuffer>(({ capacity, ended, label, list, size, usage }) =>
  inOneLine("PooledBuffer", label, [
    `${size} of ${capacity} B`,
    BufferUsage.format(usage),
    state(ended, list?.pool.info)
  ])
)(PooledBuffer.prototype)

/**
 * The error of using a lease that has ended.
 *
 * @internal
 */
export const releasedError = (operation: string, lease: PooledBuffer): GpuError =>
  makeError(
    new Released({ operation, label: lease.label, size: lease.size, why: lease.ended ?? "released" })
  )

/**
 * Whether the lease can still be used.
 *
 * **Example** (Looking at a lease after its scope)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, PooledBuffer } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const leaked = Effect.scoped(BufferPool.allocate(64)).pipe(
 *   Effect.map(PooledBuffer.isLive),
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(leaked) // => false
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const isLive = (lease: PooledBuffer): boolean => isInstance(lease, PooledBuffer) && lease.list !== undefined

/**
 * Gives the block back before the scope closes; nothing of it stays behind in the scope. A second call fails with
 * Released.
 *
 * **Example** (Returning memory early in a long-lived scope)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, PooledBuffer } from "effect-gpu-pool"
 *
 * const step = Effect.gen(function*() {
 *   const scratch = yield* BufferPool.allocate(1024)
 *   yield* PooledBuffer.release(scratch)
 * })
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const release = (lease: PooledBuffer): Effect.Effect<void, GpuError> =>
  checkedStep("PooledBuffer.release", (operation) => {
    if (!(lease instanceof PooledBuffer)) return noLease(operation, lease)
    const list = lease.list
    if (list === undefined) return releasedError(operation, lease)
    return list.pool.endUnsafe(lease, "released") ?? Exit.void
  })

/**
 * Moves the lease to another scope, whose close then gives the block back. Into a closed scope the lease is released
 * and the answer is Released.
 *
 * **Example** (Keeping a result beyond the scope of its work)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, PooledBuffer } from "effect-gpu-pool"
 *
 * const result = Effect.gen(function*() {
 *   const outer = yield* Effect.scope
 *   return yield* Effect.scoped(Effect.gen(function*() {
 *     const out = yield* BufferPool.allocate(4096)
 *     yield* PooledBuffer.transfer(out, outer)
 *     return out
 *   }))
 * })
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const transfer = (lease: PooledBuffer, scope: Scope.Scope): Effect.Effect<void, GpuError> =>
  checkedStep("PooledBuffer.transfer", (operation, fiber) => {
    if (!(lease instanceof PooledBuffer)) return noLease(operation, lease)
    if (lease.list === undefined) return releasedError(operation, lease)
    if (!Predicate.hasProperty(scope, "state")) {
      return invalidRequest(operation, "the value given for a scope is none", "Pass a scope, as Effect.scope gives it.")
    }
    return lease.list.pool.withList(scope, fiber, (list) => move(lease, list))
  })

/** Programs without types can pass anything. */
const noLease = (operation: string, value: unknown): GpuError =>
  wrongArgument(operation, value, "a lease", "Pass a lease of BufferPool.allocate.")

const move = (lease: PooledBuffer, to: LeaseList): Effect.Effect<void, GpuError> => {
  if (lease.list === undefined) return releasedError("PooledBuffer.transfer", lease)
  if (to.closed) {
    const ended = to.pool.endUnsafe(lease, "scopeClosed") ?? Exit.void
    return Effect.andThen(ended, releasedError("PooledBuffer.transfer", lease))
  }
  lease.list.remove(lease)
  to.add(lease)
  return Exit.void
}
