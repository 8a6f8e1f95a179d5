/**
 * The bind groups of one kernel. Making one costs more than the dispatch itself, and a pool hands the same blocks out
 * again and again, so the last few are kept.
 *
 * A kept bind group holds no device memory: that goes when the buffer is destroyed.
 *
 * @internal
 */
import type { VectorBinding } from "../../services/QueueDriver.ts"
import { gpuOf, roundUp4 } from "./WebGpuBuffer.ts"

interface Kept {
  readonly uniforms: GPUBuffer
  readonly buffers: ReadonlyArray<GPUBuffer>
  readonly sizes: ReadonlyArray<number>
  readonly group: GPUBindGroup
}

const capacity = 8

/** @internal */
export class BindGroups {
  readonly #device: GPUDevice
  readonly #layout: GPUBindGroupLayout
  readonly #kept: Array<Kept> = []
  #next = 0

  constructor(device: GPUDevice, layout: GPUBindGroupLayout) {
    this.#device = device
    this.#layout = layout
  }

  /** The uniform block is bound at offset 0 and moved by the dynamic offset of each dispatch. */
  get(uniforms: GPUBuffer, uniformBytes: number, vectors: ReadonlyArray<VectorBinding>): GPUBindGroup {
    const known = this.#kept.find((kept) => matches(kept, uniforms, vectors))
    if (known !== undefined) return known.group
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
    this.#kept[this.#next] = { uniforms, buffers, sizes, group }
    this.#next = (this.#next + 1) % capacity
    return group
  }
}

const matches = (kept: Kept, uniforms: GPUBuffer, vectors: ReadonlyArray<VectorBinding>): boolean => {
  if (kept.uniforms !== uniforms) return false
  for (let index = 0; index < vectors.length; index++) {
    const { buffer, size } = vectors[index]!
    if (kept.buffers[index] !== gpuOf(buffer) || kept.sizes[index] !== roundUp4(size)) return false
  }
  return true
}
