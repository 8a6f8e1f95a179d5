/** Cumulative sums, products and extremes on every backend, against plain loops over rows. */
import { assert, describe, expectTypeOf, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import { Random } from "../../../../testing/src/Random.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, onEveryBackend, property, refuses, strictHost } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"
import { laidOut } from "../LaidOut.ts"

type Type = "f32" | "i32" | "u32" | "f16" | "f64"

/** Few different elements, of which sums are exact, and products of integers. */
const elements: { readonly [T in Type]: ReadonlyArray<number> } = {
  f32: [-2, -1, 0.5, 0, 1, 2, NaN],
  f16: [-2, -1, 0.5, 0, 1, 2],
  f64: [-2, -1, 0.5, 0, 1, 2, -Infinity],
  i32: [-3, -1, 0, 1, 2, 2147483647],
  u32: [0, 1, 2, 3, 4294967295]
}

/** Elements whose products are exact in any order: those of others overflow or vanish in one order, and not in another. */
const factors: typeof elements = {
  ...elements,
  f32: [-1, 0, 1, NaN],
  f16: [-1, 0, 1],
  f64: [-1, 0, 1, -Infinity]
}

/** The number that an element of the type has. */
const rounded = (dtype: Type, value: number): number => {
  if (dtype === "i32") return Number.isFinite(value) ? value | 0 : 0
  if (dtype === "u32") return Number.isFinite(value) ? value >>> 0 : 0
  const element = DType.viewUnsafe(dtype, new ArrayBuffer(8), 0, 1)
  element[0] = value
  return element[0]
}

type Name = "cumsum" | "cumprod" | "cummax" | "cummin"

const multiplied = (dtype: Type, a: number, b: number) => dtype[0] === "f" ? a * b : Math.imul(a, b)

const combine: { readonly [N in Name]: (dtype: Type, a: number, b: number) => number } = {
  cumsum: (dtype, a, b) => rounded(dtype, a + b),
  cumprod: (dtype, a, b) => rounded(dtype, multiplied(dtype, a, b)),
  cummax: (_, a, b) => Math.max(a, b),
  cummin: (_, a, b) => Math.min(a, b)
}

type Operation = (x: DeviceArray.DeviceArray, options?: { readonly axis?: number | undefined }) => DeviceArray.Computed

const operations: { readonly [N in Name]: Operation } = {
  cumsum: DeviceArray.cumsum,
  cumprod: DeviceArray.cumprod,
  cummax: DeviceArray.cummax,
  cummin: DeviceArray.cummin
}

const names = Object.keys(combine) as ReadonlyArray<Name>

/** Each element combined with those before it along an axis. */
const accumulated = (name: Name, dtype: Type, model: Model.Model, axis: number): Model.Model => {
  const result: Array<number> = []
  const found = { shape: model.shape, data: result }
  for (const at of Model.coordinatesOf(model.shape)) {
    const element = Model.elementAt(model, at)
    const before = at.map((index, of) => of === axis ? index - 1 : index)
    result.push(at[axis] === 0 ? element : combine[name](dtype, Model.elementAt(found, before), element))
  }
  return found
}

const flat = ({ data }: Model.Model): Model.Model => ({ shape: [data.length], data })

const agree = (dtype: DType.DType, found: DeviceArray.DeviceArray, wanted: Model.Model, what: string) =>
  Effect.gen(function*() {
    strictEqual(found.dtype, dtype)
    deepStrictEqual([...found.shape], [...wanted.shape])
    strictEqual(found.isContiguous, true)
    // Adding 0 makes a negative zero 0: products of the two orders may have either.
    deepStrictEqual(
      Array.from((yield* DeviceArray.toHost(found)) as ArrayLike<number>, (x) => x + 0),
      wanted.data.map((x) => x + 0),
      what
    )
  })

const cases = fc.record({
  shape: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 }),
  axis: fc.nat(3),
  type: fc.nat(4),
  picks: fc.array(fc.nat(6), { minLength: 7, maxLength: 30 }),
  turned: fc.boolean(),
  strided: fc.boolean()
})

