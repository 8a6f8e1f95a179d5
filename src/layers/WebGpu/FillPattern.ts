/**
 * A buffer full of one 4-byte pattern, from which fills copy. WebGPU itself only fills with zero; copies need neither a
 * storage usage on the target, as a kernel would, nor host memory of the fill's size.
 *
 * @internal
 */
import type { DriverObjects } from "../../domain/DriverObjects.ts"
import { usageBits } from "./WebGpuBuffer.ts"

const smallest = 4 * 1024
const largest = 1024 * 1024

/** @internal */
export class FillPattern {
  readonly #device: GPUDevice
  readonly #driverObjects: DriverObjects
  #buffer: GPUBuffer | undefined
  #pattern = 0
  /** Bytes from the start of the buffer that hold the pattern. */
  #filled = 0

  constructor(device: GPUDevice, driverObjects: DriverObjects) {
    this.#device = device
    this.#driverObjects = driverObjects
  }

  /** The source for a fill of `bytes` bytes, if it is there already. */
  known(pattern: number, bytes: number): { readonly buffer: GPUBuffer; readonly bytes: number } | undefined {
    return this.#buffer !== undefined && this.#pattern === pattern && this.#filled >= Math.min(bytes, largest)
      ? { buffer: this.#buffer, bytes: this.#filled }
      : undefined
  }

  /**
   * Replaces the pattern: recorded fills that use the old one must be submitted before. To be called in error scopes.
   */
  write(pattern: number, bytes: number): void {
    let size = smallest
    while (size < bytes && size < largest) size *= 2
    const buffer = this.#atLeast(size)
    this.#device.queue.writeBuffer(buffer, 0, new Uint32Array(size / 4).fill(pattern))
    this.#pattern = pattern
    this.#filled = size
  }

  /** Gives the buffer back; the next fill makes a new one. */
  reset(): void {
    if (this.#buffer === undefined) return
    this.#buffer.destroy()
    this.#buffer = undefined
    this.#filled = 0
    this.#driverObjects.remove("pattern")
  }

  #atLeast(size: number): GPUBuffer {
    if (this.#buffer !== undefined && this.#buffer.size >= size) return this.#buffer
    this.reset()
    this.#buffer = this.#device.createBuffer({
      label: "effect-gpu-pool fill pattern",
      size,
      usage: usageBits.copySrc | usageBits.copyDst
    })
    this.#driverObjects.add("pattern")
    return this.#buffer
  }
}
