/**
 * The results of reductions on every backend, against plain loops. The lengths are at the ends of what one item, a group or
 * one kernel does.
 */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as LeaseHolder from "effect-gpu-pool/LeaseHolder"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { some } from "../../../../test/support/explore.ts"
import { Random } from "../../../testing/src/Random.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as Expression from "../../src/kernels/expression/Expression.ts"
import * as Reduction from "../../src/kernels/reduction/Reduction.ts"
import * as ReductionKernel from "../../src/kernels/ReductionKernel.ts"
import { chainOf, reduced, runnerOn } from "./ReductionModel.ts"

export type Gpu = BufferPool.BufferPool | CommandQueue.CommandQueue

export const lengths = some(
  [0, 1, 2, 31, 32, 33, 63, 64, 65, 66, 255, 256, 257, 260, 1000, 2047, 2048, 2049, 4095, 4096, 4097]
    .concat([65_537, 262_144, 262_145, 262_148, 1_000_003]),
  9
)

type Numbers = DType.TypedArrayOf["f32" | "i32" | "u32"]

/** A lease with these elements; if there are none, a lease that can still be bound. */
export const upload = Effect.fnUntraced(function*(data: Numbers) {
  const lease = yield* BufferPool.allocate(Math.max(4, data.byteLength))
  yield* CommandQueue.write(lease, data)
  return lease
})

/** The sum of numbers in double precision, with what each addition loses added at the end. */
const compensated = (numbers: ReadonlyArray<number>): number => {
  let [sum, lost] = [0, 0]
  for (const number of numbers) {
    const next = sum + number
    lost += Math.abs(sum) < Math.abs(number) ? number - next + sum : sum - next + number
    sum = next
  }
  return sum + lost
}

type Combine = (a: number, b: number) => number

const typedArrays: { readonly [D in "f32" | "i32" | "u32"]: CommandQueue.ElementType<Numbers> } = {
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array
}

const rounds: { readonly [D in "f32" | "i32" | "u32"]: (value: number) => number } = {
  f32: Math.fround,
  i32: (value) => value | 0,
  u32: (value) => value >>> 0
}

const multiplied: { readonly [D in "f32" | "i32" | "u32"]: Combine } = {
  f32: (a, b) => Math.fround(a * b),
  i32: Math.imul,
  u32: (a, b) => Math.imul(a, b) >>> 0
}

const extremes = { f32: [-Infinity, Infinity], i32: [-0x80000000, 0x7fffffff], u32: [0, 0xffffffff] } as const

const statistics = (dtype: "f32" | "i32" | "u32", [lowest, highest]: readonly [number, number]) =>
  ReductionKernel.makeState({
    name: `statistics_${dtype}`,
    args: [VectorArg(dtype, "x", { access: "read" })],
    state: { sum: dtype, least: dtype, greatest: dtype, product: dtype },
    map: ({ x }) => ({ sum: x, least: x, greatest: x, product: x }),
    combine: (a, b) => ({
      sum: Expr.add(a.sum, b.sum),
      least: Expr.minimum(a.least, b.least),
      greatest: Expr.maximum(a.greatest, b.greatest),
      product: Expr.multiply(a.product, b.product)
    }),
    neutral: { sum: 0, least: highest, greatest: lowest, product: 1 },
    commutative: true
  })

const kernels = {
  f32: statistics("f32", extremes.f32),
  i32: statistics("i32", extremes.i32),
  u32: statistics("u32", extremes.u32)
}

/** A fixed seed. */
const seed = 20_260_101

/** Numbers around one and minus one, so that their product neither vanishes nor overflows. */
const samples = {
  f32: (n: number, random: Random) =>
    Float32Array.from({ length: n }, () => random.pick([-1, 1]) * (1 + random.integer(-1000, 1000) / 1e6)),
  i32: (n: number, random: Random) => Int32Array.from({ length: n }, () => random.integer(-0x80000000, 0x7fffffff) | 1),
  u32: (n: number, random: Random) => Uint32Array.from({ length: n }, () => random.integer(0, 0xffffffff) | 1)
}

