/**
 * Copies between buffers and fills.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { filled, written } from "../pool/Leases.ts"
import { Random } from "../Random.ts"

const test = inGroup("copies and fills")

/** What a fill stores: the pattern's bytes, the lowest first, again and again. */
export const fillBytes = (
  memory: Uint8Array,
  pattern: number | Uint8Array,
  offset: number = 0,
  size: number = memory.length - offset
): void => {
  const bytes = typeof pattern === "number"
    ? Uint8Array.of(pattern, pattern >>> 8, pattern >>> 16, pattern >>> 24)
    : pattern
  for (let at = 0; at < size; at++) memory[offset + at] = bytes[at % bytes.length]!
}

/** How many bytes a pattern can have. */
export const patternSizes = [1, 2, 4, 8, 16, 32, 64, 128] as const

const copiesToTheEnd = Effect.forEach([1, 2, 3, 4, 5, 6, 7, 21], (size) =>
  Effect.scoped(Effect.gen(function*() {
    const data = new Random(size).bytes(size + 8)
    const from = yield* written(data)
    const to = yield* written(new Uint8Array(size + 4))
    yield* CommandQueue.copy(from, to, { sourceOffset: 8, targetOffset: 4 })
    const expected = new Uint8Array(size + 4)
    expected.set(data.subarray(8), 4)
    Expect.numbers(`the last ${size} bytes`, yield* CommandQueue.read(to, Uint8Array), expected)
  })), { discard: true })

const patterns = [0, 0xffffffff, 0x01020304, 0x80000000, 0x000000ff, 0xdeadbeef]

const wholeFills = Effect.forEach(
  patterns,
  (pattern) =>
    Effect.forEach([4, 8, 12, 64, 4100], (size) =>
      Effect.scoped(Effect.gen(function*() {
        const lease = yield* filled(size, pattern)
        const expected = new Uint8Array(size)
        fillBytes(expected, pattern)
        const what = `${size} bytes of 0x${pattern.toString(16)}`
        Expect.numbers(what, yield* CommandQueue.read(lease, Uint8Array), expected)
      })), { discard: true }),
  { discard: true }
)

/** A pattern of one byte fits any size, and a pattern of two bytes any even size. */
const fillsOfAnySize = Effect.forEach(
  [[7], [1, 2]],
  (bytes) =>
    Effect.forEach(
      [1, 2, 3, 5, 6, 7, 9, 63, 4097, 4098].filter((size) => size % bytes.length === 0),
      (size) =>
        Effect.scoped(Effect.gen(function*() {
          const lease = yield* filled(size, Uint8Array.from(bytes))
          const expected = Uint8Array.from({ length: size }, (_, at) => bytes[at % bytes.length]!)
          Expect.numbers(`${size} bytes of ${bytes.join(", ")}`, yield* CommandQueue.read(lease, Uint8Array), expected)
        })),
      { discard: true }
    ),
  { discard: true }
)

