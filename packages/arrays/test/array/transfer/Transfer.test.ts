/** Arrays from and to the program's memory, on every backend. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { pipe } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as fc from "fast-check"
import { nextTurn } from "../../../../../test/support/hostPool.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { type GpuLayer, onEveryBackend, property, refuses, strictHost, taken } from "../ArrayBackends.ts"

/** Passes a value that the types forbid. */
const untyped = <A>(value: unknown): A => value as A

type Nested = DeviceArray.NestedNumbers

/** Nested arrays of one shape, with their elements in one row. */
const nested: fc.Arbitrary<readonly [Nested, ReadonlyArray<number>, ReadonlyArray<number>]> = fc.array(
  fc.integer({ min: 0, max: 3 }),
  { maxLength: 4 }
).chain((shape) => {
  const elements = shape.reduce((a, b) => a * b, 1)
  const cut = shape.indexOf(0)
  // an empty nested array does not show its inner lengths
  const told = cut === -1 ? shape : shape.slice(0, cut + 1)
  return fc.array(fc.float({ noNaN: true }), { minLength: elements, maxLength: elements }).map((row) => {
    let at = 0
    const level = (axis: number): Nested =>
      axis === told.length ? row[at++]! : Array.from({ length: told[axis]! }, () => level(axis + 1))
    return [level(0), told, row] as const
  })
})

/** Every type of the device, with a few of its numbers. */
const samples: { readonly [D in DType.DType]: ReadonlyArray<DeviceArray.ElementOf<D>> } = {
  f32: [0, -0, 1.5, -Infinity, NaN, 16777217],
  i32: [0, -1, 2147483647, -2147483648, 7],
  u32: [0, 1, 4294967295, 2147483648, 7],
  f16: [0, -0, 1.5, 65504, NaN, 0.1, -2],
  f64: [0, -0, 1.5, 0.1, Number.MAX_VALUE, NaN, 2 ** 53 + 2],
  i8: [0, -1, 127, -128, 7],
  u8: [0, 1, 255, 128, 7, 9, 11],
  i16: [0, -1, 32767, -32768, 7],
  u16: [0, 1, 65535, 32768, 7],
  i64: [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n],
  u64: [0n, 1n, 2n ** 64n - 1n, 2n ** 63n, 2n ** 53n + 1n],
  bool: [true, false, false, true, true],
  c64: [[0, -0], [1.5, -Infinity], [NaN, 16777217]]
}

const typesOf = (dtypes: ReadonlySet<DType.DType>): ReadonlyArray<DType.DType> =>
  DType.all.filter((dtype) => dtypes.has(dtype))

