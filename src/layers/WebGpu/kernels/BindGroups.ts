/**
 * The bind groups of one kernel. Creating one costs more than the dispatch itself, and a pool leases the same blocks
 * again and again, so many are kept.
 *
 * A kept bind group keeps no device memory: destroying the buffer frees it.
 *
 * @internal
 */
import type { Dispatch } from "../../../services/device/QueueDriver.ts"
import type { WebGpuImage } from "../images/WebGpuImage.ts"
import type { WebGpuSampler } from "../images/WebGpuSampler.ts"
import { gpuOf, idOf, roundUp4 } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

/** What a dispatch binds beside its scalars. */
export type Bound = Pick<Dispatch, "vectors" | "images" | "samplers">

interface Kept {
  readonly key: ReadonlyArray<number>
  readonly group: WebGpuHandle.BindGroup
}

/** A loop over arrays of a pool uses more sets of blocks than it has arrays. */
const capacity = 64

export class BindGroups {
  readonly #device: WebGpuHandle.Device
  readonly #layout: WebGpuHandle.BindGroupLayout
  /** The bindings of the vectors, the images and the samplers. */
  readonly #numbers: ReadonlyArray<number>
  /** By a hash of all that they bind, in the order in which they were made. Where two share a hash the later one stays. */
  readonly #kept = new Map<number, Kept>()
  /** What the present dispatch binds. */
  readonly #key: Array<number> = []
  /** The uniform buffer of all that are kept. */
  #uniforms: WebGpuHandle.Buffer | undefined

  constructor(
    device: WebGpuHandle.Device,
    layout: WebGpuHandle.BindGroupLayout,
    numbers: ReadonlyArray<number>
  ) {
    this.#device = device
    this.#layout = layout
    this.#numbers = numbers
  }

  /** The uniform block is bound at offset 0 and moved by the dynamic offset of each dispatch. */
  get(uniforms: WebGpuHandle.Buffer, uniformBytes: number, bound: Bound): WebGpuHandle.BindGroup {
    if (this.#uniforms !== uniforms) {
      this.#kept.clear()
      this.#uniforms = uniforms
    }
    writeKey(this.#key, bound)
    const hash = hashOf(this.#key)
    const known = this.#kept.get(hash)
    if (known !== undefined && isSame(known.key, this.#key)) return known.group
    const group = this.#make(uniforms, uniformBytes, bound)
    this.#keep(hash, { key: this.#key.slice(), group })
    return group
  }

  #make(
    uniforms: WebGpuHandle.Buffer,
    uniformBytes: number,
    { images, samplers, vectors }: Bound
  ): WebGpuHandle.BindGroup {
    const resources = [
      ...vectors.map(({ buffer, size }) => ({ buffer: gpuOf(buffer), offset: buffer.origin, size: roundUp4(size) })),
      ...images.map((image) => (image as WebGpuImage).view),
      ...samplers.map((sampler) => (sampler as WebGpuSampler).gpu)
    ]
    const bound = resources.map((resource, index) => ({ binding: this.#numbers[index]!, resource }))
    const block = { binding: 0, resource: { buffer: uniforms, offset: 0, size: uniformBytes } }
    return this.#device.createBindGroup({ layout: this.#layout, entries: [block, ...bound] })
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

/**
 * Writes what a dispatch binds as numbers: the objects' own, and where vectors begin and how long they are. The queue has
 * checked the owner of the objects, so their classes are this backend's.
 */
const writeKey = (key: Array<number>, { images, samplers, vectors }: Bound): void => {
  let at = 0
  for (let index = 0; index < vectors.length; index++) {
    const { buffer, size } = vectors[index]!
    key[at++] = idOf(buffer)
    key[at++] = buffer.origin
    key[at++] = roundUp4(size)
  }
  for (let index = 0; index < images.length; index++) key[at++] = (images[index] as WebGpuImage).id
  for (let index = 0; index < samplers.length; index++) key[at++] = (samplers[index] as WebGpuSampler).id
  key.length = at
}

const hashOf = (key: ReadonlyArray<number>): number => {
  let hash = 0
  for (let index = 0; index < key.length; index++) {
    hash = Math.imul(hash ^ (hash >>> 15) ^ key[index]!, 0x9e3779b1)
  }
  return hash
}

const isSame = (one: ReadonlyArray<number>, other: ReadonlyArray<number>): boolean => {
  for (let index = 0; index < other.length; index++) if (one[index] !== other[index]) return false
  return true
}
