/**
 * Filling a region of an image with one element.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/CommandLabel.ts"
import { byteLength, type Extent, packed, type Place, runs } from "../../../domain/Rectangle.ts"
import { chunkBytes, type HostCommand } from "../HostCommand.ts"
import type { HostBuffer } from "../HostMemory.ts"

/** At most so many copies of the element are prepared, and copied from there. */
const patternElements = 4096

export class FillElementsCommand implements HostCommand {
  readonly buffers: readonly [HostBuffer]
  readonly #extent: Extent
  readonly #place: Place
  readonly #element: Uint8Array<ArrayBuffer>
  readonly #name: string | undefined

  /** Keeps `element`: do not change it later. */
  constructor(target: HostBuffer, extent: Extent, place: Place, element: Uint8Array<ArrayBuffer>) {
    this.buffers = [target]
    this.#extent = extent
    this.#place = place
    this.#element = element
    this.#name = target.label
  }

  get label(): string {
    return CommandLabel.fill(byteLength(this.#extent), this.#name)
  }

  *pieces(): Generator<number, void> {
    const { base, memory } = this.buffers[0]
    const target = new Uint8Array(memory)
    const pattern = this.#pattern()
    let worked = 0
    for (const [at, , bytes] of runs(this.#extent, this.#place, packed(this.#extent))) {
      for (let done = 0; done < bytes; done += pattern.length) {
        const part = Math.min(pattern.length, bytes - done)
        target.set(pattern.subarray(0, part), base + at + done)
        worked += part
        if (worked < chunkBytes) continue
        yield worked / chunkBytes
        worked = 0
      }
    }
    yield worked / chunkBytes
  }

  #pattern(): Uint8Array<ArrayBuffer> {
    const { length } = this.#element
    const pattern = new Uint8Array(length * Math.min(patternElements, Math.ceil(byteLength(this.#extent) / length)))
    for (let at = 0; at < pattern.length; at += length) pattern.set(this.#element, at)
    return pattern
  }
}
