/**
 * Reductions and scans of integers of every type, against BigInt. A device without a type must say so.
 */
import { layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import { bitsOf, isUnsigned } from "effect-gpu-pool/Operation"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Random } from "../../../testing/src/Random.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as ReductionKernel from "../../src/kernels/ReductionKernel.ts"
import * as ScanKernel from "../../src/kernels/ScanKernel.ts"
import { type Gpu, lengths } from "./ReductionLaws.ts"

const types = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"] as const

type IntegerType = Expr.IntegerType

const wrap = (type: IntegerType, value: bigint): bigint =>
  (isUnsigned(type) ? BigInt.asUintN : BigInt.asIntN)(bitsOf(type), value)

const rangeOf = (type: IntegerType): readonly [least: bigint, most: bigint] => {
  const count = 2n ** BigInt(bitsOf(type))
  return isUnsigned(type) ? [0n, count - 1n] : [-count / 2n, count / 2n - 1n]
}

/** A number of the type as expressions take it. */
const literal = (value: bigint): never => (Number.isSafeInteger(Number(value)) ? Number(value) : value) as never

const upload = Effect.fnUntraced(function*(type: IntegerType, numbers: ReadonlyArray<bigint>) {
  const lease = yield* BufferPool.allocate(Math.max(8, numbers.length * DType.byteSize(type)))
  const view = DType.viewUnsafe(type, new ArrayBuffer(lease.size), 0, numbers.length)
  const element = bitsOf(type) === 64 ? BigInt : Number
  numbers.forEach((number, index) => view[index] = element(number))
  yield* CommandQueue.write(lease, new Uint8Array(view.buffer))
  return lease
})

const numbersOf = (type: IntegerType, lease: BufferPool.PooledBuffer) =>
  Effect.map(CommandQueue.read(lease, Uint8Array), (bytes) => {
    const count = Math.floor(bytes.byteLength / DType.byteSize(type))
    const view = DType.viewUnsafe(type, bytes.slice().buffer, 0, count)
    return Array.from(view as Iterable<number | bigint>, BigInt)
  })

/** Odd numbers, whose product is not 0. */
const samples = (type: IntegerType, count: number, random: Random): ReadonlyArray<bigint> =>
  Array.from({ length: count }, () => {
    const words = [random.integer(0, 0xffffffff), random.integer(0, 0xffffffff)] as const
    return wrap(type, BigInt(words[0]) << 32n | BigInt(words[1]) | 1n)
  })

const statistics = (type: IntegerType) => {
  const [least, most] = rangeOf(type)
  return ReductionKernel.makeState({
    name: `statistics_${type}`,
    args: [VectorArg(type, "x", { access: "read", withOffset: true })],
    state: { sum: type, least: type, greatest: type, product: type },
    map: ({ x }) => ({ sum: x, least: x, greatest: x, product: x }),
    combine: (a, b) => ({
      sum: Expr.add(a.sum, b.sum),
      least: Expr.minimum(a.least, b.least),
      greatest: Expr.maximum(a.greatest, b.greatest),
      product: Expr.multiply(a.product, b.product)
    }),
    neutral: { sum: literal(0n), least: literal(most), greatest: literal(least), product: literal(1n) },
    commutative: true
  })
}

const sumOf = (type: IntegerType) => ({
  name: `scanned_${type}`,
  args: [VectorArg(type, "x", { access: "read", withOffset: true })] as const,
  map: ({ x }: { readonly x: Expr.Expr<IntegerType> }) => x,
  combine: (a: Expr.Expr<IntegerType>, b: Expr.Expr<IntegerType>) => Expr.add(a, b),
  neutral: literal(0n)
})

/** The last element that is not a multiple of 4: an operation that does not commute. */
const lastOf = (type: IntegerType) => ({
  ...sumOf(type),
  name: `last_${type}`,
  combine: (a: Expr.Expr<IntegerType>, b: Expr.Expr<IntegerType>) =>
    Expr.where(Expr.equal(Expr.bitwiseAnd(b, literal(3n)), literal(0n)), a, b)
})