const sampled = (dtype: DType.DType): DeviceArray.Nested<number> => untyped<DeviceArray.Nested<number>>(samples[dtype])

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect("nested numbers are read as they were, rounded to the type", () =>
      property(nested, ([value, shape, row]) =>
        Effect.gen(function*() {
          const x = yield* DeviceArray.fromHost(value)
          deepStrictEqual([...x.shape], [...shape])
          deepStrictEqual(yield* DeviceArray.toHost(x), Float32Array.from(row))
          deepStrictEqual(yield* DeviceArray.toNested(x), value)
        })))

    it.effect("typed arrays of every type that the device has keep their bits and their type", () =>
      Effect.gen(function*() {
        const dtypes = typesOf((yield* CommandQueue.CommandQueue).info.dtypes)
        for (const dtype of dtypes) {
          const numbers = samples[dtype]
          const listed = yield* DeviceArray.fromHost(sampled(dtype), { dtype })
          const whole = yield* DeviceArray.toHost(listed)
          const rounded = dtype === "f32" || dtype === "f16"
            ? untyped<typeof numbers>([...whole])
            : dtype === "c64"
            ? samples.c64.map((pair) => pair.map(Math.fround))
            : numbers
          deepStrictEqual(untyped<unknown>(yield* DeviceArray.toNested(listed)), untyped<unknown>(rounded))
          // one element in front, so that the view starts inside its buffer
          const itemSize = DType.byteSize(dtype)
          const shifted = DType.viewUnsafe(
            dtype,
            new ArrayBuffer(itemSize * (numbers.length + 1)),
            itemSize,
            numbers.length
          )
          shifted.set(untyped<never>(numbers.flat()))
          const given = dtype === "bool" || dtype === "c64" ? { dtype } : {}
          const x = yield* DeviceArray.fromHost(untyped<Float32Array>(shifted), untyped({ ...given }))
          strictEqual(x.dtype, untyped(dtype))
          deepStrictEqual(x.shape, [numbers.length])
          const back: ArrayBufferView = yield* DeviceArray.toHost(x)
          deepStrictEqual(
            new Uint8Array(back.buffer, back.byteOffset, back.byteLength).length,
            numbers.length * itemSize
          )
          deepStrictEqual(back, shifted as ArrayBufferView)
          deepStrictEqual(whole as ArrayBufferView, shifted as ArrayBufferView)
        }
      }))

    it.effect("parts of every type are read, wherever they start and end", () =>
      Effect.gen(function*() {
        const dtypes = typesOf((yield* CommandQueue.CommandQueue).info.dtypes)
        for (const dtype of dtypes) {
          const numbers = Array.from({ length: 9 }, (_, at) => samples[dtype][at % samples[dtype].length]!)
          const x = yield* DeviceArray.fromHost(untyped<DeviceArray.Nested<number>>(numbers), { dtype })
          const whole = Array.from(untyped<ArrayLike<number>>(yield* DeviceArray.toHost(x)))
          for (let start = 0; start <= 9; start++) {
            for (let stop = start; stop <= 9; stop++) {
              const part = yield* DeviceArray.slice(x, [{ start, stop }])
              const each = dtype === "c64" ? 2 : 1
              const wanted = whole.slice(each * start, each * stop)
              const elements = yield* DeviceArray.toHost(part)
              deepStrictEqual(Array.from(elements as ArrayLike<number>), wanted)
              strictEqual(elements.buffer.byteLength, (stop - start) * DType.byteSize(dtype))
            }
          }
        }
      }))

    it.effect("bytes of every class go to the device, and truth values of bytes are 0 and 1", () =>
      Effect.gen(function*() {
        const { dtypes } = (yield* CommandQueue.CommandQueue).info
        if (!dtypes.has("u8") || !dtypes.has("bool")) {
          yield* refuses("Unsupported", DeviceArray.fromHost(Uint8Array.of(1)), "u8")
          return
        }
        const bytes = yield* DeviceArray.fromHost(Uint8ClampedArray.of(1, 300, 7))
        deepStrictEqual([bytes.dtype, yield* DeviceArray.toHost(bytes)], ["u8", Uint8Array.of(1, 255, 7)])
        const truths = yield* DeviceArray.fromHost(Uint8Array.of(0, 1, 255, 2, 0), { dtype: "bool" })
        deepStrictEqual(yield* DeviceArray.toHost(truths), Uint8Array.of(0, 1, 1, 1, 0))
        deepStrictEqual(yield* DeviceArray.toNested(truths), [false, true, true, true, false])
        const listed = yield* DeviceArray.fromHost([[true], [false]])
        deepStrictEqual([listed.dtype, yield* DeviceArray.toNested(listed)], ["bool", [[true], [false]]])
        strictEqual(yield* DeviceArray.toNumber(yield* DeviceArray.fromHost(true)), true)
      }).pipe(Effect.scoped))

    it.effect("bigints go to the device and back", () =>
      Effect.gen(function*() {
        const { dtypes } = (yield* CommandQueue.CommandQueue).info
        if (!dtypes.has("i64")) return yield* refuses("Unsupported", DeviceArray.fromHost([1n]), "i64")
        const x = yield* DeviceArray.fromHost([2n ** 53n + 1n, -1n])
        deepStrictEqual([x.dtype, yield* DeviceArray.toNested(x)], ["i64", [2n ** 53n + 1n, -1n]])
        const u = yield* DeviceArray.fromHost(BigUint64Array.of(2n ** 64n - 1n))
        strictEqual(yield* DeviceArray.toNumber(u), 2n ** 64n - 1n)
        yield* refuses("InvalidRequest", DeviceArray.fromHost([2n ** 63n]), "9223372036854775808n", "u64")
        yield* refuses("InvalidRequest", DeviceArray.fromHost(2 ** 60, { dtype: "i64" }), "bigint")
        yield* refuses("InvalidRequest", DeviceArray.add(u, 0.5), "0.5", "bigint")
        const most = yield* DeviceArray.minimum(u, 2n ** 63n)
        deepStrictEqual(yield* DeviceArray.toHost(most), BigUint64Array.of(2n ** 63n))
      }).pipe(Effect.scoped))

    it.effect("an array in one piece is read without memory of the device's", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
        const before = yield* taken
        deepStrictEqual(yield* DeviceArray.toNested(x), [[1, 2, 3], [4, 5, 6]])
        strictEqual(yield* DeviceArray.toNumber(yield* DeviceArray.slice(x, [1, 2])), 6)
        strictEqual(yield* taken, before)
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.slice(x, [{}, 1])), [2, 5])
        strictEqual(yield* taken, before + 1)
        strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      }))

    it.effect("the data is copied before the effect completes", () =>
      Effect.gen(function*() {
        const data = Float32Array.of(1, 2, 3)
        const x = yield* DeviceArray.fromHost(data)
        data.fill(9)
        const shape = [3, 1]
        const y = yield* DeviceArray.fromHost(data, { shape })
        shape[0] = 7
        deepStrictEqual(yield* DeviceArray.toNested(x), [1, 2, 3])
        deepStrictEqual(yield* DeviceArray.toNested(y), [[9], [9], [9]])
      }))

    it.effect("a type that the device lacks is refused before anything is taken", () =>
      Effect.gen(function*() {
        const { dtypes } = (yield* CommandQueue.CommandQueue).info
        for (const dtype of ["f16", "f64"] as const) {
          if (dtypes.has(dtype)) continue
          yield* refuses("Unsupported", DeviceArray.fromHost([1], { dtype }), "fromHost", dtype, "f32")
          yield* refuses("Unsupported", DeviceArray.zeros([2], { dtype }), "zeros", dtype)
          yield* refuses("Unsupported", DeviceArray.lazy(DeviceArray.zeros([2], { dtype })), "zeros", dtype)
          yield* refuses("Unsupported", DeviceArray.arange(2, { dtype }), "arange", dtype)
          yield* refuses("Unsupported", DeviceArray.linspace(0, 1, { dtype }), "linspace", dtype)
          yield* refuses("Unsupported", DeviceArray.eye(2, { dtype }), "eye", dtype)
          yield* refuses("Unsupported", DeviceArray.empty([2], { dtype }), "empty", dtype)
        }
        if (dtypes.has("f64")) return
        yield* refuses("Unsupported", DeviceArray.fromHost(Float64Array.of(1)), "f64")
        if (!dtypes.has("i64")) return
        const [x, y] = [yield* DeviceArray.fromHost([4n]), yield* DeviceArray.fromHost([2])]
        for (
          const [name, each] of [
            ["mean", DeviceArray.mean(x)],
            ["add", DeviceArray.add(x, y)],
            ["divide", DeviceArray.divide(x, 2n)],
            ["sqrt", DeviceArray.sqrt(x)]
          ] as const
        ) {
          yield* refuses("Unsupported", each, `DeviceArray.${name}: f64`)
          yield* refuses("Unsupported", DeviceArray.lazy(each), `DeviceArray.${name}: f64`)
        }
      }))

    it.effect("an array over a lease shares it", () =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(26)
        yield* CommandQueue.write(lease, Int32Array.of(1, 2, 3, 4, 5, 6))
        const before = yield* taken
        const whole = yield* DeviceArray.fromLease(lease, { dtype: "i32" })
        deepStrictEqual(yield* DeviceArray.toHost(whole), Int32Array.of(1, 2, 3, 4, 5, 6))
        const square = yield* pipe(lease, DeviceArray.fromLease({ dtype: "i32", offset: 1, shape: [2, 2] }))
        deepStrictEqual(yield* DeviceArray.toNested(square), [[2, 3], [4, 5]])
        const rows = yield* DeviceArray.fromLease(lease, { dtype: "u32", offset: 2, shape: [-1, 2] })
        deepStrictEqual(yield* DeviceArray.toNested(rows), [[3, 4], [5, 6]])
        const none = yield* DeviceArray.fromLease(lease, { offset: 6 })
        deepStrictEqual(yield* DeviceArray.toHost(none), new Float32Array(0))
        strictEqual(yield* taken, before)
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.add(square, square)), [[4, 6], [8, 10]])
      }))
  })
}

