/**
 * One device allocation. Only the backend that made it can look into it.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import { isInstance } from "../../domain/ArgumentProblem.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import type { Released } from "../../domain/GpuError.ts"
import { inOneLine, showing, state } from "../../domain/Showing.ts"
import type { Attachments } from "../lease/Attachments.ts"
import type { Giver } from "../lease/Lease.ts"

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
 * import { BufferUsage, DeviceBuffer } from "effect-gpu-pool"
 * import type { DeviceInfo } from "effect-gpu-pool"
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
export abstract class DeviceBuffer implements Equal.Equal {
  /** The open device that made it, compared by identity. */
  readonly owner: DeviceInfo
  /** Bytes that can be addressed. */
  readonly size: number
  readonly usage: BufferUsage.BufferUsage
  /** What errors call it: the label of its present lease, or the one that it was allocated with. */
  label: string | undefined
  /** Set by the backend when it gives the memory back. */
  destroyed = false
  /**
   * False after a command on it was refused for lack of memory or by the driver, or failed on OpenCL. Its memory may
   * not exist, so no pool leases it again.
   */
  recyclable = true
  /** Of a sub-region the buffer under it; `undefined` for all others. */
  readonly parent: DeviceBuffer | undefined
  /** The first byte of a sub-region in its parent, 0 for every other. */
  readonly origin: number

  /** The program's own memory that it uses, kept for as long as it lives; for all others `undefined`. @internal */
  pinned: Uint8Array<ArrayBuffer> | undefined = undefined
  /** Why it ended, where "it was released" does not say enough. @internal */
  ended: Released["why"] | undefined = undefined
  /** @internal */
  attached: Attachments | undefined = undefined
  /** What gives it back, for one of a pool. @internal */
  pooledBy: Giver | undefined = undefined

  constructor(
    owner: DeviceInfo,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    part?: Part | undefined
  ) {
    this.owner = owner
    this.size = size
    this.usage = usage
    this.label = label
    this.parent = part?.parent
    this.origin = part === undefined ? 0 : part.origin
  }

  /** The whole allocation: its parent, or itself. */
  get root(): DeviceBuffer {
    return this.parent ?? this
  }

  /** What stands for the driver's object: the same for two buffers around one of them. */
  get identity(): object {
    return this
  }

  /** Whether a write to the one may show in the other: all sub-regions of one buffer count as that buffer. */
  sharesMemory(that: DeviceBuffer): boolean {
    return isInstance(that, DeviceBuffer) && this.root.identity === that.root.identity
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof DeviceBuffer && this.sharesMemory(that) && this.origin === that.origin &&
      this.size === that.size && (this.parent === undefined) === (that.parent === undefined)
  }

  [Hash.symbol](): number {
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
