/** How rectangles are passed to drivers that count whole slices when they check the bounds, as NVIDIA's does. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import * as BufferRange from "../../src/domain/data/BufferRange.ts"
import * as Rectangle from "../../src/domain/data/Rectangle.ts"
import * as RectangleRows from "../../src/domain/data/RectangleRows.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"
import * as RectangleParts from "../../src/layers/OpenCl/commands/RectangleParts.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { runs } from "../support/explore.ts"
import { onDevice } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { isTaken, WholeSlices } from "../support/strictOpenCl.ts"

type Sizes = RectangleParts.Triple

const count = (most: number, least = 0) => fc.integer({ min: least, max: most })

const anyExtent: fc.Arbitrary<Sizes> = fc.tuple(count(5, 1), count(4, 1), count(3, 1)).map(
  ([words, rows, slices]) => [4 * words, rows, slices]
)

/** A placement in memory that ends with the last byte of the rectangle, or `rest` bytes later. */
const anyPlacement = ([bytes, rows]: Sizes) =>
  fc.record({ byte: count(3), row: count(3), slice: count(2), gap: count(3), rowGap: count(3), rest: count(9) }).map(
    ({ byte, gap, rest, row, rowGap, slice }) => {
      const rowPitch = bytes + 4 * gap
      return {
        origin: [4 * byte, row, slice] as const,
        rowPitch,
        slicePitch: rowPitch * (rows + rowGap),
        rest: 4 * rest
      }
    }
  )

type Placement = ReturnType<typeof anyPlacement> extends fc.Arbitrary<infer A> ? A : never

const placeOf = (extent: Sizes, placement: Placement): Rectangle.Place => {
  const { origin, rowPitch, slicePitch } = placement
  const given = { origin, rowPitch, slicePitch }
  const place = Rectangle.inBuffer(
    "test",
    "buffer",
    given,
    extent,
    Number.MAX_SAFE_INTEGER,
    BufferRange.portableAlignment
  )
  if (isGpuError(place)) throw place
  return place
}

const anyCase = anyExtent.chain((extent) => fc.tuple(fc.constant(extent), anyPlacement(extent), anyPlacement(extent)))

/** The byte ranges of a rectangle in one memory, row by row. */
const rowsOf = ([bytes, rows, slices]: Sizes, first: number, rowPitch: number, slicePitch: number) =>
  Array.from({ length: rows * slices }, (_, at) => [
    first + Math.floor(at / rows) * slicePitch + (at % rows) * rowPitch,
    bytes
  ])

describe("The parts of a rectangle", () => {
  it("are its rows in their order, and each is one that every driver takes", () => {
    fc.assert(
      fc.property(anyCase, count(40), ([extent, ...placements], words) => {
        const memories = placements.map((placement) => {
          const place = placeOf(extent, placement)
          return { place, start: 4 * words, size: 4 * words + place.end + placement.rest }
        })
        const parts = RectangleParts.parts(extent, memories)
        strictEqual(parts.length <= 3, true)
        memories.forEach(({ place, size, start }, index) => {
          const rows = parts.flatMap(({ extent, firstRow, places }, at) => {
            const { origin, rowPitch, slicePitch } = places[index]!
            strictEqual(isTaken(extent, origin, rowPitch, slicePitch, size), true)
            strictEqual(
              firstRow,
              parts.slice(0, at).reduce((sum, { extent: [, rows, slices] }) => sum + rows * slices, 0)
            )
            return rowsOf(extent, origin[0] + origin[1] * rowPitch + origin[2] * slicePitch, rowPitch, slicePitch)
          })
          deepStrictEqual(rows, rowsOf(extent, start + place.offset, place.rowPitch, place.slicePitch))
        })
      }),
      { numRuns: runs(2000) }
    )
  })
})

const filled = (bytes: number, first: number) => Uint8Array.from({ length: bytes }, (_, index) => (first + index) % 251)

describeWith(["opencl"], "Rectangles on a driver that counts whole slices", () => {
  it.live("are copied, written and read as of byte arrays", () => {
    const driver = new WholeSlices()
    return onDevice(
      () =>
        Effect.forEach(
          fc.sample(anyCase, { numRuns: 150, seed: 7 }),
          ([extent, from, to]) =>
            Effect.scoped(Effect.gen(function*() {
              const [here, there] = [placeOf(extent, from), placeOf(extent, to)]
              const [source, target] = [filled(here.end + from.rest, 1), filled(there.end + to.rest, 100)]
              const x = yield* Allocator.allocate(source.length)
              const y = yield* Allocator.allocate(target.length)
              yield* CommandQueue.write(x, source)
              yield* CommandQueue.write(y, target)
              const packed = new Uint8Array(RectangleRows.byteLength(extent))
              RectangleRows.copyBytes(extent, source, here, packed, RectangleRows.packed(extent))
              RectangleRows.copyBytes(extent, source, here, target, there)
              yield* CommandQueue.copyRect(x, y, { region: extent, source: asked(from), target: asked(to) })
              deepStrictEqual(yield* CommandQueue.read(y, Uint8Array), target)
              deepStrictEqual(
                yield* CommandQueue.readRect(x, Uint8Array, { region: extent, buffer: asked(from) }),
                packed
              )
              packed.reverse()
              yield* CommandQueue.writeRect(y, packed, { region: extent, buffer: asked(to) })
              RectangleRows.copyBytes(extent, packed, RectangleRows.packed(extent), target, there)
              deepStrictEqual(yield* CommandQueue.read(y, Uint8Array), target)
            })),
          { discard: true }
        ).pipe(
          Effect.andThen(Effect.sync(() => strictEqual(driver.rectangles > 3 * 150, true)))
        ),
      driver.bends
    )
  })
})

const asked = ({ origin, rowPitch, slicePitch }: Placement): Rectangle.Placement => ({ origin, rowPitch, slicePitch })