describe("Transfer", () => {
  onEveryBackend(laws)
})

/** A yield before the k-th step, at which the fiber is interrupted. */
class YieldAt extends Scheduler.MixedScheduler {
  constructor(k: number) {
    super()
    this.shouldYield = () => k-- === 0
  }
}

const detached = (): Float32Array => {
  const data = Float32Array.of(1, 2)
  structuredClone(data.buffer, { transfer: [data.buffer] })
  return data
}

/** Checks that data and options are refused. */
const no = (data: unknown, options: unknown, ...mentions: ReadonlyArray<string>) =>
  refuses(
    "InvalidRequest",
    DeviceArray.fromHost(untyped<Nested>(data), untyped<DeviceArray.NumbersOptions<"f32">>(options)),
    "fromHost",
    ...mentions
  )

const noRagged = (data: unknown, ...mentions: ReadonlyArray<string>) => no(data, undefined, "ragged", ...mentions)

const noLease = (lease: unknown, options: unknown, ...mentions: ReadonlyArray<string>) =>
  refuses(
    "InvalidRequest",
    DeviceArray.fromLease(untyped(lease), untyped<DeviceArray.FromLeaseOptions<"f32">>(options)),
    "fromLease",
    ...mentions
  )

layer(strictHost)("transfers on the host", (it) => {
  it.effect("refuse to nest more empty rows than the heap holds", () =>
    Effect.gen(function*() {
      for (const rows of [1e9, 2 ** 33]) {
        const error = yield* Effect.flip(DeviceArray.toNested(yield* DeviceArray.zeros([rows, 0])))
        deepStrictEqual([error.reason._tag, error.message.includes(`[${rows}, 0]`)], ["InvalidRequest", true])
      }
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.zeros([2, 0])), [[], []])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.zeros([0, 2 ** 33])), [])
    }).pipe(Effect.scoped))

  it.effect("refuse numbers that a type does not hold, naming the number and its place", () =>
    Effect.gen(function*() {
      yield* no([[1, 2], [3, 4.5]], { dtype: "i32" }, "[1][1]", "4.5", "i32")
      yield* no([0, -1], { dtype: "u32" }, "[1]", "-1", "u32")
      yield* no([NaN], { dtype: "i32" }, "[0]", "NaN")
      yield* no(2 ** 32, { dtype: "u32" }, "4294967296")
      deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.fromHost([-0], { dtype: "i32" })), Int32Array.of(0))
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.fromHost([1e300])), [Infinity])
    }))

  it.effect("refuse lists with holes", () =>
    Effect.gen(function*() {
      const numbers: Array<number> = []
      numbers.length = 3
      yield* no(numbers, undefined, "[0] is undefined", "fill")
      numbers[0] = 5
      yield* no(numbers, { dtype: "i32" }, "[1] is undefined")
      yield* no([1, null], undefined, "[1] is null, no f32", "fill")
      yield* no([null, 1], { dtype: "i32" }, "[0] is null, no i32")
      yield* no(null, undefined, "the value is null")
      yield* no(["1"], undefined, `[0] is "1", no f32`)
      yield* no([{}], { dtype: "u8" }, "[0] is an object, no u8")
      yield* noRagged([[1], null], "[1] is null", "[0] is an array of 1")
      const rows = [[1, 2]]
      rows.length = 2
      yield* noRagged(rows, "[1] is undefined")
    }))

  it.effect("refuse ragged arrays, naming both places", () =>
    Effect.gen(function*() {
      yield* noRagged([[1, 2], [3]], "[1] is an array of 1", "[0] is an array of 2")
      yield* noRagged([[1, 2], 3], "[1] is 3", "[0] is an array of 2")
      yield* noRagged([1, [2]], "[1] is an array of 1", "[0] is a number")
      yield* noRagged([[], [1]], "[1] is an array of 1", "[0] is an array of 0")
      yield* noRagged([[[1], [2]], [[3], [4, 5]]], "[1][1] is an array of 2", "[0][0] is an array of 1")
      const cyclic: Array<unknown> = []
      cyclic.push(cyclic)
      yield* refuses("InvalidRequest", DeviceArray.fromHost(untyped<Nested>(cyclic)), "32")
    }))

  it.effect("refuse typed arrays whose elements no device has, and memory that is not the program's own", () =>
    Effect.gen(function*() {
      yield* no(new DataView(new ArrayBuffer(8)), undefined, "DataView")
      yield* no(new Float32Array(new SharedArrayBuffer(8)), undefined, "SharedArrayBuffer")
      yield* no(detached(), undefined, "detached")
    }))

  it.effect("refuse shapes and types that do not fit the data", () =>
    Effect.gen(function*() {
      const data = Float32Array.of(1, 2, 3, 4, 5, 6)
      yield* no(data, { shape: [4, 2] }, "[4, 2]", "6 elements")
      yield* no(data, { shape: [4, -1] }, "[4, -1]", "6 elements")
      yield* no(data, { dtype: "i32" }, "f32", "i32")
      deepStrictEqual((yield* DeviceArray.fromHost(data, untyped({ dtype: "f32" }))).shape, [6])
      deepStrictEqual((yield* DeviceArray.fromHost(5, { shape: [1, -1] })).shape, [1, 1])
    }))

  it.effect("refuse to read more or less than one element as a number", () =>
    Effect.gen(function*() {
      const pair = yield* DeviceArray.fromHost([[1, 2]])
      const none = yield* DeviceArray.fromHost([])
      yield* refuses("InvalidRequest", DeviceArray.toNumber(pair), "[1, 2]")
      yield* refuses("InvalidRequest", DeviceArray.toNumber(none), "[0]")
      strictEqual(yield* DeviceArray.toNumber(yield* DeviceArray.fromHost([[[5]]])), 5)
    }))

  it.effect("refuse parts outside of leases", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(24)
      yield* noLease(lease, { offset: 7 }, "7", "24 bytes")
      yield* noLease(lease, { offset: -1 }, "-1")
      yield* noLease(lease, { offset: 0.5 }, "0.5")
      yield* noLease(lease, { shape: [7] }, "[7]", "6 elements")
      yield* noLease(lease, { offset: 1, shape: [2, -1] }, "[2, -1]", "5 elements")
      yield* Lease.release(lease)
      const x = yield* DeviceArray.fromLease(lease)
      strictEqual((yield* Effect.flip(DeviceArray.toHost(x))).reason._tag, "Released")
    }))

  it.effect("belong to the device that made them", () =>
    Effect.gen(function*() {
      const other = yield* Layer.build(Layer.fresh(BufferPool.layer().pipe(Layer.provideMerge(Host.layer()))))
      const foreign = yield* Effect.provide(DeviceArray.fromHost([1, 2]), other)
      const x = yield* DeviceArray.fromHost([1, 2])
      const uses: ReadonlyArray<Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>> = [
        DeviceArray.toHost(foreign),
        DeviceArray.add(x, foreign),
        Effect.flatMap(DeviceArray.flip(foreign), DeviceArray.toHost),
        DeviceArray.take(foreign, [0]),
        DeviceArray.take(
          x,
          untyped<DeviceArray.DeviceArray<"i32">>(
            yield* Effect.provide(DeviceArray.zeros([1], { dtype: "i32" }), other)
          )
        )
      ]
      for (const use of uses) strictEqual((yield* Effect.flip(use)).reason._tag, "ForeignDevice")
      strictEqual((yield* BufferPool.stats).activeBlocks, 1)
    }))

  it.effect("fail as the pool does where there is too little memory", () =>
    Effect.gen(function*() {
      const small = yield* Layer.build(Layer.fresh(
        BufferPool.layer({ maxBytes: 64 }).pipe(Layer.provideMerge(Host.layer()))
      ))
      const tagOf = (effect: Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>) =>
        Effect.map(Effect.flip(Effect.provide(effect, small)), ({ reason }) => reason._tag)
      strictEqual(yield* tagOf(DeviceArray.zeros([17])), "LimitExceeded")
      strictEqual(yield* tagOf(DeviceArray.fromHost(new Float32Array(17))), "LimitExceeded")
      yield* Effect.provide(DeviceArray.zeros([10]), small)
      strictEqual(yield* tagOf(DeviceArray.arange(10)), "OutOfMemory")
      strictEqual((yield* Effect.provide(BufferPool.stats, small)).activeBlocks, 1)
    }))

  it.effect("leak nothing wherever they are interrupted", () =>
    Effect.gen(function*() {
      const program = Effect.scoped(Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
        const taken = yield* DeviceArray.take(yield* DeviceArray.transpose(x), [5, 0])
        return yield* DeviceArray.toHost(yield* DeviceArray.add(taken, yield* DeviceArray.arange(2)))
      }))
      const context = yield* Effect.context<BufferPool.BufferPool | CommandQueue.CommandQueue>()
      let interrupted = 0
      for (let k = 0; k < 400; k++) {
        const fiber = Effect.runForkWith(context)(
          Effect.provideService(program, Scheduler.Scheduler, new YieldAt(k))
        )
        yield* Fiber.interrupt(fiber)
        if (Exit.isFailure(yield* Fiber.await(fiber))) interrupted++
        // a driver call that is under way still ends, and its memory becomes a held block
        yield* nextTurn
        const { activeBlocks, pendingBytes } = yield* BufferPool.stats
        deepStrictEqual([activeBlocks, pendingBytes], [0, 0], `interrupted at step ${k}`)
      }
      assert.isAbove(interrupted, 50)
    }))
})

it("typed arrays decide the type of the array", () => {
  assert.isFunction(typed)
})

/** Tests the types of the calls. */
const typed = () =>
  ({
    f32: DeviceArray.fromHost(new Float32Array(1)),
    i32: DeviceArray.fromHost(new Int32Array(1)),
    u32: DeviceArray.fromHost(new Uint32Array(1), { shape: [1, 1] }),
    f64: DeviceArray.fromHost(new Float64Array(1)),
    number: DeviceArray.fromHost(1),
    nested: DeviceArray.fromHost([[1, 2], [3, 4]]),
    asked: DeviceArray.fromHost([1], { dtype: "u32" })
  }) satisfies
    & {
      readonly [K in "f32" | "i32" | "u32" | "f64"]: Made<K>
    }
    & { readonly number: Made<"f32">; readonly nested: Made<"f32">; readonly asked: Made<"u32"> }

type Made<D extends DType.DType> = Effect.Effect<DeviceArray.DeviceArray<D>, GpuError, DeviceArray.ArrayServices>
