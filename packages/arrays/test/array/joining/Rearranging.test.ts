/** Stacks, rotations, differences and other types of the same memory on every backend, against plain lists of elements. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, onEveryBackend, property, refuses, strictHost } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"

const cases = fc.record({
  shape: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }),
  axis: fc.nat(2),
  shift: fc.integer({ min: -12, max: 12 }),
  turned: fc.boolean()
})

type Case = typeof cases extends fc.Arbitrary<infer A> ? A : never

const same = (found: DeviceArray.DeviceArray, wanted: Model.Model) =>
  Effect.gen(function*() {
    deepStrictEqual([...found.shape], [...wanted.shape])
    deepStrictEqual(Array.from((yield* DeviceArray.toHost(found)) as ArrayLike<number>), [...wanted.data])
  })

const around = (index: number, length: number): number => ((index % length) + length) % length

const squares = (shape: ReadonlyArray<number>): Model.Model => ({
  shape,
  data: Model.counting(shape).data.map((x) => x * x)
})

const agrees = ({ shape, shift, turned, ...given }: Case) =>
  Effect.gen(function*() {
    let model = squares(shape)
    let array = yield* DeviceArray.fromHost(Int32Array.from(model.data), { shape })
    if (turned) {
      array = yield* DeviceArray.transpose(array)
      model = Model.transpose(model, shape.map((_, at) => shape.length - 1 - at))
    }
    const axis = given.axis % shape.length
    const along = (move: (index: number, length: number) => number) =>
      Model.build(
        model.shape,
        (at) => Model.elementAt(model, at.map((index, of) => of === axis ? move(index, model.shape[of]!) : index))
      )
    yield* same(
      yield* DeviceArray.roll(array, shift, { axis: axis - shape.length }),
      along((index, length) => around(index - shift, length))
    )
    const before = (yield* BufferPool.stats).activeBlocks
    const { length } = model.data
    yield* same(yield* DeviceArray.roll(array, shift), {
      shape: model.shape,
      data: model.data.map((_, at) => model.data[around(at - shift, length)]!)
    })
    strictEqual((yield* BufferPool.stats).activeBlocks, before + (length === 0 ? 0 : 1))
    yield* same(
      yield* DeviceArray.diff(array, { axis }),
      Model.build(
        model.shape.map((own, of) => of === axis ? Math.max(0, own - 1) : own),
        (at) =>
          Model.elementAt(model, at.map((index, of) => of === axis ? index + 1 : index)) - Model.elementAt(model, at)
      )
    )
  })

const nested = (made: DeviceArray.Computed) => Effect.flatMap(made, DeviceArray.toNested)

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "rotations and differences, of every layout",
      () => property(cases, agrees, { numRuns: runs(30) }),
      120_000
    )

    it.effect("rows below rows and columns beside columns", () =>
      Effect.gen(function*() {
        const one = yield* DeviceArray.sum(yield* DeviceArray.fromHost([3, 4]))
        const row = yield* DeviceArray.fromHost(Int32Array.of(1, 2))
        const square = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
        const cube = yield* DeviceArray.reshape(square, [1, 2, 2])
        deepStrictEqual(yield* nested(DeviceArray.hstack([row, row])), [1, 2, 1, 2])
        deepStrictEqual(yield* nested(DeviceArray.hstack([one, row])), [7, 1, 2])
        deepStrictEqual(yield* nested(DeviceArray.hstack([square, square])), [[1, 2, 1, 2], [3, 4, 3, 4]])
        deepStrictEqual(yield* nested(DeviceArray.hstack([cube, cube])), [[[1, 2], [3, 4], [1, 2], [3, 4]]])
        deepStrictEqual(yield* nested(DeviceArray.vstack([row, square])), [[1, 2], [1, 2], [3, 4]])
        deepStrictEqual(yield* nested(DeviceArray.vstack([one, one])), [[7], [7]])
        deepStrictEqual(yield* nested(DeviceArray.vstack([cube, cube])), [[[1, 2], [3, 4]], [[1, 2], [3, 4]]])
      }))

    it.effect("the difference of what is only recorded, in one more kernel", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([1, 2, 4])
        const { leases, value } = yield* costOf(
          DeviceArray.lazy(Effect.gen(function*() {
            const y = yield* DeviceArray.diff(yield* DeviceArray.square(x))
            return yield* DeviceArray.add(y, 1)
          }))
        )
        deepStrictEqual(yield* DeviceArray.toNested(value), [4, 13])
        strictEqual(leases, 2)
      }))

    it.effect("the bits of floats, also written", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost(Float32Array.of(1, -2, 0.5, NaN))
        const bits = yield* DeviceArray.view(x, "u32")
        strictEqual(bits.lease, x.lease)
        deepStrictEqual(
          yield* DeviceArray.toHost(yield* DeviceArray.slice(bits, [{ stop: 3 }])),
          Uint32Array.of(0x3f800000, 0xc0000000, 0x3f000000)
        )
        yield* DeviceArray.update(bits, DeviceArray.bitwiseAnd(0x7fffffff))
        deepStrictEqual((yield* DeviceArray.toHost(x)).slice(0, 3), Float32Array.of(1, 2, 0.5))
        yield* DeviceArray.assign(bits, x)
          .pipe(Effect.flip, Effect.map(({ message }) => assert.include(message, "astype")))
        const back = yield* DeviceArray.view(bits, "f32")
        yield* DeviceArray.assign(x, yield* DeviceArray.flip(yield* DeviceArray.slice(back, [{ stop: 1 }])))
        deepStrictEqual(yield* DeviceArray.toHost(x), Float32Array.of(1, 1, 1, 1))
      }))
  })
}

describe("Rearranging gives", () => {
  onEveryBackend(laws)
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, ...mentions)

layer(strictHost)("rearranging on the host", (it) => {
  it.effect("reads elements of another size along the last axis", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]], { dtype: "f64" })
      const words = yield* DeviceArray.view(x, "u32")
      deepStrictEqual(words.shape, [2, 4])
      const row = yield* DeviceArray.slice(words, [1])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.view(row, "f64")), [3, 4])
      const second = yield* DeviceArray.slice(words, [{}, { start: 2 }])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.view(second, "f64")), [[2], [4]])
      yield* no(
        DeviceArray.view(yield* DeviceArray.slice(words, [{}, { start: 1 }]), "f64"),
        "view",
        "[2, 3]",
        "8 bytes"
      )
      yield* no(DeviceArray.view(yield* DeviceArray.slice(words, [{}, { start: 1, stop: 3 }]), "f64"), "view", "[2, 2]")
      yield* no(DeviceArray.view(yield* DeviceArray.transpose(words), "f64"), "view", "[4, 2]")
      yield* no(DeviceArray.view(yield* DeviceArray.sum(words), "f64"), "view", "[]")
      yield* no(DeviceArray.view(words, "bool"), "view", "u32", "notEqual")
    }))

  it.effect("names the axes, shapes and shifts of mistakes, and takes nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const one = yield* DeviceArray.sum(x)
      yield* no(DeviceArray.hstack([]), "hstack", "no arrays")
      yield* no(DeviceArray.hstack([x, yield* DeviceArray.transpose(x)]), "hstack", "[3, 2]", "axis 1")
      yield* no(DeviceArray.vstack([x, yield* DeviceArray.transpose(x)]), "vstack", "[3, 2]", "axis 0")
      yield* no(DeviceArray.roll(x, 0.5), "roll", "0.5")
      yield* no(DeviceArray.roll(x, 1, { axis: 2 }), "roll", "axis 2")
      yield* no(DeviceArray.diff(x, { axis: 2 }), "diff", "axis 2")
      yield* no(DeviceArray.diff(one), "diff", "axis -1", "[]")
    }))
})

it("rearranging functions are made data-first and data-last", () => {
  assert.isFunction(bothForms)
})

/** Tests the types of the calls. */
const bothForms = (x: DeviceArray.DeviceArray<"f32">, y: DeviceArray.DeviceArray<"i32">) =>
  [
    DeviceArray.hstack([x, y]),
    DeviceArray.vstack()([x, y]),
    DeviceArray.roll(x, 1, { axis: 0 }),
    x.pipe(DeviceArray.roll(1)),
    DeviceArray.diff(x),
    x.pipe(DeviceArray.diff({ axis: 0 })),
    y.pipe(DeviceArray.view("f32")),
    DeviceArray.view(y, "f32")
  ] satisfies ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray<"f32">, GpuError, DeviceArray.ArrayServices>>
