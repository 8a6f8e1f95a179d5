/** Borders on every backend, against positions found one step at a time. */
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

type Mode = Exclude<DeviceArray.PadMode, "constant">

/** Where an index outside an axis comes from: mirrored at the end that it is beyond, until it is inside. */
const origin = (index: number, length: number, mode: Mode): number => {
  if (mode === "edge" || length === 1) return Math.min(Math.max(index, 0), length - 1)
  let at = index
  while (at < 0 || at >= length) {
    const beyond = at < 0 ? -at : at - length + 1
    if (mode === "wrap") at += at < 0 ? length : -length
    else if (mode === "reflect") at = at < 0 ? beyond : length - 1 - beyond
    else at = at < 0 ? beyond - 1 : length - beyond
  }
  return at
}

const modes: ReadonlyArray<Mode> = ["edge", "reflect", "symmetric", "wrap"]

const cases = fc.record({
  shape: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }),
  widths: fc.array(fc.oneof(fc.constant(0), fc.nat(11)), { minLength: 6, maxLength: 6 }),
  values: fc.array(fc.nat(3), { minLength: 6, maxLength: 6 }),
  dtype: fc.constantFrom<"f32" | "i32" | "f16" | "f64">("f32", "i32", "f16", "f64"),
  turned: fc.boolean()
})

type Case = typeof cases extends fc.Arbitrary<infer A> ? A : never

const same = (found: DeviceArray.DeviceArray, wanted: Model.Model, what: string) =>
  Effect.gen(function*() {
    deepStrictEqual([...found.shape], [...wanted.shape])
    deepStrictEqual(Array.from((yield* DeviceArray.toHost(found)) as ArrayLike<number>), [...wanted.data], what)
    strictEqual(found.isContiguous, true)
  })

const agrees = ({ shape, turned, values: numbers, widths: counts, ...given }: Case) =>
  Effect.gen(function*() {
    const { info } = yield* CommandQueue.CommandQueue
    const dtype = info.dtypes.has(given.dtype) ? given.dtype : "f32"
    let model = Model.counting(shape)
    let array: DeviceArray.DeviceArray = yield* DeviceArray.fromHost([...model.data], { dtype, shape })
    if (turned) {
      array = yield* DeviceArray.transpose(array)
      model = Model.transpose(model, shape.map((_, at) => shape.length - 1 - at))
    }
    const pairs = (of: ReadonlyArray<number>) => shape.map((_, axis) => [of[axis]!, of[axis + 3]!] as const)
    const widths = pairs(counts)
    const values = pairs(numbers)
    const padded = model.shape.map((length, axis) => length + widths[axis]![0] + widths[axis]![1])
    const inner = (at: ReadonlyArray<number>) => at.map((index, axis) => index - widths[axis]![0])
    const isOutside = (index: number, axis: number) => index < 0 || index >= model.shape[axis]!
    yield* same(
      yield* DeviceArray.pad(array, widths, { value: values }),
      Model.build(padded, (at) => {
        const within = inner(at)
        const axis = within.map(isOutside).lastIndexOf(true)
        return axis === -1 ? Model.elementAt(model, within) : values[axis]![within[axis]! < 0 ? 0 : 1]
      }),
      "constant"
    )
    for (const mode of modes) {
      if (model.shape.some((length, axis) => length === 0 && widths[axis]![0] + widths[axis]![1] > 0)) continue
      yield* same(
        yield* DeviceArray.pad(array, widths, { mode }),
        Model.build(padded, (at) =>
          Model.elementAt(model, inner(at).map((index, axis) => origin(index, model.shape[axis]!, mode)))),
        mode
      )
    }
  })

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "values by side, and the array's own elements, for every layout",
      () => property(cases, agrees, { numRuns: runs(30) }),
      120_000
    )

    it.effect("as NumPy's examples", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([1, 2, 3, 4, 5], { dtype: "i32" })
        const padded = (width: DeviceArray.PadWidth, options: DeviceArray.PadOptions) =>
          Effect.flatMap(DeviceArray.pad(x, width, options), DeviceArray.toNested)
        deepStrictEqual(yield* padded([2, 3], { value: [4, 6] }), [4, 4, 1, 2, 3, 4, 5, 6, 6, 6])
        deepStrictEqual(yield* padded([2, 3], { mode: "edge" }), [1, 1, 1, 2, 3, 4, 5, 5, 5, 5])
        deepStrictEqual(yield* padded([2, 3], { mode: "reflect" }), [3, 2, 1, 2, 3, 4, 5, 4, 3, 2])
        deepStrictEqual(yield* padded([2, 3], { mode: "symmetric" }), [2, 1, 1, 2, 3, 4, 5, 5, 4, 3])
        deepStrictEqual(yield* padded([2, 3], { mode: "wrap" }), [4, 5, 1, 2, 3, 4, 5, 1, 2, 3])
      }))

    it.effect("one value on all sides, around what is only recorded, without memory for it", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2]])
        const { leases, value } = yield* costOf(
          DeviceArray.lazy(Effect.flatMap(DeviceArray.multiply(x, 2), DeviceArray.pad([[1, 0], [0, 1]], { value: 9 })))
        )
        deepStrictEqual(yield* DeviceArray.toNested(value), [[9, 9, 9], [2, 4, 9]])
        strictEqual(leases, 1)
      }))
  })
}

