/**
 * The lease: a program's right to use pooled memory of any kind.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import * as Hash from "effect/Hash"
import type * as Scope from "effect/Scope"
import type { MemorySpan } from "../../domain/data/MemorySpan.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, type Released, released } from "../../domain/GpuError.ts"
import type { LeaseCharge } from "../../domain/pool/machine/Charge.ts"
import type { PoolInputs } from "../../domain/pool/machine/PoolInputs.ts"
import type { Family } from "../../domain/pool/machine/Request.ts"
import type { PoolBlock } from "../../domain/pool/PoolCore.ts"
import { validated } from "../calls/Validated.ts"
import type { Attachments } from "./Attachments.ts"

/**
 * The memory that a driver creates and a pool leases: a device buffer, or an image.
 *
 * @category models
 * @since 0.1.0
 */
export interface Leasable {
  /** What errors call it. */
  label: string | undefined
  /** False when its memory may not exist: no pool leases it again. */
  recyclable: boolean
  /** What frees it, for memory of a pool. */
  pooledBy: Giver | undefined
  /** Its whole allocation, by which commands know whether they use the same memory. */
  readonly wholeMemory: MemorySpan
}

/**
 * What frees the memory of a pool.
 *
 * @category models
 * @since 0.1.0
 */
export interface Giver {
  /** What errors call it. */
  readonly service: string
  /** Frees it when called, in queue order. */
  destroyUnsafe(value: Leasable): Exit.Exit<void, GpuError>
}

/**
 * A block of a pool of any kind.
 *
 * @category models
 * @since 0.1.0
 */
export type Block<V extends Leasable = Leasable> = PoolBlock<V, Family>

/**
 * What granted a lease, and takes its block back: a memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface LeaseOwner {
  readonly deviceInfo: DeviceInfo
  /** The inputs of its machine. */
  readonly inputs: Pick<PoolInputs, "scopeClosed" | "serve">
  /** Ends a live lease. */
  readonly endUnsafe: (lease: Lease, why: Released["why"]) => void
  /** The error of a live lease that no device can use; without it every lease has memory of its device. */
  readonly problem?: (operation: string, lease: Lease) => GpuError
}

/**
 * The leases of one scope.
 *
 * @category models
 * @since 0.1.0
 */
export interface OwningList {
  readonly owner: LeaseOwner
  /** `undefined` for the leases of `use`. */
  readonly scope: Scope.Scope | undefined
  /** The fiber that acquired the first lease of the scope. */
  readonly fiberId: number
  readonly closed: boolean
  /** The lease that was granted last. */
  readonly last: Lease | undefined
  readonly add: (lease: Lease) => void
  readonly remove: (lease: Lease) => void
  /** The list of another scope. */
  readonly listOf: (scope: Scope.Scope, fiberId: number) => OwningList
}

