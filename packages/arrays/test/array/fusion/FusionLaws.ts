/**
 * The leases and kernels of recorded chains on every backend, and that their results are those of single operations.
 */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import { Random } from "../../../../testing/src/Random.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer } from "../ArrayBackends.ts"

type Floats = DeviceArray.DeviceArray<"f32">
type Computed = Effect.Effect<Floats, GpuError, DeviceArray.ArrayServices>

const f32 = (numbers: ReadonlyArray<number>, shape?: ReadonlyArray<number>) =>
  DeviceArray.fromHost(Float32Array.from(numbers), { shape })

const elementsOf = (array: DeviceArray.DeviceArray) =>
  Effect.map(DeviceArray.toHost(array), (all) => Array.from(all as ArrayLike<number>))

/** Ten operations, whose results are exact for small whole numbers. */
const operations = 10

const expression = Effect.fnUntraced(function*(x: Floats, y: Floats) {
  const product = yield* DeviceArray.multiply(x, y)
  const above = yield* DeviceArray.add(product, 1)
  const half = yield* DeviceArray.multiply(above, 0.5)
  const difference = yield* DeviceArray.subtract(half, x)
  const distance = yield* DeviceArray.abs(difference)
  const sum = yield* DeviceArray.add(distance, y)
  const negative = yield* DeviceArray.negative(sum)
  const least = yield* DeviceArray.minimum(negative, x)
  const floor = yield* DeviceArray.floor(least)
  return yield* DeviceArray.maximum(floor, -4)
})

/** Some operations again and again, on elements that stay near 1. */
const longChain = Effect.fnUntraced(function*(x: Floats, y: Floats) {
  let value = x
  for (let round = 1; round <= 4; round++) {
    const root = yield* DeviceArray.sqrt(yield* DeviceArray.abs(value))
    const power = yield* DeviceArray.exp(yield* DeviceArray.negative(root))
    const quotient = yield* DeviceArray.divide(power, yield* DeviceArray.add(y, round))
    const whole = yield* DeviceArray.astype(yield* DeviceArray.multiply(value, 100), "i32")
    const rest = yield* DeviceArray.remainder(whole, 7)
    const chosen = yield* DeviceArray.where(yield* DeviceArray.less(rest, 3), quotient, y)
    value = yield* DeviceArray.minimum(yield* DeviceArray.add(chosen, root), 4)
  }
  return value
})

/** The sum of the arrays, one after the other. */
const inARow = (arrays: ReadonlyArray<Floats>): Computed =>
  Effect.gen(function*() {
    let sum = arrays[0]!
    for (const array of arrays.slice(1)) sum = yield* DeviceArray.add(sum, array)
    return sum
  })

/** The sum of the arrays, in pairs, and pairs of pairs. */
const inPairs = (arrays: ReadonlyArray<Floats>): Computed =>
  arrays.length === 1
    ? Effect.succeed(arrays[0]!)
    : Effect.gen(function*() {
      const half = arrays.length >> 1
      return yield* DeviceArray.add(yield* inPairs(arrays.slice(0, half)), yield* inPairs(arrays.slice(half)))
    })

const shiftedSquares = (table: Floats, number: number): Computed =>
  DeviceArray.lazy(Effect.flatMap(DeviceArray.multiply(table, table), DeviceArray.add(number)))

