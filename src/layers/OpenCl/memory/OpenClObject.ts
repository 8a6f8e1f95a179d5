/**
 * The objects of this backend: buffers and images around a cl_mem, and samplers around a cl_sampler.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { DriverObjects } from "../../../domain/device/DriverObjects.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import type { Resolved } from "../../../domain/images/SamplerOptions.ts"
import { isTaken } from "../../../services/buffers/mapping/MappedMemory.ts"
import { DeviceBuffer, type Part } from "../../../services/device/DeviceBuffer.ts"
import { DeviceImage, type ImageDescription } from "../../../services/device/DeviceImage.ts"
import { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import type { SvmAllocation } from "../svm/SvmAllocation.ts"

/** An object of the driver, by its identity: a driver may use the handle of a released one again. */
export interface DriverHandle {
  readonly handle: bigint
}

/** Where commands find the bytes of a buffer: in a cl_mem, from the byte `start` on. */
export interface Place extends DriverHandle {
  readonly start: number
  /** Bytes of the cl_mem. */
  readonly objectBytes: number
}

export class OpenClBuffer extends DeviceBuffer implements Place {
  readonly handle: bigint
  readonly start: number
  readonly #shared: SvmAllocation | undefined

  constructor(
    handle: bigint,
    owner: DeviceInfo,
    size: number,
    usage: number,
    label: string | undefined,
    part?: Part | undefined,
    shared?: SvmAllocation | undefined,
    start = 0
  ) {
    super(owner, size, usage, label, part)
    this.handle = handle
    this.start = start
    this.#shared = shared
  }

  /** @internal */
  override get allocation(): object {
    return this.beneath ?? super.allocation
  }

  /** The memory under its cl_mem, where the driver does not free it with the cl_mem. */
  get beneath(): SvmAllocation | undefined {
    const { parent, twin } = this
    return this.#shared ?? (twin instanceof OpenClBuffer ? twin.beneath : undefined) ??
      (parent instanceof OpenClBuffer ? parent.beneath : undefined)
  }

  get objectBytes(): number {
    return this.size
  }

  /** For commands that take an offset. */
  get place(): Place | GpuError {
    return this
  }

  /** The cl_mem of its bytes alone, from its first one on. */
  get own(): Place | GpuError {
    return this
  }
}

export class OpenClImage extends DeviceImage {
  readonly handle: bigint

  constructor(handle: bigint, owner: DeviceInfo, image: ImageDescription) {
    super(owner, image)
    this.handle = handle
  }
}

export class OpenClSampler extends DeviceSampler {
  readonly handle: bigint

  constructor(handle: bigint, owner: DeviceInfo, options: Resolved) {
    super(owner, options)
    this.handle = handle
  }
}

/** The driver's object of one that is checked: it belongs to this backend's device. */
export const objectOf = (object: DeviceImage | DeviceSampler): DriverHandle => object as OpenClImage | OpenClSampler

export const handleOf = (object: DeviceImage | DeviceSampler): bigint => objectOf(object).handle

/**
 * Where commands that take an offset find a buffer that is checked, or why they cannot. It begins there at a multiple
 * of `alignment` bytes.
 */
export const placeOf = (buffer: DeviceBuffer, alignment = 1): Place | GpuError => {
  const found = (buffer as OpenClBuffer).place
  return isGpuError(found) || found.start % alignment === 0 ? found : ownOf(buffer)
}

/** A cl_mem with exactly the bytes of a checked buffer, or the error of making it. */
export const ownOf = (buffer: DeviceBuffer): Place | GpuError => (buffer as OpenClBuffer).own

/** A cl_mem that keeps the memory of a checked buffer alive: its own, or that of the buffer that a pool has split. */
export const keeperOf = (buffer: DeviceBuffer): bigint => (buffer as OpenClBuffer).handle

/** The cl_mem of the buffer that a checked buffer is a part or a sub-region of, or its own. */
export const wholeOf = ({ root }: DeviceBuffer): bigint => (root as OpenClBuffer).handle

/** The shared virtual memory that a buffer is in, if any. */
export const allocationOf = (memory: DeviceBuffer | DeviceImage): SvmAllocation | undefined =>
  memory instanceof OpenClBuffer ? memory.beneath : undefined

/** The part of an open device that {@link LiveObjects} needs. */
interface Owner {
  readonly api: OpenClApi
  readonly driverObjects: DriverObjects
  readonly keepUntilEnded: (memory: ArrayBuffer) => void
}

/** The objects of one kind that are not released yet. */
export class LiveObjects<A extends OpenClBuffer | OpenClImage | OpenClSampler> {
  readonly #owner: Owner
  readonly #release: "clReleaseMemObject" | "clReleaseSampler"
  readonly #objects = new Set<A>()

  constructor(owner: Owner, release: "clReleaseMemObject" | "clReleaseSampler") {
    this.#owner = owner
    this.#release = release
  }

  /** Takes over an object with its reference. */
  add(object: A): A {
    this.#owner.driverObjects.add(kindOf(object))
    this.#objects.add(object)
    return object
  }

  /**
   * The same for an object around a handle that the program has. Another one around the same handle is its twin: the
   * handle does not identify the object, since a driver may use the handle of released memory again.
   */
  adopt(object: A): A {
    const known = this.known(object.handle)
    // The first of them: a chain would grow for as long as each is adopted before the last one ends.
    object.twin = known?.twin ?? known
    if (isMemory(object) && known !== undefined && isMemory(known)) object.pinned = known.pinned
    return this.add(object)
  }

  /** A live object around a handle. */
  known(handle: bigint): A | undefined {
    for (const object of this.#objects) if (object.handle === handle) return object
    return undefined
  }

  /** Releases an object that is not destroyed. */
  releaseUnsafe(object: A): Exit.Exit<void, GpuError> {
    const { api, driverObjects, keepUntilEnded } = this.#owner
    object.destroyed = true
    this.#objects.delete(object)
    const memory = isMemory(object) ? object : undefined
    const pinned = memory instanceof DeviceBuffer ? memory.root.pinned : memory?.pinned
    if (pinned !== undefined) keepUntilEnded(pinned.buffer)
    const code = api[this.#release](object.handle)
    if (code !== OpenClCode.success) return Exit.fail(driverError({ call: this.#release, code }))
    if (memory !== undefined && isTaken(memory)) driverObjects.leave(kindOf(object))
    else driverObjects.remove(kindOf(object))
    return Exit.void
  }

  /** Releases what is left. */
  close(release: (object: A) => void): void {
    for (const object of this.#objects) release(object)
  }
}

const isMemory = (
  object: OpenClBuffer | OpenClImage | OpenClSampler
): object is OpenClBuffer | OpenClImage => !(object instanceof DeviceSampler)

/** As the device counts it. */
const kindOf = (object: OpenClBuffer | OpenClImage | OpenClSampler): string =>
  object.what ?? (object instanceof DeviceBuffer && object.parent !== undefined ? "region" : "buffer")
