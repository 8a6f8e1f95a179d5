/**
 * Random sequences of commands against plain byte arrays.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease, Mapping } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { copyAlignment } from "../memory/Alignment.ts"
import { written } from "../pool/Leases.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"
import { fillBytes, patternSizes } from "./CopiesAndFills.ts"
import * as Kernels from "./Kernels.ts"

const test = inGroup("random commands")

/** A lease, and the bytes that it must contain. */
interface Pair {
  readonly lease: PooledBuffer
  readonly bytes: Uint8Array<ArrayBuffer>
}

type Step = Effect.Effect<void, unknown, TestServices>

/** A size, mostly small, with any remainder modulo 4. */
const anySize = (random: Random): number => random.integer(1, random.pick([8, 40, 200, 3000]))

/** A new lease, written at once: what a recycled block contains is not known. */
const makePair = Effect.fnUntraced(function*(random: Random) {
  const bytes = random.bytes(anySize(random))
  const lease = yield* written(bytes)
  return { lease, bytes }
})

/** A range that a device with the alignment `unit` allows. */
const anyRange = (random: Random, size: number, unit: number): { readonly offset: number; readonly length: number } => {
  const offset = unit * random.integer(0, Math.floor(size / unit))
  const units = random.integer(0, Math.floor((size - offset) / unit))
  return { offset, length: random.integer(0, 1) === 0 ? size - offset : unit * units }
}

const write = (random: Random, unit: number, { bytes, lease }: Pair): Step => {
  const { length, offset } = anyRange(random, bytes.length, unit)
  const data = random.bytes(length)
  bytes.set(data, offset)
  return CommandQueue.write(lease, data, { offset })
}

/** Its offset and its size are multiples of the pattern's size. */
const fill = (random: Random, unit: number, { bytes, lease }: Pair): Step => {
  const range = anyRange(random, bytes.length, unit)
  const wide = random.bytes(random.pick(patternSizes))
  const pattern = random.pick([0, 0xffffffff, random.integer(0, 0xffffffff), wide, wide, wide])
  const width = typeof pattern === "number" ? 4 : pattern.length
  const before = range.offset % width
  const [offset, reached] = [range.offset - before, range.length + before]
  const size = reached - (reached % width === 0 ? 0 : reached % Math.max(width, unit))
  fillBytes(bytes, pattern, offset, size)
  return CommandQueue.fill(lease, pattern, { offset, size })
}

const copy = (random: Random, unit: number, source: Pair, target: Pair): Step => {
  const units = (bytes: number): number => unit * random.integer(0, Math.floor(bytes / unit))
  const size = units(Math.min(source.bytes.length, target.bytes.length))
  const sourceOffset = units(source.bytes.length - size)
  const targetOffset = units(target.bytes.length - size)
  target.bytes.set(source.bytes.subarray(sourceOffset, sourceOffset + size), targetOffset)
  return CommandQueue.copy(source.lease, target.lease, { sourceOffset, targetOffset, size })
}

/** Adds one lease to another, over the whole words that both have. */
const dispatch = (random: Random, source: Pair, target: Pair): Step => {
  const count = Math.floor(Math.min(source.bytes.length, target.bytes.length) / 4)
  if (count === 0) return Effect.void
  const a = random.integer(0, 0xffffffff)
  const from = new DataView(source.bytes.buffer)
  const to = new DataView(target.bytes.buffer)
  for (let at = 0; at < count * 4; at += 4) to.setUint32(at, (from.getUint32(at, true) + a) >>> 0, true)
  return CommandQueue.dispatch(Kernels.addTo, { x: source.lease, y: target.lease, a }, count)
}

const read = (random: Random, unit: number, { bytes, lease }: Pair): Step => {
  const { length, offset } = anyRange(random, bytes.length, unit)
  const expected = bytes.slice(offset, offset + length)
  return Effect.map(
    CommandQueue.read(lease, Uint8Array, { offset, length }),
    (found) => Expect.numbers(`${length} of ${bytes.length} bytes at ${offset}`, found, expected)
  )
}

