/**
 * The bind groups of one kernel. Making one costs more than the dispatch itself, and a pool hands the same blocks out
 * again and again, so many are kept.
 *
 * A kept bind group holds no device memory: that goes when the buffer is destroyed.
 *
 * @internal
 */
import type { VectorBinding } from "../../services/QueueDriver.ts"
import { gpuOf, idOf, roundUp4 } from "./WebGpuBuffer.ts"

interface Kept {
  readonly buffers: ReadonlyArray<GPUBuffer>
  readonly sizes: ReadonlyArray<number>
  readonly group: GPUBindGroup
}

/** A loop over arrays from a pool goes round through more sets of blocks than it has arrays. */
const capacity = 64

/** @internal */
export class BindGroups {
  readonly #device: GPUDevice
  readonly #layout: GPUBindGroupLayout
  /** By a hash of buffers and sizes, in the order in which they were made. Where two share a hash the later one stays. */
  readonly #kept = new Map<number, Kept>()
  /** The uniform buffer of all that are kept. */
  #uniforms: GPUBuffer | undefined

  constructor(device: GPUDevice, layout: GPUBindGroupLayout) {
    this.#device = device
    this.#layout = layout
  }

  /** The uniform block is bound at offset 0 and moved by the dynamic offset of each dispatch. */
  get(uniforms: GPUBuffer, uniformBytes: number, vectors: ReadonlyArray<VectorBinding>): GPUBindGroup {
    if (this.#uniforms !== uniforms) {
      this.#kept.clear()
      this.#uniforms = uniforms
    }
    const hash = hashOf(vectors)
    const known = this.#kept.get(hash)
    if (known !== undefined && matches(known, vectors)) return known.group
    const made = this.#make(uniforms, uniformBytes, vectors)
    this.#keep(hash, made)
    return made.group
  }

  #make(uniforms: GPUBuffer, uniformBytes: number, vectors: ReadonlyArray<VectorBinding>): Kept {
    const buffers = vectors.map(({ buffer }) => gpuOf(buffer))
    const sizes = vectors.map(({ size }) => roundUp4(size))
    const group = this.#device.createBindGroup({
      layout: this.#layout,
      entries: [
        { binding: 0, resource: { buffer: uniforms, offset: 0, size: uniformBytes } },
        ...buffers.map((buffer, index) => ({
          binding: index + 1,
          resource: { buffer, offset: 0, size: sizes[index]! }
        }))
      ]
    })
    return { buffers, sizes, group }
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
    hash = Math.imul(hash ^ (hash >>> 15) ^ size, 0x85ebca6b)
  }
  return hash
}

const matches = (kept: Kept, vectors: ReadonlyArray<VectorBinding>): boolean => {
  for (let index = 0; index < vectors.length; index++) {
    const { buffer, size } = vectors[index]!
    if (kept.buffers[index] !== gpuOf(buffer) || kept.sizes[index] !== roundUp4(size)) return false
  }
  return true
}