const sumFrom = (commutative: boolean) =>
  ReductionKernel.make({
    name: commutative ? "sum_any" : "sum_ordered",
    args: [VectorArg("f32", "x", { access: "read", withOffset: true })],
    map: ({ x }) => x,
    combine: (a, b) => Expr.add(a, b),
    neutral: 0,
    commutative
  })

const sums = [sumFrom(true), sumFrom(false)]

const argmin = ReductionKernel.makeState({
  name: "argmin",
  args: [VectorArg("f32", "x", { access: "read" })],
  state: { value: "f32", index: "u32" },
  map: ({ x }, index) => ({ value: x, index }),
  combine: (a, b) => {
    const takesB = Expr.less(b.value, a.value)
    return { value: Expr.where(takesB, b.value, a.value), index: Expr.where(takesB, b.index, a.index) }
  },
  neutral: { value: Infinity, index: 0 }
})

/** Maps `x -> a x + b` of 16-bit numbers, packed. Their composition is not commutative. */
export const affine = {
  neutral: 0x10000,
  expr: (first: Expr.Expr<"u32">, second: Expr.Expr<"u32">) => {
    const [a, b] = [Expr.rightShift(first, 16), Expr.bitwiseAnd(first, 0xffff)]
    const [c, d] = [Expr.rightShift(second, 16), Expr.bitwiseAnd(second, 0xffff)]
    return Expr.bitwiseOr(
      Expr.leftShift(Expr.multiply(a, c), 16),
      Expr.bitwiseAnd(Expr.add(Expr.multiply(b, c), d), 0xffff)
    )
  },
  plain: (first: number, second: number) => {
    const [a, b, c, d] = [first >>> 16, first & 0xffff, second >>> 16, second & 0xffff]
    return ((Math.imul(a, c) << 16) | ((Math.imul(b, c) + d) & 0xffff)) >>> 0
  }
}

const composed = ReductionKernel.make({
  name: "composed",
  args: [VectorArg("u32", "x", { access: "read" })],
  map: ({ x }) => x,
  combine: affine.expr,
  neutral: affine.neutral
})

