/**
 * Data to the device and back.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { copyAlignment } from "../memory/Alignment.ts"
import { filled } from "../pool/Leases.ts"
import { Random } from "../Random.ts"

const test = inGroup("transfers")

/** Every remainder modulo 4, and sizes around round numbers. */
const sizes = [...Array.from({ length: 20 }, (_, index) => index + 1), 63, 64, 65, 255, 256, 257, 1000, 4095, 4097]

const sequence = (length: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, at) => (at * 7 + 3) & 0xff)

/** The pairs of offset and length that a device with this alignment allows on a buffer of `size` bytes. */
const accesses = function*(size: number, unit: number): Generator<readonly [offset: number, length: number]> {
  for (let offset = 0; offset <= size; offset += unit) {
    for (let length = 0; offset + length < size; length += unit) yield [offset, length]
    yield [offset, size - offset]
  }
}

const roundTrips = Effect.forEach(sizes, (size) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* BufferPool.allocate(size)
    const data = sequence(size)
    yield* CommandQueue.write(lease, data)
    Expect.numbers(`${size} bytes`, yield* CommandQueue.read(lease, Uint8Array), data)
    const target = new Uint8Array(size)
    yield* CommandQueue.readInto(lease, target)
    Expect.numbers(`${size} bytes into an array`, target, data)
  })), { discard: true })

const writesAtOffsets = Effect.forEach([4, 9, 14, 23, 32], (size) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* BufferPool.allocate(size)
    for (const [offset, length] of accesses(size, yield* copyAlignment)) {
      const expected = sequence(size)
      yield* CommandQueue.write(lease, expected)
      const part = new Uint8Array(length).fill(0xee)
      yield* CommandQueue.write(lease, part, { offset })
      expected.set(part, offset)
      Expect.numbers(`${length} of ${size} bytes at ${offset}`, yield* CommandQueue.read(lease, Uint8Array), expected)
    }
  })), { discard: true })

const readsAtOffsets = Effect.forEach([4, 9, 14, 23, 32], (size) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* BufferPool.allocate(size)
    const data = sequence(size)
    yield* CommandQueue.write(lease, data)
    for (const [offset, length] of accesses(size, yield* copyAlignment)) {
      const what = `${length} of ${size} bytes at ${offset}`
      const expected = data.slice(offset, offset + length)
      Expect.numbers(what, yield* CommandQueue.read(lease, Uint8Array, { offset, length }), expected)
      const target = new Uint8Array(length)
      yield* CommandQueue.readInto(lease, target, { offset })
      Expect.numbers(`${what} into an array`, target, expected)
    }
  })), { discard: true })

const MiB = 1024 * 1024