type Case = typeof cases extends fc.Arbitrary<infer A> ? A : never

const types: ReadonlyArray<Type> = ["f32", "i32", "u32", "f16", "f64"]

const holds = (given: Case) =>
  Effect.gen(function*() {
    const { info } = yield* CommandQueue.CommandQueue
    const available = types.filter((dtype) => info.dtypes.has(dtype))
    const dtype = available[given.type % available.length]!
    const { shape } = given
    const axis = given.axis % shape.length
    const terms = yield* laidOut(given, dtype, elements[dtype])
    const multiplied = yield* laidOut(given, dtype, factors[dtype])
    for (const name of names) {
      const { array, model } = name === "cumprod" ? multiplied : terms
      const along = yield* operations[name](array, { axis: axis - shape.length })
      yield* agree(dtype, along, accumulated(name, dtype, model, axis), `${name} along ${axis}`)
      const all = yield* operations[name](array)
      yield* agree(dtype, all, accumulated(name, dtype, flat(model), 0), name)
    }
  })

/** Shapes whose rows are one chunk, several, and so many that their states are divided too. */
const long: ReadonlyArray<readonly [shape: ReadonlyArray<number>, axis: number]> = [
  [[257], 0],
  [[70_001], 0],
  [[3, 1000], 1],
  [[1000, 3], 0],
  [[2, 700, 3], 1],
  [[66_000, 2], 0],
  [[2, 66_000], 1],
  [[300, 300], 0],
  [[70_000, 3], 1]
]

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "what plain loops give, for every type, axis and layout",
      () => property(cases, holds, { numRuns: runs(40) }),
      120_000
    )

    it.effect("the same of rows that are divided, also twice", () =>
      Effect.gen(function*() {
        const random = new Random(20_261_127)
        for (const [shape, axis] of long) {
          const data = Int32Array.from({ length: shape.reduce((a, b) => a * b) }, () =>
            random.integer(-0x80000000, 0x7fffffff))
          const x = yield* DeviceArray.fromHost(data, { shape })
          const step = shape.slice(axis + 1).reduce((a, b) =>
            a * b, 1)
          const wanted = data.slice()
          for (let at = 0; at < wanted.length; at++) {
            if (Math.floor(at / step) % shape[axis]! > 0) wanted[at]! += wanted[at - step]!
          }
          const rows = yield* DeviceArray.cumsum(x, { axis })
          deepStrictEqual(yield* DeviceArray.toHost(rows), wanted, `[${shape}] along ${axis}`)
        }
        strictEqual((yield* BufferPool.stats).activeBlocks, 2 * long.length)
      }))

    it.effect("of what is only recorded, without memory for it and with the same numbers", () =>
      Effect.gen(function*() {
        const random = new Random(7)
        const numbers = Array.from({ length: 900 }, () => random.integer(1, 1e6) / 1e6)
        const x = yield* DeviceArray.fromHost(numbers, { shape: [3, 300] })
        const program = Effect.gen(function*() {
          const y = yield* DeviceArray.multiply(yield* DeviceArray.sqrt(x), 3)
          return yield* DeviceArray.cumsum(y, { axis: 1 })
        })
        const eager = yield* costOf(program)
        const lazy = yield* costOf(DeviceArray.lazy(program))
        deepStrictEqual(yield* DeviceArray.toHost(lazy.value), yield* DeviceArray.toHost(eager.value))
        strictEqual(lazy.leases, eager.leases - 2)
      }))

    it.effect("in another type, to which elements are cast first", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost(Int32Array.of(1, -2, 3))
        deepStrictEqual(
          yield* DeviceArray.toHost(yield* DeviceArray.cumsum(x, { dtype: "f32" })),
          Float32Array.of(1, -1, 2)
        )
        const y = yield* DeviceArray.fromHost([0.75, 1.75, -2.5])
        deepStrictEqual(
          yield* DeviceArray.toHost(yield* DeviceArray.cumsum(y, { dtype: "i32" })),
          Int32Array.of(0, 1, -1)
        )
        deepStrictEqual(
          yield* DeviceArray.toHost(yield* DeviceArray.cummin(x, { dtype: "u32" })),
          Uint32Array.of(1, 1, 1)
        )
      }))

    it.effect("of one number, and of none", () =>
      Effect.gen(function*() {
        const one = yield* DeviceArray.sum(yield* DeviceArray.fromHost([1, 2]))
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.cumsum(one)), [3])
        const none = yield* DeviceArray.zeros([2, 0, 3])
        for (const axis of [0, 1, 2]) {
          deepStrictEqual((yield* DeviceArray.cumprod(none, { axis })).shape, [2, 0, 3])
        }
        deepStrictEqual((yield* DeviceArray.cummax(none)).shape, [0])
      }))
  })
}

