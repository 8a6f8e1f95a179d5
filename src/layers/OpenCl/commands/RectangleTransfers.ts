/**
 * The rectangular commands of OpenCL, enqueued on the device's queue.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { Extent, Place } from "../../../domain/data/Rectangle.ts"
import { byteLength, runs } from "../../../domain/data/RectangleRows.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { ReadAnswer } from "../../../services/device/QueueDriver.ts"
import { memoryOf } from "../memory/OpenClBuffer.ts"
import { CL_NON_BLOCKING, type Recorder } from "./Recorder.ts"

type Triple = readonly [number, number, number]

/** Host data is packed: OpenCL takes pitches of 0 for that. */
const packed = 0

export class RectangleTransfers {
  readonly #queue: Recorder
  readonly #region = sizes()
  readonly #here = sizes()
  readonly #there = sizes()
  readonly #start = sizes()

  constructor(queue: Recorder) {
    this.#queue = queue
  }

  /**
   * Rows of sub-regions are copied as rows of the whole buffers: PoCL 3.1 crashes on a rectangular copy of sub-buffers.
   * Where the whole buffer was freed before its sub-region, its handle must not be used any more, and each run is a
   * copy of its own.
   */
  copy(extent: Extent, source: DeviceBuffer, from: Place, target: DeviceBuffer, to: Place): Exit.Exit<void, GpuError> {
    if (source.root.destroyed || target.root.destroyed) return this.#copyRuns(extent, source, from, target, to)
    const [sourceName, targetName] = [source.label, target.label]
    return this.#queue.enqueue(
      {
        call: "clEnqueueCopyBufferRect",
        bytes: byteLength(extent),
        label: () => CommandLabel.copyRect(extent, sourceName, targetName),
        buffers: [source, target]
      },
      memoryOf(source.root),
      memoryOf(target.root),
      set(this.#here, originInRoot(source, from)),
      set(this.#there, originInRoot(target, to)),
      set(this.#region, extent),
      from.rowPitch,
      from.slicePitch,
      to.rowPitch,
      to.slicePitch
    )
  }

  #copyRuns(
    extent: Extent,
    source: DeviceBuffer,
    from: Place,
    target: DeviceBuffer,
    to: Place
  ): Exit.Exit<void, GpuError> {
    for (const [start, end, bytes] of runs(extent, from, to)) {
      const copied = this.#queue.copyUnsafe(source, start, target, end, bytes)
      if (Exit.isFailure(copied)) return copied
    }
    return Exit.void
  }

  write(extent: Extent, target: DeviceBuffer, to: Place, rows: ArrayBuffer): Exit.Exit<void, GpuError> {
    const name = target.label
    return this.#queue.enqueue(
      {
        call: "clEnqueueWriteBufferRect",
        bytes: byteLength(extent),
        label: () => CommandLabel.writeRect(extent, name),
        memory: rows,
        buffers: [target]
      },
      memoryOf(target),
      CL_NON_BLOCKING,
      set(this.#here, to.origin),
      this.#start,
      set(this.#region, extent),
      to.rowPitch,
      to.slicePitch,
      packed,
      packed,
      rows
    )
  }

  readUnsafe(extent: Extent, source: DeviceBuffer, from: Place, answer: ReadAnswer): () => void {
    const bytes = byteLength(extent)
    const name = source.label
    return this.#queue.enqueueRead(
      { call: "clEnqueueReadBufferRect", bytes, label: () => CommandLabel.readRect(extent, name), buffers: [source] },
      answer,
      memoryOf(source),
      CL_NON_BLOCKING,
      set(this.#here, from.origin),
      this.#start,
      set(this.#region, extent),
      from.rowPitch,
      from.slicePitch,
      packed,
      packed
    )
  }
}

/** Where a place of a region is in its whole buffer: rows and slices as far as they go, then bytes. */
const originInRoot = (buffer: DeviceBuffer, { offset, origin, rowPitch, slicePitch }: Place): Triple => {
  if (buffer.origin === 0) return origin
  const first = buffer.origin + offset
  const inSlice = first % slicePitch
  return [inSlice % rowPitch, Math.floor(inSlice / rowPitch), Math.floor(first / slicePitch)]
}

/** Three size_t, which the driver reads within the call. */
const sizes = (): BigUint64Array<ArrayBuffer> => new BigUint64Array(new ArrayBuffer(24))

const set = (sizes: BigUint64Array<ArrayBuffer>, values: Triple): BigUint64Array<ArrayBuffer> => {
  for (let axis = 0; axis < 3; axis++) sizes[axis] = BigInt(values[axis]!)
  return sizes
}
