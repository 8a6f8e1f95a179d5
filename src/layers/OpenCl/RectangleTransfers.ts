/**
 * The rectangular commands of OpenCL, enqueued on the device's queue.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../domain/CommandLabel.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { byteLength, type Extent, type Place, runs } from "../../domain/Rectangle.ts"
import type { DeviceBuffer } from "../../services/device/DeviceBuffer.ts"
import type { ReadAnswer } from "../../services/device/QueueDriver.ts"
import type { OpenClApi } from "./OpenClApi.ts"
import { memoryOf } from "./OpenClBuffer.ts"
import type { Recorder } from "./Recorder.ts"

const CL_NON_BLOCKING = 0

type Triple = readonly [number, number, number]

/** Host data is packed: OpenCL takes pitches of 0 for that. */
const packed = 0

export class RectangleTransfers {
  readonly #api: OpenClApi
  readonly #queue: Recorder
  readonly #region = sizes()
  readonly #here = sizes()
  readonly #there = sizes()
  readonly #start = sizes()

  constructor(api: OpenClApi, queue: Recorder) {
    this.#api = api
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
    return this.#queue.record(
      {
        call: "clEnqueueCopyBufferRect",
        bytes: byteLength(extent),
        label: () => CommandLabel.copyRect(extent, sourceName, targetName),
        buffers: [source, target]
      },
      (queue, event) =>
        this.#api.clEnqueueCopyBufferRect(
          queue,
          memoryOf(source.root),
          memoryOf(target.root),
          set(this.#here, originInRoot(source, from)),
          set(this.#there, originInRoot(target, to)),
          set(this.#region, extent),
          from.rowPitch,
          from.slicePitch,
          to.rowPitch,
          to.slicePitch,
          0,
          null,
          event
        )
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
    return this.#queue.record(
      {
        call: "clEnqueueWriteBufferRect",
        bytes: byteLength(extent),
        label: () => CommandLabel.writeRect(extent, name),
        memory: rows,
        buffers: [target]
      },
      (queue, event) =>
        this.#api.clEnqueueWriteBufferRect(
          queue,
          memoryOf(target),
          CL_NON_BLOCKING,
          set(this.#here, to.origin),
          this.#start,
          set(this.#region, extent),
          to.rowPitch,
          to.slicePitch,
          packed,
          packed,
          rows,
          0,
          null,
          event
        )
    )
  }

  readUnsafe(extent: Extent, source: DeviceBuffer, from: Place, answer: ReadAnswer): () => void {
    const bytes = byteLength(extent)
    const name = source.label
    return this.#queue.recordRead(
      { call: "clEnqueueReadBufferRect", bytes, label: () => CommandLabel.readRect(extent, name), buffers: [source] },
      answer,
      (queue, event, memory) =>
        this.#api.clEnqueueReadBufferRect(
          queue,
          memoryOf(source),
          CL_NON_BLOCKING,
          set(this.#here, from.origin),
          this.#start,
          set(this.#region, extent),
          from.rowPitch,
          from.slicePitch,
          packed,
          packed,
          memory,
          0,
          null,
          event
        )
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