describe("Cumulative operations give", () => {
  onEveryBackend(laws)
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, ...mentions)

layer(strictHost)("cumulative operations on the host", (it) => {
  it.effect("sum halves in f32", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.full([3], 60_000, { dtype: "f16" })
      const back = yield* DeviceArray.concatenate([x, yield* DeviceArray.negative(x)])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.cumsum(back)), [
        60_000,
        Infinity,
        Infinity,
        Infinity,
        60_000,
        0
      ])
    }))

  it.effect("name the axis and the type of mistakes, and take nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
      yield* no(DeviceArray.cumsum(x, { axis: 2 }), "cumsum", "axis 2", "[2, 2]")
      yield* no(DeviceArray.cumprod(x, { axis: 0.5 }), "cumprod", "axis 0.5")
      yield* no(DeviceArray.cummax(yield* DeviceArray.sum(x), { axis: 0 }), "cummax", "axis 0", "[]")
      const vast = yield* DeviceArray.broadcastTo(yield* DeviceArray.sum(x), [2 ** 32])
      yield* refuses("LimitExceeded", DeviceArray.cummin(vast), "cummin", "4294967296")
    }))

  it.effect("fail on what was released or written since, and give everything back", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.arange(1000)
      const { reason } = yield* Effect.flip(DeviceArray.lazy(Effect.gen(function*() {
        const before = yield* DeviceArray.negative(x)
        yield* DeviceArray.fill(x, 0)
        return yield* DeviceArray.cumsum(before)
      })))
      assert.include(reason.message, "negative")
      strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      yield* Lease.release(x.lease!)
      strictEqual((yield* Effect.flip(DeviceArray.cumsum(x))).reason._tag, "Released")
      strictEqual((yield* BufferPool.stats).activeBlocks, 0)
    }))
})

it("cumulative functions are made data-first and data-last", () => {
  assert.isFunction(calls)
  expectTypeOf<TypesOf<ReturnType<typeof calls>>>().toEqualTypeOf<readonly ["i32", "f32", "i32", "f32", "i32", "i32"]>()
})

type TypesOf<T> = {
  readonly [I in keyof T]: T[I] extends Effect.Effect<DeviceArray.DeviceArray<infer D>, GpuError, infer _> ? D : never
}

/** Tests the types of the calls. */
const calls = (x: DeviceArray.DeviceArray<"i32">) =>
  [
    DeviceArray.cumsum(x, { axis: 0 }),
    DeviceArray.cumsum(x, { dtype: "f32" }),
    x.pipe(DeviceArray.cumprod({ axis: 1 })),
    x.pipe(DeviceArray.cumprod({ axis: 1, dtype: "f32" })),
    x.pipe(DeviceArray.cummax()),
    DeviceArray.cummin(x)
  ] as const