const kernels = new Map(
  types.map((type) => [type, {
    statistics: statistics(type),
    sum: ScanKernel.make(sumOf(type)),
    last: ScanKernel.make(lastOf(type)),
    lastOfAll: ReductionKernel.make(lastOf(type))
  }])
)

/** A fixed seed. */
const seed = 20_261_127

/** Registers the tests; `longest` limits the lengths for a slow device. */
export const integerLaws = (gpu: Layer.Layer<Gpu, unknown>, longest = Infinity): void =>
  layer(gpu, { excludeTestServices: true })("reductions and scans of integers", (it) => {
    const lengthsHere = lengths.filter((length) => length <= Math.min(longest, 70_000))

    for (const type of types) {
      const { last, lastOfAll, statistics, sum } = kernels.get(type)!
      const onDevice = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.gen(function*() {
          const { info } = yield* CommandQueue.CommandQueue
          if (info.dtypes.has(type)) return yield* effect
          const x = yield* upload(type, [1n])
          const error = yield* Effect.flip(ReductionKernel.run(lastOfAll, { x } as never, 1))
          strictEqual(error.reason._tag, "Unsupported")
          return undefined
        }).pipe(Effect.scoped)

      it.effect(`sums, multiplies and compares ${type}`, () =>
        onDevice(Effect.gen(function*() {
          const random = new Random(seed)
          const [least, most] = rangeOf(type)
          for (const n of lengthsHere) {
            const data = samples(type, n + 3, random)
            const x = { buffer: yield* upload(type, data), offset: 3 }
            const { greatest, least: lowest, product, sum } = yield* ReductionKernel.run(statistics, { x } as never, n)
            const found = yield* Effect.forEach([sum, lowest, greatest, product], (lease) => numbersOf(type, lease))
            const rest = data.slice(3)
            const expected = [
              wrap(type, rest.reduce((a, b) => a + b, 0n)),
              rest.reduce((a, b) => a < b ? a : b, most),
              rest.reduce((a, b) => a > b ? a : b, least),
              rest.reduce((a, b) => wrap(type, a * b), 1n)
            ]
            deepStrictEqual(found.map(([first]) => first), expected, `${n} elements`)
          }
        })))

      it.effect(`scans ${type}, with and without the element itself, from an offset on`, () =>
        onDevice(Effect.gen(function*() {
          const random = new Random(seed)
          for (const n of lengthsHere.filter((length) => length > 0)) {
            const data = samples(type, n + 1, random)
            const x = { buffer: yield* upload(type, data), offset: 1 }
            const sums = data.slice(1).map(((total) => (value: bigint) => total = wrap(type, total + value))(0n))
            const inclusive = yield* ScanKernel.run(sum, { x } as never, n)
            strictEqual(inclusive.size, n * DType.byteSize(type))
            deepStrictEqual(yield* numbersOf(type, inclusive), sums, `${n} elements`)
            const exclusive = yield* ScanKernel.run(sum, { x } as never, n, { exclusive: true })
            deepStrictEqual(yield* numbersOf(type, exclusive), [0n, ...sums.slice(0, -1)], `${n} elements`)
          }
        })))

      it.effect(`keeps the order of ${type} where the operation does not commute`, () =>
        onDevice(Effect.gen(function*() {
          const random = new Random(seed)
          for (const n of lengthsHere.filter((length) => length > 0)) {
            const data = samples(type, n + 1, random).map((value) => random.integer(0, 9) === 0 ? value : value & ~3n)
              .map((value) => wrap(type, value))
            const x = { buffer: yield* upload(type, data), offset: 1 }
            const kept = data.slice(1).map(
              ((state) => (value: bigint) => state = (value & 3n) === 0n ? state : value)(0n)
            )
            const scanned = yield* ScanKernel.run(last, { x } as never, n)
            deepStrictEqual(yield* numbersOf(type, scanned), kept, `${n} elements`)
            const [found] = yield* numbersOf(type, yield* ReductionKernel.run(lastOfAll, { x } as never, n))
            strictEqual(found, kept.at(-1))
          }
        })))
    }
  })
