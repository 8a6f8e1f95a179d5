/**
 * The limits around a memory: those of the allocators that its blocks come from, which other memories share with it. What a memory has
 * counts under all of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface OuterLimits {
  /** The most bytes that one request can ever have. */
  readonly maxBytes: number
  /** The bytes that they leave to this memory, including those that it has. */
  readonly leftBytes: number
  /** The same if the other memories gave up what they hold. */
  readonly attainableBytes: number
  /** Bytes that may come back to this memory from others: leased, pending, reserved, or allocated without a pool. */
  readonly bytesOfOthers: number
  /** Bytes that other memories hold. */
  readonly heldByOthers: number
  /** Whether any of `bytesOfOthers` may come back while this memory only waits. */
  readonly mayComeBack: boolean
  /** Whether a request of another memory, which the driver refused, is trying again. */
  readonly othersAtWork: boolean
  /** Grows when the driver may have got memory back from others. */
  readonly epoch: number
  /** Evicts held blocks of other memories while bytes are missing. Returns whether it evicted any. */
  evict(missing: () => number): boolean
  /** Serves the queues of other memories in a later task, since memory came back to this one, whose machine is within a step. */
  publish(): void
}

/**
 * The limits of a memory whose allocator has none.
 *
 * @category functions
 * @since 0.1.0
 */
export const noOuterLimits: OuterLimits = {
  maxBytes: Infinity,
  leftBytes: Infinity,
  attainableBytes: Infinity,
  bytesOfOthers: 0,
  heldByOthers: 0,
  mayComeBack: false,
  othersAtWork: false,
  epoch: 0,
  evict: () => false,
  publish: () => {}
}
