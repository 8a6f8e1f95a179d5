/**
 * The results of products on every backend, against plain loops in 64 bits.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, DType, type GpuError } from "effect-gpu-pool"
import { release } from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Random } from "../../../../testing/src/Random.ts"
import { promote } from "../../../src/array/layout/Promotion.ts"
import { type TestedType, testedTypes } from "../TestedTypes.ts"

type Gpu = BufferPool.BufferPool | CommandQueue.CommandQueue
type Type = TestedType
type Shape = ReadonlyArray<number>

/** An array, and all elements of its memory. */
interface Known {
  readonly array: DeviceArray.DeviceArray
  readonly memory: ReadonlyArray<number>
}

const size = (shape: Shape): number => shape.reduce((product, length) => product * length, 1)

const isInteger = (type: Type): boolean => type === "i32" || type === "u32"

const element = (type: Type, random: Random): number => {
  if (type === "i32") return random.integer(-0x80000000, 0x7fffffff)
  if (type === "u32") return random.integer(0, 0xffffffff)
  const value = random.integer(-1000, 1000) / 999
  return type === "f32"
    ? Math.fround(value)
    : type === "f16"
    ? DType.viewUnsafe("f16", new ArrayBuffer(2), 0, 1).fill(value)[0]!
    : value
}

const upload = Effect.fnUntraced(function*(type: Type, shape: Shape, random: Random) {
  const memory = Array.from({ length: size(shape) }, () => element(type, random))
  const array: DeviceArray.DeviceArray = yield* DeviceArray.fromHost(memory, { dtype: type, shape })
  return { array, memory }
})

/** An array of a shape, laid out in one of many ways. */
const layouts: ReadonlyArray<
  (
    type: Type,
    shape: Shape,
    random: Random
  ) => Effect.Effect<Known, GpuError.GpuError, Gpu | Scope.Scope>
> = [
  upload,
  // the last two axes exchanged
  Effect.fnUntraced(function*(type, shape, random) {
    const { array, memory } = yield* upload(type, swapped(shape), random)
    return { array: yield* DeviceArray.transpose(array, swapped(shape.map((_, axis) => axis))), memory }
  }),
  // a part of a larger array, with steps, reversed along the last axis
  Effect.fnUntraced(function*(type, shape, random) {
    const step = random.integer(1, 2)
    const { array, memory } = yield* upload(type, shape.map((length) => length * step + 3), random)
    const ranges = shape.map((length, axis) =>
      axis === shape.length - 1
        ? { start: length * step, stop: -array.shape[axis]! - 1, step: -step }
        : { start: 2, step }
    )
    const view = yield* DeviceArray.slice(array, ranges)
    const rest = yield* DeviceArray.slice(view, shape.map((length) => ({ stop: length })))
    return { array: rest, memory }
  }),
  // one row, column or matrix, broadcast
  Effect.fnUntraced(function*(type, shape, random) {
    const repeated = random.integer(0, shape.length - 1)
    const { array, memory } = yield* upload(type, shape.map((length, axis) => axis === repeated ? 1 : length), random)
    return { array: yield* DeviceArray.broadcastTo(array, shape), memory }
  })
]

const swapped = (values: ReadonlyArray<number>): ReadonlyArray<number> =>
  values.length < 2 ? values : [...values.slice(0, -2), values.at(-1)!, values.at(-2)!]

/** Where a matrix of a batch begins in the memory. */
const begin = ({ array: { offset, shape, strides } }: Known, place: ReadonlyArray<number>): number => {
  const missing = place.length - (shape.length - 2)
  let position = offset
  for (let axis = missing; axis < place.length; axis++) {
    if (shape[axis - missing] !== 1) position += place[axis]! * strides[axis - missing]!
  }
  return position
}

interface Expected {
  readonly value: number
  /** The sum of the magnitudes of the products. */
  readonly scale: number
}

/** The product of matrices with at least two axes, element by element, in order. */
const reference = (a: Known, b: Known, batch: Shape, type: Type): ReadonlyArray<Expected> => {
  const cast = type === "f32" ? Math.fround : (value: number) => value
  const [rows, depth] = [a.array.shape.at(-2)!, a.array.shape.at(-1)!]
  const columns = b.array.shape.at(-1)!
  const [aRow, aColumn] = [a.array.strides.at(-2)!, a.array.strides.at(-1)!]
  const [bRow, bColumn] = [b.array.strides.at(-2)!, b.array.strides.at(-1)!]
  const result: Array<Expected> = []
  for (let matrix = 0; matrix < size(batch); matrix++) {
    const place = coordinates(matrix, batch)
    const [aAt, bAt] = [begin(a, place), begin(b, place)]
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        let value = 0
        let scale = 0
        for (let p = 0; p < depth; p++) {
          const x = cast(a.memory[aAt + row * aRow + p * aColumn]!)
          const z = cast(b.memory[bAt + p * bRow + column * bColumn]!)
          if (isInteger(type)) value = (value + Math.imul(x, z)) | 0
          else value += x * z
          scale += Math.abs(x * z)
        }
        result.push({ value: type === "u32" ? value >>> 0 : value, scale })
      }
    }
  }
  return result
}