/** Copies rows of one lease into rows of the other, with gaps between the rows where there is room. */
const copyRect = (random: Random, unit: number, source: Pair, target: Pair): Step => {
  const [rows, bytes] = [random.integer(1, 4), unit * random.integer(1, 4)]
  const pitchOf = ({ bytes: { length } }: Pair): number =>
    rows === 1 ? bytes : unit * Math.floor((length - bytes) / (rows - 1) / unit)
  const [from, to] = [pitchOf(source), pitchOf(target)]
  if (Math.min(from, to, source.bytes.length, target.bytes.length) < bytes) return Effect.void
  for (let row = 0; row < rows; row++) {
    target.bytes.set(source.bytes.subarray(row * from, row * from + bytes), row * to)
  }
  return CommandQueue.copyRect(source.lease, target.lease, {
    region: [bytes, rows],
    source: { rowPitch: from },
    target: { rowPitch: to }
  })
}

/** Maps a range and changes some of its bytes. Some of the mappings are ended early, before their scope closes. */
const map = (random: Random, { bytes, lease }: Pair): Step => {
  const { length, offset } = anyRange(random, bytes.length, 4)
  const data = random.bytes(Math.floor(length / 2))
  const early = random.integer(0, 1) === 0
  const expected = bytes.slice(offset, offset + length)
  bytes.set(data, offset)
  return Effect.scoped(Effect.gen(function*() {
    const mapped = yield* Mapping.map(lease, Uint8Array, { offset, shape: [length] })
    Expect.numbers(`${length} of ${bytes.length} mapped bytes at ${offset}`, mapped.data, expected)
    mapped.data.set(data)
    if (early) yield* Mapping.unmap(mapped)
  }))
}

/** Releases a lease and allocates a new one, which probably gets the same block. */
const replace = (random: Random, pairs: Array<Pair>, at: number): Step =>
  Effect.gen(function*() {
    yield* Lease.release(pairs[at]!.lease)
    pairs[at] = yield* makePair(random)
  })

const step = (random: Random, unit: number, pairs: Array<Pair>): Step => {
  const at = random.integer(0, pairs.length - 1)
  const pair = pairs[at]!
  const other = pairs[(at + random.integer(1, pairs.length - 1)) % pairs.length]!
  return random.weighted([
    [2, () => write(random, unit, pair)],
    [1, () => fill(random, unit, pair)],
    [2, () => copy(random, unit, pair, other)],
    [2, () => dispatch(random, pair, other)],
    [1, () => read(random, unit, pair)],
    [1, () => copyRect(random, unit, pair, other)],
    [1, () => map(random, pair)],
    [1, () => replace(random, pairs, at)],
    [1, () => random.integer(0, 3) === 0 ? CommandQueue.finish : CommandQueue.flush]
  ])
}

const sequence = (steps: number) => (random: Random): Step =>
  Effect.scoped(Effect.gen(function*() {
    const pairs: Array<Pair> = []
    const unit = yield* copyAlignment
    for (let at = 0; at < 5; at++) pairs.push(yield* makePair(random))
    for (let at = 0; at < steps; at++) yield* step(random, unit, pairs)
    for (const { bytes, lease } of pairs) {
      Expect.numbers("the end", yield* CommandQueue.read(lease, Uint8Array), bytes)
    }
  }))

const sequences = (steps: number) => Effect.flatMap(scaled(12, 3), (count) => forSeeds(seeds(count), sequence(steps)))

const concurrentPrograms = forSeeds([101, 102, 103, 104, 105, 106], sequence(40), { concurrency: "unbounded" })

export const tests: ReadonlyArray<ConformanceTest> = [
  test("any mix of commands leaves what plain arrays would have", { heavy: true }, sequences(120)),
  test(
    "any mix of commands does so on a pool that frees at once",
    { heavy: true },
    Effect.andThen(BufferPool.stopHolding, sequences(60))
  ),
  test("any mix of commands does so on a pool that clears", { heavy: true, pool: { clear: "acquire" } }, sequences(40)),
  test("programs on several fibers do not disturb each other", concurrentPrograms)
]
