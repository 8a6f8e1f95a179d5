/**
 * The rectangular commands of OpenCL, enqueued on the device's queue.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { Extent, Place } from "../../../domain/data/Rectangle.ts"
import { byteLength, runs } from "../../../domain/data/RectangleRows.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { ReadAnswer } from "../../../services/device/QueueDriver.ts"
import { ownOf, type Place as PlaceOfBuffer, placeOf, wholeOf } from "../memory/OpenClObject.ts"
import { placeInWhole } from "../memory/SubBuffers.ts"
import { isPocl } from "../opening/OpenClDevices.ts"
import type { OpenClPlatform } from "../opening/OpenClPlatform.ts"
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
 * Each run is a copy of its own where the whole buffer was freed before its sub-region, since its handle must not be
 * used any more, and where both are in one cl_mem and a driver may refuse the command.
 */
export const copy = (
  queue: Recorder,
  platform: OpenClPlatform,
  extent: Extent,
  source: DeviceBuffer,
  from: Place,
  target: DeviceBuffer,
  to: Place
): Exit.Exit<void, GpuError> => {
  const hasWholes = !source.root.destroyed && !target.root.destroyed
  const isWithin = wholeOf(source) === wholeOf(target)
  const [here, there] = isWithin && !isPocl(platform)
    ? [ownOf(source), ownOf(target)]
    : [placeInWhole(source, platform), placeInWhole(target, platform)]
  if (isGpuError(here)) return Exit.fail(here)
  if (isGpuError(there)) return Exit.fail(there)
  const parts = RectangleParts.parts(extent, [within(here, from), within(there, to)])
  if (!hasWholes || (here.handle === there.handle && !parts.every(isTakenWithin))) {
    return each(
      runs(extent, from, to),
      ([start, end, bytes]) => queue.copyUnsafe(source, start, target, end, bytes)
    )
  }
  return each(parts, ({ extent, places: [read, written] }) =>
    queue.enqueue(
      {
        call: "clEnqueueCopyBufferRect",
        bytes: byteLength(extent),
        label: CommandLabel.copyRect(extent, source, target),
        buffers: [source, target]
      },
      here.handle,
      there.handle,
      set(hereSizes, read!.origin),
      set(thereSizes, written!.origin),
      set(regionSizes, extent),
      read!.rowPitch,
      read!.slicePitch,
      written!.rowPitch,
      written!.slicePitch
    ))
}

/**
 * Whether every driver copies the rows within a cl_mem: with equal pitches, and so far apart that it finds no overlap.
 * OpenCL 1.2 lets it count one row and one slice more than there are.
 *
 * @see https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf, appendix D
 */
const isTakenWithin = ({ extent: [bytes, rows, slices], places }: RectangleParts.RectanglePart): boolean => {
  const [here, there] = [places[0]!, places[1]!]
  const { rowPitch, slicePitch } = here
  if (rowPitch !== there.rowPitch || slicePitch !== there.slicePitch) return false
  const firstOf = ({ origin: [x, y, z] }: RectangleParts.Named) => x + y * rowPitch + z * slicePitch
  return Math.abs(firstOf(here) - firstOf(there)) >= slices * slicePitch + rows * rowPitch + bytes
}

export const write = (
  queue: Recorder,
  extent: Extent,
  target: DeviceBuffer,
  to: Place,
  rows: ArrayBuffer
): Exit.Exit<void, GpuError> => {
  const memory = placeOf(target)
  if (isGpuError(memory)) return Exit.fail(memory)
  return each(
    RectangleParts.parts(extent, [within(memory, to)]),
    ({ extent, firstRow, places: [there] }) =>
      queue.enqueue(
        {
          call: "clEnqueueWriteBufferRect",
          bytes: byteLength(extent),
          label: CommandLabel.writeRect(extent, target),
          memory: rows,
          buffers: [target]
        },
        memory.handle,
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
  const memory = placeOf(source)
  if (isGpuError(memory)) {
    answer(memory)
    return constVoid
  }
  const reads = RectangleParts.parts(extent, [within(memory, from)]).map((
    { extent, firstRow, places: [here] }
  ): ReadArgumentsOf<"clEnqueueReadBufferRect"> => [
    memory.handle,
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

const within = ({ objectBytes, start }: PlaceOfBuffer, place: Place): RectangleParts.Placed => ({
  size: objectBytes,
  start,
  place
})

const set = (sizes: BigUint64Array<ArrayBuffer>, values: RectangleParts.Triple): BigUint64Array<ArrayBuffer> => {
  for (let axis = 0; axis < 3; axis++) sizes[axis] = BigInt(values[axis]!)
  return sizes
}

const triple = (values: RectangleParts.Triple) => set(sizes(), values)
