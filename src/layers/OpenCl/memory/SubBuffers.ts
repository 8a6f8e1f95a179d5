/**
 * The parts of a buffer that a pool has split, and their sub-buffers.
 *
 * A command that takes an offset can name the whole buffer. A part gets a sub-buffer only when it needs a cl_mem of its
 * own, as an argument of a kernel does. The parts of live leases never overlap, so the lease of a sub-buffer has ended
 * when another part needs one for some of its bytes. Until then it stays, and serves the next lease of the same bytes.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { DriverObjects } from "../../../domain/device/DriverObjects.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import { isTaken } from "../../../services/buffers/mapping/MappedMemory.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import { isPocl } from "../opening/OpenClDevices.ts"
import type { OpenClPlatform } from "../opening/OpenClPlatform.ts"
import { OpenClBuffer, type Place, wholeOf } from "./OpenClObject.ts"

/** The part of an open device that {@link SubBuffers} needs. */
interface Owner {
  readonly api: OpenClApi
  readonly driverObjects: DriverObjects
  readonly queues: { readonly several: boolean }
  /** Makes a sub-buffer of a whole buffer: OpenCL allows none of a sub-buffer. */
  readonly createSubBufferUnsafe: (
    whole: DeviceBuffer,
    origin: number,
    size: number,
    flags: number
  ) => bigint | GpuError
}

/** The flags of the buffer that it is a part of. */
const inherited = 0

const kind = "part"

/** A sub-buffer. Another one of the same bytes is another object, though a driver may use the same handle. */
class SubBuffer implements Place {
  readonly handle: bigint
  readonly start = 0
  /** The part that has asked for it last. */
  part: OpenClPart
  isReleased = false

  constructor(handle: bigint, part: OpenClPart) {
    this.handle = handle
    this.part = part
  }

  get objectBytes(): number {
    return this.part.size
  }
}

/** A part as memory of its own. It ends with the buffer that it is a part of. */
export class OpenClPart extends OpenClBuffer {
  readonly subBuffers: SubBuffers
  #own: SubBuffer | undefined

  constructor(subBuffers: SubBuffers, begin: number, size: number) {
    const { whole } = subBuffers
    const { handle, owner, usage } = whole
    // There are no sub-buffers of sub-buffers.
    const part = { parent: whole.root, origin: whole.origin + begin, isAlone: true }
    super(handle, owner, size, usage, undefined, part, undefined, begin)
    this.subBuffers = subBuffers
  }

  override get objectBytes(): number {
    return this.subBuffers.whole.size
  }

  /** In the whole buffer, as long as no command can run at the same time on another part. */
  override get place(): Place | GpuError {
    return this.subBuffers.areApart ? this.own : this
  }

  override get own(): Place | GpuError {
    if (this.#own !== undefined && !this.#own.isReleased) return this.#own
    const made = this.subBuffers.of(this)
    if (isGpuError(made)) return made
    this.#own = made
    return made
  }
}

/** Where commands find a buffer with which PoCL 3.1 ends the process if it is a sub-buffer: in the whole one. */
export const placeInWhole = (buffer: DeviceBuffer, platform: OpenClPlatform): Place | GpuError =>
  buffer instanceof OpenClPart && !isPocl(platform)
    ? buffer.place
    : { handle: wholeOf(buffer), start: buffer.origin, objectBytes: buffer.root.size }

/** The sub-buffers of one buffer. */
export class SubBuffers {
  readonly whole: OpenClBuffer
  readonly #owner: Owner
  /** In the order of their bytes; none overlaps another one. */
  readonly #made: Array<SubBuffer> = []
  #isKeptApart = false
  #failure: GpuError | undefined

  constructor(owner: Owner, whole: OpenClBuffer) {
    this.#owner = owner
    this.whole = whole
  }

  /**
   * Whether commands must name sub-buffers alone: OpenCL does not define what commands do that use a buffer and a
   * sub-buffer of it at the same time, or the one while the other is mapped.
   *
   * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clCreateSubBuffer
   */
  get areApart(): boolean {
    return this.#isKeptApart || this.#owner.queues.several
  }

  /** From now on a mapping or other code uses the sub-buffer of a part. */
  keepApart(): void {
    this.#isKeptApart = true
  }

  /** The sub-buffer of a part, which a lease has. Those that overlap it were of leases that have ended. */
  of(part: OpenClPart): SubBuffer | GpuError {
    const { begin, end, origin, size } = part
    const first = this.#firstAfter(begin)
    const known = this.#made[first]
    if (known !== undefined && known.part.begin === begin && known.part.end === end) {
      known.part = part
      return known
    }
    let count = 0
    for (let at = first; at < this.#made.length && this.#made[at]!.part.begin < end; at++) count++
    for (const old of this.#made.splice(first, count)) this.#release(old)
    const handle = this.#owner.createSubBufferUnsafe(this.whole.root, origin, size, inherited)
    if (isGpuError(handle)) return handle
    this.#owner.driverObjects.add(kind)
    const made = new SubBuffer(handle, part)
    this.#made.splice(first, 0, made)
    return made
  }

  /** The part that has these bytes and a sub-buffer, if there is one. */
  partWith(begin: number, end: number): OpenClPart | undefined {
    const part = this.#made[this.#firstAfter(begin)]?.part
    return part !== undefined && part.begin <= begin && end <= part.end ? part : undefined
  }

  /** Releases all of them, before the buffer. */
  releaseUnsafe(): Exit.Exit<void, GpuError> {
    for (const made of this.#made.splice(0)) this.#release(made)
    return this.#failure === undefined ? Exit.void : Exit.fail(this.#failure)
  }

  /** The index of the first one that ends after a byte. */
  #firstAfter(byte: number): number {
    let low = 0
    let high = this.#made.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#made[middle]!.part.end > byte) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Commands that name it were enqueued when they were recorded: the driver keeps it until they have ended. */
  #release(made: SubBuffer): void {
    const { api, driverObjects } = this.#owner
    made.isReleased = true
    const code = api.clReleaseMemObject(made.handle)
    if (code !== OpenClCode.success) this.#failure ??= driverError({ call: "clReleaseMemObject", code })
    else if (isTaken(made.part)) driverObjects.leave(kind)
    else driverObjects.remove(kind)
  }
}
