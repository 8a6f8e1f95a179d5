/**
 * Kernels: how many items run, and which arguments a body gets.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { filled, written } from "../pool/Leases.ts"
import * as Kernels from "./Kernels.ts"

const test = inGroup("kernels")

const sentinel = 0xabcdef01

const counts = Effect.forEach(
  [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000],
  (count) =>
    Effect.scoped(Effect.gen(function*() {
      const y = yield* filled((count + 3) * 4, sentinel)
      yield* CommandQueue.dispatch(Kernels.iota, { y, start: 10 }, count)
      const expected = Uint32Array.from({ length: count + 3 }, (_, at) => at < count ? at + 10 : sentinel)
      Expect.numbers(`${count} items`, yield* CommandQueue.read(y, Uint32Array), expected)
    })),
  { discard: true }
)

/** Runs `count` items. Each must run once, and no other item may run. */
const visitAll = Effect.fnUntraced(function*(count: number, workgroupSize: number) {
  const y = yield* filled((count + 1) * 4, 0)
  yield* CommandQueue.dispatch(Kernels.visit(workgroupSize), { y }, count)
  const visited = yield* CommandQueue.read(y, Uint32Array)
  const wrong = visited.findIndex((value, at) => value !== (at < count ? at + 1 : 0))
  if (wrong === -1) return
  const found = `${visited[wrong]} instead of ${wrong < count ? wrong + 1 : 0}`
  Expect.fail(`${count} items in groups of ${workgroupSize}: item ${wrong} left ${found}`)
}, Effect.scoped)

const scalarRows: ReadonlyArray<{ readonly a: number; readonly b: number; readonly c: number; readonly d: number }> = [
  { a: 0, b: 0, c: 0, d: 1 },
  { a: 0xffffffff, b: -1.5, c: -1, d: 0x80000000 },
  { a: 0x80000000, b: 3.4028234663852886e38, c: -0x80000000, d: 0xffffffff },
  { a: 16_777_217, b: 1.1754943508222875e-38, c: 0x7fffffff, d: 0 },
  { a: 1, b: 0.1, c: 16_777_217, d: 4_294_967_293 },
  { a: 2, b: -16_777_216, c: -16_777_217, d: 3 }
]

const vectorLengths = Effect.forEach([4, 10, 40, 99], (size) =>
  Effect.scoped(Effect.gen(function*() {
    const x = yield* BufferPool.allocate(size)
    const y = yield* BufferPool.allocate(30)
    const z = yield* BufferPool.allocate(size + 7)
    yield* CommandQueue.write(x, Float32Array.of(3))
    yield* CommandQueue.write(z, Int32Array.of(4))
    const offset = Math.floor(size / 4) - 1
    yield* CommandQueue.dispatch(Kernels.lengths, { x: { buffer: x, offset }, y, z }, 1)
    const expected = [Math.floor(size / 4), offset, 7, Math.floor((size + 7) / 4), 1, 3, 4]
    Expect.numbers(`lengths of ${size} bytes`, yield* CommandQueue.read(y, Uint32Array, { length: 7 }), expected)
  })), { discard: true })

/** Runs a test of halves where the device has them. Elsewhere its first dispatch must fail with Unsupported. */
const withHalves = <E, R>(
  first: Effect.Effect<void, GpuError, CommandQueue.CommandQueue | R>,
  rest: Effect.Effect<void, E, R>
) =>
  Effect.gen(function*() {
    const { dtypes } = yield* DeviceContext.useSync((device) => device.info)
    if (!dtypes.has("f16")) return yield* Effect.asVoid(Expect.failsWith("f16", first, "Unsupported"))
    yield* first
    yield* rest
  })

/** The bits of 1.5, -2, 0.25, the half nearest to 0.1, and 65504: an odd count of halves. */
const halves = Uint16Array.of(0x3e00, 0xc000, 0x3400, 0x2e66, 0x7bff)
const halvedHalves = Uint16Array.of(0x3a00, 0xbc00, 0x3000, 0x2a66, 0x77ff)

