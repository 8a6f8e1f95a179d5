/** `put` on every backend, against plain lists of elements. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, onEveryBackend, property, refuses, strictHost } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"

/** Passes a value that the types forbid. */
const untyped = <A>(value: unknown): A => value as A

const cases = fc.record({
  shape: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
  indexShape: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
  numbers: fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 9, maxLength: 9 }),
  axis: fc.option(fc.nat(2), { nil: undefined }),
  mode: fc.constantFrom<"clip" | "wrap">("clip", "wrap"),
  value: fc.constantFrom("number", "whole", "row", "integers", "own"),
  dtype: fc.constantFrom<"f32" | "i32" | "f16" | "f64">("f32", "i32", "f16", "f64"),
  turned: fc.boolean(),
  stepped: fc.boolean(),
  unsigned: fc.boolean(),
  listed: fc.boolean(),
  lazy: fc.boolean()
})

type Case = typeof cases extends fc.Arbitrary<infer A> ? A : never

/** What each element may be afterwards, the last of which is written last. */
const possible = (
  model: Model.Model,
  places: Model.Model,
  values: Model.Model,
  axis: number | undefined
): ReadonlyArray<ReadonlyArray<number>> => {
  const found: Array<Array<number>> = model.data.map(() => [])
  const all = Model.coordinatesOf(model.shape)
  const rank = places.shape.length
  for (const at of Model.coordinatesOf(values.shape)) {
    const value = Model.elementAt(values, at)
    if (axis === undefined) {
      found[Model.elementAt(places, at)]!.push(value)
      continue
    }
    const position = Model.elementAt(places, at.slice(axis, axis + rank))
    const target = [...at.slice(0, axis), position, ...at.slice(axis + rank)]
    found[all.findIndex((one) => one.every((index, of) => index === target[of]))]!.push(value)
  }
  return found.map((written, at) => written.length === 0 ? [model.data[at]!] : written)
}

const backwards = (shape: ReadonlyArray<number>) => shape.map((_, at) => shape.length - 1 - at)

const agrees = (given: Case) =>
  Effect.gen(function*() {
    const { indexShape, mode, shape, stepped, turned, value } = given
    const { info } = yield* CommandQueue.CommandQueue
    const dtype = info.dtypes.has(given.dtype) ? given.dtype : "f32"
    const stored = stepped ? shape.map((length) => 2 * length) : shape
    let array: DeviceArray.DeviceArray = yield* DeviceArray.fromHost([...Model.counting(stored).data], {
      dtype,
      shape: stored
    })
    const whole = array
    let model = Model.counting(stored)
    if (stepped) {
      array = yield* DeviceArray.slice(array, shape.map(() => ({ start: 1, step: 2 })))
      const odd = shape.map((length) => ({ keeps: true, at: Array.from({ length }, (_, index) => 2 * index + 1) }))
      model = Model.select(model, odd)
    }
    if (turned) {
      array = yield* DeviceArray.transpose(array)
      model = Model.transpose(model, backwards(shape))
    }
    const axis = given.axis === undefined || shape.length === 0 ? undefined : given.axis % shape.length
    const length = axis === undefined ? array.size : model.shape[axis]!
    let next = 0
    const indices = Model.build(indexShape, () => {
      const number = given.numbers[next++]!
      return given.unsigned ? number >>> 0 : number
    })
    const places = { shape: indexShape, data: indices.data.map((index) => Model.inside(index, length, mode)) }
    const wide = axis === undefined
      ? indexShape
      : [...model.shape.slice(0, axis), ...indexShape, ...model.shape.slice(axis + 1)]
    const narrow = value === "row" ? wide.slice(1) : value === "number" ? [] : wide
    let values = Model.build(narrow, (at) => -1 - at.reduce((sum, index) => sum * 5 + index, 0))
    let source: DeviceArray.DeviceArray | number = -1
    if (
      value === "own" && wide.length === model.shape.length && wide.every((length, at) => length === model.shape[at])
    ) {
      source = yield* DeviceArray.flip(array)
      values = Model.build(wide, (at) => Model.elementAt(model, at.map((index, of) => wide[of]! - 1 - index)))
    } else if (value !== "number") {
      const type = value === "integers" ? "i32" : dtype
      source = yield* DeviceArray.fromHost([...values.data], { dtype: type, shape: narrow })
    }
    const wanted = possible(model, places, Model.broadcast(values, wide), axis)
    // Plain arrays have no axes behind one without elements.
    const on: DeviceArray.Indices = given.listed && indices.data.length > 0
      ? untyped<DeviceArray.Indices>(nested(indices))
      : yield* DeviceArray.fromHost([...indices.data], { dtype: given.unsigned ? "u32" : "i32", shape: indexShape })
    const written = DeviceArray.put(array, on, source, { axis, mode })
    strictEqual(yield* given.lazy ? DeviceArray.lazy(written) : written, array)
    const result = Array.from((yield* DeviceArray.toHost(array)) as ArrayLike<number>)
    result.forEach((element, at) => assert.include(wanted[at]!, element))
    if (info.backend === "host") deepStrictEqual(result, wanted.map((of) => of.at(-1)))
    // What is between the elements of a view keeps its elements.
    if (!stepped) return
    const kept = Array.from((yield* DeviceArray.toHost(whole)) as ArrayLike<number>)
    const between = Model.coordinatesOf(stored).flatMap((at, place) =>
      at.some((index) => index % 2 === 0) ? [place] : []
    )
    deepStrictEqual(between.map((place) => kept[place]), between.map((place) => place + 1))
  })

