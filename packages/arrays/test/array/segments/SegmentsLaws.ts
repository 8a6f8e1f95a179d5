/** Sums of segments on a backend, against plain loops over elements. */
import { layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type * as DType from "effect-gpu-pool/DType"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { Random } from "../../../../testing/src/Random.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, property } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"
import { laidOut, upload } from "../LaidOut.ts"

/** Few different elements of each type, of which sums are exact, and the type of their sums. */
const elements: ReadonlyArray<readonly [DType.DType, ReadonlyArray<number>, DType.DType]> = [
  ["f32", [-2, -1, 0.5, 0, 1, 2, NaN], "f32"],
  ["i32", [-3, -1, 0, 1, 2, 2147483647], "i32"],
  ["u32", [0, 1, 2, 3, 4294967295], "u32"],
  ["f16", [-2, -1, 0.5, 0, 1, 1024], "f16"],
  ["f64", [-2, -1, 0.5, 0, 1, 2, NaN], "f64"],
  ["i8", [-128, -1, 0, 1, 127], "i32"],
  ["u16", [0, 1, 65535], "u32"],
  ["bool", [0, 1], "i32"],
  ["i64", [-3, -1, 0, 1, 2 ** 40], "i64"]
]

/** Other types of sums, to which elements are cast first. */
const others: ReadonlyArray<DType.DType | undefined> = [undefined, "i32", "u8", "i64"]

const bits: { readonly [D in DType.DType]?: number } = { i8: 8, u8: 8, u16: 16, i32: 32, u32: 32, i64: 64 }

/** A sum of whole numbers wraps. */
const held = (value: number, dtype: DType.DType): number => {
  const count = bits[dtype]
  if (count === undefined) return value
  return Number(dtype[0] === "u" ? BigInt.asUintN(count, BigInt(value)) : BigInt.asIntN(count, BigInt(value)))
}

/** Integers are cut by a cast. Of floats only the sign may be outside of an integer type here. */
const cast = (value: number, from: DType.DType, to: DType.DType): number => {
  if (from[0] !== "f" || bits[to] === undefined) return held(value, to)
  const whole = Number.isNaN(value) ? 0 : Math.trunc(value)
  return held(to[0] === "u" ? Math.min(Math.max(whole, 0), 2 ** bits[to] - 1) : whole, to)
}

const cases = fc.record({
  shape: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }),
  axis: fc.nat(2),
  type: fc.nat(elements.length - 1),
  other: fc.nat(others.length - 1),
  picks: fc.array(fc.nat(6), { minLength: 7, maxLength: 30 }),
  segments: fc.integer({ min: 0, max: 6 }),
  numbers: fc.array(fc.integer({ min: -2, max: 7 }), { minLength: 5, maxLength: 5 }),
  unsigned: fc.boolean(),
  turned: fc.boolean(),
  strided: fc.boolean(),
  recorded: fc.boolean(),
  way: fc.constantFrom("eager", "lazy", "compiled")
})

type Case = typeof cases extends fc.Arbitrary<infer A> ? A : never

type Known = { readonly array: DeviceArray.DeviceArray; readonly model: Model.Model }

const replaced = (numbers: ReadonlyArray<number>, axis: number, by: number): ReadonlyArray<number> =>
  numbers.map((number, of) => of === axis ? by : number)

/** The sums, element by element. */
const summed = (
  { array, model }: Known,
  axis: number,
  numbers: ReadonlyArray<number>,
  segments: number,
  dtype: DType.DType
): Model.Model =>
  Model.build(replaced(model.shape, axis, segments), (at) => {
    const terms = numbers.flatMap((number, position) =>
      number === at[axis] ? [cast(Model.elementAt(model, replaced(at, axis, position)), array.dtype, dtype)] : []
    )
    return held(terms.reduce((sum, term) => held(sum + term, dtype), 0), dtype)
  })

/** Numbers of elements, also of 64 bits, where adding 0 makes a negative zero 0. */
const numbersOf = (array: DeviceArray.DeviceArray) =>
  Effect.map(
    DeviceArray.toHost(array),
    (all) => Array.from(all as ArrayLike<number | bigint>, (element) => Number(element) + 0)
  )

const agree = (dtype: DType.DType, found: DeviceArray.DeviceArray, wanted: Model.Model) =>
  Effect.gen(function*() {
    strictEqual(found.dtype, dtype)
    deepStrictEqual([...found.shape], [...wanted.shape])
    strictEqual(found.isContiguous, true)
    deepStrictEqual(yield* numbersOf(found), wanted.data.map((x) => x + 0))
  })

const labelsOf = ({ numbers, strided, unsigned }: Case, length: number) =>
  Effect.gen(function*() {
    const own = Array.from({ length }, (_, at) => numbers[at]!)
    const model = { data: strided ? own.flatMap((number) => [9, number]) : own, shape: [strided ? 2 * length : length] }
    const all = yield* upload(unsigned ? "u32" : "i32", model)
    const labels = strided ? yield* DeviceArray.slice(all, [{ start: 1, step: 2 }]) : all
    return { own, labels: labels as DeviceArray.DeviceArray<"i32" | "u32"> }
  })

