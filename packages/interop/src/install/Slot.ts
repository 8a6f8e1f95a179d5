/**
 * A buffer of the driver, and which lease has it.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { PoolBlock } from "effect-gpu-pool/PoolCore"
import type { Stack } from "../foreign/CallStack.ts"
import { bits, type Buffer } from "./Native.ts"

/**
 * While a program has the buffer, nothing here keeps it, so that one that the program drops is collected with its memory, as on a
 * device without a pool.
 */
export class Slot {
  /** Its bytes, which may be more than those of the lease. */
  readonly capacity: number
  /** Whether programs may map it. */
  readonly isMappable: boolean
  /** The pool's block. */
  block: PoolBlock<Slot> | PooledBuffer["block"] = undefined
  /** The lease, where the pool is the program's. */
  pooled: PooledBuffer | undefined = undefined
  /** The buffer, while the pool holds it, and in the step that lends it. */
  held: Buffer | undefined = undefined
  /** Whether its buffer's methods are those of a lease. */
  isKnown = false
  /** Whether it may have bytes of an earlier lease. */
  isUsed = false
  /** Whether the driver has destroyed its buffer. */
  isDestroyed = false
  /** Grows when a lease begins and when it ends: odd while a program has the buffer. */
  lease = 0
  /** The bytes of the lease, or of the last one. */
  size = 0
  label = ""
  /** Where the program asked for it. */
  stack: Stack | undefined = undefined
  /** The error that the driver may yet report, since it tells later whether it had memory. */
  creation: Promise<object | null> | undefined = undefined
  /** Whether the driver had no memory for it. */
  isBroken = false

  constructor(capacity: number, usage: number) {
    this.capacity = capacity
    this.isMappable = (usage & (bits.mapRead | bits.mapWrite)) !== 0
  }

  get isLeased(): boolean {
    return this.lease % 2 === 1
  }

  /** Whether a lease of the program has its block. */
  get isOfProgram(): boolean {
    return this.lease % 2 === 0 && this.block?.state === "active"
  }

  /**
   * Where an access to so many bytes of the lease begins. One that ends behind the lease is moved behind the block, so that the device
   * refuses it as it would refuse it for a buffer of the lease's size.
   */
  placeOf(offset: number, bytes: number): number {
    return offset + bytes > this.size ? offset + this.capacity - this.size : offset
  }

  /** The bytes from an offset to the end of the lease, which WebGPU takes where a program gives no size. */
  bytesFrom(offset: number): number {
    return Math.max(0, this.size - offset)
  }
}
