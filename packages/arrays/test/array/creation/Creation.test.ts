/** Arrays that are made on the device, on every backend. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KernelCache from "effect-gpu-pool/KernelCache"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { type GpuLayer, onEveryBackend, property, refuses, strictHost, taken } from "../ArrayBackends.ts"
import { testedTypes } from "../TestedTypes.ts"

/** Passes a value that the types forbid. */
const untyped = <A>(value: unknown): A => value as A

const f32 = Math.fround

/** A unit in the last place of an f32. */
const ulp = (value: number): number => 2 ** (Math.max(-126, Math.floor(Math.log2(Math.abs(value) || 1e-38))) - 23)

/** Numbers below the least normal one may be flushed to zero, on the way in and out. */
const flushed = 2 ** -125

const isExact = (found: number, wanted: number): boolean =>
  found === wanted || (found === 0 && Math.abs(wanted) < 2 ** -126)

const numbersOf = <D extends DType.DType>(
  made: Effect.Effect<DeviceArray.DeviceArray<D>, GpuError, DeviceArray.ArrayServices>
) => Effect.map(Effect.flatMap(made, DeviceArray.toHost), (elements) => Array.from(elements as ArrayLike<number>))

/** The elements `start + index * step`, as many as NumPy has. */
const counted = (start: number, stop: number, step: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, Math.ceil((stop - start) / step)) }, (_, index) => start + index * step)