const nested = ({ data, shape }: Model.Model): unknown => {
  const [length, ...rest] = shape
  if (length === undefined) return data[0]
  const size = rest.reduce((a, b) => a * b, 1)
  return Array.from({ length }, (_, at) => nested({ shape: rest, data: data.slice(at * size, (at + 1) * size) }))
}

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "to positions along an axis and over all, of any layout, also of the array's own elements",
      () => property(cases, agrees, { numRuns: runs(60) }),
      120_000
    )

    it.effect("what is only recorded by one command, without memory", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.zeros([6])
        const y = yield* DeviceArray.fromHost([1, 2, 3])
        const at = yield* DeviceArray.fromHost([4, 0, -1], { dtype: "i32" })
        const { kernels, leases } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const doubled = yield* DeviceArray.multiply(y, 2)
          yield* DeviceArray.put(x, at, yield* DeviceArray.add(doubled, 1))
        })))
        deepStrictEqual([kernels, leases], [1, 0])
        deepStrictEqual(yield* DeviceArray.toNested(x), [5, 0, 0, 0, 3, 7])
      }))

    it.effect("to the positions in the array itself, and a permutation of it", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([2, 0, 1], { dtype: "i32" })
        yield* DeviceArray.put(x, x, yield* DeviceArray.multiply(x, 10))
        deepStrictEqual(yield* DeviceArray.toNested(x), [0, 10, 20])
        const order = yield* DeviceArray.fromHost([2, 0, 1], { dtype: "i32" })
        yield* DeviceArray.put(x, order, x)
        deepStrictEqual(yield* DeviceArray.toNested(x), [10, 20, 0])
        strictEqual((yield* BufferPool.stats).activeBlocks, 3)
      }))

    it.effect("one of the values at a position that is there many times", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.zeros([4], { dtype: "u32" })
        const at = yield* DeviceArray.full([10_000], 2, { dtype: "u32" })
        yield* DeviceArray.put(x, at, yield* DeviceArray.arange(1, 10_001, { dtype: "u32" }))
        const [a, b, c, d] = yield* DeviceArray.toHost(x)
        deepStrictEqual([a, b, d], [0, 0, 0])
        assert.isTrue(c! >= 1 && c! <= 10_000, String(c))
      }))

    it.effect("one of the values at a position that is there many times, where elements share words", () =>
      Effect.gen(function*() {
        for (const dtype of ["u8", "u16", "i8", "i16"] as const) {
          const x = yield* DeviceArray.zeros([4], { dtype })
          const at = yield* DeviceArray.full([10_000], 2, { dtype: "u32" })
          const values = yield* DeviceArray.fromHost(
            Array.from({ length: 10_000 }, (_, k) => k % 2 === 0 ? 0x55 : 0x2a),
            {
              dtype
            }
          )
          yield* DeviceArray.put(x, at, values)
          const [a, b, c, d] = yield* DeviceArray.toHost(x)
          deepStrictEqual([a, b, d], [0, 0, 0], dtype)
          assert.isTrue(c === 0x55 || c === 0x2a, `${dtype} ${c}`)
        }
      }))

    it.effect("nothing to no positions", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
        const none = yield* DeviceArray.zeros([2, 0])
        yield* DeviceArray.put(x, [], 5)
        yield* DeviceArray.put(x, yield* DeviceArray.zeros([0], { dtype: "i32" }), yield* DeviceArray.zeros([0]))
        yield* DeviceArray.put(none, [1], 5, { axis: 0 })
        deepStrictEqual(yield* DeviceArray.toNested(x), [[1, 2], [3, 4]])
      }))
  })
}

