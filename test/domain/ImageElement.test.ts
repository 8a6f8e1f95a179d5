import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as HalfFloat from "../../src/domain/images/HalfFloat.ts"
import * as ImageBytes from "../../src/domain/images/ImageBytes.ts"
import * as ImageElement from "../../src/domain/images/ImageElement.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import { runs } from "../support/explore.ts"

const anyFormat = fc.constantFrom(...ImageFormat.all)

const isFloat = ({ type }: ImageFormat.ImageFormat) => type.startsWith("float")

/** The bits of precision of each channel type with uniform steps. */
const bitsOf: { readonly [T in ImageFormat.ChannelType]?: number } = {
  unorm8: 8,
  unorm16: 16,
  snorm8: 7,
  snorm16: 15,
  unorm565: 5,
  unorm555: 5,
  unorm101010: 10
}

/** Elements of random bytes, as a picture file may hold them. */
const elementOf = (format: ImageFormat.ImageFormat) =>
  fc.uint8Array({ minLength: ImageFormat.elementBytes(format), maxLength: ImageFormat.elementBytes(format) })

const formatAndElement = anyFormat.chain((format) =>
  elementOf(format).map((bytes) => ({ format, element: Uint8Array.from(bytes) }))
)

const packed = (type: ImageFormat.ChannelType, ...values: ReadonlyArray<number>) => [
  ...ImageElement.encodeUnsafe(ImageFormat.make("rgb", type), values)
]

const seen = (order: ImageFormat.ChannelOrder, ...values: ReadonlyArray<number>) =>
  ImageElement.toRgbaUnsafe(ImageFormat.make(order, "float32"), values)

describe("HalfFloat", () => {
  it("knows every half", () => {
    const bits = Uint16Array.from({ length: 65536 }, (_, index) => index)
    const halves = new (globalThis as unknown as { Float16Array: new(b: ArrayBuffer) => ArrayLike<number> })
      .Float16Array(bits.buffer)
    for (let index = 0; index < 65536; index++) {
      assert(Object.is(HalfFloat.fromBits(index), halves[index]), `bits ${index}`)
      if (!Number.isNaN(halves[index]!)) strictEqual(HalfFloat.toBits(halves[index]!), index)
    }
  })

  it("rounds as Math.f16round does", () => {
    const { f16round } = Math as unknown as { readonly f16round: (value: number) => number }
    const agrees = (value: number) => {
      const rounded = HalfFloat.fromBits(HalfFloat.toBits(value))
      assert(Object.is(rounded, f16round(value)), `${value}: ${rounded}, not ${f16round(value)}`)
    }
    fc.assert(fc.property(fc.double(), agrees))
    fc.assert(fc.property(fc.double({ min: -70000, max: 70000 }), agrees))
    fc.assert(fc.property(fc.double({ min: -1e-4, max: 1e-4 }), agrees))
    for (const value of [65519.999, 65520, -65520, 2 ** -25, 2 ** -25 * 1.0001, 2 ** -14 * 0.99999, 2049, 2051]) {
      agrees(value)
    }
  })
})