describe("Padding adds", () => {
  onEveryBackend(laws)
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, "pad", ...mentions)

layer(strictHost)("padding on the host", (it) => {
  it.effect("names the widths, values and modes of mistakes, and takes nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      yield* no(DeviceArray.pad(x, -1), "-1")
      yield* no(DeviceArray.pad(x, [[1, 1]]), "1 pairs of widths", "[2, 3]")
      yield* no(DeviceArray.pad(x, 1, { value: [[1, 1]] }), "1 pairs of values", "[2, 3]")
      const whole = yield* DeviceArray.astype(x, "i32")
      yield* no(DeviceArray.pad(whole, 1, { value: 0.5 }), "0.5", "i32")
      yield* no(DeviceArray.pad(whole, 1, { value: [0, NaN] }), "NaN", "i32")
      yield* no(DeviceArray.pad(x, 1, { mode: untyped<"wrap">("mean") }), "mean", "symmetric")
      yield* no(DeviceArray.pad(x, 1, { mode: "wrap", value: 1 }), "value", "wrap")
      const none = yield* DeviceArray.zeros([2, 0])
      yield* no(DeviceArray.pad(none, 1, { mode: "edge" }), "axis 1", "[2, 0]", "edge")
      deepStrictEqual((yield* DeviceArray.pad(none, [[1, 1], [0, 0]], { mode: "edge" })).shape, [4, 0])
      yield* no(DeviceArray.pad(x, [2 ** 30, 0], { mode: "wrap" }), "[1073741826, 1073741827]")
    }))

  it.effect("fails on what was released, and gives everything back", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      yield* Lease.release(x.lease!)
      for (const options of [{}, { value: [1, 2] }, { mode: "wrap" }] satisfies ReadonlyArray<DeviceArray.PadOptions>) {
        strictEqual((yield* Effect.flip(DeviceArray.pad(x, 1, options))).reason._tag, "Released")
        strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      }
    }))
})

it("pad is made data-first and data-last", () => {
  assert.isFunction(bothForms)
})

/** Tests the types of the calls. */
const bothForms = (x: DeviceArray.DeviceArray<"f32">) =>
  [
    DeviceArray.pad(x, 1),
    DeviceArray.pad(x, [[1, 2], [0, 0]], { mode: "edge" }),
    x.pipe(DeviceArray.pad([1, 2], { value: [1, 2] }))
  ] satisfies ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray<"f32">, GpuError, DeviceArray.ArrayServices>>
