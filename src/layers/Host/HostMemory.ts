/**
 * Buffers in process memory, and the ledger that makes them as scarce as a device's.
 *
 * @internal
 */
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import { detachMemory, moveMemory } from "../../domain/DetachMemory.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import { allocate } from "../../domain/HostData.ts"
import type { PooledBuffer } from "../../services/buffers/PooledBuffer.ts"
import { DeviceBuffer } from "../../services/device/DeviceBuffer.ts"

/** One piece of memory, of a buffer and of the regions of it. */
interface Piece {
  bytes: ArrayBuffer | undefined
  /** Regions that were not destroyed. */
  regions: number
  /** The lease that a program sees it by, in place. */
  shownBy: PooledBuffer | undefined
  /** How often views of it are still to be cut off, in queue order. */
  moves: number
}

const pieceOf = (bytes: ArrayBuffer): Piece => ({ bytes, regions: 0, shownBy: undefined, moves: 0 })

/**
 * A buffer of the host backend: its own memory, a part of another one's, or the program's.
 *
 * @internal
 */
export class HostBuffer extends DeviceBuffer {
  readonly #piece: Piece
  /** Where it begins in {@link memory}. */
  readonly base: number
  /** What it counts as among the driver's objects. */
  kind: "buffer" | "image" | "region" = "buffer"

  private constructor(
    owner: DeviceInfo,
    piece: Piece,
    base: number,
    size: number,
    usage: BufferUsage,
    label: string | undefined,
    part?: { readonly parent: HostBuffer; readonly origin: number }
  ) {
    super(owner, size, usage, label, part)
    this.#piece = piece
    this.base = base
  }

  static over(owner: DeviceInfo, memory: ArrayBuffer, usage: BufferUsage, label: string | undefined): HostBuffer {
    return new HostBuffer(owner, pieceOf(memory), 0, memory.byteLength, usage, label)
  }

  /** The program's own memory, which stays the program's. */
  static using(
    owner: DeviceInfo,
    data: Uint8Array<ArrayBuffer>,
    usage: BufferUsage,
    label: string | undefined
  ): HostBuffer {
    const { buffer, byteLength, byteOffset } = data
    const made = new HostBuffer(owner, pieceOf(buffer), byteOffset, byteLength, usage, label)
    made.pinned = data
    return made
  }

  region(origin: number, size: number, usage: BufferUsage, label: string | undefined): HostBuffer {
    this.#piece.regions += 1
    return new HostBuffer(this.owner, this.#piece, this.base + origin, size, usage, label, { parent: this, origin })
  }

  /** What the destroyed region was counted for. */
  regionEnded(): void {
    this.#piece.regions -= 1
  }

  /** Whether nothing stands on the memory any more. */
  get isGone(): boolean {
    return this.root.destroyed && this.#piece.regions === 0
  }

  /**
   * The bytes, and perhaps others around them: it begins at `base`. Work on a buffer whose memory is gone is a fault of
   * the library, never another owner's memory.
   */
  get memory(): ArrayBuffer {
    if (this.#piece.bytes === undefined) {
      throw new Error(`the memory of ${this.label ?? "a buffer"} was given back before its use`)
    }
    return this.#piece.bytes
  }

  /** Whether a program has moved the memory out of a view of it. */
  get isTaken(): boolean {
    return this.#piece.bytes?.byteLength === 0
  }

  /** Takes the memory away, from views that a program kept of it too; the program's own stays with it. */
  drop(): void {
    const { bytes } = this.#piece
    if (bytes !== undefined && this.root.pinned === undefined) detachMemory(bytes)
    this.#piece.bytes = undefined
  }

  /** The lease by which a program sees the memory in place, if any. */
  get shownBy(): PooledBuffer | undefined {
    return this.#piece.shownBy
  }

  /** Whether a view that ends is not cut off yet. */
  get isMoving(): boolean {
    return this.#piece.moves > 0
  }

  show(lease: PooledBuffer): void {
    this.#piece.shownBy = lease
  }

  /** The lease has ended: the memory is to {@link move} when the work that uses it where it is has run. */
  hide(): void {
    this.#piece.shownBy = undefined
    this.#piece.moves += 1
  }

  /**
   * Gives the bytes another ArrayBuffer, without a copy, and so cuts off the views that a program has. Where the program took
   * the memory away it gets new memory, and without that it is never leased again.
   */
  move(): void {
    const { bytes } = this.#piece
    this.#piece.moves -= 1
    if (bytes === undefined || this.root.pinned !== undefined) return
    this.#piece.bytes = moveMemory(bytes) ?? allocate(this.root.size)
    if (this.#piece.bytes === undefined) this.root.recyclable = false
  }
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
    return HostBuffer.over(owner, memory, usage, label)
  }

  /** Takes the memory from a destroyed buffer that no submitted work needs any more, nor a region. */
  release(buffer: HostBuffer): void {
    buffer.drop()
    if (buffer.pinned !== undefined) return
    if (this.#lateFree) this.#lateBytes += buffer.size
    else this.#usedBytes -= buffer.size
  }

  /** What a finish or reclaim does when its turn comes: everything released before it is really free. */
  settle(): void {
    this.#usedBytes -= this.#lateBytes
    this.#lateBytes = 0
  }
}
