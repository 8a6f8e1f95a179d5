/**
 * One device allocation. Only the backend that made it can look into it.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import { inOneLine, showing, state } from "../../domain/arguments/Showing.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { MemorySpan } from "../../domain/data/MemorySpan.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { DriverMemory } from "./DriverObject.ts"

/**
 * Where a sub-region lies.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  /** The buffer under it, which is no sub-region itself. */
  readonly parent: DeviceBuffer
  /** Its first byte there. */
  readonly origin: number
  /** The memory that commands treat as one with it, if that is less than the parent. */
  readonly within?: MemorySpan | undefined
  /** Whether it is such memory itself: a part that a pool leases. */
  readonly isAlone?: boolean | undefined
}

/**
 * A buffer as the driver gave it: around a GPUBuffer, a cl_mem or an ArrayBuffer. Programs have leases (`PooledBuffer`)
 * instead. An Allocator creates device buffers, and its caller frees them.
 *
 * Each backend has a subclass of its own and unwraps only that. Two of them are equal (`Equal.equals`) when they are
 * the same driver object, as one that was allocated and one that was adopted by its handle, or the same range of one.
 *
 * **Example** (The buffers of a backend of your own)
 *
 * ```ts
 * import { BufferUsage } from "effect-gpu-pool"
 * import { DeviceBuffer, type DeviceInfo } from "effect-gpu-pool/backend"
 *
 * class MyBuffer extends DeviceBuffer.DeviceBuffer {
 *   readonly memory: ArrayBuffer
 *   constructor(owner: DeviceInfo.DeviceInfo, bytes: number) {
 *     super(owner, bytes, BufferUsage.defaultUsage, undefined)
 *     this.memory = new ArrayBuffer(bytes)
 *   }
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export abstract class DeviceBuffer extends DriverMemory {
  /** Bytes that can be addressed. */
  readonly size: number
  readonly usage: BufferUsage.BufferUsage
  /** The buffer under a sub-region; `undefined` for all others. */
  readonly parent: DeviceBuffer | undefined
  /** The first byte of a sub-region in its parent, 0 for every other. */
  readonly origin: number

  constructor(
    owner: DeviceInfo,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    part?: Part | undefined
  ) {
    super(owner, label)
    this.size = size
    this.usage = usage
    this.parent = part?.parent
    this.wholeMemory = part === undefined || part.isAlone === true ? this : part.within ?? part.parent
    this.origin = part === undefined ? 0 : part.origin
  }

  /** The whole allocation: its parent, or itself. */
  get root(): DeviceBuffer {
    return this.parent ?? this
  }

  override get allocation(): object {
    return this.root.identity
  }

  override get begin(): number {
    return this.parent === undefined ? 0 : this.parent.begin + this.origin
  }

  override get end(): number {
    return this.begin + this.size
  }

  override readonly wholeMemory: MemorySpan

  /** @internal */
  override distrust(): void {
    const { parent, wholeMemory } = this
    if (parent === undefined || wholeMemory === this) super.distrust()
    else if (wholeMemory !== parent && wholeMemory instanceof DriverMemory) wholeMemory.distrust()
    parent?.distrust()
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof DeviceBuffer && this.root.identity === that.root.identity && this.origin === that.origin &&
      this.size === that.size && (this.parent === undefined) === (that.parent === undefined)
  }

  override [Hash.symbol](): number {
    return Hash.random(this.root.identity)
  }

  /** The same as `size`: a device buffer has no padding. */
  get capacity(): number {
    return this.size
  }
}

showing<DeviceBuffer>(
  ({ destroyed, ended = "released", label, origin, owner, parent, size, usage }) =>
    inOneLine(parent === undefined ? "DeviceBuffer" : "SubRegion", label, [
      parent === undefined ? `${size} B` : `${size} B from byte ${origin} of ${parent.size} B`,
      BufferUsage.format(usage),
      state(destroyed ? ended : undefined, owner)
    ])
)(DeviceBuffer.prototype)
