/**
 * Memory that a queue copies through. WebGPU copies nothing within one GPUBuffer, and lets no dispatch read one part of a
 * GPUBuffer and write another. Leases of a pool that splits slabs are such parts.
 *
 * Commands run in order, so all that are encoded use the same few buffers one after the other.
 *
 * @internal
 */
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { gpuOf, gpuUsage, WebGpuBuffer } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { largestCopy } from "./ByteCopies.ts"

const smallest = 4 * 1024

/** Copies within a GPUBuffer take so many bytes at a time. */
const mostCopied = 4 * 2 ** 20

/** The buffers are destroyed when so many flushes in a row did not use them. */
const mostUnused = 16

const label = "effect-gpu-pool scratch"

/** Bytes that follow each other in two memories: where they begin in each. */
export type Run = readonly [from: number, to: number, bytes: number]

export class Scratch {
  readonly #opened: OpenDevice
  readonly #buffers: Array<WebGpuBuffer> = []
  /** Replaced by larger ones; the commands that are encoded now may use them. */
  readonly #outgrown: Array<WebGpuBuffer> = []
  #isUsed = false
  /** Flushes since one used it. */
  #unused = 0

  constructor(opened: OpenDevice) {
    this.#opened = opened
  }

  /**
   * The buffer of a number, with at least so many bytes, for the command that is encoded now. What one command needs at the
   * same time has different numbers. To be called in the flush's error scopes.
   */
  atLeast(number: number, bytes: number): WebGpuBuffer {
    this.#isUsed = true
    const known = this.#buffers[number]
    if (known !== undefined && known.size >= bytes) return known
    if (known !== undefined) this.#outgrown.push(known)
    const made = this.#make(bytes)
    this.#buffers[number] = made
    return made
  }

  /** Copies runs between two parts of one GPUBuffer; together they have `bytes` bytes. */
  copy(
    encoder: WebGpuHandle.CommandEncoder,
    source: DeviceBuffer,
    target: DeviceBuffer,
    runs: Iterable<Run>,
    bytes: number
  ): void {
    const whole = gpuOf(source)
    const { gpu: through, size } = this.atLeast(0, Math.min(bytes, mostCopied, largestCopy.bytes))
    const most = Math.min(size, largestCopy.bytes)
    const kept: Array<Run> = []
    let used = 0
    const empty = (): void => {
      for (const [from, to, length] of kept) encoder.copyBufferToBuffer(through, from, whole, to, length)
      kept.length = 0
      used = 0
    }
    for (const [from, to, length] of runs) {
      const [begin, end] = [source.origin + from, target.origin + to]
      for (let done = 0; done < length;) {
        const part = Math.min(length - done, most - used)
        encoder.copyBufferToBuffer(whole, begin + done, through, used, part)
        kept.push([used, end + done, part])
        done += part
        used += part
        if (used === most) empty()
      }
    }
    empty()
  }

  /** To be called when the commands that use it are submitted. */
  submitted(): void {
    this.#unused = this.#isUsed ? 0 : this.#unused + 1
    this.#isUsed = false
    this.#destroy(this.#outgrown)
    if (this.#unused === mostUnused) this.reset()
  }

  /** Destroys the buffers; the next use makes new ones. */
  reset(): void {
    this.#destroy(this.#outgrown)
    this.#destroy(this.#buffers)
  }

  #make(bytes: number): WebGpuBuffer {
    const { device, driverObjects, info } = this.#opened
    let size = smallest
    while (size < bytes) size *= 2
    size = Math.max(bytes, Math.min(size, info.limits.maxBufferSize))
    const usage = BufferUsage.defaultUsage
    const gpu = device.createBuffer({ label, size, usage: gpuUsage(usage) })
    driverObjects.add("scratch")
    return new WebGpuBuffer(info, size, usage, label, gpu)
  }

  #destroy(buffers: Array<WebGpuBuffer>): void {
    for (const { gpu } of buffers.splice(0)) {
      gpu.destroy()
      this.#opened.driverObjects.remove("scratch")
    }
  }
}