const nested = (array: DeviceArray.Computed) => Effect.flatMap(array, DeviceArray.toNested)

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect("constants of every type that the device has, whatever the number of elements", () =>
      Effect.gen(function*() {
        const dtypes = testedTypes((yield* CommandQueue.CommandQueue).info.dtypes)
        const values = { f32: -0.1, i32: -2147483648, u32: 4294967295, f16: 1.5, f64: 0.1 }
        for (const dtype of dtypes) {
          for (const shape of [[], [0], [1], [2, 3], [5, 0, 2], [3, 1, 3]]) {
            const elements = shape.reduce((a, b) => a * b, 1)
            const all = (value: number) => Array.from({ length: elements }, () => dtype === "f32" ? f32(value) : value)
            deepStrictEqual(yield* numbersOf(DeviceArray.zeros(shape, { dtype })), all(0))
            deepStrictEqual(yield* numbersOf(DeviceArray.ones(shape, { dtype })), all(1))
            const x = yield* DeviceArray.full(shape, values[dtype], { dtype })
            deepStrictEqual(yield* numbersOf(Effect.succeed(x)), all(values[dtype]))
            deepStrictEqual([...x.shape], shape)
            strictEqual(x.dtype, dtype)
            deepStrictEqual((yield* DeviceArray.empty(shape, { dtype })).shape, shape)
          }
        }
      }))

    it.effect("constants keep signed zeros, infinities and NaN", () =>
      Effect.gen(function*() {
        for (const value of [-0, Infinity, -Infinity, NaN, 2 ** -149]) {
          deepStrictEqual(yield* numbersOf(DeviceArray.full([3], value)), [value, value, value])
        }
      }))

    it.effect("a constant is recorded, a sequence is not", () =>
      Effect.gen(function*() {
        const before = yield* taken
        const sum = yield* DeviceArray.lazy(Effect.gen(function*() {
          const ones = yield* DeviceArray.ones([2, 1])
          strictEqual(yield* taken, before)
          // its shape differs from that of the kernel that would compute it, so its index would differ
          const row = yield* DeviceArray.arange(3)
          strictEqual(yield* taken, before + 1)
          return yield* DeviceArray.add(ones, row)
        }))
        strictEqual(yield* taken, before + 2)
        deepStrictEqual(yield* DeviceArray.toNested(sum), [[1, 2, 3], [1, 2, 3]])
        const alone = yield* DeviceArray.lazy(DeviceArray.full([2, 2], 7, { dtype: "i32" }))
        deepStrictEqual(yield* DeviceArray.toNested(alone), [[7, 7], [7, 7]])
      }))

    it.effect("whole numbers at even steps", () =>
      Effect.gen(function*() {
        const dtypes = testedTypes((yield* CommandQueue.CommandQueue).info.dtypes)
        for (const dtype of dtypes) {
          deepStrictEqual(yield* numbersOf(DeviceArray.arange(5, { dtype })), [0, 1, 2, 3, 4])
          deepStrictEqual(yield* numbersOf(DeviceArray.arange(2, 5, { dtype })), [2, 3, 4])
          deepStrictEqual(yield* numbersOf(DeviceArray.arange(9, 0, -4, { dtype })), [9, 5, 1])
          deepStrictEqual(yield* numbersOf(DeviceArray.arange(5, 5, { dtype })), [])
          deepStrictEqual(yield* numbersOf(DeviceArray.arange(5, 0, { dtype })), [])
          deepStrictEqual(yield* numbersOf(DeviceArray.arange(2.5, { dtype })), [0, 1, 2])
        }
        const far = DeviceArray.arange(-2147483648, 2147483647, 4294967294, { dtype: "i32" })
        deepStrictEqual(yield* numbersOf(far), [-2147483648, 2147483646])
        const farDown = DeviceArray.arange(2147483647, -2147483648, -4294967294, { dtype: "i32" })
        deepStrictEqual(yield* numbersOf(farDown), [2147483647, -2147483647])
        for (const dtype of ["i32", "u32"] as const) {
          deepStrictEqual(yield* numbersOf(DeviceArray.arange(0, 5, 1e10, { dtype })), [0])
        }
        const extreme = DeviceArray.arange(-2147483648, 2147483647, 2147483647, { dtype: "i32" })
        deepStrictEqual(yield* numbersOf(extreme), [-2147483648, -1, 2147483646].slice(0, 3))
        const down = DeviceArray.arange(4294967295, -1, -2147483647, { dtype: "u32" })
        deepStrictEqual(yield* numbersOf(down), [4294967295, 2147483648, 1])
      }))

    it.effect("values and steps of every type", () =>
      Effect.gen(function*() {
        const { dtypes } = (yield* CommandQueue.CommandQueue).info
        for (const dtype of DType.all) {
          if (!dtypes.has(dtype)) continue
          const isLong = dtype === "i64" || dtype === "u64"
          const valueOf = (number: number) => isLong ? BigInt(number) : dtype === "bool" ? number === 1 : number
          const as = (number: number) => dtype === "c64" ? [number, 0] as const : valueOf(number)
          for (const length of [1, 2, 3, 4, 5, 9]) {
            const all = (value: number) => Array.from({ length }, () => as(value))
            deepStrictEqual(yield* nested(DeviceArray.zeros([length], { dtype })), all(0), dtype)
            deepStrictEqual(yield* nested(DeviceArray.ones([length], { dtype })), all(1), dtype)
            deepStrictEqual(
              yield* nested(DeviceArray.lazy(DeviceArray.full([length], valueOf(1), { dtype }))),
              all(1),
              dtype
            )
          }
          deepStrictEqual(yield* nested(DeviceArray.arange(2, { dtype })), [as(0), as(1)], dtype)
          deepStrictEqual(yield* nested(DeviceArray.eye(2, { dtype })), [[as(1), as(0)], [as(0), as(1)]], dtype)
          if (dtype === "bool") {
            yield* refuses("InvalidRequest", DeviceArray.arange(3, { dtype }), "bool")
            yield* refuses("InvalidRequest", DeviceArray.full([2], 2, { dtype }), "2", "true or false")
            continue
          }
          deepStrictEqual(yield* nested(DeviceArray.arange(9, 0, -4, { dtype })), [9, 5, 1].map(as), dtype)
        }
        if (!dtypes.has("i64")) return
        const far = 2n ** 53n + 1n
        const up = yield* DeviceArray.arange(far, far + 4n, 3n)
        deepStrictEqual([up.dtype, yield* DeviceArray.toNested(up)], ["i64", [far, far + 3n]])
        const down = yield* DeviceArray.arange(2n ** 64n - 1n, 2n ** 64n - 8n, -3n, { dtype: "u64" })
        deepStrictEqual(yield* DeviceArray.toNested(down), [1n, 4n, 7n].map((less) => 2n ** 64n - less))
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.arange(5n, 0n)), [])
        deepStrictEqual((yield* DeviceArray.full([1], 7n)).dtype, "i64")
        deepStrictEqual((yield* DeviceArray.full([1], true, { dtype: "i64" })).dtype, "i64")
        yield* refuses("InvalidRequest", DeviceArray.arange(2n ** 63n, 2n ** 63n + 2n), "9223372036854775808n", "u64")
        yield* refuses("InvalidRequest", DeviceArray.arange(1n, 2n, 0n), "step is 0n")
        const asked = DeviceArray.arange(3n, { dtype: "i32" as "i64" })
        yield* refuses("InvalidRequest", asked, "bigints", "i32")
      }).pipe(Effect.scoped))

    it.effect("fractions at even steps, as many as NumPy counts, to a few units in the last place", () =>
      property(
        fc.tuple(
          fc.double({ min: -1000, max: 1000, noNaN: true }),
          fc.double({ min: -1000, max: 1000, noNaN: true }),
          fc.double({ min: 0.5, max: 50, noNaN: true })
        ),
        ([start, stop, size]) =>
          Effect.gen(function*() {
            const step = stop < start ? -size : size
            const found = yield* numbersOf(DeviceArray.arange(start, stop, step))
            const wanted = counted(start, stop, step)
            strictEqual(found.length, wanted.length)
            const largest = Math.max(Math.abs(start), Math.abs(stop))
            for (const [index, value] of wanted.entries()) {
              assert.approximately(found[index]!, value, 4 * ulp(Math.max(largest, Math.abs(start - stop))) + flushed)
            }
          }),
        { numRuns: runs(50) }
      ))

    it.effect("one element, however far the next would be", () =>
      Effect.gen(function*() {
        const { dtypes } = (yield* CommandQueue.CommandQueue).info
        for (const dtype of ["f32", "f16", "f64"] as const) {
          if (!dtypes.has(dtype)) continue
          for (const step of [1e39, 1e300, Number.MAX_VALUE]) {
            deepStrictEqual(yield* numbersOf(DeviceArray.arange(0, 1, step, { dtype })), [0])
            deepStrictEqual(yield* numbersOf(DeviceArray.arange(2, 1, -step, { dtype })), [2])
          }
        }
      }))

    it.effect("gives the memory back at once where it is interrupted", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
        const at = yield* DeviceArray.fromHost([1, 0], { dtype: "i32" })
        for (const [name, make] of makers(x, at)) {
          // so that kernels must be compiled, and the interruption comes during that
          yield* KernelCache.clear
          const before = (yield* BufferPool.stats).activeBlocks
          const fiber = yield* Effect.forkChild(make, { startImmediately: true })
          yield* Fiber.interrupt(fiber)
          const made = Exit.isSuccess(yield* Fiber.await(fiber)) ? 1 : 0
          strictEqual((yield* BufferPool.stats).activeBlocks, before + made, name)
        }
      }))

    it.effect("numbers between two ends, which are exact", () =>
      property(
        fc.tuple(
          fc.float({ noNaN: true, noDefaultInfinity: true }),
          fc.float({ noNaN: true, noDefaultInfinity: true }),
          fc.integer({ min: 0, max: 70 }),
          fc.boolean()
        ),
        ([start, stop, count, endpoint]) =>
          Effect.gen(function*() {
            const found = yield* numbersOf(DeviceArray.linspace(start, stop, { count, endpoint }))
            strictEqual(found.length, count)
            if (count > 0) assert.isTrue(isExact(found[0]!, start), `${found[0]}, not ${start}`)
            if (count > 1 && endpoint) {
              assert.isTrue(isExact(found[count - 1]!, stop), `${found[count - 1]}, not ${stop}`)
            }
            const last = endpoint ? count - 1 : count
            const largest = Math.max(Math.abs(start), Math.abs(stop))
            for (const [index, value] of found.entries()) {
              const wanted = last === 0 ? start : start + index * (stop / last - start / last)
              assert.approximately(value, wanted, 4 * ulp(largest) + flushed)
            }
          }),
        { numRuns: runs(80) }
      ))

    it.effect("fifty numbers by default, in every float type", () =>
      Effect.gen(function*() {
        const { dtypes } = (yield* CommandQueue.CommandQueue).info
        strictEqual((yield* DeviceArray.linspace(0, 1)).size, 50)
        for (const dtype of ["f32", "f16", "f64"] as const) {
          if (!dtypes.has(dtype)) continue
          const quarters = DeviceArray.linspace(1, 0, { count: 4, endpoint: false, dtype })
          deepStrictEqual(yield* numbersOf(quarters), [1, 0.75, 0.5, 0.25])
        }
        if (dtypes.has("f64")) {
          const ends = DeviceArray.linspace(-Number.MAX_VALUE, Number.MAX_VALUE, { count: 2, dtype: "f64" })
          deepStrictEqual(yield* numbersOf(ends), [-Number.MAX_VALUE, Number.MAX_VALUE])
        }
        // halves cannot represent numbers up to there
        if (dtypes.has("f16")) {
          const far = yield* numbersOf(DeviceArray.arange(0, 4100, { dtype: "f16" }))
          strictEqual(far[4096], 4096)
        }
      }))

    it.effect("ones on a diagonal", () =>
      property(
        fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 5 }), fc.integer({ min: -6, max: 6 })),
        ([rows, columns, diagonal]) =>
          Effect.gen(function*() {
            const found = yield* numbersOf(DeviceArray.eye(rows, { columns, diagonal, dtype: "i32" }))
            const wanted = Array.from({ length: rows * columns }, (_, index) => {
              const row = Math.floor(index / columns)
              return index - row * columns === row + diagonal ? 1 : 0
            })
            deepStrictEqual(found, wanted)
          }),
        { numRuns: runs(60) }
      ))

    it.effect("arrays like another have its shape, and its type unless one is named", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost(Int32Array.of(1, 2, 3, 4), { shape: [2, 2] })
        const zeros = yield* DeviceArray.zerosLike(x)
        strictEqual(String(zeros), "DeviceArray(i32 [2, 2])")
        deepStrictEqual(yield* DeviceArray.toNested(zeros), [[0, 0], [0, 0]])
        const ones: DeviceArray.DeviceArray<"f32"> = yield* x.pipe(DeviceArray.onesLike({ dtype: "f32" }))
        deepStrictEqual(yield* DeviceArray.toHost(ones), Float32Array.of(1, 1, 1, 1))
        const sevens: DeviceArray.DeviceArray<"i32"> = yield* x.pipe(DeviceArray.fullLike(7))
        deepStrictEqual(yield* DeviceArray.toNested(sevens), [[7, 7], [7, 7]])
        const halves = yield* DeviceArray.fullLike(x, 0.5, { dtype: "f32" })
        deepStrictEqual(yield* DeviceArray.toNested(halves), [[0.5, 0.5], [0.5, 0.5]])
        const last = yield* x.pipe(DeviceArray.fullLike(0.25, { dtype: "f32" }))
        deepStrictEqual(yield* DeviceArray.toNested(last), [[0.25, 0.25], [0.25, 0.25]])
        const recorded = yield* DeviceArray.lazy(Effect.flatMap(DeviceArray.add(x, x), DeviceArray.onesLike()))
        deepStrictEqual(yield* DeviceArray.toNested(recorded), [[1, 1], [1, 1]])
      }))
  })
}