const coordinates = (position: number, shape: Shape): ReadonlyArray<number> => {
  const result: Array<number> = []
  let rest = position
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    result.unshift(rest % shape[axis]!)
    rest = Math.floor(rest / shape[axis]!)
  }
  return result
}

const unit: { readonly [D in Type]: number } = { f32: 2 ** -24, f16: 2 ** -24, f64: 2 ** -53, i32: 0, u32: 0 }

/** Every sum is off by at most a rounding for each product and each addition; halves are rounded once more. */
const assertNear = (
  name: string,
  type: Type,
  depth: number,
  found: ArrayLike<number>,
  expected: ReadonlyArray<Expected>
) => {
  strictEqual(found.length, expected.length, name)
  for (const [index, { scale, value }] of expected.entries()) {
    const bound = (depth + 4) * unit[type] * scale + (type === "f16" ? 2 ** -11 * Math.abs(value) + 2 ** -24 : 0)
    if (Math.abs(found[index]! - value) <= bound) continue
    assert.fail(`${name}: element ${index} is ${found[index]}, not ${value} within ${bound}`)
  }
}

const commonBatch = (a: Shape, b: Shape): Shape => {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, axis) => {
    const [x, y] = [a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1]
    return x === 1 ? y : x
  })
}

/** Multiplies arrays of at least two axes and compares. */
const check = Effect.fnUntraced(function*(name: string, a: Known, b: Known) {
  const type = promote(a.array.dtype, b.array.dtype) as Type
  const batch = commonBatch(a.array.shape.slice(0, -2), b.array.shape.slice(0, -2))
  const product: DeviceArray.DeviceArray = yield* DeviceArray.matmul(a.array, b.array)
  strictEqual(product.dtype, type, name)
  deepStrictEqual(product.shape, [...batch, a.array.shape.at(-2)!, b.array.shape.at(-1)!], name)
  const found = (yield* DeviceArray.toHost(product)) as ArrayLike<number>
  assertNear(name, type, a.array.shape.at(-1)!, found, reference(a, b, batch, type))
})

const seeds = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index + 1)

/** Lengths around the edges of strips, tiles and groups of tiles. */
const edges = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70]

const failure = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) => Effect.flip(effect)