export const fusionLaws = (gpu: GpuLayer, { iterations }: { readonly iterations: number }): void =>
  layer(gpu, { excludeTestServices: true })("recorded chains", (it) => {
    it.effect(
      "of ten operations are one kernel without intermediates, with the numbers of the single ones",
      () =>
        Effect.gen(function*() {
          const x = yield* f32(Array.from({ length: 300 }, (_, index) => index % 7 - 3))
          const y = yield* f32(Array.from({ length: 300 }, (_, index) => index % 5 - 2))
          const eager = yield* costOf(DeviceArray.scoped(expression(x, y)))
          const fused = yield* costOf(DeviceArray.lazy(expression(x, y)))
          deepStrictEqual([eager.kernels, eager.leases], [operations, operations])
          deepStrictEqual([fused.kernels, fused.leases], [1, 1])
          strictEqual((yield* BufferPool.stats).activeBlocks, 4)
          deepStrictEqual(yield* elementsOf(fused.value), yield* elementsOf(eager.value))
        }).pipe(Effect.scoped)
    )

    it.effect("are not joined or reordered, as WGSL would let a compiler", () =>
      Effect.gen(function*() {
        const random = new Random(11)
        const numbers = () => Array.from({ length: 500 }, () => random.integer(-1e6, 1e6) / 7)
        const [a, b, c] = [yield* f32(numbers()), yield* f32(numbers()), yield* f32(numbers())]
        const cancelled = Effect.flatMap(DeviceArray.add(a, b), DeviceArray.subtract(a))
        const contracted = Effect.flatMap(DeviceArray.multiply(a, b), DeviceArray.add(c))
        const restored = Effect.flatMap(DeviceArray.divide(a, b), DeviceArray.multiply(b))
        const distributed = Effect.gen(function*() {
          return yield* DeviceArray.add(yield* DeviceArray.multiply(a, c), yield* DeviceArray.multiply(b, c))
        })
        const compared = Effect.flatMap(DeviceArray.add(yield* DeviceArray.multiply(b, 1e-8), a), DeviceArray.equal(a))
        const summed = Effect.flatMap(distributed, DeviceArray.sum())
        const chains: ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray, GpuError, DeviceArray.ArrayServices>> = [
          cancelled,
          contracted,
          restored,
          distributed,
          compared,
          summed
        ]
        for (const [index, chain] of chains.entries()) {
          const eager = yield* elementsOf(yield* DeviceArray.scoped(chain))
          deepStrictEqual(yield* elementsOf(yield* DeviceArray.lazy(chain)), eager, `chain ${index}`)
        }
      }).pipe(Effect.scoped))

    it.effect("of many operations have the bits of single ones, for any number of elements", () =>
      Effect.gen(function*() {
        const random = new Random(64)
        for (const size of [1, 63, 64, 65, 300, 5000]) {
          const x = yield* f32(Array.from({ length: size }, () => random.integer(-1e6, 1e6) / 3e5))
          const y = yield* f32(Array.from({ length: size }, () => random.integer(1, 1e6) / 7e5))
          const found = yield* Effect.scoped(
            Effect.flatMap(costOf(DeviceArray.lazy(longChain(x, y))), ({ kernels, value }) => {
              strictEqual(kernels, 1)
              return elementsOf(value)
            })
          )
          deepStrictEqual(found, yield* Effect.scoped(Effect.flatMap(longChain(x, y), elementsOf)), `${size} elements`)
        }
      }))

    it.effect("change each element once where they write to their operand, for any number of elements", () =>
      Effect.gen(function*() {
        for (const size of [4095, 4097, 9000]) {
          const x = yield* f32(Array.from({ length: size }, (_, at) => at))
          yield* DeviceArray.update(x, (x) => DeviceArray.add(x, 1))
          deepStrictEqual(yield* elementsOf(x), Array.from({ length: size }, (_, at) => at + 1), `${size} elements`)
        }
      }).pipe(Effect.scoped))

    it.effect("are one kernel for all results of a shape", () =>
      Effect.gen(function*() {
        const row = yield* f32([1, 2, 3])
        const column = yield* f32([10, 20], [2, 1])
        const { kernels, leases, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const twice = yield* DeviceArray.multiply(row, 2)
          const table = yield* DeviceArray.add(twice, column)
          const next = yield* DeviceArray.add(twice, 1)
          const negative = yield* DeviceArray.negative(table)
          return { table, rows: [twice, next, twice] as const, deep: { negative, table, row } }
        })))
        deepStrictEqual([kernels, leases], [2, 4])
        const { deep, rows, table } = value
        strictEqual(rows[0], rows[2])
        strictEqual(deep.table, table)
        strictEqual(deep.row, row)
        deepStrictEqual(yield* elementsOf(rows[0]), [2, 4, 6])
        deepStrictEqual(yield* elementsOf(rows[1]), [3, 5, 7])
        deepStrictEqual(yield* DeviceArray.toNested(table), [[12, 14, 16], [22, 24, 26]])
        deepStrictEqual(yield* DeviceArray.toNested(deep.negative), [[-12, -14, -16], [-22, -24, -26]])
      }).pipe(Effect.scoped))

    it.effect(
      "of more results than a kernel takes vectors are as many kernels as it needs",
      () =>
        Effect.gen(function*() {
          const { maxVectorArguments } = (yield* CommandQueue.CommandQueue).info.limits
          // The size of a kernel's expression is limited too, even if the device takes more vectors.
          const most = Math.min(maxVectorArguments, 32)
          const count = 2 * most
          const x = yield* f32([1, 2])
          const { kernels, leases, value } = yield* costOf(DeviceArray.lazy(
            Effect.forEach(Array.from({ length: count }), (_, index) => DeviceArray.add(x, index))
          ))
          strictEqual(leases, count)
          assert.isAtMost(kernels, 4)
          for (const [index, array] of value.entries()) {
            deepStrictEqual(yield* elementsOf(array), [1 + index, 2 + index])
          }
        }).pipe(Effect.scoped)
    )

    it.effect("that read more arrays than a kernel takes become few kernels", () =>
      Effect.gen(function*() {
        const { maxVectorArguments } = (yield* CommandQueue.CommandQueue).info.limits
        const count = Math.min(3 * maxVectorArguments, 200)
        const arrays = yield* Effect.forEach(Array.from({ length: count }), (_, index) => f32([index, 1]))
        for (const sum of [inARow, inPairs]) {
          const { kernels, leases, value } = yield* costOf(DeviceArray.lazy(sum(arrays)))
          strictEqual(kernels, leases)
          assert.isAtMost(kernels, 2 * Math.ceil(count / (Math.min(maxVectorArguments, 64) / 2)))
          deepStrictEqual(yield* elementsOf(value), [count * (count - 1) / 2, count])
        }
      }).pipe(Effect.scoped))

    it.effect("of any length are cut", () =>
      Effect.gen(function*() {
        const x = yield* f32([0, 1])
        const { kernels, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          let y = x
          for (let step = 0; step < 1000; step++) y = yield* DeviceArray.add(y, 1)
          return y
        })))
        strictEqual(kernels, Math.ceil(1000 / 64))
        deepStrictEqual(yield* elementsOf(value), [1000, 1001])
      }).pipe(Effect.scoped))

    it.effect("visit an array that is used twice once, however often that happens", () =>
      Effect.gen(function*() {
        const x = yield* f32([1, -3])
        const { kernels, leases, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          let y = x
          for (let step = 0; step < 50; step++) y = yield* DeviceArray.add(y, y)
          return y
        })))
        deepStrictEqual([kernels, leases], [1, 1])
        deepStrictEqual(yield* elementsOf(value), [2 ** 50, -3 * 2 ** 50])
      }).pipe(Effect.scoped))

    it.effect("with more numbers than a kernel takes are cut", () =>
      Effect.gen(function*() {
        const x = yield* f32([1, 2])
        const { kernels, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const terms = yield* Effect.forEach(
            Array.from({ length: 150 }),
            (_, index) => DeviceArray.multiply(x, index)
          )
          return yield* inPairs(terms)
        })))
        assert.isAtMost(kernels, 5)
        deepStrictEqual(yield* elementsOf(value), [150 * 149 / 2, 150 * 149])
      }).pipe(Effect.scoped))

    it.effect("of empty arrays run nothing", () =>
      Effect.gen(function*() {
        const none = yield* DeviceArray.zeros([0, 3])
        const row = yield* f32([1, 2, 3])
        const { kernels, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const sum = yield* DeviceArray.add(none, row)
          return [sum, yield* DeviceArray.sqrt(sum), yield* DeviceArray.sum(sum)] as const
        })))
        strictEqual(kernels, 0)
        deepStrictEqual(value.map(({ shape }) => shape), [[0, 3], [0, 3], []])
        deepStrictEqual(yield* elementsOf(value[2]), [0])
        deepStrictEqual(yield* elementsOf(value[1]), [])
      }).pipe(Effect.scoped))

    it.effect("read every layout, also several of one memory", () =>
      Effect.gen(function*() {
        const x = yield* f32([1, 2, 3, 4, 5, 6], [2, 3])
        const turned = yield* DeviceArray.transpose(x)
        const back = yield* DeviceArray.slice(x, [{}, { start: -1, stop: -4, step: -1 }])
        const last = yield* DeviceArray.slice(x, [-1])
        const one = yield* DeviceArray.slice(x, [1, 0])
        const spread = yield* DeviceArray.broadcastTo(last, [2, 3])
        const { kernels, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const forth = yield* DeviceArray.add(x, back)
          const both = yield* DeviceArray.add(forth, yield* DeviceArray.multiply(spread, 10))
          const table = yield* DeviceArray.add(yield* DeviceArray.multiply(last, 100), both)
          return [yield* DeviceArray.add(table, one), yield* DeviceArray.subtract(turned, 1)] as const
        })))
        strictEqual(kernels, 2)
        deepStrictEqual(yield* DeviceArray.toNested(value[0]), [[448, 558, 668], [454, 564, 674]])
        deepStrictEqual(yield* DeviceArray.toNested(value[1]), [[0, 3], [1, 4], [2, 5]])
      }).pipe(Effect.scoped))

    it.effect("are one kernel for all lengths, offsets, strides and numbers", () =>
      Effect.gen(function*() {
        const memory = yield* f32(Array.from({ length: 4000 }, (_, index) => index))
        const part = (start: number, rows: number, columns: number, step: number) =>
          Effect.gen(function*() {
            const flat = yield* DeviceArray.slice(memory, [{ start, stop: start + rows * columns }])
            const table = yield* DeviceArray.reshape(flat, [rows, columns])
            return yield* DeviceArray.slice(table, [{ step }, { start: 1, stop: -1 }])
          })
        const warmUp = yield* costOf(shiftedSquares(yield* part(0, 4, 5, 2), 1))
        strictEqual(warmUp.kernels, 1)
        for (const [start, rows, columns, step] of [[7, 30, 40, 2], [100, 9, 7, 3], [1, 500, 5, 7]] as const) {
          const table = yield* part(start, rows, columns, step)
          const { compiled, kernels, value } = yield* costOf(shiftedSquares(table, -start))
          deepStrictEqual([kernels, compiled], [1, 0])
          const expected = (yield* elementsOf(table)).map((element) => Math.fround(element * element) - start)
          deepStrictEqual(yield* elementsOf(value), expected.map(Math.fround))
        }
        const flat = yield* DeviceArray.slice(memory, [{ start: 3, stop: 9 }])
        const single = yield* costOf(DeviceArray.add(flat, 5))
        const again = yield* costOf(DeviceArray.add(yield* DeviceArray.slice(memory, [{ start: 9, stop: 99 }]), 0.5))
        deepStrictEqual([single.kernels, again.kernels, again.compiled], [1, 1, 0])
      }).pipe(Effect.scoped))

    it.effect(
      "in a loop take nothing of the driver after the first time, and hold what lives at a time",
      () =>
        Effect.gen(function*() {
          const x = yield* f32(Array.from({ length: 1024 }, (_, index) => index % 9))
          const results: Array<ReadonlyArray<number>> = []
          for (const [form, live] of [[DeviceArray.scoped, operations], [DeviceArray.lazy, 1]] as const) {
            yield* BufferPool.freeHeld
            const { managedBlocks } = yield* BufferPool.stats
            yield* Effect.scoped(Effect.gen(function*() {
              let y = yield* DeviceArray.copy(x)
              let driverAllocations = 0
              for (let iteration = 0; iteration < iterations; iteration++) {
                const next = yield* form(expression(x, y))
                yield* Lease.release(y.lease!)
                y = next
                const stats = yield* BufferPool.stats
                if (iteration === 0) ({ driverAllocations } = stats)
                strictEqual(stats.driverAllocations, driverAllocations)
              }
              strictEqual((yield* BufferPool.stats).managedBlocks, managedBlocks + 1 + live)
              results.push(yield* elementsOf(y))
            }))
          }
          deepStrictEqual(results[0], results[1])
        }).pipe(Effect.scoped)
    )
  })
