/**
 * Buffers in process memory, and the count of bytes against the device's capacity.
 *
 * @internal
 */
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import { detachMemory, moveMemory } from "../../domain/data/DetachMemory.ts"
import { allocate } from "../../domain/data/HostData.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import type { PooledBuffer } from "../../services/buffers/PooledBuffer.ts"
import { DeviceBuffer, type Part } from "../../services/device/DeviceBuffer.ts"

/** The memory of a buffer and of its sub-regions. */
interface Piece {
  bytes: ArrayBuffer | undefined
  /** Regions that were not destroyed. */
  regions: number
  /** The lease whose views show it in place. */
  shownBy: PooledBuffer | undefined
  /** How many detachments of its views are still queued. */
  moves: number
}

const pieceOf = (bytes: ArrayBuffer): Piece => ({ bytes, regions: 0, shownBy: undefined, moves: 0 })

/** A buffer of the host backend: over memory of its own, over a range of another buffer, or over the program's data. */
export class HostBuffer extends DeviceBuffer {
  readonly #piece: Piece
  /** Where it begins in {@link memory}. */
  readonly base: number
  /** The kind of driver object that it counts as. */
  kind: "buffer" | "image" | "region" = "buffer"

  private constructor(
    owner: DeviceInfo,
    piece: Piece,
    base: number,
    size: number,
    usage: BufferUsage,
    label: string | undefined,
    part?: Part & { readonly parent: HostBuffer }
  ) {
    super(owner, size, usage, label, part)
    this.#piece = piece
    this.base = base
  }

  static over(owner: DeviceInfo, memory: ArrayBuffer, usage: BufferUsage, label: string | undefined): HostBuffer {
    return new HostBuffer(owner, pieceOf(memory), 0, memory.byteLength, usage, label)
  }

  /** The program's data: this memory is never detached. */
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

  region({ origin, within }: Part, size: number, usage: BufferUsage, label: string | undefined): HostBuffer {
    this.#piece.regions += 1
    const part = { parent: this, origin, within }
    return new HostBuffer(this.owner, this.#piece, this.base + origin, size, usage, label, part)
  }

  /** A part that a pool leases, and that ends with it. */
  part(origin: number, size: number): HostBuffer {
    const part = { parent: this, origin, isAlone: true }
    return new HostBuffer(this.owner, this.#piece, this.base + origin, size, this.usage, undefined, part)
  }

  /** The kind that the destroyed sub-region was counted as. */
  regionEnded(): void {
    this.#piece.regions -= 1
  }

  /** Whether no buffer is over the memory any more. */
  get isGone(): boolean {
    return this.root.destroyed && this.#piece.regions === 0
  }

  /**
   * The bytes, and perhaps others around them: it begins at `base`. A command on a buffer whose memory was freed is a
   * defect of the library, and throws.
   */
  get memory(): ArrayBuffer {
    if (this.#piece.bytes === undefined) {
      throw new Error(`the memory of ${this.label ?? "a buffer"} was freed before its use`)
    }
    return this.#piece.bytes
  }

  /** Whether a program has moved the memory out of a view of it. */
  get isTaken(): boolean {
    return this.#piece.bytes?.byteLength === 0
  }

  /** Detaches the memory and all views of it; the program's data stays. */
  drop(): void {
    const { bytes } = this.#piece
    if (bytes !== undefined && this.root.pinned === undefined) detachMemory(bytes)
    this.#piece.bytes = undefined
  }

  /** The lease whose views show the memory in place, if any. */
  get shownBy(): PooledBuffer | undefined {
    return this.#piece.shownBy
  }

  /** Whether a view has ended that is not detached yet. */
  get isMoving(): boolean {
    return this.#piece.moves > 0
  }

  show(lease: PooledBuffer): void {
    this.#piece.shownBy = lease
  }

  /** The lease has ended: {@link move} the memory when the commands that use it have run. */
  hide(): void {
    this.#piece.shownBy = undefined
    this.#piece.moves += 1
  }

  /**
   * Moves the bytes to another ArrayBuffer, without a copy, which detaches the program's views. Where the program has
   * transferred the memory, the buffer gets new memory; if there is none, the buffer is never leased again.
   */
  move(): void {
    const { bytes } = this.#piece
    this.#piece.moves -= 1
    if (bytes === undefined || this.root.pinned !== undefined) return
    this.#piece.bytes = moveMemory(bytes) ?? allocate(this.root.size)
    if (this.#piece.bytes === undefined) this.distrust()
  }
}

/** The memory of one open device, in bytes. */
export class HostMemory {
  readonly #capacityBytes: number
  readonly #lateFree: boolean
  #usedBytes = 0
  #lateBytes = 0

  constructor(capacityBytes: number, lateFree: boolean) {
    this.#capacityBytes = capacityBytes
    this.#lateFree = lateFree
  }

  /** The bytes that count against the capacity. */
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

  /** Frees the memory of a destroyed buffer that no submitted command and no sub-region needs any more. */
  release(buffer: HostBuffer): void {
    buffer.drop()
    if (buffer.pinned !== undefined) return
    if (this.#lateFree) this.#lateBytes += buffer.size
    else this.#usedBytes -= buffer.size
  }

  /** Runs at the place of a finish or reclaim in the queue: everything released before it is really free. */
  settle(): void {
    this.#usedBytes -= this.#lateBytes
    this.#lateBytes = 0
  }
}