describe("ImageElement", () => {
  it("encodes what it has decoded to the same bytes, except where a format has two encodings", () =>
    fc.assert(
      fc.property(formatAndElement, ({ element, format }) => {
        const values = ImageElement.decodeUnsafe(format, element)
        if (values.some(Number.isNaN)) return
        const again = ImageElement.encodeUnsafe(format, values)
        deepStrictEqual(ImageElement.decodeUnsafe(format, again), values)
        const twoWays = format.type.startsWith("snorm") || format.type === "unorm555" || format.type === "unorm101010"
        if (!twoWays) deepStrictEqual(again, element)
      }),
      { numRuns: runs(2000) }
    ))

  it("stores the nearest that the format can hold", () =>
    fc.assert(
      fc.property(
        anyFormat.chain((format) =>
          fc.tuple(
            fc.constant(format),
            fc.array(fc.double({ min: -1.5, max: 1.5, noNaN: true }), {
              minLength: ImageFormat.channelCount(format),
              maxLength: ImageFormat.channelCount(format)
            })
          )
        ),
        ([format, values]) => {
          const bits = bitsOf[format.type]
          if (bits === undefined || format.order.startsWith("s")) return
          const least = format.type.startsWith("snorm") ? -1 : 0
          const stored = ImageElement.decodeUnsafe(format, ImageElement.encodeUnsafe(format, values))
          for (const [channel, value] of values.entries()) {
            const clamped = Math.min(1, Math.max(least, value))
            assert.isAtMost(Math.abs(stored[channel]! - clamped), 0.5 / (2 ** bits - 1) + 1e-12)
          }
        }
      ),
      { numRuns: runs(2000) }
    ))

  it("keeps integers and cuts off what is beyond them", () => {
    const cases: ReadonlyArray<readonly [ImageFormat.ChannelType, value: number, stored: number]> = [
      ["uint8", 255, 255],
      ["uint8", 256, 255],
      ["uint8", -1, 0],
      ["uint8", 2.5, 2],
      ["uint16", 70000, 65535],
      ["uint32", 4294967295, 4294967295],
      ["uint32", 1e10, 4294967295],
      ["sint8", -129, -128],
      ["sint8", 128, 127],
      ["sint16", -40000, -32768],
      ["sint32", -2147483649, -2147483648],
      ["sint32", 2147483647, 2147483647],
      ["sint32", NaN, 0],
      ["uint8", NaN, 0],
      ["unorm8", NaN, 0],
      ["snorm8", NaN, 0],
      ["snorm8", -5, -1],
      ["float32", 0.5, 0.5],
      ["float16", 1e9, Infinity]
    ]
    for (const [type, value, stored] of cases) {
      const format = ImageFormat.make("r", type)
      deepStrictEqual(
        ImageElement.decodeUnsafe(format, ImageElement.encodeUnsafe(format, [value])),
        [stored],
        `${type} of ${value}`
      )
    }
  })

  it("rounds half of a step to even", () => {
    const unorm = ImageFormat.make("r", "unorm8")
    deepStrictEqual([...ImageElement.encodeUnsafe(unorm, [0.5 / 255])], [0])
    deepStrictEqual([...ImageElement.encodeUnsafe(unorm, [1.5 / 255])], [2])
    deepStrictEqual([...ImageElement.encodeUnsafe(ImageFormat.make("r", "sint8"), [-2.5])], [254])
  })

  it("puts the first of packed channels into the highest place", () => {
    deepStrictEqual(packed("unorm565", 1, 0, 0), [0, 0xf8])
    deepStrictEqual(packed("unorm565", 0, 1, 0), [0xe0, 0x07])
    deepStrictEqual(packed("unorm565", 0, 0, 1), [0x1f, 0])
    deepStrictEqual(packed("unorm555", 1, 0, 0), [0, 0x7c])
    deepStrictEqual(packed("unorm101010", 1, 0, 0), [0, 0, 0xf0, 0x3f])
    deepStrictEqual(packed("unorm101010", 0, 0, 1), [0xff, 0x03, 0, 0])
  })

  it("stores colours of sRGB along its curve, and alpha as it is", () => {
    const format = ImageFormat.make("sbgra", "unorm8")
    deepStrictEqual([...ImageElement.encodeUnsafe(format, [0.5, 0.0031308, 1, 0.5])], [188, 10, 255, 128])
    for (let byte = 0; byte < 256; byte++) {
      const element = Uint8Array.of(byte, byte, byte, byte)
      deepStrictEqual(ImageElement.encodeUnsafe(format, ImageElement.decodeUnsafe(format, element)), element)
    }
  })

  it("shows kernels four values, whatever the channels", () => {
    deepStrictEqual(seen("r", 2), [2, 0, 0, 1])
    deepStrictEqual(seen("a", 2), [0, 0, 0, 2])
    deepStrictEqual(seen("rg", 2, 3), [2, 3, 0, 1])
    deepStrictEqual(seen("ra", 2, 3), [2, 0, 0, 3])
    deepStrictEqual(seen("rgba", 2, 3, 4, 5), [2, 3, 4, 5])
    deepStrictEqual(seen("bgra", 4, 3, 2, 5), [2, 3, 4, 5])
    deepStrictEqual(seen("argb", 5, 2, 3, 4), [2, 3, 4, 5])
    deepStrictEqual(seen("abgr", 5, 4, 3, 2), [2, 3, 4, 5])
    deepStrictEqual(seen("intensity", 2), [2, 2, 2, 2])
    deepStrictEqual(seen("luminance", 2), [2, 2, 2, 1])
    deepStrictEqual(seen("depth", 2), [2, 0, 0, 1])
  })

  it("shows a border that is opaque where the format has neither alpha nor an x", () => {
    const opaque = ImageFormat.all.filter((format) => ImageElement.border(format)[3] === 1)
    deepStrictEqual(
      new Set(opaque.map(({ order }) => order)),
      new Set(["r", "rg", "rgb", "luminance", "depth", "srgb"])
    )
    assert.isTrue(
      ImageFormat.all.every((format) => ImageElement.border(format).slice(0, 3).every((value) => value === 0))
    )
  })

  it("takes from four values what it shows of them", () =>
    fc.assert(fc.property(formatAndElement, ({ element, format }) => {
      const values = ImageElement.decodeUnsafe(format, element)
      if (isFloat(format) && values.some(Number.isNaN)) return
      deepStrictEqual([...ImageBytes.fromRgba(format, ImageElement.toRgbaUnsafe(format, values))], [...values])
    })))
})