export const tests: ReadonlyArray<ConformanceTest> = [
  test("every size is read as it was written", roundTrips),
  test("a write changes exactly its part, at every allowed offset and length", writesAtOffsets),
  test("a read returns exactly its part, at every allowed offset and length", readsAtOffsets),
  test("data may be any view, and a read may fill any view", function*() {
    const lease = yield* BufferPool.allocate(12)
    const memory = sequence(32).buffer
    const expected = sequence(32).slice(5, 17)
    yield* CommandQueue.write(lease, new Uint8Array(memory, 5, 12))
    Expect.numbers("a view at an odd byte", yield* CommandQueue.read(lease, Uint8Array), expected)
    yield* CommandQueue.write(lease, new DataView(memory, 5, 12))
    Expect.numbers("a DataView", yield* CommandQueue.read(lease, Uint8Array), expected)
    yield* CommandQueue.write(lease, expected.buffer)
    Expect.numbers("an ArrayBuffer", yield* CommandQueue.read(lease, Uint8Array), expected)
    const target = new Uint8Array(32)
    yield* CommandQueue.readInto(lease, target.subarray(7, 19))
    const around = new Uint8Array(32)
    around.set(expected, 7)
    Expect.numbers("a read into a part leaves the rest", target, around)
    yield* CommandQueue.readInto(lease, new DataView(target.buffer, 0, 12))
    Expect.numbers("a read into a DataView", target.subarray(0, 12), expected)
    const whole = new ArrayBuffer(12)
    yield* CommandQueue.readInto(lease, whole)
    Expect.numbers("a read into an ArrayBuffer", new Uint8Array(whole), expected)
  }),
  test("elements of every type are read bit by bit", function*() {
    const lease = yield* BufferPool.allocate(32)
    const floats = Float32Array.of(0, -0, 1.5, -1.25, 3.4028234663852886e38, 1.1754943508222875e-38, NaN, Infinity)
    yield* CommandQueue.write(lease, floats)
    Expect.numbers("f32", yield* CommandQueue.read(lease, Float32Array), floats)
    Expect.numbers("part", yield* CommandQueue.read(lease, Float32Array, { offset: 8, length: 3 }), floats.slice(2, 5))
    const doubles = Float64Array.of(Math.PI, -0, 5e-324, -Infinity)
    yield* CommandQueue.write(lease, doubles)
    Expect.numbers("f64", yield* CommandQueue.read(lease, Float64Array), doubles)
    const shorts = Uint16Array.from({ length: 16 }, (_, at) => 65_535 - at)
    yield* CommandQueue.write(lease, shorts)
    Expect.numbers("u16", yield* CommandQueue.read(lease, Uint16Array), shorts)
    const wide = BigInt64Array.of(-1n, 2n ** 62n, -(2n ** 63n), 0n)
    yield* CommandQueue.write(lease, wide)
    Expect.same("i64", [...(yield* CommandQueue.read(lease, BigInt64Array))].map(String), [...wide].map(String))
  }),
  test("a write copies its data, and each read has its own memory", function*() {
    const lease = yield* BufferPool.allocate(64)
    const data = sequence(64)
    yield* CommandQueue.write(lease, data)
    data.fill(0)
    const first = yield* CommandQueue.read(lease, Uint8Array)
    Expect.numbers("data changed after the write", first, sequence(64))
    first.fill(1)
    Expect.numbers("a second read", yield* CommandQueue.read(lease, Uint8Array), sequence(64))
  }),
  test("large data is read as it was written", { heavy: true }, function*() {
    const size = (yield* scaled(8 * 2 ** 20, 2 ** 16)) + 5
    const lease = yield* BufferPool.allocate(size)
    const data = new Random(1).bytes(size)
    yield* CommandQueue.write(lease, data)
    Expect.numbers(`${size} bytes`, yield* CommandQueue.read(lease, Uint8Array), data)
  }),
  /** More bytes than the library copies for the device at a time: later writes wait until earlier ones are done. */
  test("writes of more data than is copied at a time all arrive, in order", function*() {
    const random = new Random(11)
    const lease = yield* BufferPool.allocate(2 * MiB)
    const expected = new Uint8Array(2 * MiB)
    yield* CommandQueue.write(lease, expected)
    for (let written = 0, turn = 1; written < 80 * MiB; turn++) {
      const offset = 4 * random.integer(0, MiB / 4)
      const data = new Uint8Array(4 * random.integer(1, MiB / 4)).fill(turn)
      yield* CommandQueue.write(lease, data, { offset })
      expected.set(data, offset)
      written += data.length
    }
    Expect.numbers("what was written last", yield* CommandQueue.read(lease, Uint8Array), expected)
    const writes = Array.from({ length: 80 }, (_, at) => CommandQueue.write(lease, new Uint8Array(MiB).fill(at)))
    yield* Effect.all(writes, { concurrency: "unbounded", discard: true })
    const found = yield* CommandQueue.read(lease, Uint8Array, { length: MiB })
    Expect.isTrue("the whole of one write came last", found.every((byte) => byte === found[0]))
  }),
  test("a hundred reads at the same time each get their own data", function*() {
    const fibers = 100
    const leases = yield* Effect.forEach(
      Array.from({ length: fibers }, (_, index) => index),
      (index) => Effect.tap(BufferPool.allocate(256), (lease) => CommandQueue.fill(lease, index))
    )
    const results = yield* Effect.forEach(leases, (lease) => CommandQueue.read(lease, Uint32Array), {
      concurrency: "unbounded"
    })
    results.forEach((result, index) => Expect.numbers(`read ${index}`, result, new Uint32Array(64).fill(index)))
  }),
  test("an interrupted readInto leaves its target alone", { interrupts: true }, function*() {
    const lease = yield* filled(64, 0x02020202)
    const target = new Uint8Array(64).fill(1)
    const fiber = yield* Effect.forkChild(CommandQueue.readInto(lease, target), { startImmediately: true })
    yield* Fiber.interrupt(fiber)
    const exit = yield* Fiber.await(fiber)
    const expected = Exit.isSuccess(exit) ? 2 : 1
    Expect.numbers("the target after the interruption", target, new Uint8Array(64).fill(expected))
    yield* CommandQueue.finish
    Expect.numbers("the target later", target, new Uint8Array(64).fill(expected))
    Expect.numbers("the buffer", yield* CommandQueue.read(lease, Uint8Array), new Uint8Array(64).fill(2))
  })
]
