/**
 * The scalars of all dispatches of a flush, in one uniform buffer at dynamic offsets: one write per flush, however many
 * dispatches it has. The next flush writes over them, which is safe since the queue runs in order.
 *
 * @internal
 */
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { usageBits } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

const smallest = 16 * 1024

export class UniformRing {
  readonly #opened: OpenDevice
  readonly #alignment: number
  #host = new DataView(new ArrayBuffer(smallest))
  #used = 0
  /** What the buffer has from its start on: a loop over the same dispatches need not write it again. */
  #uploaded = new Int32Array(0)
  #buffer: WebGpuHandle.Buffer | undefined

  constructor(opened: OpenDevice) {
    this.#opened = opened
    this.#alignment = opened.device.limits.minUniformBufferOffsetAlignment
  }

  /** The memory in which the next upload's bytes are put; {@link add} may replace it by larger memory. */
  get view(): DataView {
    return this.#host
  }

  /** Where in {@link view} the next `bytes` bytes go. */
  add(bytes: number): number {
    const at = this.#used
    this.#used = at + Math.ceil(bytes / this.#alignment) * this.#alignment
    if (this.#used > this.#host.byteLength) this.#grow()
    return at
  }

  /**
   * Writes what was added since the last upload, unless the buffer has it; none if there was nothing. To be called in the flush's error
   * scopes.
   */
  upload(): WebGpuHandle.Buffer | undefined {
    const used = this.#used
    if (used === 0) return undefined
    this.#used = 0
    const buffer = this.#atLeast(this.#host.byteLength)
    const words = new Int32Array(this.#host.buffer as ArrayBuffer, 0, used / 4)
    if (this.#has(words)) return buffer
    this.#opened.device.queue.writeBuffer(buffer, 0, words)
    if (this.#uploaded.length < words.length) this.#uploaded = words.slice()
    else this.#uploaded.set(words)
    return buffer
  }

  #has(words: Int32Array): boolean {
    const uploaded = this.#uploaded
    if (uploaded.length < words.length) return false
    for (let at = 0; at < words.length; at++) if (uploaded[at] !== words[at]) return false
    return true
  }

  /** Destroys the buffer; the next upload makes a new one. */
  reset(): void {
    if (this.#buffer === undefined) return
    this.#buffer.destroy()
    this.#buffer = undefined
    this.#uploaded = new Int32Array(0)
    this.#opened.driverObjects.remove("uniform")
  }

  #grow(): void {
    let size = this.#host.byteLength
    while (size < this.#used) size *= 2
    const grown = new Uint8Array(size)
    grown.set(new Uint8Array(this.#host.buffer))
    this.#host = new DataView(grown.buffer)
  }

  /** Only submitted work uses the old, smaller buffer, so it can be destroyed at once. */
  #atLeast(size: number): WebGpuHandle.Buffer {
    if (this.#buffer !== undefined && this.#buffer.size >= size) return this.#buffer
    this.reset()
    this.#buffer = this.#opened.device.createBuffer({
      label: "effect-gpu-pool uniforms",
      size,
      usage: usageBits.uniform | usageBits.copyDst
    })
    this.#opened.driverObjects.add("uniform")
    return this.#buffer
  }
}
