/** `take` on every backend, against plain lists of elements. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { type GpuLayer, onEveryBackend, property, refuses, strictHost } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"

/** Passes a value that the types forbid. */
const untyped = <A>(value: unknown): A => value as A

type Mode = "clip" | "wrap"

const resolved = (indices: Model.Model, length: number, mode: Mode): Model.Model => ({
  shape: indices.shape,
  data: indices.data.map((index) => Model.inside(index, length, mode))
})

const flat = (model: Model.Model): Model.Model => ({ shape: [model.data.length], data: model.data })

const shapeOf = (maxLength: number, least: number) =>
  fc.array(fc.integer({ min: least, max: 4 }), { maxLength, minLength: 0 })

const edges = [0, -1, 1, 2147483647, -2147483648, 5, -5]

/** An array and indices, each possibly transposed or reversed, and an axis or none. */
const takings = fc.record({
  shape: shapeOf(4, 1),
  indexShape: shapeOf(3, 0),
  numbers: fc.array(fc.oneof(fc.integer({ min: -12, max: 12 }), fc.constantFrom(...edges)), {
    minLength: 64,
    maxLength: 64
  }),
  axis: fc.option(fc.nat(3), { nil: undefined }),
  mode: fc.constantFrom<Mode>("clip", "wrap"),
  turned: fc.boolean(),
  flipped: fc.boolean(),
  unsigned: fc.boolean()
})

type Taking = typeof takings extends fc.Arbitrary<infer A> ? A : never

const agrees = ({ axis, flipped, indexShape, mode, numbers, shape, turned, unsigned }: Taking) =>
  Effect.gen(function*() {
    let model = Model.counting(shape)
    let array = yield* DeviceArray.fromHost(Float32Array.from(model.data), { shape })
    if (turned) {
      array = yield* DeviceArray.transpose(array)
      model = Model.transpose(model, shape.map((_, at) => shape.length - 1 - at))
    }
    let at = 0
    let indices = Model.build(indexShape, () => unsigned ? numbers[at++]! >>> 0 : numbers[at++]!)
    const Elements = unsigned ? Uint32Array : Int32Array
    let positions: DeviceArray.DeviceArray<"i32" | "u32"> = yield* DeviceArray.fromHost(
      untyped<Int32Array>(Elements.from(indices.data)),
      { shape: indexShape }
    )
    if (flipped) {
      positions = yield* DeviceArray.flip(positions)
      indices = { shape: indexShape, data: indices.data.map((_, at, all) => all[all.length - 1 - at]!) }
    }
    const of = axis === undefined || shape.length === 0 ? undefined : axis % shape.length
    const source = of === undefined ? flat(model) : model
    const length = source.shape[of ?? 0]!
    const wanted = Model.take(source, resolved(indices, length, mode), of ?? 0)
    const found = yield* DeviceArray.take(array, positions, { axis: of, mode })
    deepStrictEqual([...found.shape], [...wanted.shape])
    deepStrictEqual(Array.from(yield* DeviceArray.toHost(found)), [...wanted.data])
    strictEqual(found.isContiguous, true)
    // the same indices as an array of the program, where the mode is applied before the upload
    const listed = yield* DeviceArray.take(array, Array.from(flat(indices).data), { axis: of, mode })
    const row = Model.take(source, resolved(flat(indices), length, mode), of ?? 0)
    deepStrictEqual(Array.from(yield* DeviceArray.toHost(listed)), [...row.data])
  })

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "elements by indices on the device and by numbers, along an axis and over all",
      () => property(takings, agrees, { numRuns: runs(60) }),
      120_000
    )

    it.effect("of repeated rows, of one lease by itself, and of every type", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost(Int32Array.of(2, 0, 1))
        const rows = yield* DeviceArray.broadcastTo(x, [2, 3])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.take(rows, x, { axis: 1 })), [[1, 2, 0], [
          1,
          2,
          0
        ]])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.take(x, rows)), [[1, 2, 0], [1, 2, 0]])
        const part = yield* DeviceArray.slice(x, [{ start: 1 }])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.take(part, x)), [1, 0, 1])
        const unsigned: DeviceArray.DeviceArray<"u32"> = yield* DeviceArray.take(
          yield* DeviceArray.fromHost(Uint32Array.of(7, 4294967295)),
          Uint32Array.of(1)
        )
        deepStrictEqual(yield* DeviceArray.toHost(unsigned), Uint32Array.of(4294967295))
      }))

    it.effect("keeps nothing but the result", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
        const turned = yield* DeviceArray.transpose(x)
        // the indices are uploaded, and the view is copied so that positions count over it
        const found = yield* DeviceArray.take(turned, [[0, 1], [-1, 2]])
        strictEqual((yield* BufferPool.stats).activeBlocks, 2)
        deepStrictEqual(yield* DeviceArray.toNested(found), [[1, 4], [6, 2]])
      }))

    it.effect("takes from what is only recorded", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([1, 2, 3])
        const found = yield* DeviceArray.lazy(Effect.gen(function*() {
          const doubled = yield* DeviceArray.multiply(x, 2)
          const index = yield* DeviceArray.astype(yield* DeviceArray.subtract(3, x), "u32")
          return yield* DeviceArray.add(yield* DeviceArray.take(doubled, index), doubled)
        }))
        deepStrictEqual(yield* DeviceArray.toNested(found), [8, 8, 8])
        strictEqual((yield* BufferPool.stats).activeBlocks, 2)
      }))

    it.effect("nothing by no indices", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
        const none = yield* DeviceArray.fromHost(new Int32Array(0))
        const empty = yield* DeviceArray.zeros([2, 0, 3])
        deepStrictEqual((yield* DeviceArray.take(x, none)).shape, [0])
        deepStrictEqual((yield* DeviceArray.take(x, [], { axis: 1 })).shape, [2, 0])
        deepStrictEqual((yield* DeviceArray.take(empty, none, { axis: 1 })).shape, [2, 0, 3])
        deepStrictEqual((yield* DeviceArray.take(empty, [1, 1], { axis: 0 })).shape, [2, 0, 3])
      }))
  })
}

