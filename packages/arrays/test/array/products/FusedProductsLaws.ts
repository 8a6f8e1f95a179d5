/**
 * Recorded products on every backend: which operations their kernel computes, and that the results have the bits of
 * single operations.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import { reasonOf } from "../../../../../test/support/hostPool.ts"
import { Random } from "../../../../testing/src/Random.ts"
import { costOf, type GpuLayer } from "../ArrayBackends.ts"
import { type TestedType, testedTypes } from "../TestedTypes.ts"

type Shape = ReadonlyArray<number>

const size = (shape: Shape): number => shape.reduce((product, length) => product * length, 1)

const upload = (shape: Shape, random: Random, dtype: TestedType = "f32"): DeviceArray.Computed => {
  const isWhole = dtype === "i32" || dtype === "u32"
  const elements = Array.from(
    { length: size(shape) },
    () => isWhole ? random.integer(0, 1000) : random.integer(-1000, 1000) / 700
  )
  return DeviceArray.fromHost(elements, { dtype, shape })
}

const elementsOf = (array: DeviceArray.DeviceArray) =>
  Effect.map(DeviceArray.toHost(array), (all) => Array.from(all as ArrayLike<number>))

/** Shapes of two factors and of their product, around the edges of tiles of every form. */
const shapes: ReadonlyArray<readonly [a: Shape, b: Shape, product: Shape]> = [
  [[5, 7], [7, 3], [5, 3]],
  [[9, 20], [20, 37], [9, 37]],
  [[1, 6], [6, 40], [1, 40]],
  [[33, 4], [4, 1], [33, 1]],
  [[2, 3, 5], [2, 5, 17], [2, 3, 17]],
  [[4, 6], [6], [4]]
]

/** The host computes products by functions of blocks, which take no operations. */
const canFuse = Effect.map(CommandQueue.CommandQueue, ({ info }) => info.traits.language.bodies === "items")

/** What one kernel is on devices is two on the host. */
const kernelsOf = (onDevices: number, onHost: number) => Effect.map(canFuse, (can) => can ? onDevices : onHost)

