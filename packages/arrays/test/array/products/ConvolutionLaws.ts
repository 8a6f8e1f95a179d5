/**
 * The results of convolutions on every backend, against plain loops in 64 bits.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Random } from "../../../../testing/src/Random.ts"
import { testedTypes } from "../TestedTypes.ts"

type Shape = ReadonlyArray<number>

const size = (shape: Shape): number => shape.reduce((product, length) => product * length, 1)

/** An array, and its elements in order. */
interface Known {
  readonly array: DeviceArray.DeviceArray
  readonly elements: ReadonlyArray<number>
}

/** Whole numbers, whose sums floats of 32 bits hold exactly, as an array in one of several layouts. */
const upload = Effect.fnUntraced(
  function*(shape: Shape, random: Random, dtype: "f32" | "f16" | "f64" | "i32" | "u32" = "f32") {
    const least = dtype === "u32" ? 0 : -4
    const elements = Array.from({ length: size(shape) }, () => random.integer(least, 4))
    const plain: DeviceArray.DeviceArray = yield* DeviceArray.fromHost(elements, { dtype, shape })
    switch (random.integer(0, 3)) {
      case 0: {
        // the axes in the opposite order in memory
        const turned = yield* Effect.flatMap(DeviceArray.transpose(plain), DeviceArray.copy)
        return { array: yield* DeviceArray.transpose(turned), elements }
      }
      case 1: {
        // every second element of a larger array, backwards along the last axis
        const wide = yield* Effect.flatMap(
          DeviceArray.flip(plain, shape.length - 1),
          (back) => DeviceArray.repeat(back, 2, { axis: shape.length - 1 })
        )
        return { array: yield* DeviceArray.slice(wide, [...shape.slice(1).map(() => ({})), { step: -2 }]), elements }
      }
      default:
        return { array: plain, elements }
    }
  }
)

interface Options {
  readonly stride: Shape
  readonly padding: ReadonlyArray<readonly [number, number]>
  readonly dilation: Shape
  readonly groups: number
}

const places = (shape: Shape): ReadonlyArray<Shape> =>
  shape.reduce<ReadonlyArray<Shape>>(
    (some, length) => some.flatMap((place) => Array.from({ length }, (_, at) => [...place, at])),
    [[]]
  )

const indexOf = (place: Shape, shape: Shape): number => place.reduce((index, at, axis) => index * shape[axis]! + at, 0)

/** Each filter times each window, element by element. */
const reference = (signal: Known, filters: Known, { dilation, groups, padding, stride }: Options) => {
  const [batch, channels, ...lengths] = signal.array.shape as readonly [number, number, ...Array<number>]
  const [count, ofGroup, ...kernel] = filters.array.shape as readonly [number, number, ...Array<number>]
  const windows = lengths.map((length, axis) =>
    Math.floor(
      (length + padding[axis]![0] + padding[axis]![1] - (kernel[axis]! - 1) * dilation[axis]! - 1) / stride[axis]!
    ) + 1
  )
  const shape = [batch, count, ...windows]
  const inKernel = places(kernel)
  const values = places(shape).map(([image, filter, ...window]) => {
    const group = Math.floor(filter! / (count / groups))
    let sum = 0
    for (let channel = 0; channel < ofGroup; channel++) {
      for (const at of inKernel) {
        const place = at.map((step, axis) => window[axis]! * stride[axis]! + step * dilation[axis]! - padding[axis]![0])
        if (place.some((position, axis) => position < 0 || position >= lengths[axis]!)) continue
        const x = signal
          .elements[indexOf([image!, group * ofGroup + channel, ...place], [batch, channels, ...lengths])]!
        sum += x * filters.elements[indexOf([filter!, channel, ...at], filters.array.shape)]!
      }
    }
    return sum
  })
  return { shape, values }
}

const seeds = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index + 1)