describe("Take", () => {
  onEveryBackend(laws)
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, "take", ...mentions)

layer(strictHost)("take on the host", (it) => {
  it.effect("names the index, the axis and the shape of mistakes, and takes nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const none = yield* DeviceArray.zeros([2, 0])
      const first = yield* DeviceArray.fromHost([0], { dtype: "i32" })
      yield* no(DeviceArray.take(x, [0, 3], { axis: 1 }), "[1] is 3", "axis 1", "[2, 3]")
      yield* no(DeviceArray.take(x, [[0], [-3]], { axis: 0 }), "[1][0] is -3", "axis 0", "[2, 3]")
      yield* no(DeviceArray.take(x, 6), "the index is 6", "6 elements", "[2, 3]")
      yield* no(DeviceArray.take(x, Int32Array.of(0, -7)), "[1] is -7", "6 elements")
      yield* no(DeviceArray.take(x, [0.5]), "0.5")
      yield* no(DeviceArray.take(x, [0.5], { mode: "clip" }), "0.5")
      yield* no(DeviceArray.take(x, [NaN], { mode: "wrap" }), "NaN")
      yield* no(DeviceArray.take(x, [[0], [1, 2]]), "ragged")
      yield* no(DeviceArray.take(x, untyped<ReadonlyArray<number>>([true, false])), "truth values", "where")
      yield* no(DeviceArray.take(x, untyped<ReadonlyArray<number>>([1n])), "bigints", "Int32Array.from")
      yield* no(DeviceArray.take(x, untyped<Int32Array>(BigInt64Array.of(1n))), "bigints", "Int32Array.from")
      yield* no(DeviceArray.take(x, untyped<ReadonlyArray<number>>([null])), "null")
      yield* no(DeviceArray.take(x, untyped<DeviceArray.DeviceArray<"i32">>(x)), "f32", "astype")
      yield* no(DeviceArray.take(x, [0], { axis: 2 }), "axis 2", "[2, 3]")
      yield* no(DeviceArray.take(none, [0], { axis: 1 }), "axis 1", "[2, 0]")
      yield* no(DeviceArray.take(none, [0], { axis: 1, mode: "wrap" }), "axis 1", "[2, 0]")
      yield* no(DeviceArray.take(none, first, { axis: 1 }), "axis 1", "[2, 0]")
      yield* no(DeviceArray.take(none, first), "[2, 0]")
      const vast = yield* DeviceArray.broadcastTo(first, [2 ** 31])
      yield* no(DeviceArray.take(vast, first), "2147483648")
      const deep = yield* DeviceArray.reshape(first, Array.from({ length: 32 }, () => 1))
      yield* no(DeviceArray.take(x, deep, { axis: 0 }), "33 axes")
    }))

  it.effect("refuses indices whose memory is not the program's own", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const detached = Int32Array.of(0)
      structuredClone(detached.buffer, { transfer: [detached.buffer] })
      yield* no(DeviceArray.take(x, detached), "detached")
    }))

  it.effect("fails on what was released, and gives everything back", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const y = yield* DeviceArray.fromHost([0, 1], { dtype: "u32" })
      yield* Lease.release(x.lease!)
      for (const take of [DeviceArray.take(x, y), DeviceArray.take(x, [0])]) {
        strictEqual((yield* Effect.flip(take)).reason._tag, "Released")
        strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      }
    }))
})

it("take is made data-first and data-last", () => {
  assert.isFunction(bothForms)
})

/** Tests the types of the calls. */
const bothForms = (x: DeviceArray.DeviceArray<"f32">, at: DeviceArray.DeviceArray<"i32">) =>
  [
    DeviceArray.take(x, at),
    DeviceArray.take(x, [[0, 1]], { axis: 0 }),
    DeviceArray.take(x, 5, { mode: "wrap" }),
    x.pipe(DeviceArray.take(at)),
    x.pipe(DeviceArray.take(at, { axis: 0 })),
    Effect.flatMap(Effect.succeed(x), DeviceArray.take([1, 2]))
  ] satisfies ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray<"f32">, GpuError, DeviceArray.ArrayServices>>
