/**
 * The part of an arena's core that is about whole slabs: what the driver has made and gets back, the limits, and which slab goes
 * first. It hands all of that to an inner `PoolCore`.
 *
 * @since 0.1.0
 */
import type { PoolBlock } from "../PoolBlock.ts"
import { PoolCore } from "../PoolCore.ts"
import type { PoolCoreOptions } from "../PoolCoreOptions.ts"

/**
 * The slabs of an `ArenaCore`: see `PoolCore` for the methods, which are the same, with slabs for blocks.
 *
 * @category models
 * @since 0.1.0
 */
export class SlabCore<A, F = number> {
  /** Keeps the slabs: active ones have leases, held ones have none. Blocks of families that are not split are its own. */
  protected readonly core: PoolCore<A, F>

  constructor(options: PoolCoreOptions) {
    this.core = new PoolCore({ ...options, outgrown: undefined })
  }

  /** Slabs, and blocks that are not split. */
  get managedBlocks(): number {
    return this.core.managedBlocks
  }

  get peakManagedBlocks(): number {
    return this.core.peakManagedBlocks
  }

  /** Bytes of slabs without leases: those that an eviction can free. */
  get evictableBytes(): number {
    return this.core.heldBytes
  }

  get managedBytes(): number {
    return this.core.managedBytes
  }

  get pendingBytes(): number {
    return this.core.pendingBytes
  }

  get peakManagedBytes(): number {
    return this.core.peakManagedBytes
  }

  get misses(): number {
    return this.core.misses
  }

  /** Slabs that the driver made. */
  get driverAllocations(): number {
    return this.core.driverAllocations
  }

  /** Slabs that the driver got back. */
  get driverFrees(): number {
    return this.core.driverFrees
  }

  get outer(): { readonly leftBytes: number } | undefined {
    return this.core.outer
  }

  set outer(outer: { readonly leftBytes: number } | undefined) {
    this.core.outer = outer
  }

  get maxBytes(): number {
    return this.core.maxBytes
  }

  get maxHeldBytes(): number {
    return this.core.maxHeldBytes
  }

  get excessHeld(): boolean {
    return this.core.excessHeld
  }

  get isOverLimit(): boolean {
    return this.core.isOverLimit
  }

  get holding(): boolean {
    return this.core.holding
  }

  stopHolding(): void {
    this.core.stopHolding()
  }

  resumeHolding(): void {
    this.core.resumeHolding()
  }

  setMaxHeldBytes(bytes: number): void {
    this.core.setMaxHeldBytes(bytes)
  }

  /** Makes the bytes of a slab pending. */
  addPending(bytes: number): boolean {
    return this.core.addPending(bytes)
  }

  removePending(bytes: number): void {
    this.core.removePending(bytes)
  }

  deficit(bytes: number): number {
    return this.core.deficit(bytes)
  }

  evictNext(missing?: number): PoolBlock<A, F> | undefined {
    return this.core.evictNext(missing)
  }

  evictOldest(): PoolBlock<A, F> | undefined {
    return this.core.evictOldest()
  }

  tick(steps = 1): void {
    this.core.tick(steps)
  }

  evictIdle(): PoolBlock<A, F> | undefined {
    return this.core.evictIdle()
  }

  trim(target: number): Generator<PoolBlock<A, F>, void> {
    return this.core.trim(target)
  }

  evictAll(): Generator<PoolBlock<A, F>, void> {
    return this.core.evictAll()
  }

  evictFamilies(isMeant: (family: F) => boolean): Generator<PoolBlock<A, F>, void> {
    return this.core.evictFamilies(isMeant)
  }

  evictWhich(isMeant: (value: A) => boolean): Generator<PoolBlock<A, F>, void> {
    return this.core.evictWhich(isMeant)
  }

  addDetached(capacity: number, value: A): PoolBlock<A, F> {
    return this.core.addDetached(capacity, value)
  }
}
