/**
 * A block, as the core of a pool keeps it.
 *
 * @since 0.1.0
 */
import type { Bin } from "./PoolBins.ts"

/**
 * The state of a block: leased (`active`), kept for reuse (`held`), handed to the owner, who must free it (`detached`),
 * or freed (`freed`).
 *
 * @category models
 * @since 0.1.0
 */
export type BlockState = "active" | "held" | "detached" | "freed"

/**
 * The set of interchangeable blocks to which a block returns.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolBin<F = number> {
  /** The family: what the blocks have in common besides their size. */
  readonly family: F
  /** The capacity of every block in the bin, in bytes. */
  readonly size: number
}

/**
 * One device allocation as the pool keeps it. Only the `PoolCore` that made it changes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolBlock<A, F = number> {
  /** What the driver made. */
  readonly value: A
  /** Unique among the blocks of the program. */
  readonly number: number
  /** Its byte count. */
  readonly capacity: number
  /** The bin to which it returns, or undefined when it is freed at release. */
  readonly bin: PoolBin<F> | undefined
  /** The block that the driver gets back when this one is freed: itself, or for a part of a slab the slab. */
  readonly whole: PoolBlock<A, F>
  /** Its first byte in that block. */
  readonly begin: number
  /** The bytes that its present lease asked for; 0 while it is not active. */
  readonly request: number
  readonly state: BlockState
}

let lastNumber = 0

/** A number for a block. @internal */
export const nextNumber = (): number => ++lastNumber

/**
 * A block with the fields that only the core uses.
 *
 * @internal
 */
export class Block<A, F> implements PoolBlock<A, F> {
  readonly number = nextNumber()
  readonly value: A
  readonly capacity: number
  readonly bin: Bin<Block<A, F>, F> | undefined
  request = 0
  state: BlockState = "detached"
  below: Block<A, F> | undefined = undefined
  // These four are kept only while the pool keeps its held blocks in order.
  above: Block<A, F> | undefined = undefined
  older: Block<A, F> | undefined = undefined
  newer: Block<A, F> | undefined = undefined
  heldAt = 0

  constructor(value: A, capacity: number, bin: Bin<Block<A, F>, F> | undefined) {
    this.value = value
    this.capacity = capacity
    this.bin = bin
  }

  get whole(): this {
    return this
  }

  get begin(): number {
    return 0
  }
}

/** Separate from the rest of a release, which then is short enough for the engine to inline. @internal */
export const notActive = ({ state }: PoolBlock<unknown, unknown>): Error =>
  new Error(`PoolCore: only an active block can be released, this one is ${state}`)
