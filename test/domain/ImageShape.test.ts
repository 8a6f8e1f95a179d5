import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as ImageArrays from "../../src/domain/images/ImageArrays.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageRegions from "../../src/domain/images/ImageRegions.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import { runs } from "../support/explore.ts"

const length = fc.integer({ min: 1, max: 5 })

const anyShape = fc.tuple(fc.constantFrom(...ImageShape.kinds), length, length, length).map(([kind, x, y, z]) => {
  switch (kind) {
    case "1d":
      return ImageShape.image1d(x)
    case "1dArray":
      return ImageShape.image1dArray(x, z)
    case "1dBuffer":
      return ImageShape.image1dBuffer(x)
    case "2d":
      return ImageShape.image2d(x, y)
    case "2dArray":
      return ImageShape.image2dArray(x, y, z)
    case "3d":
      return ImageShape.image3d(x, y, z)
  }
})

const triple = fc.tuple(
  fc.integer({ min: -1, max: 6 }),
  fc.integer({ min: -1, max: 6 }),
  fc.integer({ min: -1, max: 6 })
)

/** The elements of a region, by their places. */
const places = ({ extent, origin }: ImageShape.ImageRegion): ReadonlySet<string> => {
  const found = new Set<string>()
  for (let z = 0; z < extent[2]; z++) {
    for (let y = 0; y < extent[1]; y++) {
      for (let x = 0; x < extent[0]; x++) found.add(`${origin[0] + x} ${origin[1] + y} ${origin[2] + z}`)
    }
  }
  return found
}

describe("ImageShape", () => {
  it("has no fault in what its constructors make", () =>
    fc.assert(fc.property(anyShape, (shape) => {
      strictEqual(ImageRegions.problem(shape), undefined)
      strictEqual(places(ImageShape.whole(shape)).size, ImageShape.elements(shape))
    })))

  it("finds fault with lengths that are none, and with dimensions that a kind lacks", () => {
    for (const width of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) {
      assert.include(ImageRegions.problem(ImageShape.image1d(width)), "width")
    }
    assert.include(ImageRegions.problem({ ...ImageShape.image1d(4), height: 2 }), "height 2")
    assert.include(ImageRegions.problem({ ...ImageShape.image2d(4, 2), layers: 2 }), "layers 2")
    assert.include(ImageRegions.problem({ ...ImageShape.image2dArray(4, 2, 2), depth: 3 }), "depth 3")
    assert.include(ImageRegions.problem({ ...ImageShape.image3d(4, 2, 2), layers: 3 }), "layers 3")
    assert.isString(ImageRegions.problem(ImageShape.image3d(2 ** 20, 2 ** 20, 2 ** 20)))
  })

  it("accepts exactly the parts within an image", () =>
    fc.assert(
      fc.property(anyShape, triple, triple, (shape, origin, extent) => {
        const region = ImageRegions.region(shape, { origin, extent })
        const most = ImageShape.extent(shape)
        const within = origin.every((start, axis) => start >= 0 && start + extent[axis]! <= most[axis]!) &&
          extent.every((count) => count >= 0)
        strictEqual(typeof region !== "string", within, String(JSON.stringify(region)))
        if (typeof region !== "string") deepStrictEqual(region, { origin, extent })
      }),
      { numRuns: runs(2000) }
    ))

  it("fills up what options leave out", () => {
    const shape = ImageShape.image3d(4, 5, 6)
    deepStrictEqual(ImageRegions.region(shape, undefined), ImageShape.whole(shape))
    deepStrictEqual(ImageRegions.region(shape, { origin: [1, 2] }), { origin: [1, 2, 0], extent: [3, 3, 6] })
    deepStrictEqual(ImageRegions.region(shape, { extent: [2] }), { origin: [0, 0, 0], extent: [2, 1, 1] })
    deepStrictEqual(ImageRegions.region(shape, { origin: [4, 5, 6] }), { origin: [4, 5, 6], extent: [0, 0, 0] })
  })
})

describe("ImageArray", () => {
  it("has as many items as an image", () =>
    fc.assert(fc.property(anyShape, fc.constantFrom(...ImageFormat.all), (shape, format) => {
      const bytes = ImageFormat.imageBytes(format, shape)
      const array = ImageArrays.overUnsafe(format, new ArrayBuffer(bytes))
      strictEqual(array.length, ImageShape.elements(shape) * ImageFormat.itemCount(format))
      strictEqual(array.BYTES_PER_ELEMENT, ImageArrays.classOf(format).BYTES_PER_ELEMENT)
    })))
})