/**
 * A lease on a block of a pool: a `PooledBuffer`, or a `PooledImage`. It is valid until its scope closes,
 * {@link release} is called or its pool closes. Each request gets a new lease, so using it after its end is a Released
 * error and never reaches another owner's memory. A lease equals only itself: two live leases never share memory, and
 * one that has ended has none.
 *
 * **Example** (Giving back whatever a job leased)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Lease } from "effect-gpu-pool"
 *
 * const releaseAll = (leases: Iterable<Lease.Lease>) =>
 *   Effect.forEach(leases, (lease) => Lease.isLive(lease) ? Lease.release(lease) : Effect.void, { discard: true })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export abstract class Lease<V extends Leasable = Leasable> implements Equal.Equal {
  /** Requested bytes. */
  declare readonly size: number
  /** Bytes of the block, at least `size`. */
  declare readonly capacity: number
  declare readonly label: string | undefined

  /** The block while the lease is live; a lease of 0 bytes has none. */
  declare block: Block<V> | undefined
  /** Why the lease ended, `undefined` while it is live. */
  declare ended: Released["why"] | undefined
  /** The list that owns the lease while it is live. @internal */
  declare list: OwningList | undefined
  /** @internal */
  declare previousInList: Lease | undefined
  /** @internal */
  declare nextInList: Lease | undefined
  /**
   * The fiber that runs the function with the lease, for a lease of `use`; 0 for one that belongs to a scope.
   *
   * @internal
   */
  declare borrowerId: number
  /** Sub-regions and mappings, which end before the block returns to the pool. @internal */
  declare attached: Attachments | undefined
  /** The budgets and the reservation that it is charged to. */
  declare account: LeaseCharge | undefined
  /** How many leases its memory had granted before it. @internal */
  declare readonly sequence: number

  /** @internal */
  constructor(block: Block<V> | undefined, size: number, label: string | undefined, sequence: number) {
    this.block = block
    this.size = size
    this.capacity = block === undefined ? 0 : block.capacity
    this.label = label
    this.ended = undefined
    this.list = undefined
    this.previousInList = undefined
    this.nextInList = undefined
    this.borrowerId = 0
    this.attached = undefined
    this.account = undefined
    this.sequence = sequence
  }

  /** @internal */
  get hasEnded(): boolean {
    return this.list === undefined
  }

  /** The name of its kind in errors; `undefined` for a buffer. */
  abstract get what(): Released["what"]

  [Equal.symbol](that: Equal.Equal): boolean {
    return this === that
  }

  [Hash.symbol](): number {
    return Hash.random(this)
  }
}

/**
 * Whether the lease can still be used.
 *
 * **Example** (Looking at a lease after its scope)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, Lease } from "effect-gpu-pool"
 *
 * Effect.scoped(BufferPool.allocate(64)).pipe(
 *   Effect.map(Lease.isLive)
 * ) // => false
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const isLive = (lease: Lease): boolean => !lease.hasEnded

/**
 * Ends the lease before its scope closes, and leaves nothing behind in the scope. A second call fails with Released.
 *
 * **Example** (Returning memory early in a long-lived scope)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, Lease } from "effect-gpu-pool"
 *
 * const step = Effect.gen(function*() {
 *   const scratch = yield* BufferPool.allocate(1024)
 *   yield* Lease.release(scratch)
 * })
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const release = (lease: Lease): Effect.Effect<void, GpuError> =>
  validated("Lease.release", (operation) => {
    const { list } = lease
    if (list === undefined) return released(operation, lease)
    list.owner.endUnsafe(lease, "released")
    return Exit.void
  })

/**
 * Moves the lease to another scope, whose close then ends it. When that scope is closed already, the lease is
 * released and it fails with Released.
 *
 * **Example** (Keeping a result beyond the scope of its work)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, Lease } from "effect-gpu-pool"
 *
 * const result = Effect.gen(function*() {
 *   const outer = yield* Effect.scope
 *   return yield* Effect.scoped(Effect.gen(function*() {
 *     const out = yield* BufferPool.allocate(4096)
 *     yield* Lease.transfer(out, outer)
 *     return out
 *   }))
 * })
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const transfer: {
  /**
   * Moves the lease to another scope, whose close then ends it. When that scope is closed already, the lease is
   * released and it fails with Released.
   */
  (scope: Scope.Scope): (lease: Lease) => Effect.Effect<void, GpuError>
  (lease: Lease, scope: Scope.Scope): Effect.Effect<void, GpuError>
} = dual(
  2,
  (lease: Lease, scope: Scope.Scope): Effect.Effect<void, GpuError> =>
    validated("Lease.transfer", (operation, fiber) => {
      return lease.list === undefined
        ? released(operation, lease)
        : move(operation, lease, lease.list, lease.list.listOf(scope, fiber.id))
    })
)

const move = (operation: string, lease: Lease, from: OwningList, to: OwningList): Effect.Effect<void, GpuError> => {
  if (to.closed) {
    to.owner.endUnsafe(lease, "scopeClosed")
    return released(operation, lease)
  }
  from.remove(lease)
  to.add(lease)
  return Exit.void
}
