/** Writing in place on every backend: what is written, and what reads the memory before and after. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, onEveryBackend, property, refuses, strictHost } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"

const cases = fc.record({
  shape: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }),
  ranges: fc.array(fc.record({ start: fc.integer({ min: -6, max: 6 }), step: fc.constantFrom(1, 2, -1, -2) }), {
    minLength: 3,
    maxLength: 3
  }),
  turned: fc.boolean(),
  narrow: fc.boolean(),
  itself: fc.boolean()
})

type Case = typeof cases extends fc.Arbitrary<infer A> ? A : never

/** Writes to a slice of an array, possibly of its own elements in reverse. */
const agrees = ({ itself, narrow, ranges: given, shape, turned }: Case) =>
  Effect.gen(function*() {
    const backwards = shape.map((_, at) => shape.length - 1 - at)
    let array = yield* DeviceArray.fromHost(Float32Array.from(Model.counting(shape).data), { shape })
    let model = Model.counting(shape)
    const whole = array
    if (turned) {
      array = yield* DeviceArray.transpose(array)
      model = Model.transpose(model, backwards)
    }
    const ranges = given.slice(0, shape.length)
    const places = model.shape.map((length, axis) =>
      Model.sliced(length, ranges[axis]!.start, undefined, ranges[axis]!.step)
    )
    const part = places.map(({ length }) => length)
    let value = Model.build(narrow ? part.slice(1) : part, (at) => -1 - at.reduce((sum, index) => sum * 7 + index, 0))
    let source = yield* DeviceArray.fromHost(Float32Array.from(value.data), { shape: value.shape })
    if (itself) {
      source = yield* DeviceArray.flip(yield* DeviceArray.slice(array, ranges))
      value = Model.build(
        part,
        (at) => Model.elementAt(model, places.map((of, axis) => of[of.length - 1 - at[axis]!]!))
      )
    }
    const wanted = Model.build(model.shape, (at) => {
      const inside = at.map((index, axis) => places[axis]!.indexOf(index))
      return inside.includes(-1) ? Model.elementAt(model, at) : Model.elementAt(Model.broadcast(value, part), inside)
    })
    strictEqual(yield* DeviceArray.setSlice(array, ranges, source), array)
    deepStrictEqual(Array.from(yield* DeviceArray.toHost(array)), [...wanted.data])
    const seen = turned ? Model.transpose(wanted, backwards) : wanted
    deepStrictEqual(Array.from(yield* DeviceArray.toHost(whole)), [...seen.data])
  })

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "to slices of any layout, also of the array's own elements",
      () => property(cases, agrees, { numRuns: runs(40) }),
      120_000
    )

    it.effect("a function of the array by one command, without memory", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([1, 2, 3])
        const y = yield* DeviceArray.fromHost([10, 20, 30])
        const { kernels, leases } = yield* costOf(
          DeviceArray.update(x, (x) => Effect.flatMap(DeviceArray.multiply(x, 2), DeviceArray.add(y)))
        )
        deepStrictEqual([kernels, leases], [1, 0])
        deepStrictEqual(yield* DeviceArray.toNested(x), [12, 24, 36])
        yield* x.pipe(DeviceArray.update(DeviceArray.subtract(y)))
        deepStrictEqual(yield* DeviceArray.toNested(x), [2, 4, 6])
        yield* DeviceArray.update(x, DeviceArray.flip())
        strictEqual((yield* DeviceArray.update(Effect.succeed(x), DeviceArray.flip())).lease, x.lease)
        yield* DeviceArray.update(DeviceArray.slice(x, []), DeviceArray.flip())
        deepStrictEqual(yield* DeviceArray.toNested(x), [6, 4, 2])
        yield* DeviceArray.update(x, (x) => DeviceArray.sum(x))
        deepStrictEqual(yield* DeviceArray.toNested(x), [12, 12, 12])
        strictEqual((yield* BufferPool.stats).activeBlocks, 2)
      }))

    it.effect("numbers, integers to floats, and nothing to no elements", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.zeros([2, 2])
        yield* DeviceArray.fill(x, 0.5)
        yield* DeviceArray.setSlice(x, [0], yield* DeviceArray.arange(2, { dtype: "i32" }))
        deepStrictEqual(yield* DeviceArray.toNested(x), [[0, 1], [0.5, 0.5]])
        const none = yield* DeviceArray.zeros([0, 2])
        yield* DeviceArray.assign(none, 1)
        yield* DeviceArray.setSlice(x, [{ start: 2 }], none)
        deepStrictEqual(yield* DeviceArray.toNested(x), [[0, 1], [0.5, 0.5]])
        const u = yield* DeviceArray.zeros([2], { dtype: "u32" })
        yield* DeviceArray.assign(u, yield* DeviceArray.fromHost(Int32Array.of(-1, 2)))
        deepStrictEqual(yield* DeviceArray.toNested(u), [4294967295, 2])
      }))

    it.effect("in the order of the program, also in a loop", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([0, 0])
        const sums = []
        for (let round = 1; round <= 20; round++) {
          yield* DeviceArray.update(x, DeviceArray.add(1))
          sums.push(yield* DeviceArray.sum(x))
        }
        const seen = yield* Effect.forEach(sums, DeviceArray.toNumber)
        deepStrictEqual(seen, Array.from({ length: 20 }, (_, round) => 2 * (round + 1)))
      }))
  })
}

