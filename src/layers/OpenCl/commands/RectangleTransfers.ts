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
import { handleOf } from "../memory/OpenClObject.ts"
import { CL_NON_BLOCKING, type ReadArgumentsOf, type Recorder } from "./Recorder.ts"
import * as RectangleParts from "./RectangleParts.ts"

/** Host data is packed: OpenCL takes pitches of 0 for that. */
const packed = 0

/** Three size_t, which the driver reads within the call. */
const sizes = (): BigUint64Array<ArrayBuffer> => new BigUint64Array(new ArrayBuffer(24))

/** What a command takes, which the driver reads within the call. */
const [regionSizes, hereSizes, thereSizes] = [sizes(), sizes(), sizes()]

/**
 * Rows of sub-regions are copied as rows of the whole buffers: PoCL 3.1 crashes on a rectangular copy of sub-buffers.
 * Where the whole buffer was freed before its sub-region, its handle must not be used any more, and each run is a
 * copy of its own.
 */
export const copy = (
  queue: Recorder,
  extent: Extent,
  source: DeviceBuffer,
  from: Place,
  target: DeviceBuffer,
  to: Place
): Exit.Exit<void, GpuError> => {
  if (source.root.destroyed || target.root.destroyed) {
    return each(
      runs(extent, from, to),
      ([start, end, bytes]) => queue.copyUnsafe(source, start, target, end, bytes)
    )
  }
  const memories = [inRoot(source, from), inRoot(target, to)]
  return each(RectangleParts.parts(extent, memories), ({ extent, places: [here, there] }) =>
    queue.enqueue(
      {
        call: "clEnqueueCopyBufferRect",
        bytes: byteLength(extent),
        label: CommandLabel.copyRect(extent, source, target),
        buffers: [source, target]
      },
      handleOf(source.root),
      handleOf(target.root),
      set(hereSizes, here!.origin),
      set(thereSizes, there!.origin),
      set(regionSizes, extent),
      here!.rowPitch,
      here!.slicePitch,
      there!.rowPitch,
      there!.slicePitch
    ))
}

export const write = (
  queue: Recorder,
  extent: Extent,
  target: DeviceBuffer,
  to: Place,
  rows: ArrayBuffer
): Exit.Exit<void, GpuError> => {
  return each(
    RectangleParts.parts(extent, [alone(target, to)]),
    ({ extent, firstRow, places: [there] }) =>
      queue.enqueue(
        {
          call: "clEnqueueWriteBufferRect",
          bytes: byteLength(extent),
          label: CommandLabel.writeRect(extent, target),
          memory: rows,
          buffers: [target]
        },
        handleOf(target),
        CL_NON_BLOCKING,
        set(hereSizes, there!.origin),
        set(thereSizes, [0, firstRow, 0]),
        set(regionSizes, extent),
        there!.rowPitch,
        there!.slicePitch,
        packed,
        packed,
        rows
      )
  )
}

export const readUnsafe = (
  queue: Recorder,
  extent: Extent,
  source: DeviceBuffer,
  from: Place,
  answer: ReadAnswer
): () => void => {
  const reads = RectangleParts.parts(extent, [alone(source, from)]).map((
    { extent, firstRow, places: [here] }
  ): ReadArgumentsOf<"clEnqueueReadBufferRect"> => [
    handleOf(source),
    CL_NON_BLOCKING,
    triple(here!.origin),
    triple([0, firstRow, 0]),
    triple(extent),
    here!.rowPitch,
    here!.slicePitch,
    packed,
    packed
  ])
  return queue.enqueueReads(
    {
      call: "clEnqueueReadBufferRect",
      bytes: byteLength(extent),
      label: CommandLabel.readRect(extent, source),
      buffers: [source]
    },
    answer,
    reads
  )
}

/** Records the items in order, until one fails. */
const each = <A>(items: Iterable<A>, record: (item: A) => Exit.Exit<void, GpuError>): Exit.Exit<void, GpuError> => {
  for (const item of items) {
    const recorded = record(item)
    if (Exit.isFailure(recorded)) return recorded
  }
  return Exit.void
}

const inRoot = (buffer: DeviceBuffer, place: Place): RectangleParts.Placed => ({
  size: buffer.root.size,
  start: buffer.origin,
  place
})

const alone = (buffer: DeviceBuffer, place: Place): RectangleParts.Placed => ({ size: buffer.size, start: 0, place })

const set = (sizes: BigUint64Array<ArrayBuffer>, values: RectangleParts.Triple): BigUint64Array<ArrayBuffer> => {
  for (let axis = 0; axis < 3; axis++) sizes[axis] = BigInt(values[axis]!)
  return sizes
}

const triple = (values: RectangleParts.Triple) => set(sizes(), values)