export const fusedProductLaws = (gpu: GpuLayer): void => {
  layer(gpu, { excludeTestServices: true })("recorded products", (it) => {
    it.effect("compute the operations on them in their kernel, with the bits of single operations", () =>
      Effect.forEach(shapes, ([a, b, shape], seed) =>
        Effect.scoped(Effect.gen(function*() {
          const random = new Random(seed)
          const [x, w] = [yield* upload(a, random), yield* upload(b, random)]
          const bias = yield* upload(shape.slice(-1), random)
          const column = yield* upload(
            [...shape.slice(0, -1).map((_, axis) => axis === 0 ? shape[0]! : 1), 1].slice(-shape.length),
            random
          )
          const other = yield* upload(shape, random)
          const chain = Effect.gen(function*() {
            const product = yield* DeviceArray.matmul(x, w)
            const scaled = yield* DeviceArray.multiply(product, 0.3)
            const above = yield* DeviceArray.add(scaled, bias)
            const active = yield* DeviceArray.maximum(above, 0)
            const shifted = shape.length === 1 ? active : yield* DeviceArray.subtract(active, column)
            return yield* DeviceArray.multiply(shifted, other)
          })
          const eager = yield* DeviceArray.scoped(chain)
          const fused = yield* costOf(DeviceArray.lazy(chain))
          const one = yield* kernelsOf(1, 2)
          deepStrictEqual([fused.kernels, fused.leases], [one, one])
          deepStrictEqual(yield* elementsOf(fused.value), yield* elementsOf(eager), `${x.shape} times ${w.shape}`)
        })), { discard: true }))

    it.effect("round as products in memory do, for all element types", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const random = new Random(2)
        for (const dtype of testedTypes(info.dtypes)) {
          for (const columns of [5, 19]) {
            const [x, w] = [yield* upload([6, 9], random, dtype), yield* upload([9, columns], random, dtype)]
            const chain = Effect.gen(function*() {
              const product = yield* DeviceArray.matmul(x, w)
              const square = yield* DeviceArray.multiply(product, product)
              return yield* DeviceArray.subtract(yield* DeviceArray.add(square, product), product)
            })
            const eager = yield* elementsOf(yield* DeviceArray.scoped(chain))
            deepStrictEqual(yield* elementsOf(yield* DeviceArray.lazy(chain)), eager, `${dtype}, ${columns} columns`)
          }
        }
        const truths = yield* DeviceArray.greater(yield* upload([6, 9], random), 0)
        const both = Effect.flatMap(
          DeviceArray.matmul(truths, yield* DeviceArray.transpose(truths)),
          DeviceArray.logicalNot
        )
        deepStrictEqual(
          yield* DeviceArray.toNested(yield* DeviceArray.lazy(both)),
          yield* DeviceArray.toNested(yield* both)
        )
      }).pipe(Effect.scoped))

    it.effect("of results that are worth larger tiles compute them too", () =>
      Effect.gen(function*() {
        const random = new Random(17)
        const [x, w] = [yield* upload([515, 3], random), yield* upload([3, 513], random)]
        const bias = yield* upload([513], random)
        const chain = Effect.flatMap(DeviceArray.matmul(x, w), DeviceArray.add(bias))
        const { kernels, value } = yield* costOf(DeviceArray.lazy(chain))
        strictEqual(kernels, yield* kernelsOf(1, 2))
        deepStrictEqual(yield* elementsOf(value), yield* elementsOf(yield* chain))
      }).pipe(Effect.scoped))

    it.effect("are stored once where more than one kernel needs them", () =>
      Effect.gen(function*() {
        const random = new Random(3)
        const [x, w] = [yield* upload([4, 6], random), yield* upload([6, 20], random)]
        // both results are of one kernel
        const together = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const product = yield* DeviceArray.matmul(x, w)
          return [product, yield* DeviceArray.abs(product)] as const
        })))
        deepStrictEqual([together.kernels, together.leases], [yield* kernelsOf(1, 2), 2])
        deepStrictEqual(
          yield* elementsOf(together.value[1]),
          (yield* elementsOf(together.value[0])).map((element) => Math.abs(element))
        )
        // the sum and the result
        const summed = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const product = yield* DeviceArray.matmul(x, w)
          const less = yield* DeviceArray.subtract(product, 1)
          const rows = yield* DeviceArray.sum(yield* DeviceArray.abs(product), { axis: 1, keepDims: true })
          return yield* DeviceArray.divide(less, rows)
        })))
        const product = yield* DeviceArray.matmul(x, w)
        const rows = yield* DeviceArray.sum(yield* DeviceArray.abs(product), { axis: 1, keepDims: true })
        const expected = yield* DeviceArray.divide(yield* DeviceArray.subtract(product, 1), rows)
        deepStrictEqual(yield* elementsOf(summed.value), yield* elementsOf(expected))
        // two products: one is stored before the kernel of the other
        const two = Effect.gen(function*() {
          const one = yield* DeviceArray.matmul(x, w)
          const other = yield* DeviceArray.matmul(x, yield* DeviceArray.multiply(w, 2))
          return yield* DeviceArray.maximum(one, yield* DeviceArray.subtract(other, 1))
        })
        const fused = yield* costOf(DeviceArray.lazy(two))
        // the operand, two products, on the host also the maximum
        strictEqual(fused.kernels, yield* kernelsOf(3, 4))
        deepStrictEqual(yield* elementsOf(fused.value), yield* elementsOf(yield* DeviceArray.scoped(two)))
      }).pipe(Effect.scoped))

    it.effect("are broadcast, sliced, reduced and multiplied again from memory", () =>
      Effect.gen(function*() {
        const random = new Random(4)
        const [x, w] = [yield* upload([5, 5], random), yield* upload([5, 5], random)]
        const batch = yield* upload([3, 5, 5], random)
        const chains: ReadonlyArray<DeviceArray.Computed> = [
          Effect.flatMap(DeviceArray.matmul(x, w), DeviceArray.add(batch)),
          Effect.flatMap(DeviceArray.matmul(x, w), DeviceArray.transpose()).pipe(Effect.flatMap(DeviceArray.add(x))),
          Effect.flatMap(DeviceArray.matmul(x, w), DeviceArray.slice([{ stop: 2 }])),
          Effect.flatMap(DeviceArray.matmul(x, w), DeviceArray.add(1)).pipe(Effect.flatMap(DeviceArray.sum())),
          Effect.flatMap(DeviceArray.matmul(x, w), DeviceArray.add(1)).pipe(Effect.flatMap(DeviceArray.cumsum())),
          Effect.flatMap(DeviceArray.matmul(x, w), DeviceArray.add(1)).pipe(Effect.flatMap(DeviceArray.matmul(x))),
          Effect.flatMap(
            DeviceArray.convolve(yield* DeviceArray.reshape(x, [25]), yield* DeviceArray.slice(w, [0])),
            DeviceArray.abs
          )
        ]
        for (const [index, chain] of chains.entries()) {
          const eager = yield* elementsOf(yield* DeviceArray.scoped(chain))
          deepStrictEqual(yield* elementsOf(yield* DeviceArray.lazy(chain)), eager, `chain ${index}`)
        }
      }).pipe(Effect.scoped))

    it.effect("with more operands than a kernel takes are stored first", () =>
      Effect.gen(function*() {
        const random = new Random(6)
        const { info } = yield* CommandQueue.CommandQueue
        const [x, w] = [yield* upload([4, 6], random), yield* upload([6, 20], random)]
        const others = yield* Effect.replicateEffect(
          upload([4, 20], random),
          Math.min(info.limits.maxVectorArguments, 70)
        )
        const chain = Effect.gen(function*() {
          let sum = yield* DeviceArray.matmul(x, w)
          for (const other of others) sum = yield* DeviceArray.add(sum, other)
          return sum
        })
        deepStrictEqual(
          yield* elementsOf(yield* DeviceArray.lazy(chain)),
          yield* elementsOf(yield* DeviceArray.scoped(chain))
        )
      }).pipe(Effect.scoped))

    it.effect("cannot be computed after their operands were written", () =>
      Effect.gen(function*() {
        const random = new Random(5)
        const [x, w] = [yield* upload([3, 4], random), yield* upload([4, 2], random)]
        const before = yield* BufferPool.stats
        const reason = yield* reasonOf(DeviceArray.lazy(Effect.gen(function*() {
          const product = yield* DeviceArray.matmul(x, w)
          yield* DeviceArray.fill(w, 0)
          return yield* DeviceArray.add(product, 1)
        })))
        strictEqual(reason._tag, "InvalidRequest")
        strictEqual(reason.message.startsWith("DeviceArray.matmul: it was recorded before"), true, reason.message)
        strictEqual((yield* BufferPool.stats).activeBlocks, before.activeBlocks)
      }).pipe(Effect.scoped))
  })
}