describe("Writing", () => {
  onEveryBackend(laws)
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, ...mentions)

layer(strictHost)("writing on the host", (it) => {
  it.effect("refuses what was recorded before, until it is evaluated or recorded again", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const program = (evaluated: boolean) =>
        DeviceArray.lazy(Effect.gen(function*() {
          const before = yield* DeviceArray.multiply(x, 2)
          if (evaluated) yield* DeviceArray.evaluate(before)
          const part = yield* DeviceArray.slice(x, [{ start: 1 }])
          yield* DeviceArray.fill(part, 7)
          return [before, yield* DeviceArray.add(x, 1)] as const
        }))
      const { reason } = yield* Effect.flip(program(false))
      strictEqual(reason._tag, "InvalidRequest")
      assert.include(reason.message, "multiply")
      assert.include(reason.message, "evaluate")
      strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      yield* DeviceArray.assign(x, yield* DeviceArray.fromHost([1, 2, 3]))
      const [before, after] = yield* program(true)
      deepStrictEqual(yield* DeviceArray.toNested(before), [2, 4, 6])
      deepStrictEqual(yield* DeviceArray.toNested(after), [2, 8, 8])
    }))

  it.effect("refuses a reduction and a join of what was recorded before", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      for (const use of [DeviceArray.sum(), (y: DeviceArray.DeviceArray<"f32">) => DeviceArray.concatenate([y, y])]) {
        const { reason } = yield* Effect.flip(DeviceArray.lazy(Effect.gen(function*() {
          const before = yield* DeviceArray.negative(x)
          yield* DeviceArray.fill(x, 0)
          return yield* use(before)
        })))
        assert.include(reason.message, "negative")
        strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      }
    }))

  it.effect("gives a recorded array its memory first", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const y = yield* DeviceArray.lazy(Effect.gen(function*() {
        const doubled = yield* DeviceArray.multiply(x, 2)
        return yield* DeviceArray.setSlice(doubled, [0], 9)
      }))
      deepStrictEqual(yield* DeviceArray.toNested(y), [9, 4, 6])
      deepStrictEqual(yield* DeviceArray.toNested(x), [1, 2, 3])
    }))

  it.effect("names shapes, types and values of mistakes, and writes nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const whole = yield* DeviceArray.astype(x, "i32")
      const row = yield* DeviceArray.fromHost([1, 2, 3])
      const rows = yield* DeviceArray.broadcastTo(row, [2, 3])
      yield* no(DeviceArray.assign(row, x), "assign", "[2, 3]", "[3]")
      yield* no(DeviceArray.assign(x, yield* DeviceArray.zeros([2])), "assign", "[2, 3]", "[2]")
      yield* no(DeviceArray.assign(rows, 1), "assign", "axis 0", "[2, 3]")
      yield* no(DeviceArray.assign(whole, x), "f32", "i32", "astype")
      yield* no(DeviceArray.fill(whole, 0.5), "fill", "0.5", "i32")
      yield* no(DeviceArray.setSlice(x, [0, 5], 1), "position 5")
      yield* no(DeviceArray.setSlice(x, [0], x), "setSlice", "[2, 3]", "[3]")
      yield* no(DeviceArray.update(whole, DeviceArray.divide(2)), "update", "f32", "i32")
      deepStrictEqual(yield* DeviceArray.toNested(x), [[1, 2, 3], [4, 5, 6]])
      yield* Lease.release(row.lease!)
      strictEqual((yield* Effect.flip(DeviceArray.fill(row, 1))).reason._tag, "Released")
      strictEqual((yield* Effect.flip(DeviceArray.assign(x, row))).reason._tag, "Released")
    }))
})

it("writing functions are made data-first and data-last", () => {
  assert.isFunction(bothForms)
})

/** Tests the types of the calls. */
const bothForms = (x: DeviceArray.DeviceArray<"f32">, y: DeviceArray.DeviceArray<"i32">) =>
  [
    DeviceArray.assign(x, y),
    x.pipe(DeviceArray.assign(y)),
    x.pipe(DeviceArray.fill(1)),
    DeviceArray.setSlice(x, [0], y),
    x.pipe(DeviceArray.setSlice([{ start: 1 }], 2)),
    DeviceArray.update(x, DeviceArray.add(y)),
    x.pipe(DeviceArray.update(DeviceArray.add(1)))
  ] satisfies ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray<"f32">, GpuError, DeviceArray.ArrayServices>>