const numbersOf = (array: DeviceArray.DeviceArray) =>
  Effect.map(DeviceArray.toHost(array), (values) => Array.from(values as ArrayLike<number>, (value) => value + 0))

/** Slow drivers do less. */
export const convolutionLaws = (
  gpu: Layer.Layer<BufferPool.BufferPool | CommandQueue.CommandQueue, unknown>,
  options: { readonly trials: number; readonly longest: number }
): void => {
  layer(gpu)("convolutions of arrays", (it) => {
    it.effect("are those of every window, along one to three axes, and leave only their result", () =>
      Effect.forEach(seeds(options.trials), (seed) =>
        Effect.scoped(Effect.gen(function*() {
          const random = new Random(seed)
          const axes = random.pick([1, 2, 2, 2, 3])
          const groups = random.integer(1, 3)
          const ofGroup = random.integer(1, 3)
          const lengths = Array.from({ length: axes }, (_, axis) =>
            random.integer(4, axis === axes - 1 ? options.longest : 7))
          const kernel = lengths.map(() =>
            random.integer(1, 4)
          )
          const dilation = kernel.map((length) => length < 3 ? random.integer(1, 3) : 1)
          const stride = lengths.map(() => random.pick([1, 1, 2, 3]))
          const padding = lengths.map(() => [random.integer(0, 3), random.integer(0, 2)] as const)
          const signal = yield* upload([random.integer(1, 3), groups * ofGroup, ...lengths], random)
          const filters = yield* upload([groups * random.integer(1, 5), ofGroup, ...kernel], random)
          const before = (yield* BufferPool.stats).activeBlocks
          const given = { stride, padding, dilation, groups }
          const result = yield* DeviceArray.conv(signal.array, filters.array, given)
          const name = `seed ${seed}: ${signal.array} and ${filters.array} ${JSON.stringify(given)}`
          strictEqual((yield* BufferPool.stats).activeBlocks, before + 1, name)
          const expected = reference(signal, filters, given)
          deepStrictEqual(result.shape, expected.shape, name)
          deepStrictEqual(yield* numbersOf(result), expected.values, name)
        })), { discard: true }))

    it.effect("with the padding \"same\" have a window for each stride", () =>
      Effect.forEach(
        [[1, 3], [2, 3], [3, 2], [2, 5], [4, 1], [5, 4]] as const,
        ([stride, kernel]) =>
          Effect.scoped(Effect.gen(function*() {
            const random = new Random(stride * 10 + kernel)
            for (const length of [4, 7, 12]) {
              const signal = yield* upload([1, 2, length], random)
              const filters = yield* upload([2, 2, kernel], random)
              const result = yield* DeviceArray.conv(signal.array, filters.array, { stride, padding: "same" })
              const windows = Math.ceil(length / stride)
              const missing = Math.max(0, (windows - 1) * stride + kernel - length)
              const before = Math.floor(missing / 2)
              const expected = reference(signal, filters, {
                stride: [stride],
                padding: [[before, missing - before]],
                dilation: [1],
                groups: 1
              })
              deepStrictEqual(result.shape, [1, 2, windows])
              deepStrictEqual(yield* numbersOf(result), expected.values)
            }
          })),
        { discard: true }
      ))

    it.effect("have the common type of every two that the device has", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const random = new Random(4)
        const given = { stride: [1, 2], padding: [[1, 1], [0, 1]] as const, dilation: [1, 1], groups: 1 }
        for (const first of testedTypes(info.dtypes)) {
          for (const second of testedTypes(info.dtypes)) {
            // Unsigned with signed numbers would wrap.
            if ((first === "u32") !== (second === "u32")) continue
            const signal = yield* upload([2, 2, 5, 18], random, first)
            const filters = yield* upload([3, 2, 3, 2], random, second)
            const result = yield* DeviceArray.conv(signal.array, filters.array, given)
            deepStrictEqual(
              yield* numbersOf(result),
              reference(signal, filters, given).values,
              `${first} and ${second}`
            )
          }
        }
      }).pipe(Effect.scoped))

    it.effect("of complex numbers are those of their parts", () =>
      Effect.gen(function*() {
        const random = new Random(8)
        const real = yield* upload([2, 2, 6], random)
        const imaginary = yield* upload([2, 2, 6], random)
        const filters = yield* upload([3, 2, 2], random)
        const given = { stride: [1], padding: [[1, 1]] as const, dilation: [1], groups: 1 }
        const signal = yield* DeviceArray.complex(real.array, imaginary.array)
        const result = yield* DeviceArray.conv(signal, filters.array, given)
        const parts = [yield* DeviceArray.real(result), yield* DeviceArray.imag(result)] as const
        deepStrictEqual(yield* numbersOf(parts[0]), reference(real, filters, given).values)
        deepStrictEqual(yield* numbersOf(parts[1]), reference(imaginary, filters, given).values)
      }).pipe(Effect.scoped))

    it.effect("of vectors are NumPy's, in each mode and of any lengths", () =>
      Effect.forEach(seeds(options.trials), (seed) =>
        Effect.scoped(Effect.gen(function*() {
          const random = new Random(seed)
          const a = yield* upload([random.integer(1, options.longest)], random)
          const b = yield* upload([random.integer(1, options.longest)], random)
          const [n, m] = [a.elements.length, b.elements.length]
          const full = Array.from({ length: n + m - 1 }, (_, i) =>
            a.elements.reduce((sum, x, k) => sum + x * (b.elements[i - k] ?? 0), 0))
          const least = Math.min(n, m)
          const startOfSame = Math.floor((least - 1) / 2)
          const expected = {
            full,
            same: full.slice(startOfSame, startOfSame + Math.max(n, m)),
            valid: full.slice(least - 1, Math.max(n, m))
          }
          for (const mode of ["full", "same", "valid"] as const) {
            const before = (yield* BufferPool.stats).activeBlocks
            const result = yield* DeviceArray.convolve(a.array, b.array, mode)
            strictEqual((yield* BufferPool.stats).activeBlocks, before + 1)
            deepStrictEqual(yield* numbersOf(result), expected[mode], `seed ${seed}: ${n} and ${m}, ${mode}`)
          }
        })), { discard: true }))

    it.effect("of recorded arrays are those of their elements", () =>
      Effect.gen(function*() {
        const random = new Random(5)
        const signal = yield* upload([1, 2, 9], random)
        const filters = yield* upload([2, 2, 3], random)
        for (const padding of [0, 2]) {
          const result = yield* DeviceArray.lazy(Effect.gen(function*() {
            const twice = yield* DeviceArray.multiply(signal.array, 2)
            return yield* DeviceArray.conv(twice, yield* DeviceArray.negative(filters.array), { padding })
          }))
          const given = { stride: [1], padding: [[padding, padding]] as const, dilation: [1], groups: 1 }
          const expected = reference(signal, filters, given).values.map((value) => -2 * value + 0)
          deepStrictEqual(yield* numbersOf(result), expected)
        }
      }).pipe(Effect.scoped))

    it.effect("of no signals are none, and of no channels are zeros", () =>
      Effect.gen(function*() {
        const none = yield* DeviceArray.conv(yield* DeviceArray.ones([0, 2, 5]), yield* DeviceArray.ones([3, 2, 2]))
        deepStrictEqual(none.shape, [0, 3, 4])
        const zeros = yield* DeviceArray.conv(yield* DeviceArray.ones([1, 0, 3]), yield* DeviceArray.ones([2, 0, 2]), {
          padding: 1
        })
        deepStrictEqual(yield* DeviceArray.toNested(zeros), [[[0, 0, 0, 0], [0, 0, 0, 0]]])
        assert.strictEqual(none.size, 0)
      }).pipe(Effect.scoped))
  })
}