const holds = (given: Case) =>
  Effect.gen(function*() {
    const { info } = yield* CommandQueue.CommandQueue
    const available = elements.filter(([dtype]) => info.dtypes.has(dtype))
    const [type, some, own] = available[given.type % available.length]!
    const other = others[given.other]
    const dtype = other !== undefined && info.dtypes.has(other) ? other : own
    const known = yield* laidOut(given, type, some)
    const { array, model } = known
    const axis = given.axis % model.shape.length
    const { labels, own: numbers } = yield* labelsOf(given, model.shape[axis]!)
    const { segments, way } = given
    const program = (x: DeviceArray.DeviceArray, labels: DeviceArray.DeviceArray<"i32" | "u32">) => {
      const recorded = way !== "eager" && given.recorded
      const [data, at] = recorded ? [DeviceArray.copy(x), DeviceArray.copy(labels)] : [x, labels]
      return Effect.all([
        DeviceArray.segmentSum(data, at, segments, { axis: axis - x.shape.length, dtype }),
        DeviceArray.bincount(at, segments)
      ])
    }
    const [sums, counts] = yield* way === "eager"
      ? program(array, labels)
      : way === "lazy"
      ? DeviceArray.lazy(program(array, labels))
      : DeviceArray.compile(program)(array, labels)
    yield* agree(dtype, sums, summed(known, axis, numbers, segments, dtype))
    const counted = Array.from({ length: segments }, (_, segment) => numbers.filter((of) => of === segment).length)
    yield* agree("u32", counts, { shape: [segments], data: counted })
  })

/** Rows that items have whole, and that are divided; few segments, and so many that the parts are fewer. */
const long: ReadonlyArray<readonly [shape: ReadonlyArray<number>, axis: number, segments: number]> = [
  [[257], 0, 3],
  [[16_385], 0, 1],
  [[70_001], 0, 8],
  [[40_000, 3], 0, 7],
  [[3, 40_000], 1, 5],
  [[2, 20_000, 5], 1, 4],
  [[9, 1000], 1, 40],
  [[300, 300], 0, 2],
  [[30_000], 0, 2000],
  [[2, 20_000], 1, 30_000],
  [[500, 2], 0, 5000]
]

const wholes = (random: Random, size: number): Int32Array<ArrayBuffer> =>
  Int32Array.from({ length: size }, () => random.integer(-0x80000000, 0x7fffffff))

const sizeOf = (shape: ReadonlyArray<number>): number => shape.reduce((a, b) => a * b)

export const segmentsLaws = (gpu: GpuLayer, trials: number, longest = Infinity): void => {
  layer(gpu)((it) => {
    it.effect(
      "of any type, layout, axis and numbers, recorded or not, as plain loops do",
      () => property(cases, holds, { numRuns: trials }),
      240_000
    )

    it.effect("of long rows in any division, and leave no memory", () =>
      Effect.gen(function*() {
        const random = new Random(20_261_127)
        for (const [shape, axis, segments] of long) {
          if (sizeOf(shape) > longest) continue
          yield* Effect.scoped(Effect.gen(function*() {
            const data = wholes(random, sizeOf(shape))
            const width = sizeOf([1, ...shape.slice(axis + 1)])
            const length = shape[axis]!
            const numbers = Int32Array.from({ length }, () => random.integer(-1, segments))
            const wanted = new Int32Array(data.length / length * segments)
            for (const [at, value] of data.entries()) {
              const number = numbers[Math.floor(at / width) % length]!
              const above = Math.floor(at / width / length)
              if (number >= 0 && number < segments) wanted[(above * segments + number) * width + at % width]! += value
            }
            const x = yield* DeviceArray.fromHost(data, { shape })
            const found = yield* DeviceArray.segmentSum(x, yield* DeviceArray.fromHost(numbers), segments, { axis })
            strictEqual((yield* BufferPool.stats).activeBlocks, 3)
            deepStrictEqual(yield* DeviceArray.toHost(found), wanted, `[${shape}] along ${axis} in ${segments}`)
          }))
        }
      }), 120_000)

    it.effect("with the same bits in each run, of a view, of a copy and of what is only recorded", () =>
      Effect.gen(function*() {
        const random = new Random(7)
        const length = Math.min(longest / 4, 33_000)
        const numbers = Float32Array.from({ length: 4 * length }, () => random.integer(1, 1e6) / 7e5)
        const x = yield* DeviceArray.fromHost(numbers, { shape: [length, 4] })
        const view = yield* DeviceArray.slice(yield* DeviceArray.transpose(x), [{ start: 1, stop: 3 }])
        const labels = yield* DeviceArray.fromHost(Uint32Array.from({ length }, () => random.integer(0, 5)))
        const sum = (of: DeviceArray.ArrayOperand<"f32">) =>
          Effect.flatMap(DeviceArray.segmentSum(of, labels, 5, { axis: 1 }), DeviceArray.toHost)
        const first = yield* sum(view)
        deepStrictEqual(yield* sum(view), first)
        deepStrictEqual(yield* sum(yield* DeviceArray.copy(view)), first)
        deepStrictEqual(yield* DeviceArray.lazy(sum(DeviceArray.copy(view))), first)
        const compiled = DeviceArray.compile((of: DeviceArray.DeviceArray<"f32">) =>
          DeviceArray.segmentSum(of, labels, 5, { axis: 1 })
        )
        for (const _ of [1, 2]) deepStrictEqual(yield* DeviceArray.toHost(yield* compiled(view)), first)
      }))

    it.effect("by one kernel, with what is only recorded in it, or by two where a row has parts", () =>
      Effect.gen(function*() {
        const cost = Effect.fnUntraced(function*(length: number) {
          const x = yield* DeviceArray.arange(length)
          const labels = yield* DeviceArray.zeros([length], { dtype: "u32" })
          return yield* costOf(DeviceArray.lazy(DeviceArray.segmentSum(DeviceArray.multiply(x, 2), labels, 2)))
        })
        const short = yield* cost(100)
        deepStrictEqual([short.kernels, short.leases], [1, 1])
        deepStrictEqual(yield* DeviceArray.toNested(short.value), [9900, 0])
        if (longest < 20_000) return
        const divided = yield* cost(20_000)
        deepStrictEqual([divided.kernels, divided.leases], [2, 2])
      }))
  })
}