const widePatterns = Effect.forEach(patternSizes, (width) =>
  Effect.scoped(Effect.gen(function*() {
    const random = new Random(width)
    const pattern = random.bytes(width)
    const step = Math.max(4, width)
    for (const size of [step, 3 * step, 7 * step + 3, 4096 + step]) {
      const background = random.bytes(size)
      const lease = yield* BufferPool.allocate(size)
      for (const offset of [0, step, 3 * step].filter((offset) => offset < size)) {
        const rest = size - offset
        for (const length of [step, 2 * step, 5 * step, rest - rest % width]) {
          if (length > rest || (length % 4 !== 0 && length !== rest)) continue
          yield* CommandQueue.write(lease, background)
          yield* CommandQueue.fill(lease, pattern, { offset, size: length })
          const expected = background.slice()
          fillBytes(expected, pattern, offset, length)
          const what = `${length} of ${size} bytes at ${offset} with ${width} repeated`
          Expect.numbers(what, yield* CommandQueue.read(lease, Uint8Array), expected)
        }
      }
    }
  })), { discard: true })

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a copy moves exactly its part", function*() {
    const random = new Random(1)
    const source = random.bytes(23)
    const target = random.bytes(31)
    const parts: ReadonlyArray<readonly [sourceOffset: number, targetOffset: number, size: number]> = [
      [0, 0, 20],
      [4, 8, 12],
      [20, 0, 0],
      [8, 28, 0],
      [0, 16, 12],
      [16, 4, 4]
    ]
    for (const [sourceOffset, targetOffset, size] of parts) {
      const from = yield* written(source)
      const to = yield* written(target)
      yield* CommandQueue.copy(from, to, { sourceOffset, targetOffset, size })
      const expected = target.slice()
      expected.set(source.subarray(sourceOffset, sourceOffset + size), targetOffset)
      const what = `${size} bytes from ${sourceOffset} to ${targetOffset}`
      Expect.numbers(what, yield* CommandQueue.read(to, Uint8Array), expected)
      Expect.numbers(`the source of ${what}`, yield* CommandQueue.read(from, Uint8Array), source)
    }
  }),
  test("a copy to the ends of both buffers has any length", copiesToTheEnd),
  test("a fill repeats its pattern, lowest byte first", wholeFills),
  test("a fill with one or two bytes fits every size that they fit", fillsOfAnySize),
  test("a fill repeats patterns of 1 to 128 bytes", widePatterns),
  /** Two wide patterns may differ although parts of them are the same. */
  test("patterns with the same beginning stay different", function*() {
    const lease = yield* BufferPool.allocate(256)
    const narrow = Uint32Array.of(1, 2, 3, 4)
    const wide = Uint32Array.from({ length: 32 }, (_, at) => at === 31 ? 99 : narrow[at % 4]!)
    for (const pattern of [narrow, wide, narrow, Uint32Array.of(1, 2, 3, 4, 1, 2, 3, 4), Uint32Array.of(1, 2)]) {
      yield* CommandQueue.fill(lease, pattern)
      const expected = Uint32Array.from({ length: 64 }, (_, at) => pattern[at % pattern.length]!)
      Expect.numbers(`${pattern.length} words`, yield* CommandQueue.read(lease, Uint32Array), expected)
    }
  }),
  /** Views at any offset of their `ArrayBuffer`, which the test changes after it recorded the fill. */
  test("a fill takes its pattern from any kind of host data, and copies it", function*() {
    const memory = Uint8Array.from({ length: 32 }, (_, at) => at + 1)
    const lease = yield* BufferPool.allocate(48)
    const kinds = [memory.slice(0, 16).buffer, new DataView(memory.buffer, 3, 8), memory.subarray(5, 7)]
    for (const kind of kinds) {
      const bytes = ArrayBuffer.isView(kind)
        ? new Uint8Array(kind.buffer, kind.byteOffset, kind.byteLength)
        : new Uint8Array(kind)
      const expected = new Uint8Array(48)
      fillBytes(expected, bytes.slice())
      yield* CommandQueue.fill(lease, kind)
      bytes.fill(0xee)
      Expect.numbers(`${bytes.length} bytes`, yield* CommandQueue.read(lease, Uint8Array), expected)
    }
    yield* CommandQueue.fill(lease, Float64Array.of(-1.5))
    Expect.numbers("doubles", yield* CommandQueue.read(lease, Float64Array), new Float64Array(6).fill(-1.5))
    yield* CommandQueue.fill(lease, new Float32Array(4))
    Expect.numbers("zeros", yield* CommandQueue.read(lease, Float32Array), new Float32Array(12))
  }),
  test("a large fill repeats its pattern to the end", { heavy: true }, function*() {
    const whole = yield* scaled(3 * 2 ** 20, 2 ** 14)
    const size = whole - whole % 128 + 7
    const lease = yield* BufferPool.allocate(size)
    const random = new Random(16)
    const parts = [
      [Uint8Array.of(0xa1), 0, size],
      [0x0a0b0c0d, 4096, size - 4096 - 7],
      [random.bytes(16), 8192, size - 8192 - 7],
      [random.bytes(128), 12_288, size - 12_288 - 7]
    ] as const
    const expected = new Uint8Array(size)
    for (const [pattern, offset, length] of parts) {
      yield* CommandQueue.fill(lease, pattern, { offset, size: length })
      fillBytes(expected, pattern, offset, length)
    }
    Expect.numbers(`${size} bytes`, yield* CommandQueue.read(lease, Uint8Array), expected)
  }),
  test("copies and fills need no storage usage", function*() {
    const usage = BufferUsage.copyDst | BufferUsage.copySrc
    const lease = yield* BufferPool.allocate(20, { usage })
    const copy = yield* BufferPool.allocate(20, { usage: usage | BufferUsage.vertex })
    yield* CommandQueue.fill(lease, 0x05060708)
    yield* CommandQueue.copy(lease, copy)
    const expected = new Uint8Array(20)
    fillBytes(expected, 0x05060708)
    Expect.numbers("the copy", yield* CommandQueue.read(copy, Uint8Array), expected)
  })
]