/** The sum of halves in f32. */
const wideSum = ReductionKernel.make({
  name: "wide_sum",
  args: [VectorArg("f16", "x", { access: "read" })],
  map: ({ x }) => Expr.astype(x, "f32"),
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const greatestHalf = ReductionKernel.make({
  name: "greatest_half",
  args: [VectorArg("f16", "x", { access: "read" })],
  map: ({ x }) => x,
  combine: (a, b) => Expr.maximum(a, b),
  neutral: -Infinity
})

const wholes = ReductionKernel.make({
  name: "sum_f64",
  args: [VectorArg("f64", "x", { access: "read" })],
  map: ({ x }) => x,
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const shifted = ReductionKernel.make({
  name: "shifted",
  args: [
    VectorArg("i32", "x", { access: "read" }),
    VectorArg("i32", "one", { access: "read" }),
    VectorArg("i32", "unread", { access: "read" })
  ],
  map: ({ one, x }) => Expr.add(x, Expr.at(one, 0)),
  combine: (a, b) => Expr.add(a, b),
  neutral: 0,
  commutative: true
})

/** The bits of 2 as a half. */
const bitsOfTwo = 0x4000

const filled = Effect.fnUntraced(function*(dtype: "f16" | "f64", count: number, value: number) {
  const lease = yield* BufferPool.allocate(count * DType.byteSize(dtype))
  yield* CommandQueue.write(lease, DType.viewUnsafe(dtype, new ArrayBuffer(lease.size), 0, count).fill(value))
  return lease
})

/** Every name that the library might want for itself. */
const greedy = ReductionKernel.make({
  name: "k",
  args: [
    VectorArg("u32", "state0", { access: "read", withOffset: true }),
    VectorArg("u32", "from0", { access: "read" }),
    ScalarArg("u32", "length"),
    ScalarArg("u32", "rows"),
    ScalarArg("u32", "parts"),
    ScalarArg("u32", "segment"),
    ScalarArg("u32", "shared0")
  ],
  map: ({ from0, length, parts, rows, segment, shared0, state0 }, index) =>
    [from0, length, parts, rows, segment, shared0, state0].reduce((sum, value) => Expr.add(sum, value), index),
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

/** This is no lawful combination: it counts how often the kernels combine. */
const swapped = ReductionKernel.makeState({
  name: "swapped",
  args: [],
  state: { x: "i32", y: "i32" },
  map: () => ({ x: Expr.constant("i32", 0), y: Expr.constant("i32", 0) }),
  combine: (a) => ({ x: a.y, y: a.x }),
  neutral: { x: 1, y: 2 }
})

const rowSums = new Reduction.Reduction({
  name: "row_sums",
  args: [VectorArg("u32", "x", { access: "read" }), ScalarArg("u32", "width")],
  state: [{ name: "", dtype: "u32", neutral: 0 }],
  map: [
    Expr.add(
      Expr.multiply(Reduction.row, 3),
      Expression.make("u32", {
        _tag: "Element",
        vector: "x",
        dtype: "u32",
        at: {
          _tag: "Inside",
          index: Expr.add(
            Expr.multiply(Reduction.row, Expression.make("u32", { _tag: "Scalar", name: "width" })),
            Reduction.position
          )
        }
      })
    )
  ],
  combine: ([a], [b]) => [Expr.add(a as Expr.Expr<"u32">, b as Expr.Expr<"u32">)],
  commutative: true
})

const shapes = [
  [0, 5],
  [1, 0],
  [3, 0],
  [1, 1],
  [7, 300],
  [300, 7],
  [40, 257],
  [63, 33],
  [100, 129],
  [1000, 1000],
  [5, 70_000],
  [70_000, 3]
] as const

/** Registers the tests; `longest` limits the lengths for a slow device. */
export const reductionLaws = (gpu: Layer.Layer<Gpu, unknown>, longest = Infinity): void =>
  layer(gpu, { excludeTestServices: true })("reductions", (it) => {
    const lengthsHere = lengths.filter((length) => length <= longest)

    for (const dtype of ["f32", "i32", "u32"] as const) {
      it.effect(`sums, multiplies and compares ${dtype}`, () =>
        Effect.gen(function*() {
          const random = new Random(seed)
          const order = { runner: runnerOn((yield* CommandQueue.CommandQueue).info), commutative: true }
          for (const n of lengthsHere) {
            const elements = samples[dtype](n, random)
            const data = Array.from(elements)
            const round = rounds[dtype]
            const before = (yield* BufferPool.stats).activeBlocks
            const leases = yield* Effect.scoped(Effect.gen(function*() {
              const x = yield* upload(elements)
              const results = yield* LeaseHolder.extract(ReductionKernel.run(kernels[dtype], { x }, n))
              strictEqual((yield* BufferPool.stats).activeBlocks, before + 5)
              return yield* Effect.forEach(
                Object.values(results),
                (lease) => CommandQueue.read(lease, typedArrays[dtype])
              )
            }))
            strictEqual((yield* BufferPool.stats).activeBlocks, before)
            const [lowest, highest] = extremes[dtype]
            const expected = [
              reduced(1, data, order, 0, (a, b) => round(a + b)),
              data.reduce((a, b) => Math.min(a, b), highest),
              data.reduce((a, b) => Math.max(a, b), lowest),
              reduced(1, data, order, 1, multiplied[dtype])
            ]
            deepStrictEqual(
              leases.map((values) => Array.from(values)),
              expected.map((value) => [value]),
              `${n} elements`
            )
          }
        }))
    }

    it.effect(
      "adds floats in the same order each time, with an error that grows with the parts of a row",
      () =>
        Effect.gen(function*() {
          const random = new Random(seed)
          const runner = runnerOn((yield* CommandQueue.CommandQueue).info)
          for (const n of lengthsHere) {
            const data = Float32Array.from({ length: n + 3 }, () => random.integer(0, 1e9) / 1e9)
            const x = yield* upload(data)
            for (const [index, sum] of sums.entries()) {
              const lease = yield* ReductionKernel.run(sum, { x: { buffer: x, offset: 3 } }, n)
              const [result] = yield* CommandQueue.read(lease, Float32Array)
              const row = Array.from(data.subarray(3))
              strictEqual(
                result,
                reduced(1, row, { runner, commutative: index === 0 }, 0, (a, b) => Math.fround(a + b))
              )
              const exact = compensated(row)
              assert.isAtMost(Math.abs(result! - exact), exact * chainOf(1, n, runner) * 2 ** -24, `${n} elements`)
            }
          }
        })
    )

    it.effect("reduces the first elements of a buffer that ends in the midst of four", () =>
      Effect.gen(function*() {
        const order = { runner: runnerOn((yield* CommandQueue.CommandQueue).info), commutative: true }
        const random = new Random(seed)
        for (const left of [1, 2, 3]) {
          const x = yield* upload(samples.f32(1000 + left, random))
          const data = Array.from(yield* CommandQueue.read(x, Float32Array)).slice(0, 1000)
          const { product, sum } = yield* ReductionKernel.run(kernels.f32, { x }, 1000)
          const found = [yield* CommandQueue.read(sum, Float32Array), yield* CommandQueue.read(product, Float32Array)]
          deepStrictEqual(found.flatMap((values) => Array.from(values)), [
            reduced(1, data, order, 0, (a, b) => rounds.f32(a + b)),
            reduced(1, data, order, 1, multiplied.f32)
          ])
        }
      }))

    it.effect("takes a vector of one element that it reads at one index, and one that it does not read", () =>
      Effect.gen(function*() {
        const x = yield* upload(Int32Array.from({ length: 1000 }, (_, k) => k))
        const [one, unread] = [yield* upload(Int32Array.of(3)), yield* upload(Int32Array.of(4))]
        const lease = yield* ReductionKernel.run(shifted, { x, one, unread }, 1000)
        deepStrictEqual(Array.from(yield* CommandQueue.read(lease, Int32Array)), [502_500])
      }))

    it.effect("gives NaN for a minimum of NaN, and neutral values for nothing", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.from({ length: 300 }, (_, k) => k === 299 ? NaN : k))
        const of = Effect.fnUntraced(function*(count: number) {
          const { greatest, least, product, sum } = yield* ReductionKernel.run(kernels.f32, { x }, count)
          const leases = [sum, least, greatest, product]
          return yield* Effect.forEach(
            leases,
            (lease) => Effect.map(CommandQueue.read(lease, Float32Array), (a) => a[0])
          )
        })
        deepStrictEqual(yield* of(300), [NaN, NaN, NaN, NaN])
        deepStrictEqual(yield* of(0), [0, Infinity, -Infinity, 1])
        const none = yield* BufferPool.allocate(0)
        const empty = yield* ReductionKernel.run(argmin, { x: none }, 0)
        deepStrictEqual(Array.from(yield* CommandQueue.read(empty.value, Float32Array)), [Infinity])
      }))

    it.effect("finds the first of the least", () =>
      Effect.gen(function*() {
        const random = new Random(seed)
        for (const n of lengthsHere.filter((length) => length > 0)) {
          const data = Float32Array.from({ length: n }, () => random.integer(0, Math.ceil(n / 3)))
          const x = yield* upload(data)
          const { index, value } = yield* ReductionKernel.run(argmin, { x }, n)
          const least = data.reduce((a, b) => Math.min(a, b), Infinity)
          deepStrictEqual(Array.from(yield* CommandQueue.read(index, Uint32Array)), [data.indexOf(least)])
          deepStrictEqual(Array.from(yield* CommandQueue.read(value, Float32Array)), [least])
        }
      }))

    it.effect("keeps the order of what does not commute", () =>
      Effect.gen(function*() {
        const random = new Random(seed)
        for (const n of lengthsHere) {
          const data = Uint32Array.from({ length: n }, () => random.integer(0, 0xffffffff) | 0x10000)
          const lease = yield* ReductionKernel.run(composed, { x: yield* upload(data) }, n)
          const expected = data.reduce(affine.plain, affine.neutral)
          deepStrictEqual(Array.from(yield* CommandQueue.read(lease, Uint32Array)), [expected], `${n} elements`)
        }
      }))

    it.effect("leaves a program its names", () =>
      Effect.gen(function*() {
        const x = yield* upload(Uint32Array.from({ length: 301 }, (_, k) => k))
        const numbers = { length: 1, rows: 20, parts: 300, segment: 4000, shared0: 50_000 }
        const args = { state0: { buffer: x, offset: 1 }, from0: x, ...numbers }
        const lease = yield* ReductionKernel.run(greedy, args, 300)
        let expected = 0
        for (let k = 0; k < 300; k++) expected += k + (k + 1) + k + 54_321
        deepStrictEqual(Array.from(yield* CommandQueue.read(lease, Uint32Array)), [expected])
      }))

    it.effect("moves one value of a state to another, and needs no vector", () =>
      Effect.gen(function*() {
        const order = { runner: runnerOn((yield* CommandQueue.CommandQueue).info), commutative: false }
        for (const count of [1, 4, 5, 2000]) {
          const { x, y } = yield* ReductionKernel.run(swapped, {}, count)
          const [[a], [b]] = [yield* CommandQueue.read(x, Int32Array), yield* CommandQueue.read(y, Int32Array)]
          const elements = Array.from({ length: count }, () => 12)
          deepStrictEqual(10 * a! + b!, reduced(1, elements, order, 12, (state) => state === 12 ? 21 : 12))
        }
      }))

    it.effect("reduces rows, whichever elements are neighbours", () =>
      Effect.gen(function*() {
        const random = new Random(seed)
        for (const [rows, length] of shapes.filter(([rows, length]) => rows * length <= longest)) {
          const data = Uint32Array.from({ length: rows * length }, () => random.integer(0, 0xffffffff))
          const expected = new Uint32Array(rows)
          data.forEach((value, index) => {
            const row = Math.floor(index / length)
            expected[row] = expected[row]! + value + 3 * row
          })
          const x = yield* upload(data)
          for (const neighbours of ["positions", "rows"] as const) {
            const [lease] = yield* Reduction.run(rowSums, { x, width: length }, { rows, length, neighbours })
            const result = yield* CommandQueue.read(lease!, Uint32Array)
            deepStrictEqual(result, expected, `${rows} rows of ${length}, ${neighbours}`)
          }
        }
      }))

    it.effect("reduces the types that the device has, and refuses the others", () =>
      Effect.gen(function*() {
        const count = Math.min(3000, longest)
        const halves = Effect.gen(function*() {
          const x = yield* filled("f16", count, 2)
          const greatest = yield* ReductionKernel.run(greatestHalf, { x }, count)
          deepStrictEqual(Array.from(yield* CommandQueue.read(greatest, Uint16Array)), [bitsOfTwo])
          const leases = [
            yield* ReductionKernel.run(wideSum, { x }, count),
            yield* ReductionKernel.run(wideSum, { x }, 0)
          ]
          return yield* Effect.forEach(
            leases,
            (lease) => Effect.map(CommandQueue.read(lease, Float32Array), ([a]) => a)
          )
        })
        const doubles = Effect.gen(function*() {
          const x = yield* filled("f64", count, 1 + 2 ** -40)
          const leases = [
            yield* ReductionKernel.run(wholes, { x }, count),
            yield* ReductionKernel.run(wholes, { x }, 0)
          ]
          return yield* Effect.forEach(
            leases,
            (lease) => Effect.map(CommandQueue.read(lease, Float64Array), ([a]) => a)
          )
        })
        const { info } = yield* CommandQueue.CommandQueue
        const before = (yield* BufferPool.stats).activeBlocks
        const runs = [["f16", halves, [2 * count, 0]], ["f64", doubles, [count * (1 + 2 ** -40), 0]]] as const
        for (const [dtype, run, expected] of runs) {
          if (info.dtypes.has(dtype)) deepStrictEqual(yield* Effect.scoped(run), [...expected])
          else strictEqual((yield* Effect.flip(Effect.scoped(run))).reason._tag, "Unsupported")
          strictEqual((yield* BufferPool.stats).activeBlocks, before)
        }
      }))

    it.effect("takes no more of the driver when it runs again", () =>
      Effect.gen(function*() {
        const x = yield* upload(new Float32Array(65_537).fill(1))
        const once = Effect.scoped(Effect.gen(function*() {
          const lease = yield* ReductionKernel.run(sums[0]!, { x }, Math.min(65_537, longest))
          return (yield* CommandQueue.read(lease, Float32Array))[0]
        }))
        const first = yield* once
        const { driverAllocations } = yield* BufferPool.stats
        for (let round = 0; round < 5; round++) strictEqual(yield* once, first)
        strictEqual((yield* BufferPool.stats).driverAllocations, driverAllocations)
      }))
  })
