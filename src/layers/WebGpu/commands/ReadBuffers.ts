/**
 * The buffers that reads are copied into and then mapped. A few small ones are kept from read to read, since a new one
 * costs as much as the read, and the driver may refuse it.
 *
 * @internal
 */
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { roundUp4, usageBits } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { type ScopedFailure, thrown } from "./ErrorScopes.ts"

const mapModeRead = 0x1

const smallest = 1024
/** The largest one that is kept. */
const largest = 1024 * 1024
/** Bytes that are kept at most. */
const mostKept = 4 * largest
/** The kept ones are destroyed when so many submits in a row used none. */
const mostUnused = 64

/** Powers of two, while they are kept. */
const sizeFor = (bytes: number): number => {
  if (bytes > largest) return roundUp4(bytes)
  let size = smallest
  while (size < bytes) size *= 2
  return size
}

/** One of them. */
export class ReadBuffer {
  readonly gpu: WebGpuHandle.Buffer
  readonly #opened: OpenDevice
  /** Settles when the device has answered the mapping that is under way. */
  #mapping: Promise<unknown> | undefined = undefined
  isDestroyed = false

  /** To be called in error scopes. */
  constructor(opened: OpenDevice, bytes: number) {
    this.#opened = opened
    this.gpu = opened.device.createBuffer({
      label: "effect-gpu-pool staging",
      size: sizeFor(bytes),
      usage: usageBits.mapRead | usageBits.copyDst
    })
    opened.driverObjects.add("staging")
  }

  /** Maps the first bytes for reading, and returns what failed. */
  map(bytes: number): Promise<ScopedFailure | undefined> {
    const failed = this.gpu.mapAsync(mapModeRead, 0, roundUp4(bytes)).then(() => undefined, thrown)
    this.#mapping = failed
    return failed
  }

  /** What the device has mapped. */
  mapped(bytes: number): ArrayBuffer {
    this.#mapping = undefined
    return this.gpu.getMappedRange(0, roundUp4(bytes))
  }

  /**
   * A pending mapping is waited for: when one is cut short, Dawn's binding may settle its promise twice, which ends
   * the process.
   */
  destroy(): void {
    if (this.isDestroyed) return
    this.isDestroyed = true
    if (this.#mapping === undefined) this.gpu.destroy()
    else void this.#mapping.then(() => this.gpu.destroy())
    this.#opened.driverObjects.remove("staging")
  }
}

/** Those that no read uses, on one queue. The driver has accepted each, and none is mapped. */
export class ReadBuffers {
  readonly #kept: Array<ReadBuffer> = []
  #bytes = 0
  #unused = 0

  constructor({ status }: OpenDevice) {
    status.onLost(() => this.reset())
  }

  /** One with room for so many bytes, if there is one of that size. */
  take(bytes: number): ReadBuffer | undefined {
    const size = sizeFor(bytes)
    const at = this.#kept.findIndex(({ gpu }) => gpu.size === size)
    if (at === -1) return undefined
    this.#unused = 0
    this.#bytes -= size
    return this.#kept.splice(at, 1)[0]
  }

  /** Keeps one whose bytes were read, or destroys it. */
  keep(buffer: ReadBuffer): void {
    const { size } = buffer.gpu
    if (size > largest || this.#bytes + size > mostKept) return buffer.destroy()
    buffer.gpu.unmap()
    this.#bytes += size
    this.#kept.push(buffer)
  }

  /** To be called at each submit without a read. */
  unused(): void {
    if (this.#kept.length > 0 && ++this.#unused >= mostUnused) this.reset()
  }

  /** Destroys them; the next reads make new ones. */
  reset(): void {
    for (const buffer of this.#kept.splice(0)) buffer.destroy()
    this.#bytes = 0
    this.#unused = 0
  }
}
