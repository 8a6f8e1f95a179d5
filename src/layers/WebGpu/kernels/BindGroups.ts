/**
 * The bind groups of one kernel. Creating one costs more than the dispatch itself, and a pool leases the same blocks
 * again and again, so many are kept.
 *
 * A kept bind group keeps no device memory: destroying the buffer frees it.
 *
 * @internal
 */
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import type { Dispatch, VectorBinding } from "../../../services/device/QueueDriver.ts"
import type { WebGpuImage } from "../images/WebGpuImage.ts"
import type { WebGpuSampler } from "../images/WebGpuSampler.ts"
import { gpuOf, idOf, roundUp4 } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

/** What a dispatch binds beside its scalars. */
export type Bound = Pick<Dispatch, "vectors" | "images" | "samplers">

interface Kept {
  readonly buffers: ReadonlyArray<WebGpuHandle.Buffer>
  readonly origins: ReadonlyArray<number>
  readonly sizes: ReadonlyArray<number>
  /** The numbers of images and samplers. */
  readonly others: ReadonlyArray<number>
  readonly group: WebGpuHandle.BindGroup
}

/** A loop over arrays of a pool uses more sets of blocks than it has arrays. */
const capacity = 64

export class BindGroups {
  readonly #device: WebGpuHandle.Device
  readonly #layout: WebGpuHandle.BindGroupLayout
  /** By a hash of all that they bind, in the order in which they were made. Where two share a hash the later one stays. */
  readonly #kept = new Map<number, Kept>()
  /** The uniform buffer of all that are kept. */
  #uniforms: WebGpuHandle.Buffer | undefined

  constructor(device: WebGpuHandle.Device, layout: WebGpuHandle.BindGroupLayout) {
    this.#device = device
    this.#layout = layout
  }

  /** The uniform block is bound at offset 0 and moved by the dynamic offset of each dispatch. */
  get(uniforms: WebGpuHandle.Buffer, uniformBytes: number, bound: Bound): WebGpuHandle.BindGroup {
    if (this.#uniforms !== uniforms) {
      this.#kept.clear()
      this.#uniforms = uniforms
    }
    const { images, samplers, vectors } = bound
    const hash = withOthers(hashOf(vectors), images, samplers)
    const known = this.#kept.get(hash)
    if (known !== undefined && matches(known, vectors) && matchesOthers(known, images, samplers)) return known.group
    const made = this.#make(uniforms, uniformBytes, bound)
    this.#keep(hash, made)
    return made.group
  }

  #make(uniforms: WebGpuHandle.Buffer, uniformBytes: number, { images, samplers, vectors }: Bound): Kept {
    const buffers = vectors.map(({ buffer }) => gpuOf(buffer))
    const origins = vectors.map(({ buffer }) => buffer.origin)
    const sizes = vectors.map(({ size }) => roundUp4(size))
    const group = this.#device.createBindGroup({
      layout: this.#layout,
      entries: [
        { binding: 0, resource: { buffer: uniforms, offset: 0, size: uniformBytes } },
        ...buffers.map((buffer, index) => ({
          binding: index + 1,
          resource: { buffer, offset: origins[index]!, size: sizes[index]! }
        })),
        ...[...images.map(viewOf), ...samplers.map(gpuSampler)].map((resource, index) => ({
          binding: buffers.length + index + 1,
          resource
        }))
      ]
    })
    return { buffers, origins, sizes, others: [...images.map(imageId), ...samplers.map(samplerId)], group }
  }

  #keep(hash: number, made: Kept): void {
    this.#kept.delete(hash)
    if (this.#kept.size === capacity) {
      for (const oldest of this.#kept.keys()) {
        this.#kept.delete(oldest)
        break
      }
    }
    this.#kept.set(hash, made)
  }
}

const hashOf = (vectors: ReadonlyArray<VectorBinding>): number => {
  let hash = 0
  for (let index = 0; index < vectors.length; index++) {
    const { buffer, size } = vectors[index]!
    hash = Math.imul(hash ^ idOf(buffer), 0x9e3779b1)
    hash = Math.imul(hash ^ (hash >>> 15) ^ (size + buffer.origin), 0x85ebca6b)
  }
  return hash
}

const matches = (kept: Kept, vectors: ReadonlyArray<VectorBinding>): boolean => {
  for (let index = 0; index < vectors.length; index++) {
    const { buffer, size } = vectors[index]!
    if (kept.buffers[index] !== gpuOf(buffer) || kept.sizes[index] !== roundUp4(size)) return false
    if (kept.origins[index] !== buffer.origin) return false
  }
  return true
}

/** The queue has checked their owner, so their classes are this backend's. */
const viewOf = (image: DeviceImage): WebGpuHandle.TextureView => (image as WebGpuImage).view
const gpuSampler = (sampler: DeviceSampler): WebGpuHandle.Sampler => (sampler as WebGpuSampler).gpu
const imageId = (image: DeviceImage): number => (image as WebGpuImage).id
const samplerId = (sampler: DeviceSampler): number => (sampler as WebGpuSampler).id

const mixed = (hash: number, id: number): number => Math.imul(hash ^ (hash >>> 15) ^ id, 0x9e3779b1)

const withOthers = (
  start: number,
  images: ReadonlyArray<DeviceImage>,
  samplers: ReadonlyArray<DeviceSampler>
): number => {
  let hash = start
  for (const image of images) hash = mixed(hash, imageId(image))
  for (const sampler of samplers) hash = mixed(hash, samplerId(sampler))
  return hash
}

const matchesOthers = (
  { others }: Kept,
  images: ReadonlyArray<DeviceImage>,
  samplers: ReadonlyArray<DeviceSampler>
): boolean => {
  for (let index = 0; index < images.length; index++) {
    if (others[index] !== imageId(images[index]!)) return false
  }
  for (let index = 0; index < samplers.length; index++) {
    if (others[images.length + index] !== samplerId(samplers[index]!)) return false
  }
  return true
}