describe("Creation", () => {
  onEveryBackend(laws)
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

/** Everything that fills a fresh array with a command. */
const makers = (
  x: DeviceArray.DeviceArray<"f32">,
  at: DeviceArray.DeviceArray<"i32">
): ReadonlyArray<readonly [string, Made]> => [
  ["zeros", DeviceArray.zeros([2])],
  ["ones", DeviceArray.ones([2])],
  ["full", DeviceArray.full([2], 7)],
  ["fullLike", DeviceArray.fullLike(x, 7)],
  ["arange", DeviceArray.arange(2)],
  ["linspace", DeviceArray.linspace(0, 1)],
  ["eye", DeviceArray.eye(2)],
  ["fromHost", DeviceArray.fromHost([1, 2])],
  ["take by an array", DeviceArray.take(x, at)],
  ["take by numbers", DeviceArray.take(x, [0, 1], { axis: 0 })],
  ["matmul", DeviceArray.matmul(x, x)],
  ["dot", Effect.flatMap(DeviceArray.slice(x, [0]), (row) => DeviceArray.dot(row, row))]
]

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, ...mentions)

const hang = () => Effect.never

const fail = () => Effect.fail(invalidRequest("test", "nothing works", "none"))

layer(strictHost)("creation on the host", (it) => {
  it.effect("refuses what no type holds and what cannot be counted", () =>
    Effect.gen(function*() {
      yield* no(DeviceArray.full([2], 1.5, { dtype: "i32" }), "full", "1.5", "i32")
      yield* no(DeviceArray.full([2], 1.5, { dtype: "i32" }), "or round it")
      yield* no(DeviceArray.full([2], -1, { dtype: "u32" }), "-1", "u32")
      for (const value of [NaN, Infinity, -Infinity]) {
        yield* no(DeviceArray.full([2], value, { dtype: "i32" }), String(value), "Integers have no NaN")
      }
      yield* no(DeviceArray.zeros([2, -1]), "zeros", "[2, -1]")
      yield* no(DeviceArray.arange(0, 1, 0), "arange", "step is 0")
      yield* no(DeviceArray.arange(NaN), "NaN")
      yield* no(DeviceArray.arange(0, Infinity), "Infinity")
      yield* no(DeviceArray.arange(0, 2, 0.5, { dtype: "i32" }), "0.5", "i32")
      yield* no(DeviceArray.arange(-1, 2, { dtype: "u32" }), "-1", "u32")
      yield* no(DeviceArray.arange(0, 2 ** 33, 2 ** 31, { dtype: "i32" }), "i32")
      yield* no(DeviceArray.arange(0, 1e39, 5e38), "from 0 to 5e+38 by steps of 5e+38", "f32")
      yield* no(DeviceArray.arange(-3e38, 3e38, 1e38), "by steps of 1e+38", "f32")
      yield* no(DeviceArray.linspace(0, 1e39), "1e+39", "f32")
      yield* no(DeviceArray.arange(-1e308, 1e308, 1e-300), "Infinity")
      yield* no(DeviceArray.linspace(0, 1, { count: -1 }), "linspace", "-1")
      yield* no(DeviceArray.linspace(0, 1, { count: 1.5 }), "1.5")
      yield* no(DeviceArray.linspace(0, Infinity), "Infinity")
      yield* no(DeviceArray.linspace(0, 1, { dtype: untyped<"f32">("i32") }), "i32")
      yield* no(DeviceArray.eye(-1), "eye", "-1")
      yield* no(DeviceArray.eye(2, { columns: 0.5 }), "0.5")
      yield* no(DeviceArray.eye(2, { diagonal: 0.5 }), "0.5")
      yield* no(DeviceArray.eye(2, { diagonal: 2 ** 31 }), "2147483648")
      strictEqual((yield* Effect.flip(DeviceArray.zeros([2 ** 40]))).reason._tag, "LimitExceeded")
      strictEqual((yield* Effect.flip(DeviceArray.arange(2 ** 40))).reason._tag, "LimitExceeded")
    }))

  it.effect("refuses types that there are not, as NumPy's names", () =>
    Effect.gen(function*() {
      const options = { dtype: untyped<"f32">("float32") }
      const x = yield* DeviceArray.zeros([2])
      const made: ReadonlyArray<readonly [string, DeviceArray.Computed]> = [
        ["zeros", DeviceArray.zeros([2], options)],
        ["ones", DeviceArray.ones([2], options)],
        ["full", DeviceArray.full([2], 1, options)],
        ["empty", DeviceArray.empty([2], options)],
        ["eye", DeviceArray.eye(2, options)],
        ["arange", DeviceArray.arange(2, options)],
        ["sum", DeviceArray.sum(x, { ...options, initial: 1 })]
      ]
      for (const [name, each] of made) {
        yield* refuses("Unsupported", each, name, "float32", "Use one of f32")
        yield* refuses("Unsupported", DeviceArray.lazy(each), name, "float32")
      }
    }))

  it.effect("has no negative zero among the lengths", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(16)
      const made = [
        yield* DeviceArray.zeros([-0, 2]),
        yield* DeviceArray.empty([-0, 2]),
        yield* DeviceArray.eye(-0, { columns: 2 }),
        yield* DeviceArray.fromHost([], { shape: [-0, 2] }),
        yield* DeviceArray.fromLease(lease, { shape: [-0, 2], offset: -0 }),
        yield* DeviceArray.reshape(yield* DeviceArray.zeros([0]), [-0, 2]),
        yield* DeviceArray.broadcastTo(yield* DeviceArray.zeros([1, 2]), [-0, 2])
      ]
      for (const { offset, shape, size } of made) deepStrictEqual([shape, size, offset], [[0, 2], 0, 0])
      deepStrictEqual((yield* DeviceArray.linspace(0, 1, { count: -0 })).shape, [0])
    }))

  it.effect("zeroes memory that someone has used before", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(DeviceArray.full([64], 7))
      deepStrictEqual(new Set(yield* numbersOf(DeviceArray.zeros([64]))), new Set([0]))
    }))

  it.effect("gives the memory back at once when the command fails", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.ones([2, 2])
      const queue = yield* CommandQueue.CommandQueue
      const broken = CommandQueue.CommandQueue.of({ ...queue, dispatch: fail, fill: fail, write: fail })
      const at = yield* DeviceArray.fromHost([1, 0], { dtype: "i32" })
      for (const [name, make] of makers(x, at)) {
        const { reason } = yield* Effect.flip(Effect.provideService(make, CommandQueue.CommandQueue, broken))
        assert.include(reason.message, "nothing works")
        strictEqual((yield* BufferPool.stats).activeBlocks, 2, name)
      }
    }))

  it.effect("gives the memory back at once when it is interrupted in the middle of the command", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.ones([2, 2])
      const at = yield* DeviceArray.fromHost([1, 0], { dtype: "i32" })
      const queue = yield* CommandQueue.CommandQueue
      const hanging = CommandQueue.CommandQueue.of({ ...queue, dispatch: hang, fill: hang, write: hang })
      for (const [name, make] of makers(x, at)) {
        const fiber = yield* Effect.forkChild(
          Effect.provideService(make, CommandQueue.CommandQueue, hanging),
          { startImmediately: true }
        )
        assert.isAbove((yield* BufferPool.stats).activeBlocks, 2, name)
        yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)), name)
        strictEqual((yield* BufferPool.stats).activeBlocks, 2, name)
      }
    }))
})

it("types follow what is asked for", () => {
  assert.isFunction(typed)
})

/** Tests the types of the calls. */
const typed = (x: DeviceArray.DeviceArray<"u32">) =>
  ({
    f32: [DeviceArray.zeros([1]), DeviceArray.arange(3), DeviceArray.linspace(0, 1), DeviceArray.eye(2)],
    u32: [DeviceArray.zerosLike(x), DeviceArray.full([1], 1, { dtype: "u32" }), DeviceArray.fullLike(x, 3)],
    i32: [DeviceArray.arange(1, 3, { dtype: "i32" }), DeviceArray.zerosLike(x, { dtype: "i32" })]
  }) satisfies {
    readonly [D in DType.DType]?: ReadonlyArray<
      Effect.Effect<DeviceArray.DeviceArray<D>, GpuError, DeviceArray.ArrayServices>
    >
  }