/** Slow drivers do less: kernels of a dozen structures and of all element types are compiled. */
export const productLaws = (
  gpu: Layer.Layer<Gpu, unknown>,
  options: { readonly trials: number; readonly longest: number }
): void => {
  const lengths = edges.filter((length) => length <= options.longest)

  layer(gpu)("products of arrays", (it) => {
    it.effect(
      "are those of matrices of any shape and layout",
      () =>
        Effect.forEach(seeds(options.trials), (seed) =>
          Effect.scoped(Effect.gen(function*() {
            const random = new Random(seed)
            const [rows, depth, columns] = [random.pick(lengths), random.pick(lengths), random.pick(lengths)]
            const a = yield* random.pick(layouts)("f32", [rows, depth], random)
            const b = yield* random.pick(layouts)("f32", [depth, columns], random)
            yield* check(`seed ${seed}: ${a.array} [${a.array.strides}] times ${b.array} [${b.array.strides}]`, a, b)
          })), { discard: true })
    )

    it.effect("are those of matrices of more than one group and copy", () =>
      Effect.forEach(
        [[130, 40, 150], [1, 300, 600], [600, 300, 1], [67, 515, 35]] as const,
        ([rows, depth, columns]) =>
          Effect.scoped(Effect.gen(function*() {
            const shrunk = Math.ceil(depth * options.longest / 70)
            const random = new Random(rows)
            const a = yield* upload("f32", [rows, shrunk], random)
            const b = yield* upload("f32", [shrunk, columns], random)
            yield* check(`${a.array} times ${b.array}`, a, b)
          })),
        { discard: true }
      ))

    it.effect("are those of results that are worth larger tiles", () =>
      Effect.gen(function*() {
        const random = new Random(17)
        const a = yield* upload("f32", [515, 5], random)
        for (const layout of layouts.slice(0, 2)) {
          const b = yield* layout("f32", [5, 513], random)
          yield* check(`${a.array} times ${b.array} [${b.array.strides}]`, a, b)
        }
      }).pipe(Effect.scoped))

    it.effect("are those of second operands whose rows begin at each fourth element, or elsewhere", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const random = new Random(23)
        const take = Effect.fnUntraced(function*(type: Type, [rows, columns]: Shape, start: number, more: number) {
          const a = yield* upload(type, [2, rows!, 6], random)
          const { array, memory } = yield* upload(type, [2, 6, columns! + more], random)
          const ranges = [{}, { start: 5, stop: -7, step: -1 }, { start, stop: start + columns! }]
          const b = { array: yield* DeviceArray.slice(array, ranges), memory }
          yield* check(`${a.array} times ${b.array} [${b.array.strides}] from ${b.array.offset} on`, a, b)
        })
        for (const type of testedTypes(info.dtypes)) yield* take(type, [5, 20], 4, 8)
        for (const [start, more] of [[0, 4], [4, 4], [5, 8], [4, 7]] as const) {
          yield* take("f32", [3, 4], start, more)
          yield* take("f32", [9, 12], start, more)
        }
        yield* take("f32", [200, 260], 8, 12)
      }).pipe(Effect.scoped))

    it.effect(
      "are those of batches, which broadcast",
      () =>
        Effect.forEach(seeds(options.trials), (seed) =>
          Effect.scoped(Effect.gen(function*() {
            const random = new Random(seed)
            const small = lengths.filter((length) => length <= 17)
            const [rows, depth, columns] = [random.pick(small), random.pick(small), random.pick(small)]
            const batch = Array.from({ length: random.integer(1, 3) }, () => random.integer(1, 3))
            const side = () =>
              batch.slice(random.integer(0, batch.length)).map((length) => random.integer(0, 3) === 0 ? 1 : length)
            const a = yield* random.pick(layouts)("f32", [...side(), rows, depth], random)
            const b = yield* random.pick(layouts)("f32", [...side(), depth, columns], random)
            yield* check(`seed ${seed}: ${a.array} [${a.array.strides}] times ${b.array} [${b.array.strides}]`, a, b)
          })), { discard: true })
    )

    it.effect("have the common type of every two that the device has, and integers wrap", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const random = new Random(7)
        for (const first of testedTypes(info.dtypes)) {
          for (const second of testedTypes(info.dtypes)) {
            for (const columns of [3, 19]) {
              const a = yield* upload(first, [5, 9], random)
              const b = yield* upload(second, [9, columns], random)
              yield* check(`${a.array} times ${b.array}`, a, b)
            }
          }
        }
      }).pipe(Effect.scoped))

    it.effect("take vectors as a row and a column, which the result does not have", () =>
      Effect.gen(function*() {
        const random = new Random(3)
        const vector = yield* upload("f32", [6], random)
        const other = yield* upload("f32", [6], random)
        const left = yield* upload("f32", [3, 2, 6], random)
        const right = yield* upload("f32", [3, 6, 2], random)
        const row = { ...vector, array: yield* DeviceArray.reshape(vector.array, [1, 6]) }
        const column = { ...other, array: yield* DeviceArray.reshape(other.array, [6, 1]) }
        const cases: ReadonlyArray<readonly [Known, Known, Shape, Known, Known, Shape]> = [
          [vector, other, [], row, column, []],
          [vector, right, [3, 2], row, right, [3]],
          [left, other, [3, 2], left, column, [3]]
        ]
        for (const [a, b, shape, wideA, wideB, batch] of cases) {
          const product = yield* DeviceArray.matmul(a.array, b.array)
          deepStrictEqual(product.shape, shape)
          const found = (yield* DeviceArray.toHost(product)) as ArrayLike<number>
          assertNear(`${a.array} times ${b.array}`, "f32", 6, found, reference(wideA, wideB, batch, "f32"))
        }
      }).pipe(Effect.scoped))

    it.effect(
      "of two vectors are one number, however long",
      () =>
        Effect.forEach([1, 2, 70, 1000, 70_001], (length) =>
          Effect.scoped(Effect.gen(function*() {
            const random = new Random(length)
            const depth = Math.ceil(length * options.longest / 70)
            const a = yield* random.pick(layouts)("f32", [depth], random)
            const b = yield* upload("f32", [depth], random)
            const product = yield* DeviceArray.dot(a.array, b.array)
            deepStrictEqual(product.shape, [])
            const row = { ...a, array: yield* DeviceArray.expandDims(a.array, 0) }
            const column = { ...b, array: yield* DeviceArray.expandDims(b.array, 1) }
            const found = (yield* DeviceArray.toHost(product)) as ArrayLike<number>
            assertNear(`${a.array} dot ${b.array}`, "f32", depth, found, reference(row, column, [], "f32"))
          })), { discard: true })
    )

    it.effect("of two vectors have their common type, and integers wrap", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const random = new Random(11)
        for (const first of testedTypes(info.dtypes)) {
          for (const second of testedTypes(info.dtypes)) {
            const a = yield* upload(first, [1, 37], random)
            const b = yield* upload(second, [37, 1], random)
            const product: DeviceArray.DeviceArray = yield* DeviceArray.dot(
              yield* DeviceArray.reshape(a.array, [37]),
              yield* DeviceArray.reshape(b.array, [37])
            )
            const type = promote(first, second)
            strictEqual(product.dtype, type)
            const found = (yield* DeviceArray.toHost(product)) as ArrayLike<number>
            assertNear(`${first} dot ${second}`, type, 37, found, reference(a, b, [], type))
          }
        }
      }).pipe(Effect.scoped))

    it.effect("with matrices are matmul under the name of dot", () =>
      Effect.gen(function*() {
        const random = new Random(5)
        const matrix = yield* upload("f32", [3, 4], random)
        const square = yield* upload("f32", [4, 4], random)
        const vector = yield* upload("f32", [4], random)
        for (const [a, b] of [[matrix, square], [matrix, vector], [vector, square]] as const) {
          const dot = yield* DeviceArray.dot(a.array, b.array)
          const product = yield* DeviceArray.matmul(a.array, b.array)
          deepStrictEqual(yield* DeviceArray.toNested(dot), yield* DeviceArray.toNested(product))
        }
      }).pipe(Effect.scoped))

    it.effect("are empty where an axis is, and zeros where the inner axis is", () =>
      Effect.gen(function*() {
        for (const [left, right, shape] of emptyShapes) {
          // the block's old content must not show in the product
          yield* Effect.scoped(
            Effect.flatMap(BufferPool.allocate(4 * size(shape)), (lease) => CommandQueue.fill(lease, 0x7fc00000))
          )
          const a = yield* DeviceArray.ones(left)
          const b = yield* DeviceArray.ones(right)
          const product = yield* DeviceArray.matmul(a, b)
          deepStrictEqual(product.shape, shape)
          deepStrictEqual(yield* DeviceArray.toHost(product), new Float32Array(size(shape)))
        }
        const none = yield* DeviceArray.zeros([0])
        strictEqual(yield* DeviceArray.toNumber(yield* DeviceArray.dot(none, none)), 0)
      }).pipe(Effect.scoped))

    it.effect("are the same numbers each time, whatever the layout", () =>
      Effect.gen(function*() {
        const random = new Random(13)
        const { array: a } = yield* upload("f32", [37, 66], random)
        const { array: b } = yield* upload("f32", [66, 41], random)
        const turned = (x: typeof a) =>
          Effect.flatMap(Effect.flatMap(DeviceArray.transpose(x), DeviceArray.copy), DeviceArray.transpose)
        const product = yield* Effect.flatMap(DeviceArray.matmul(a, b), DeviceArray.toHost)
        for (const [left, right] of [[a, b], [yield* turned(a), b], [a, yield* turned(b)]] as const) {
          deepStrictEqual(yield* Effect.flatMap(DeviceArray.matmul(left, right), DeviceArray.toHost), product)
        }
      }).pipe(Effect.scoped))

    it.effect("take recorded operands, and the same one twice", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
        const product = yield* DeviceArray.lazy(Effect.gen(function*() {
          const more = yield* DeviceArray.add(x, 1)
          const squares = yield* DeviceArray.matmul(more, more)
          return yield* DeviceArray.subtract(squares, yield* DeviceArray.matmul(x, more))
        }))
        deepStrictEqual(yield* DeviceArray.toNested(product), [[6, 8], [6, 8]])
      }).pipe(Effect.scoped))

    it.effect("leave one lease, and none behind when they fail", () =>
      Effect.gen(function*() {
        const a = yield* DeviceArray.ones([4, 4])
        const gone = yield* DeviceArray.ones([4, 4])
        yield* release(gone.lease!)
        const before = yield* BufferPool.stats
        for (const product of [DeviceArray.matmul(a, gone), DeviceArray.matmul(gone)(a), DeviceArray.dot(gone, gone)]) {
          strictEqual((yield* failure(product)).reason._tag, "Released")
        }
        strictEqual((yield* BufferPool.stats).activeBlocks, before.activeBlocks)
        yield* DeviceArray.scoped(DeviceArray.matmul(a, a))
        strictEqual((yield* BufferPool.stats).activeBlocks, before.activeBlocks + 1)
      }).pipe(Effect.scoped))
  })
}

const emptyShapes: ReadonlyArray<readonly [Shape, Shape, Shape]> = [
  [[0, 3], [3, 4], [0, 4]],
  [[2, 3], [3, 0], [2, 0]],
  [[2, 0], [0, 3], [2, 3]],
  [[0], [0], []],
  [[0], [0, 3], [3]],
  [[0, 2, 3], [3, 4], [0, 2, 4]],
  [[0, 2, 0], [0, 4], [0, 2, 4]],
  [[3, 1, 2, 0], [5, 0, 4], [3, 5, 2, 4]]
]
