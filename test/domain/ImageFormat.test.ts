import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import * as fc from "fast-check"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageUsageRules from "../../src/domain/images/ImageUsageRules.ts"
import * as SamplerOptions from "../../src/domain/images/SamplerOptions.ts"
import * as SamplerProblems from "../../src/domain/images/SamplerProblems.ts"

type Row = readonly [order: string, types: string, channels: number, bytes: ReadonlyArray<number>]

const plain = "unorm8 unorm16 snorm8 snorm16 uint8 uint16 uint32 sint8 sint16 sint32 float16 float32"
const plainBytes = [1, 2, 1, 2, 1, 2, 4, 1, 2, 4, 2, 4]

/** The formats as the tables of the OpenCL specification list them, with the bytes of an element. */
const table: ReadonlyArray<Row> = [
  ["r", plain, 1, plainBytes],
  ["a", plain, 1, plainBytes],
  ["rg", plain, 2, plainBytes.map((bytes) => 2 * bytes)],
  ["ra", plain, 2, plainBytes.map((bytes) => 2 * bytes)],
  ["rgba", plain, 4, plainBytes.map((bytes) => 4 * bytes)],
  ["rgb", "unorm565 unorm555 unorm101010", 3, [2, 2, 4]],
  ["bgra", "unorm8 snorm8 uint8 sint8", 4, [4, 4, 4, 4]],
  ["argb", "unorm8 snorm8 uint8 sint8", 4, [4, 4, 4, 4]],
  ["abgr", "unorm8 snorm8 uint8 sint8", 4, [4, 4, 4, 4]],
  ["intensity", "unorm8 unorm16 snorm8 snorm16 float16 float32", 1, [1, 2, 1, 2, 2, 4]],
  ["luminance", "unorm8 unorm16 snorm8 snorm16 float16 float32", 1, [1, 2, 1, 2, 2, 4]],
  ["depth", "unorm16 float32", 1, [2, 4]],
  ["srgb", "unorm8", 3, [3]],
  ["srgba", "unorm8", 4, [4]],
  ["sbgra", "unorm8", 4, [4]],
  ["rx", plain, 1, plainBytes],
  ["rgx", plain, 2, plainBytes.map((bytes) => 2 * bytes)],
  ["rgbx", "unorm565 unorm555 unorm101010", 3, [2, 2, 4]],
  ["srgbx", "unorm8", 3, [3]]
]

const rows = table.flatMap(([order, types, channels, bytes]) =>
  types.split(" ").map((type, index) => ({ name: `${order} ${type}`, channels, bytes: bytes[index]! }))
)

const byName = (one: { readonly name: string }, other: { readonly name: string }) => one.name < other.name ? -1 : 1

const everyPair = ImageFormat.orders.flatMap((order) => ImageFormat.types.map((type) => ImageFormat.make(order, type)))

describe("ImageFormat", () => {
  it("has the formats of the specification, with their channels and bytes", () => {
    const found = ImageFormat.all.map((format) => ({
      name: ImageFormat.format(format),
      channels: ImageFormat.channelCount(format),
      bytes: ImageFormat.elementBytes(format)
    }))
    deepStrictEqual(found.sort(byName), [...rows].sort(byName))
  })

  it("finds fault with every other pair, and says with which", () => {
    const names = new Set(rows.map(({ name }) => name))
    for (const format of everyPair) {
      const problem = ImageFormat.problem(format)
      strictEqual(problem === undefined, names.has(ImageFormat.format(format)), ImageFormat.format(format))
      if (problem !== undefined) assert.include(problem, format.type)
    }
  })

  it("is compared and hashed by its two parts", () =>
    fc.assert(fc.property(fc.constantFrom(...everyPair), fc.constantFrom(...everyPair), (one, other) => {
      const same = ImageFormat.format(one) === ImageFormat.format(other)
      strictEqual(Equal.equals(one, { ...other }), same)
      strictEqual(ImageFormat.equals(one, other), same)
      strictEqual(Hash.hash(one), Hash.hash({ ...one }))
    })))

  it("counts packed channels as one item", () => {
    for (const format of ImageFormat.all) {
      const items = ImageFormat.isPacked(format) ? 1 : ImageFormat.channelCount(format)
      strictEqual(ImageFormat.itemCount(format), items)
      strictEqual(ImageFormat.elementBytes(format), items * ImageFormat.channelBytes(format))
    }
  })
})

describe("ImageUsage", () => {
  it("knows its flags, alone and together", () => {
    const all = ["sampled", "storage", "copySrc", "copyDst"]
    for (let usage = 1; usage < 16; usage++) {
      strictEqual(ImageUsageRules.problem(usage), undefined)
      strictEqual(ImageUsageRules.format(usage), all.filter((_, bit) => (usage & (1 << bit)) !== 0).join(" | "))
    }
    for (const usage of [0, 16, -1, 1.5, NaN, 2 ** 32 + 1]) assert.isString(ImageUsageRules.problem(usage))
  })
})

describe("SamplerOptions", () => {
  it("has defaults for what is left out", () => {
    deepStrictEqual(SamplerOptions.resolve(undefined), {
      addressing: "clampToEdge",
      filter: "nearest",
      normalizedCoordinates: true,
      mipFilter: "nearest",
      lodMin: 0,
      lodMax: 32
    })
    deepStrictEqual(SamplerOptions.resolve({ filter: "linear" }).filter, "linear")
  })

  it("repeats only what goes from 0 to 1", () => {
    const addressings = ["clampToEdge", "clampToBorder", "none", "repeat", "mirroredRepeat"] as const
    const without = addressings.filter((addressing) =>
      SamplerProblems.problem(SamplerOptions.resolve({ addressing, normalizedCoordinates: false })) === undefined
    )
    deepStrictEqual(without, ["clampToEdge", "clampToBorder", "none"])
    for (const addressing of addressings) {
      strictEqual(SamplerProblems.problem(SamplerOptions.resolve({ addressing })), undefined)
    }
  })
})
