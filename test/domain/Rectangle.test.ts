import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { alignmentOfCommands } from "../../src/domain/data/BufferRange.ts"
import * as Rectangle from "../../src/domain/data/Rectangle.ts"
import * as RectangleRows from "../../src/domain/data/RectangleRows.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"

const operation = "Queue.test"

const ofOne = alignmentOfCommands({ copyAlignment: 1 })
const ofFour = alignmentOfCommands({ copyAlignment: 4 })

const extent = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 }))
  .map(([words, rows, slices]): Rectangle.Extent => [4 * words, rows, slices])

/** Memory for an extent: mostly packed in one direction or both, so that runs can merge. */
const placeFor = ([bytes, rows]: Rectangle.Extent): fc.Arbitrary<Rectangle.Placement> =>
  fc.record({
    origin: fc.tuple(fc.nat(3).map((words) => 4 * words), fc.nat(3), fc.nat(3)),
    rowGap: fc.oneof(fc.constant(0), fc.nat(3)),
    sliceGap: fc.oneof(fc.constant(0), fc.nat(3))
  }).map(({ origin, rowGap, sliceGap }) => {
    const rowPitch = bytes + 4 * rowGap
    return { origin, rowPitch, slicePitch: rowPitch * (rows + sliceGap) }
  })

const resolved = (placement: Rectangle.Placement | undefined, extent: Rectangle.Extent): Rectangle.Place => {
  const place = Rectangle.inBuffer(operation, "buffer", placement, extent, Number.MAX_SAFE_INTEGER, ofFour)
  if (isGpuError(place)) throw place
  return place
}

const twoPlaces = extent.chain((extent) => fc.tuple(fc.constant(extent), placeFor(extent), placeFor(extent)))

/** Where each byte of a region goes, one by one. */
const pairs = ([bytes, rows, slices]: Rectangle.Extent, here: Rectangle.Place, there: Rectangle.Place) => {
  const found: Array<string> = []
  for (let z = 0; z < slices; z++) {
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < bytes; x++) {
        const of = ({ origin, rowPitch, slicePitch }: Rectangle.Place) =>
          origin[0] + x + (origin[1] + y) * rowPitch + (origin[2] + z) * slicePitch
        found.push(`${of(here)} ${of(there)}`)
      }
    }
  }
  return found
}

describe("the runs of a region", () => {
  it("are its bytes, in order, each once", () => {
    fc.assert(fc.property(twoPlaces, ([extent, one, other]) => {
      const [here, there] = [resolved(one, extent), resolved(other, extent)]
      const found: Array<string> = []
      for (const [from, to, bytes] of RectangleRows.runs(extent, here, there)) {
        for (let byte = 0; byte < bytes; byte++) found.push(`${from + byte} ${to + byte}`)
      }
      deepStrictEqual(found, pairs(extent, here, there))
    }))
  })

  it("are as few as can be: no run follows the one before it on both sides", () => {
    fc.assert(fc.property(twoPlaces, ([extent, one, other]) => {
      const runs = [...RectangleRows.runs(extent, resolved(one, extent), resolved(other, extent))]
      for (let at = 1; at < runs.length; at++) {
        const [[from, to, bytes], next] = [runs[at - 1]!, runs[at]!]
        assert.isFalse(next[0] === from + bytes && next[1] === to + bytes, `run ${at} of ${JSON.stringify(runs)}`)
      }
    }))
  })

  it("are one for packed memory", () => {
    const extent: Rectangle.Extent = [8, 3, 2]
    deepStrictEqual([...RectangleRows.runs(extent, RectangleRows.packed(extent), resolved(undefined, extent))], [[
      0,
      0,
      48
    ]])
  })

  it("are none where it has no bytes, however many rows or slices it has", () => {
    const spread = { rowPitch: 8, slicePitch: 16 }
    for (const extent of [[0, 2 ** 52, 1], [4, 0, 2 ** 52], [4, 2 ** 52, 0]] as const) {
      const pitches = extent[1] > 1 ? { rowPitch: 8 } : spread
      deepStrictEqual([...RectangleRows.runs(extent, RectangleRows.packed(extent), resolved(pitches, extent))], [])
    }
  })
})

