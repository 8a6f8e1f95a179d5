/**
 * Rectangles on WebGPU, which only copies bytes that follow each other: a command for each run of rows.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { Extent, Place } from "../../../domain/data/Rectangle.ts"
import { byteLength, copyBytes, packed, runs } from "../../../domain/data/RectangleRows.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { ReadAnswer } from "../../../services/device/QueueDriver.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { gpuOf } from "../WebGpuBuffer.ts"
import { encodeCopy } from "./ByteCopies.ts"
import { command } from "./EncodedCommand.ts"
import * as Readback from "./Readback.ts"
import type { Rectangles } from "./WebGpuQueue.ts"

export const rectangles: Rectangles = (queue, opened) => ({
  copyRectUnsafe: (extent, source, from, target, to) =>
    queue.record(command(CommandLabel.copyRect(extent, source, target), (encoder, temporaries) => {
      temporaries.copy(encoder, source, target, runs(extent, from, to), byteLength(extent))
    })),
  writeRectUnsafe: (extent, target, to, rows) =>
    queue.write("GPUQueue.writeBuffer", CommandLabel.writeRect(extent, target), () => {
      const there = gpuOf(target)
      for (const [start, end, bytes] of runs(extent, packed(extent), to)) {
        opened.device.queue.writeBuffer(there, target.origin + end, rows, start, bytes)
      }
    }),
  readRectUnsafe: (extent, source, from, answer) =>
    queue.inOrderUnsafe((answer) => readUnsafe(opened, extent, source, from, answer), answer)
})

/** How many times the bytes of a region may be read to have it in one command. */
const largestSpan = 4

/**
 * Also reads the gaps between the rows where they are small: a command for each row costs more than the bytes. Else packs
 * the rows in the staging buffer.
 */
const readUnsafe = (
  opened: OpenDevice,
  extent: Extent,
  source: DeviceBuffer,
  from: Place,
  answer: ReadAnswer
): () => void => {
  const label = CommandLabel.readRect(extent, source)
  const here = gpuOf(source)
  const bytes = byteLength(extent)
  const span = from.end - from.offset
  if (span <= largestSpan * bytes) {
    return Readback.readThroughUnsafe(opened, {
      label,
      bytes: span,
      encode: (encoder, staging) => encodeCopy(encoder, here, source.origin + from.offset, staging, 0, span),
      take: (staged) => packRows(extent, staged, from)
    }, answer)
  }
  return Readback.readThroughUnsafe(opened, {
    label,
    bytes,
    encode: (encoder, staging) => {
      for (const [start, end, bytes] of runs(extent, from, packed(extent))) {
        encodeCopy(encoder, here, source.origin + start, staging, end, bytes)
      }
    },
    take: (staged) => staged.slice(0)
  }, answer)
}

const packRows = (extent: Extent, staged: ArrayBuffer, from: Place): ArrayBuffer => {
  const rows = new Uint8Array(byteLength(extent))
  copyBytes(extent, new Uint8Array(staged), { ...from, offset: 0 }, rows, packed(extent))
  return rows.buffer
}
