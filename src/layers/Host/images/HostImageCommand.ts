/**
 * Filling a region of an image with one element.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { Extent, Place } from "../../../domain/data/Rectangle.ts"
import { byteLength, packed, runs } from "../../../domain/data/RectangleRows.ts"
import { chunkBytes, type HostCommand } from "../HostCommand.ts"
import type { HostBuffer } from "../HostMemory.ts"

/** At most so many copies of the element are prepared, and copied from there. */
const patternElements = 4096

/** Keeps `element`: do not change it later. */
export const fillElements = (
  target: HostBuffer,
  extent: Extent,
  place: Place,
  element: Uint8Array<ArrayBuffer>
): HostCommand => ({
  label: CommandLabel.fill(byteLength(extent), target),
  buffers: [target],
  *pieces() {
    const { base, memory } = target
    const bytes = new Uint8Array(memory)
    const pattern = patternOf(element, byteLength(extent))
    let worked = 0
    for (const [at, , length] of runs(extent, place, packed(extent))) {
      for (let done = 0; done < length; done += pattern.length) {
        const part = Math.min(pattern.length, length - done)
        bytes.set(pattern.subarray(0, part), base + at + done)
        worked += part
        if (worked < chunkBytes) continue
        yield worked / chunkBytes
        worked = 0
      }
    }
    yield worked / chunkBytes
  }
})

const patternOf = (element: Uint8Array<ArrayBuffer>, bytes: number): Uint8Array<ArrayBuffer> => {
  const { length } = element
  const pattern = new Uint8Array(length * Math.min(patternElements, Math.ceil(bytes / length)))
  for (let at = 0; at < pattern.length; at += length) pattern.set(element, at)
  return pattern
}