describe("a placement", () => {
  it("goes from its first byte to behind its last", () => {
    fc.assert(fc.property(twoPlaces, ([extent, one]) => {
      const place = resolved(one, extent)
      const bytes = pairs(extent, place, place).map((pair) => Number(pair.split(" ")[0]))
      strictEqual(place.offset, Math.min(...bytes))
      strictEqual(place.end, Math.max(...bytes) + 1)
    }))
  })

  it("needs just the memory up to its end", () => {
    fc.assert(fc.property(twoPlaces, ([extent, one]) => {
      const { end } = resolved(one, extent)
      assert.isFalse(isGpuError(Rectangle.inBuffer(operation, "buffer", one, extent, end, ofFour)))
      assert.isTrue(isGpuError(Rectangle.inBuffer(operation, "buffer", one, extent, end - 1, ofFour)))
      assert.isTrue(isGpuError(Rectangle.inHostMemory(operation, "host", one, extent, end - 1)))
    }))
  })

  it("begins at 0, packed, where nothing is said, or 0", () => {
    const extent: Rectangle.Extent = [8, 3, 2]
    for (const placement of [undefined, {}, { origin: [] }, { rowPitch: 0, slicePitch: 0 }] as const) {
      deepStrictEqual(resolved(placement, extent), RectangleRows.packed(extent))
    }
    strictEqual(resolved({ rowPitch: 12 }, extent).slicePitch, 36)
  })

  it("may be anywhere in host memory, and only at words of a buffer unless a device can do bytes", () => {
    const extent: Rectangle.Extent = [4, 2, 1]
    const odd = { origin: [3], rowPitch: 7 } as const
    assert.isFalse(isGpuError(Rectangle.inHostMemory(operation, "host", odd, extent, 14)))
    assert.isTrue(isGpuError(Rectangle.inBuffer(operation, "buffer", odd, extent, 100, ofFour)))
    assert.isFalse(isGpuError(Rectangle.inBuffer(operation, "buffer", odd, extent, 14, ofOne)))
  })

  it("may be at the end of what can be counted", () => {
    const far = resolved({ origin: [2 ** 52] }, [4, 1, 1])
    strictEqual(far.end, 2 ** 52 + 4)
    const beyond = { origin: [0, 2 ** 52], rowPitch: 2 ** 40 } as const
    const message = Rectangle.inBuffer(operation, "buffer", beyond, [4, 2, 1], 2 ** 53 - 1, ofFour)
    assert.isTrue(isGpuError(message))
  })
})

describe("a region", () => {
  it("has one row and one slice where nothing is said", () => {
    deepStrictEqual(Rectangle.extentOf(operation, [8], ofFour), [8, 1, 1])
    deepStrictEqual(Rectangle.extentOf(operation, [8, 2], ofFour), [8, 2, 1])
    deepStrictEqual(Rectangle.extentOf(operation, [7, 2], ofOne), [7, 2, 1])
  })

  it("says how it would be right, and on which devices it is", () => {
    const problem = Rectangle.extentOf(operation, [6], ofFour)
    assert.include(
      isGpuError(problem) && problem.message,
      "Make row lengths, offsets and pitches multiples of 4 bytes, as every device can; OpenCL and the host can start and " +
        "end at any byte when opened with byteGranular: true."
    )
  })

  it("says what is wrong with it in the caller's words", () => {
    const messages = [[6], [4, 1.5], [-4], [2 ** 52, 4]].map((region) => {
      const problem = Rectangle.extentOf(operation, region as unknown as Rectangle.Region, ofFour)
      return isGpuError(problem) && problem.reason._tag === "InvalidRequest" ? problem.reason.problem : problem
    })
    deepStrictEqual(messages, [
      "region's row length 6 is no multiple of 4 bytes",
      "region's row count 1.5 is no whole number, zero or more",
      "region's byte count -4 is no whole number, zero or more",
      "region [4503599627370496, 4, 1] has more bytes than can be counted"
    ])
  })
})
