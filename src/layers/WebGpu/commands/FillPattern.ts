/**
 * A buffer full of one pattern, from which fills copy. WebGPU itself only fills with zero; copies need neither a
 * storage usage on the target, as a kernel would, nor host memory of the fill's size.
 *
 * @internal
 */
import * as BytePattern from "../../../domain/data/BytePattern.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { usageBits } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import type { Pattern } from "./EncodedCommand.ts"

// A multiple of every pattern's size, as all sizes of the buffer are.
const smallest = 4 * 1024
const largest = 1024 * 1024

/** The pattern as little-endian numbers: of a buffer, or an element of an image. */
export type Words = ReadonlyArray<number>

const isSame = (one: Words, other: Words): boolean =>
  one.length === other.length && one.every((word, at) => word === other[at])

export class FillPattern {
  readonly #opened: OpenDevice
  #buffer: WebGpuHandle.Buffer | undefined
  #words: Words = [0]
  /** Bytes from the start of the buffer that hold the pattern. */
  #filled = 0

  constructor(opened: OpenDevice) {
    this.#opened = opened
  }

  /**
   * The source for a fill of `bytes` bytes, if it is there already. It may be smaller than the fill, but never smaller
   * than `least`.
   */
  known(words: Words, bytes: number, least = 0): Pattern | undefined {
    return this.#buffer !== undefined && isSame(this.#words, words) && this.#filled >= wanted(bytes, least)
      ? { buffer: this.#buffer, bytes: this.#filled }
      : undefined
  }

  /**
   * Replaces the pattern: recorded fills that use the old one must be submitted before. To be called in error scopes.
   */
  write(words: Words, bytes: number, least = 0): void {
    const enough = wanted(bytes, least)
    let size = smallest
    while (size < enough) size *= 2
    const buffer = this.#atLeast(size)
    const data = new Uint8Array(size)
    BytePattern.repeat(data, new Uint8Array(Uint32Array.from(words).buffer))
    this.#opened.device.queue.writeBuffer(buffer, 0, data)
    this.#words = words
    this.#filled = size
  }

  /** Destroys the buffer; the next fill makes a new one. */
  reset(): void {
    if (this.#buffer === undefined) return
    this.#buffer.destroy()
    this.#buffer = undefined
    this.#filled = 0
    this.#opened.driverObjects.remove("pattern")
  }

  #atLeast(size: number): WebGpuHandle.Buffer {
    if (this.#buffer !== undefined && this.#buffer.size >= size) return this.#buffer
    this.reset()
    this.#buffer = this.#opened.device.createBuffer({
      label: "effect-gpu-pool fill pattern",
      size,
      usage: usageBits.copySrc | usageBits.copyDst
    })
    this.#opened.driverObjects.add("pattern")
    return this.#buffer
  }
}

const wanted = (bytes: number, least: number): number => Math.min(bytes, Math.max(least, largest))
