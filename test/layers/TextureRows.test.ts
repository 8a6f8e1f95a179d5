import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import type { ImageRegion } from "../../src/domain/images/ImageShape.ts"
import * as TextureRows from "../../src/layers/WebGpu/images/TextureRows.ts"

const region: fc.Arbitrary<ImageRegion> = fc.record({
  origin: fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)),
  extent: fc.tuple(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 4 }))
})

const elementBytes = fc.constantFrom(1, 2, 4, 8, 16)

/** The place in the image and the first byte of each row of a region. */
const places = (parts: Iterable<TextureRows.Rows>, rowBytes: number) => {
  const found: Array<string> = []
  for (const { bytesPerRow, extent, offset, origin } of parts) {
    const [, height, slices] = extent
    if (bytesPerRow === undefined) assert.strictEqual(height * slices, 1)
    else deepStrictEqual([bytesPerRow % 256, bytesPerRow >= rowBytes], [0, true])
    for (let slice = 0; slice < slices; slice++) {
      for (let row = 0; row < height; row++) {
        const at = offset + (slice * height + row) * (bytesPerRow ?? 0)
        found.push(`${origin[0]},${origin[1] + row},${origin[2] + slice} +${extent[0]} @${at}`)
      }
    }
  }
  return found.sort()
}

const expected = ({ extent, origin }: ImageRegion, at: (row: number) => number) => {
  const [width, height, slices] = extent
  return Array.from(
    { length: height * slices },
    (_, row) => `${origin[0]},${origin[1] + row % height},${origin[2] + Math.floor(row / height)} +${width} @${at(row)}`
  ).sort()
}

describe("rows of a texture in a buffer", () => {
  it("lie where the pitch says, each once, in parts that WebGPU allows", () =>
    fc.assert(fc.property(region, elementBytes, fc.boolean(), (region, bytes, aligned) => {
      const rowBytes = region.extent[0] * bytes
      const pitch = aligned ? TextureRows.alignedRow(rowBytes) : rowBytes
      deepStrictEqual(places(TextureRows.rows(region, pitch), rowBytes), expected(region, (row) => row * pitch))
    })))

  it("are copied from a source that repeats, however small it is", () =>
    fc.assert(fc.property(region, elementBytes, fc.integer({ min: 1, max: 30 }), (region, bytes, rows) => {
      const rowBytes = region.extent[0] * bytes
      const pitch = TextureRows.alignedRow(rowBytes)
      const parts = [...TextureRows.repeated(region, pitch, pitch * rows)]
      for (const { extent } of parts) assert.isAtMost(pitch * extent[1] * extent[2], pitch * rows)
      const found = places(parts, rowBytes).map((place) => place.split(" @")[0])
      deepStrictEqual(found, expected(region, () => 0).map((place) => place.split(" @")[0]))
    })))

  it("come out packed", () =>
    fc.assert(fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 5 }), (rowBytes, rows) => {
      const pitch = TextureRows.alignedRow(rowBytes)
      const staged = new Uint8Array(pitch * rows).map((_, at) => at % pitch < rowBytes ? at / pitch + 1 : 99)
      const packed = new Uint8Array(TextureRows.packed(staged.buffer, pitch, rowBytes, rows))
      deepStrictEqual(packed, Uint8Array.from({ length: rowBytes * rows }, (_, at) => Math.floor(at / rowBytes) + 1))
    })))
})
