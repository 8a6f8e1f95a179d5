/**
 * Rectangles on WebGPU, which only copies bytes that follow each other: a command for each run of rows.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { Extent, Place } from "../../../domain/data/Rectangle.ts"
import { byteLength, copyBytes, packed, runs } from "../../../domain/data/RectangleRows.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import { gpuOf } from "../WebGpuBuffer.ts"
import { encodeCopy } from "./ByteCopies.ts"
import { command } from "./EncodedCommand.ts"
import type { Reading } from "./Readback.ts"
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
  readRectUnsafe: (extent, source, from, answer) => queue.readThroughUnsafe(readingOf(extent, source, from), answer)
})

/** How many times the bytes of a region may be read to have it in one command. */
const largestSpan = 4

/**
 * Also reads the gaps between the rows where they are small: a command for each row costs more than the bytes. Else packs
 * the rows in the mapped buffer.
 */
const readingOf = (extent: Extent, source: DeviceBuffer, from: Place): Reading => {
  const label = CommandLabel.readRect(extent, source)
  const here = gpuOf(source)
  const bytes = byteLength(extent)
  const span = from.end - from.offset
  if (span <= largestSpan * bytes) {
    return {
      label,
      bytes: span,
      encode: (encoder, mapped) => encodeCopy(encoder, here, source.origin + from.offset, mapped, 0, span),
      take: (mapped) => packRows(extent, mapped, from)
    }
  }
  return {
    label,
    bytes,
    encode: (encoder, mapped) => {
      for (const [start, end, bytes] of runs(extent, from, packed(extent))) {
        encodeCopy(encoder, here, source.origin + start, mapped, end, bytes)
      }
    },
    take: (mapped) => mapped.slice(0)
  }
}

const packRows = (extent: Extent, mapped: ArrayBuffer, from: Place): ArrayBuffer => {
  const rows = new Uint8Array(byteLength(extent))
  copyBytes(extent, new Uint8Array(mapped), { ...from, offset: 0 }, rows, packed(extent))
  return rows.buffer
}