/** Numbers just beside the middle of two halves. Rounding to f32 first would move some of them to the middle. */
const halfScalars: ReadonlyArray<readonly [number, bits: number]> = [
  [0.1, 0x2e66],
  [-65_504, 0xfbff],
  [1 + 2 ** -11, 0x3c00],
  [1 + 2 ** -11 + 2 ** -40, 0x3c01],
  [1 + 3 * 2 ** -11, 0x3c02],
  [1 + 3 * 2 ** -11 - 2 ** -40, 0x3c01]
]

/** The bits of a whole number up to 2048 as a half. */
const halfBits = (value: number): number => {
  const exponent = 31 - Math.clz32(value)
  return value === 0 ? 0 : ((exponent + 15) << 10) | ((value << (10 - exponent)) & 0x3ff)
}

export const tests: ReadonlyArray<ConformanceTest> = [
  test("exactly as many items run as were asked for", counts),
  test("workgroups of every size run each item once", function*() {
    const { limits } = yield* DeviceContext.useSync((device) => device.info)
    for (const size of [1, 7, 32, 256].filter((size) => size <= limits.maxWorkgroupSize)) {
      yield* visitAll(1, size)
      yield* visitAll(size, size)
      yield* visitAll(size + 1, size)
      yield* visitAll(500, size)
    }
  }),
  test(
    "more than 65,535 workgroups run each item once",
    { heavy: true },
    Effect.flatMap(scaled(70_001, 65_537), (count) => visitAll(count, 1))
  ),
  test(
    "more than four million items run once each",
    { heavy: true },
    Effect.flatMap(scaled(4_200_001, 20_001), (count) => visitAll(count, 64))
  ),
  test("scalars of every type arrive exactly, whatever their order", function*() {
    const xs = yield* BufferPool.allocate(8)
    const ys = yield* BufferPool.allocate(8)
    const zs = yield* BufferPool.allocate(8)
    for (const { a, b, c, d } of scalarRows) {
      yield* CommandQueue.dispatch(Kernels.scalars, { d, zs, c, ys, b, xs, a }, 2)
      Expect.numbers("u32", yield* CommandQueue.read(xs, Uint32Array), [a, d])
      Expect.numbers("f32", yield* CommandQueue.read(ys, Float32Array), [Math.fround(b), Math.fround(b)])
      Expect.numbers("i32", yield* CommandQueue.read(zs, Int32Array), [c, c])
    }
  }),
  test("a body sees whole elements of the lease, not of its block", vectorLengths),
  test("a vector with an offset starts where the view does", function*() {
    const items = 12
    const data = Uint32Array.from({ length: items }, (_, at) => at + 100)
    const x = yield* BufferPool.allocate(items * 4)
    const y = yield* BufferPool.allocate(items * 4)
    yield* CommandQueue.write(x, data)
    for (let offset = 0; offset < items; offset++) {
      yield* CommandQueue.fill(y, 0)
      const count = Math.min(3, items - offset)
      const start = items - count
      yield* CommandQueue.dispatch(Kernels.view, { x: { buffer: x, offset }, y: { buffer: y, offset: start } }, count)
      const expected = Uint32Array.from({ length: items }, (_, at) => at < start ? 0 : data[offset + at - start]!)
      Expect.numbers(`the view from ${offset}`, yield* CommandQueue.read(y, Uint32Array), expected)
    }
    yield* CommandQueue.dispatch(Kernels.view, { x, y }, items)
    Expect.numbers("without an offset", yield* CommandQueue.read(y, Uint32Array), data)
  }),
  test("arguments that the body leaves unused do no harm", function*() {
    const unread = yield* BufferPool.allocate(4)
    const unwritten = yield* BufferPool.allocate(8)
    const y = yield* BufferPool.allocate(12)
    yield* CommandQueue.write(unwritten, Int32Array.of(-1, -2))
    yield* CommandQueue.dispatch(Kernels.careless, { unread, ignored: 1, y, unwritten, forgotten: -1 }, 3)
    Expect.numbers("the output", yield* CommandQueue.read(y, Uint32Array), [5, 5, 5])
    Expect.numbers("the rest", yield* CommandQueue.read(unwritten, Int32Array), [-1, -2])
  }),
  test("each recorded dispatch keeps its own scalars", function*() {
    const dispatches = 150
    const y = yield* BufferPool.allocate(dispatches * 4)
    const x = yield* BufferPool.allocate(dispatches * 4)
    const one = yield* BufferPool.allocate(4)
    yield* CommandQueue.fill(x, 0)
    for (let at = 0; at < dispatches; at++) {
      yield* CommandQueue.dispatch(Kernels.iota, { y: one, start: 3 * at }, 1)
      yield* CommandQueue.copy(one, y, { targetOffset: at * 4 })
      yield* CommandQueue.dispatch(Kernels.view, { x: one, y: { buffer: x, offset: at } }, 1)
    }
    const expected = Uint32Array.from({ length: dispatches }, (_, at) => 3 * at)
    Expect.numbers("through copies", yield* CommandQueue.read(y, Uint32Array), expected)
    Expect.numbers("through a kernel", yield* CommandQueue.read(x, Uint32Array), expected)
  }),
  test("a body calls functions of its preamble", function*() {
    const y = yield* BufferPool.allocate(40)
    yield* CommandQueue.dispatch(Kernels.preamble, { y }, 10)
    Expect.numbers("squares", yield* CommandQueue.read(y, Uint32Array), [0, 1, 4, 9, 16, 25, 36, 49, 64, 81])
  }),
  test("buffers that kernels only read or only write work as declared", function*() {
    const { copyDst, copySrc, kernelReadOnly, kernelWriteOnly, storage } = BufferUsage
    const input = yield* BufferPool.allocate(16, { usage: storage | copyDst | kernelReadOnly })
    const output = yield* BufferPool.allocate(16, { usage: storage | copySrc | kernelWriteOnly })
    yield* CommandQueue.write(input, Uint32Array.of(5, 6, 7, 8))
    yield* CommandQueue.dispatch(Kernels.sum, { a: input, b: input, y: output }, 4)
    Expect.numbers("the sums", yield* CommandQueue.read(output, Uint32Array), [10, 12, 14, 16])
  }),
  test("a kernel takes eight vectors", function*() {
    const leases = yield* Effect.forEach(Array.from({ length: 8 }), () => BufferPool.allocate(16))
    const args: Record<string, (typeof leases)[number]> = { y: leases[0]! }
    for (let at = 0; at < 7; at++) {
      args[`x${at}`] = leases[at + 1]!
      yield* CommandQueue.fill(leases[at + 1]!, 1 << at)
    }
    yield* CommandQueue.dispatch(Kernels.wide(8), args, 4)
    Expect.numbers("the sum of seven", yield* CommandQueue.read(leases[0]!, Uint32Array), [127, 127, 127, 127])
  }),
  test("a kernel takes 120 scalars", function*() {
    const scalars = 120
    const y = yield* BufferPool.allocate(scalars * 4)
    const values = Array.from({ length: scalars }, (_, at) => 0xffffffff - at * at)
    const named = Object.fromEntries(values.map((value, at) => [`s${at}`, value]))
    yield* CommandQueue.dispatch(Kernels.manyScalars(scalars), { ...named, y }, 1)
    Expect.numbers("the scalars", yield* CommandQueue.read(y, Uint32Array), values)
  }),
  test("an itemwise kernel reaches the last element, with and without offsets", function*() {
    const x = yield* BufferPool.allocate(43)
    const y = yield* BufferPool.allocate(48)
    yield* CommandQueue.write(x, Uint32Array.from({ length: 10 }, (_, at) => at))
    yield* CommandQueue.fill(y, 0)
    yield* CommandQueue.dispatch(Kernels.addItemwise, { x, y, a: 100 }, 10)
    yield* CommandQueue.dispatch(
      Kernels.addItemwise,
      { x: { buffer: x, offset: 7 }, y: { buffer: y, offset: 9 }, a: 0 },
      3
    )
    const expected = [100, 101, 102, 103, 104, 105, 106, 107, 108, 7, 8, 9]
    Expect.numbers("both parts", yield* CommandQueue.read(y, Uint32Array), expected)
    yield* CommandQueue.dispatch(Kernels.addItemwise, { x: { buffer: x, offset: 9 }, y, a: 0 }, 0)
  }),
  test("doubles are exact, or Unsupported", function*() {
    const { dtypes } = yield* DeviceContext.useSync((device) => device.info)
    const x = yield* BufferPool.allocate(16)
    yield* CommandQueue.write(x, Float64Array.of(Math.PI, 1e300))
    const run = CommandQueue.dispatch(Kernels.halve, { x, by: 2 }, 2)
    if (!dtypes.has("f64")) return yield* Effect.asVoid(Expect.failsWith("f64", run, "Unsupported"))
    yield* run
    Expect.numbers("halves", yield* CommandQueue.read(x, Float64Array), [Math.PI / 2, 5e299])
  }),
  test("halves are exact in vectors of any length, or Unsupported", function*() {
    const x = yield* BufferPool.allocate(10)
    const facts = yield* BufferPool.allocate(8)
    yield* CommandQueue.write(x, halves)
    yield* withHalves(
      CommandQueue.dispatch(Kernels.scaleHalves, { x, by: 0.5, facts }, 5),
      Effect.gen(function*() {
        Expect.numbers("halves", yield* CommandQueue.read(x, Uint16Array), halvedHalves)
        Expect.numbers("length and offset", yield* CommandQueue.read(facts, Uint32Array), [5, 0])
        yield* CommandQueue.dispatch(Kernels.scaleHalves, { x: { buffer: x, offset: 3 }, by: 2, facts }, 2)
        const expected = Uint16Array.of(...halvedHalves.subarray(0, 3), ...halves.subarray(3))
        Expect.numbers("the last two doubled", yield* CommandQueue.read(x, Uint16Array), expected)
        Expect.numbers("length and offset", yield* CommandQueue.read(facts, Uint32Array), [5, 3])
        // An odd count of halves ends within a word, and so do writes and reads up to that end.
        yield* CommandQueue.write(x, Uint16Array.of(0x3c00), { offset: 8 })
        yield* CommandQueue.dispatch(Kernels.scaleHalves, { x: { buffer: x, offset: 4 }, by: 3, facts }, 1)
        const last = yield* CommandQueue.read(x, Uint16Array, { offset: 8, length: 1 })
        Expect.numbers("the last one", last, [0x4200])
      })
    )
  }),
  test("a number becomes the nearest half, or Unsupported", function*() {
    const y = yield* BufferPool.allocate(6)
    yield* withHalves(
      CommandQueue.dispatch(Kernels.fillHalves, { y, a: 1 }, 3),
      Effect.forEach(halfScalars, ([a, bits]) =>
        Effect.gen(function*() {
          yield* CommandQueue.dispatch(Kernels.fillHalves, { y, a }, 3)
          Expect.numbers(`${a}`, yield* CommandQueue.read(y, Uint16Array), [bits, bits, bits])
        }), { discard: true })
    )
  }),
  test("neighbouring halves are written without tearing, or Unsupported", function*() {
    const count = 5001
    const y = yield* BufferPool.allocate(count * 2)
    yield* withHalves(
      CommandQueue.dispatch(Kernels.countHalves(64), { y, step: 1 }, count),
      Effect.forEach([1, 64], (workgroupSize) =>
        Effect.forEach([1, 2, 3], (step) =>
          Effect.gen(function*() {
            yield* CommandQueue.fill(y, Uint16Array.of(0x7bff))
            yield* CommandQueue.dispatch(Kernels.countHalves(workgroupSize), { y, step }, count)
            const expected = Uint16Array.from(
              { length: count },
              (_, at) => at % step === 0 ? halfBits(at % 2048) : 0x7bff
            )
            const what = `every ${step}. half, in groups of ${workgroupSize}`
            Expect.numbers(what, yield* CommandQueue.read(y, Uint16Array), expected)
          })), { discard: true })
    )
  }),
  test("a body that uses halves needs a device with halves", function*() {
    const x = yield* written(Float32Array.of(3, -0.5, 2048))
    yield* withHalves(
      CommandQueue.dispatch(Kernels.throughHalves, { x }, 3),
      Effect.map(CommandQueue.read(x, Float32Array), (found) => Expect.numbers("halves", found, [1.5, -0.25, 1024]))
    )
  })
]