describe("Put writes", () => {
  onEveryBackend(laws)
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, "put", ...mentions)

layer(strictHost)("put on the host", (it) => {
  it.effect("names the index, the shapes and the types of mistakes, and writes nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const whole = yield* DeviceArray.astype(x, "i32")
      const row = yield* DeviceArray.fromHost([1, 2, 3])
      const first = yield* DeviceArray.fromHost([0], { dtype: "i32" })
      const rows = yield* DeviceArray.broadcastTo(row, [2, 3])
      yield* no(DeviceArray.put(x, [0, 3], 1, { axis: 1 }), "[1] is 3", "axis 1", "[2, 3]")
      yield* no(DeviceArray.put(x, 6, 1), "the index is 6", "6 elements", "[2, 3]")
      yield* no(DeviceArray.put(x, [0.5], 1), "0.5")
      yield* no(DeviceArray.put(x, untyped<DeviceArray.DeviceArray<"i32">>(x), 1), "f32", "astype")
      yield* no(DeviceArray.put(x, [0], 1, { axis: 2 }), "axis 2", "[2, 3]")
      yield* no(DeviceArray.put(x, [0, 1], row), "[3]", "[2]")
      yield* no(DeviceArray.put(x, [0, 1], yield* DeviceArray.zeros([2, 2]), { axis: 0 }), "[2, 2]", "[2, 3]")
      yield* no(DeviceArray.put(row, first, x), "[2, 3]", "[1]")
      yield* no(DeviceArray.put(rows, [0], 1), "axis 0", "[2, 3]")
      yield* no(DeviceArray.put(whole, [0, 1, 2], row), "f32", "i32", "astype")
      yield* no(DeviceArray.put(whole, first, 0.5), "0.5", "i32")
      yield* no(DeviceArray.put(yield* DeviceArray.zeros([2, 0]), first, 1, { axis: 1 }), "axis 1", "[2, 0]")
      deepStrictEqual(yield* DeviceArray.toNested(x), [[1, 2, 3], [4, 5, 6]])
    }))

  it.effect("keeps what was recorded before from being computed", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const { reason } = yield* Effect.flip(DeviceArray.lazy(Effect.gen(function*() {
        const before = yield* DeviceArray.negative(x)
        yield* DeviceArray.put(x, [0], 5)
        return before
      })))
      assert.include(reason.message, "negative")
      assert.include(reason.message, "evaluate")
      strictEqual((yield* BufferPool.stats).activeBlocks, 1)
    }))

  it.effect("fails on what was released, and gives everything back", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const y = yield* DeviceArray.fromHost([0, 1], { dtype: "u32" })
      const z = yield* DeviceArray.astype(x, "u32")
      yield* Lease.release(x.lease!)
      yield* Lease.release(z.lease!)
      const puts: ReadonlyArray<Made> = [
        DeviceArray.put(x, y, 1),
        DeviceArray.put(x, [0], 1),
        DeviceArray.put(y, [0, 1, 1], z),
        DeviceArray.put(y, z, 1)
      ]
      for (const put of puts) {
        strictEqual((yield* Effect.flip(put)).reason._tag, "Released")
        strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      }
    }))
})

it("put is made data-first and data-last", () => {
  assert.isFunction(bothForms)
})

/** Tests the types of the calls. */
const bothForms = (x: DeviceArray.DeviceArray<"f32">, at: DeviceArray.DeviceArray<"i32">) =>
  [
    DeviceArray.put(x, at, 1),
    DeviceArray.put(x, [[0, 1]], x, { axis: 0 }),
    DeviceArray.put(x, 5, at, { mode: "wrap" }),
    x.pipe(DeviceArray.put(at, x)),
    x.pipe(DeviceArray.put(at, 1, { axis: 0 })),
    Effect.flatMap(Effect.succeed(x), DeviceArray.put([1, 2], x))
  ] satisfies ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray<"f32">, GpuError, DeviceArray.ArrayServices>>
