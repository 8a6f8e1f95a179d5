/**
 * Buffers in process memory, and the ledger that makes them as scarce as a device's.
 *
 * @internal
 */
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import { allocate } from "../../domain/HostData.ts"
import { DeviceBuffer } from "../../services/DeviceBuffer.ts"

/**
 * A buffer of the host backend.
 *
 * @internal
 */
export class HostBuffer extends DeviceBuffer {
  #memory: ArrayBuffer | undefined

  constructor(
    owner: DeviceInfo,
    memory: ArrayBuffer,
    usage: BufferUsage,
    label: string | undefined
  ) {
    super(owner, memory.byteLength, usage, label)
    this.#memory = memory
  }

  /** The bytes. Work on a buffer whose memory is gone is a fault of the library, never another owner's memory. */
  get memory(): ArrayBuffer {
    if (this.#memory === undefined) {
      throw new Error(`the memory of ${this.label ?? "a buffer"} was given back before its use`)
    }
    return this.#memory
  }

  /** Takes the memory away, from views that a program kept of it too. */
  drop(): void {
    if (this.#memory !== undefined) detach(this.#memory)
    this.#memory = undefined
  }
}

/** `transfer` came with ES2024; where it is missing the memory goes when its last view is collected. */
const detach = (memory: ArrayBuffer): void => {
  const { transfer } = memory as ArrayBuffer & { readonly transfer?: (newLength: number) => ArrayBuffer }
  transfer?.call(memory, 0)
}

/**
 * The memory of one open device, in bytes.
 *
 * @internal
 */
export class HostMemory {
  readonly #capacityBytes: number
  readonly #lateFree: boolean
  #usedBytes = 0
  #lateBytes = 0

  constructor(capacityBytes: number, lateFree: boolean) {
    this.#capacityBytes = capacityBytes
    this.#lateFree = lateFree
  }

  /** What counts against the capacity. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  create(owner: DeviceInfo, bytes: number, usage: BufferUsage, label: string | undefined): HostBuffer | GpuError {
    if (bytes > this.#capacityBytes - this.#usedBytes) return outOfMemory(bytes)
    const memory = allocate(bytes)
    if (memory === undefined) return outOfMemory(bytes)
    this.#usedBytes += bytes
    return new HostBuffer(owner, memory, usage, label)
  }

  /** Takes the memory from a destroyed buffer that no submitted work needs any more. */
  release(buffer: HostBuffer): void {
    buffer.drop()
    if (this.#lateFree) this.#lateBytes += buffer.size
    else this.#usedBytes -= buffer.size
  }

  /** What a finish or reclaim does when its turn comes: everything released before it is really free. */
  settle(): void {
    this.#usedBytes -= this.#lateBytes
    this.#lateBytes = 0
  }
}
