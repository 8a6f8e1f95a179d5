/**
 * The source of a pool's memory: one for each kind, as buffers and images. The pool knows bytes, blocks and leases; a
 * source knows the kind of memory and the driver.
 *
 * @since 0.1.0
 */
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { GpuError } from "../../domain/GpuError.ts"
import type { Family, RequestSource } from "../../domain/pool/machine/Request.ts"
import type { RequestOptions } from "../../domain/pool/PoolOptions.ts"
import type { Block, Giver, Leasable, Lease } from "./Lease.ts"

/**
 * What a pool needs from a kind of memory. `W` is what a request says besides its bytes, `V` the driver's memory, and `L`
 * the lease on it. Its members are methods, so that the pool can treat every source alike: a pool passes to a source only
 * values of that source.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolSource<W = unknown, V extends Leasable = Leasable, L extends Lease<V> = Lease<V>>
  extends Giver, RequestSource
{
  readonly service: string
  /** The bytes above which the device can never serve a request. */
  readonly largest: number
  /** Whether its pool has closed. */
  closed: boolean
  /** Done when its pool has closed or the device is lost. */
  readonly over: Deferred.Deferred<void>
  /** Its number among the sources of a memory, by which their families differ. */
  index: number
  /** Driver calls under way. */
  readonly inFlight: Set<Fiber.Fiber<V, GpuError>>
  /** Waits until the driver really has the destroyed memory back. */
  readonly reclaim: Effect.Effect<void, GpuError>
  /** The size of the block that a request gets. */
  blockSize(size: number, family: Family): number
  /** The requested size, rounded up to the device's granularity. */
  exactSize(size: number): number
  /** The bytes of its part of a slab: the requested size in whole units. `Infinity` where blocks of the family are not split. */
  partSize(size: number, family: Family): number
  /** The limit of the pool has changed. */
  limitTo(maxBytes: number): void
  family(wanted: W): Family
  /** Whether a family is one of its own. */
  owns(family: Family): boolean
  /** Whether a memory that splits slabs splits those of a family of its own: none without it. */
  splitsFamily?(family: Family): boolean
  /** The allocations that the memory of a request with such options should be apart from, where that matters; or what is wrong. */
  apartOf?(operation: string, options: RequestOptions): ReadonlyArray<object> | GpuError | undefined
  /** Whether a request needs no further check: most requests do not. */
  isUsual(wanted: W): boolean
  /** What is wrong with a request, besides its size under the limits. */
  problem(operation: string, size: number, wanted: W, label: string | undefined): GpuError | undefined
  /** Asks the driver for a block. */
  create(
    wanted: W,
    capacity: number,
    label: string | undefined,
    callSite: string | undefined
  ): Effect.Effect<V, GpuError>
  destroyUnsafe(value: V): Exit.Exit<void, GpuError>
  /** Fills a block with zeros, in queue order. */
  clearUnsafe(value: V, capacity: number): Exit.Exit<void, GpuError>
  /** A lease on an active block, or a lease of 0 bytes without one. */
  lease(block: Block<V> | undefined, size: number, wanted: W, label: string | undefined, sequence: number): L
}
