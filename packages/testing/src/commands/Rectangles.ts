/**
 * Rectangles between buffers, and between a buffer and the host, against byte arrays.
 *
 * @internal
 */
import { Allocator, BufferPool, CommandQueue, type CommandQueue as Rectangle, SubRegion } from "effect-gpu-pool"
import type { BufferLike } from "effect-gpu-pool/BufferLike"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { copyAlignment } from "../memory/Alignment.ts"
import { failing, invalid, type Mistake, mistakeTests } from "../memory/BadRequests.ts"
import { filled, written } from "../pool/Leases.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"

const test = inGroup("rectangles")

/** A placement with all of its members, and the bytes of memory that it needs. */
interface Memory {
  readonly origin: readonly [number, number, number]
  readonly rowPitch: number
  readonly slicePitch: number
  readonly size: number
}

type Region = readonly [number, number, number]

/** The offset of a byte of a region, by OpenCL's rule. */
const at = ({ origin, rowPitch, slicePitch }: Memory, byte: number, row: number, slice: number): number =>
  origin[0] + byte + (origin[1] + row) * rowPitch + (origin[2] + slice) * slicePitch

const reference = (
  [bytes, rows, slices]: Region,
  source: Uint8Array,
  from: Memory,
  target: Uint8Array,
  to: Memory
): void => {
  for (let slice = 0; slice < slices; slice++) {
    for (let row = 0; row < rows; row++) {
      for (let byte = 0; byte < bytes; byte++) target[at(to, byte, row, slice)] = source[at(from, byte, row, slice)]!
    }
  }
}

const anyRegion = (random: Random, unit: number): Region => [
  unit * random.integer(1, random.pick([1, 4, 20])),
  random.integer(1, random.pick([1, 5, 9])),
  random.integer(1, random.pick([1, 1, 4]))
]

/** Memory for a region, with every kind of gap; a gap may have 0 bytes. `unit` is the alignment of a device. */
const anyMemory = (random: Random, [bytes, rows, slices]: Region, unit: number): Memory => {
  const gap = (most: number) => random.integer(0, 2) === 0 ? random.integer(0, most) : 0
  const rowPitch = bytes + unit * gap(5)
  const slicePitch = rowPitch * (rows + gap(3))
  const origin = [unit * gap(4), gap(3), gap(2)] as const
  const memory = { origin, rowPitch, slicePitch, size: 0 }
  return { ...memory, size: at(memory, bytes, rows - 1, slices - 1) + random.integer(0, 9) }
}

/** Leaves out members that have their default: packed pitches, and counts of 0 or 1. */
const placement = (random: Random, { origin, rowPitch, slicePitch }: Memory, [bytes, rows]: Region) => {
  const terse = random.integer(0, 1) === 0
  const [byte, row, slice] = origin
  const shortest = slice !== 0 ? origin : row !== 0 ? [byte, row] as const : [byte] as const
  return {
    origin: terse ? shortest : origin,
    rowPitch: terse && rowPitch === bytes ? undefined : rowPitch,
    slicePitch: terse && slicePitch === rowPitch * rows ? random.pick([undefined, 0]) : slicePitch
  } satisfies Rectangle.Placement
}

const shortRegion = ([bytes, rows, slices]: Region): Rectangle.Region =>
  slices !== 1 ? [bytes, rows, slices] : rows !== 1 ? [bytes, rows] : [bytes]

const describe = (region: Region, ...places: ReadonlyArray<Memory>): string => JSON.stringify([region, ...places])

type Trial = (random: Random) => Effect.Effect<void, unknown, TestServices>

const copies: Trial = Effect.fnUntraced(function*(random) {
  const unit = yield* copyAlignment
  const region = anyRegion(random, unit)
  const [from, to] = [anyMemory(random, region, unit), anyMemory(random, region, unit)]
  const [source, target] = [random.bytes(from.size), random.bytes(to.size)]
  const [here, there] = [yield* written(source), yield* written(target)]
  yield* CommandQueue.copyRect(here, there, {
    region: shortRegion(region),
    source: placement(random, from, region),
    target: placement(random, to, region)
  })
  const what = `a copy of ${describe(region, from, to)}`
  Expect.numbers(`the source of ${what}`, yield* CommandQueue.read(here, Uint8Array), source)
  reference(region, source, from, target, to)
  Expect.numbers(what, yield* CommandQueue.read(there, Uint8Array), target)
})

const writes: Trial = Effect.fnUntraced(function*(random) {
  const unit = yield* copyAlignment
  const region = anyRegion(random, unit)
  const [from, to] = [anyMemory(random, region, 1), anyMemory(random, region, unit)]
  const [source, target] = [random.bytes(from.size), random.bytes(to.size)]
  const expected = target.slice()
  reference(region, source, from, expected, to)
  const lease = yield* written(target)
  yield* CommandQueue.writeRect(lease, source, {
    region: shortRegion(region),
    buffer: placement(random, to, region),
    host: placement(random, from, region)
  })
  source.fill(0)
  Expect.numbers(`a write of ${describe(region, from, to)}`, yield* CommandQueue.read(lease, Uint8Array), expected)
})

const reads: Trial = Effect.fnUntraced(function*(random) {
  const unit = yield* copyAlignment
  const region = anyRegion(random, unit)
  const [from, to] = [anyMemory(random, region, unit), anyMemory(random, region, 1)]
  const [source, target] = [random.bytes(from.size), random.bytes(to.size)]
  const lease = yield* written(source)
  const options = { region: shortRegion(region), buffer: placement(random, from, region) }
  const packed = new Uint8Array(region[0] * region[1] * region[2])
  reference(region, source, from, packed, tight(region))
  const what = `a read of ${describe(region, from, to)}`
  Expect.numbers(what, yield* CommandQueue.readRect(lease, Uint8Array, options), packed)
  const expected = target.slice()
  reference(region, source, from, expected, to)
  yield* CommandQueue.readRectInto(lease, target, { ...options, host: placement(random, to, region) })
  Expect.numbers(`${what} into an array`, target, expected)
})

const tight = ([bytes, rows, slices]: Region): Memory => ({
  origin: [0, 0, 0],
  rowPitch: bytes,
  slicePitch: bytes * rows,
  size: bytes * rows * slices
})

const trials = (trial: Trial) =>
  Effect.flatMap(scaled(60, 8), (count) => forSeeds(seeds(count), (random) => Effect.scoped(trial(random))))

/** A sub-region keeps its rows when its parent is freed first. */
const ofOrphans = Effect.gen(function*() {
  const { limits } = yield* DeviceContext.useSync(({ info }) => info)
  const offset = Math.max(64, limits.regionAlignment)
  const scope = yield* Effect.scope
  const data = Uint8Array.from({ length: offset + 64 }, (_, at) => at % 251)
  const region = yield* Effect.scoped(Effect.gen(function*() {
    const parent = yield* Allocator.allocate(data.length)
    yield* CommandQueue.write(parent, data)
    return yield* Scope.provide(SubRegion.make(parent, { offset, size: 64 }), scope)
  }))
  const y = yield* filled(64, 0)
  yield* CommandQueue.copyRect(region, y, { region: [4, 4], source: { origin: [4], rowPitch: 16 } })
  const expected = Array.from(
    { length: 4 },
    (_, row) => [...data.subarray(offset + 4 + row * 16, offset + 8 + row * 16)]
  )
  Expect.numbers("the rows", yield* CommandQueue.read(y, Uint8Array, { length: 16 }), expected.flat())
}).pipe(Effect.provide(Allocator.layerImmediate))

type Call = (buffer: BufferLike) => Effect.Effect<unknown, GpuError, TestServices>

const region = [8, 2] as const

const calls: Readonly<Record<string, (placement: Rectangle.Placement, region: Rectangle.Region) => Call>> = {
  "a copy from": (source, region) => (buffer) =>
    Effect.flatMap(BufferPool.allocate(256), (other) => CommandQueue.copyRect(buffer, other, { region, source })),
  "a copy to": (target, region) => (buffer) =>
    Effect.flatMap(BufferPool.allocate(256), (other) => CommandQueue.copyRect(other, buffer, { region, target })),
  "a write to": (place, region) => (buffer) =>
    CommandQueue.writeRect(buffer, new Uint8Array(256), { region, buffer: place }),
  "a read of": (place, region) => (buffer) => CommandQueue.readRect(buffer, Uint8Array, { region, buffer: place }),
  "a read into an array of": (place, region) => (buffer) =>
    CommandQueue.readRectInto(buffer, new Uint8Array(256), { region, buffer: place })
}

/** The buffer has 62 bytes. */
const wrongPlaces: ReadonlyArray<readonly [name: string, placement: Rectangle.Placement, region?: Rectangle.Region]> = [
  ["with a row pitch shorter than a row", { rowPitch: 4 }],
  ["with a slice pitch shorter than a slice", { rowPitch: 8, slicePitch: 8 }],
  ["with a slice pitch that is no whole number of rows", { rowPitch: 16, slicePitch: 40 }],
  ["past the end", { origin: [0, 7] }],
  ["past the end by its pitch", { rowPitch: 56 }],
  ["across the end of the request, within the block", { origin: [56] }, [8]],
  ["from a negative byte", { origin: [-4] }],
  ["from a fractional row", { origin: [0, 0.5] }],
  ["from NaN", { origin: [NaN] }],
  ["with a pitch of 2^53", { rowPitch: 2 ** 53 }],
  ["of a negative number of rows", {}, [4, -1]],
  ["of more bytes than can be counted", {}, [2 ** 52, 2 ** 52]],
  ["of an empty region list", {}, [] as unknown as Rectangle.Region]
]

const short = BufferPool.allocate(62)

const mistakes: ReadonlyArray<Mistake> = [
  ...Object.entries(calls).flatMap(([name, call]) =>
    wrongPlaces.map(([what, placement, ...given]) =>
      invalid(
        `${name} a rectangle ${what}`,
        Effect.flatMap(short, call(placement, given.length === 0 ? region : given[0]!))
      )
    )
  ),
  ...failing("InvalidRequest", {
    "a rectangular copy within one lease": Effect.flatMap(
      short,
      (lease) => CommandQueue.copyRect(lease, lease, { region: [4], target: { origin: [8] } })
    ),
    "a rectangular write of too little data": Effect.flatMap(
      short,
      (lease) => CommandQueue.writeRect(lease, new Uint8Array(15), { region })
    ),
    "a rectangular read into too small an array": Effect.flatMap(
      short,
      (lease) => CommandQueue.readRectInto(lease, new Uint8Array(16), { region, host: { rowPitch: 9 } })
    ),
    "a rectangular read of half an element": Effect.flatMap(
      short,
      (lease) => CommandQueue.readRect(lease, Float64Array, { region: [4] })
    )
  })
]

export const tests: ReadonlyArray<ConformanceTest> = [
  test("copies between buffers leave what byte arrays would have", { heavy: true }, trials(copies)),
  test("writes from any offset of host data leave what byte arrays would have", { heavy: true }, trials(writes)),
  test("reads to any offset of host data leave what byte arrays would have", { heavy: true }, trials(reads)),
  /** Mixed commands on one queue: each must see the results of those before it. */
  test("rectangles happen in queue order", function*() {
    const x = yield* written(Uint8Array.from({ length: 64 }, (_, at) => at))
    const y = yield* filled(64, 0)
    yield* CommandQueue.copyRect(x, y, {
      region: [8, 4],
      source: { rowPitch: 16 },
      target: { origin: [8], rowPitch: 16 }
    })
    yield* CommandQueue.fill(x, 0x09090909)
    yield* CommandQueue.writeRect(y, new Uint8Array(8).fill(7), {
      region: [4, 2],
      buffer: { origin: [0, 1], rowPitch: 16 }
    })
    yield* CommandQueue.copyRect(x, y, { region: [4], target: { origin: [0, 3], rowPitch: 16 } })
    const expected = new Uint8Array(64)
    for (let row = 0; row < 4; row++) {
      for (let byte = 0; byte < 8; byte++) expected[row * 16 + 8 + byte] = row * 16 + byte
    }
    for (const row of [1, 2]) expected.fill(7, row * 16, row * 16 + 4)
    expected.fill(9, 48, 52)
    Expect.numbers("the mixture", yield* CommandQueue.read(y, Uint8Array), expected)
    const middle = yield* CommandQueue.readRect(y, Uint8Array, {
      region: [4, 2],
      buffer: { origin: [8, 1], rowPitch: 16 }
    })
    Expect.numbers("a part of it", middle, [16, 17, 18, 19, 32, 33, 34, 35])
  }),
  /** The rows of a sub-region count from its first byte. */
  test("rectangles of a sub-region count from its first byte", function*() {
    const { limits } = yield* DeviceContext.useSync(({ info }) => info)
    const offset = Math.max(64, limits.regionAlignment)
    const data = Uint8Array.from({ length: offset + 64 }, (_, at) => at % 251)
    const x = yield* written(data)
    const y = yield* written(data)
    const from = yield* SubRegion.make(x, { offset, size: 64 })
    const to = yield* SubRegion.make(y, { offset, size: 64 })
    const [here, there] = [{ origin: [4], rowPitch: 16 }, { origin: [8, 1], rowPitch: 16 }] as const
    yield* CommandQueue.copyRect(from, to, { region: [8, 3], source: here, target: there })
    yield* CommandQueue.writeRect(to, new Uint8Array(8).fill(255), { region: [4, 2], buffer: { rowPitch: 16 } })
    const expected = data.slice()
    for (let row = 0; row < 3; row++) {
      const start = offset + 4 + row * 16
      expected.set(data.subarray(start, start + 8), offset + 8 + (row + 1) * 16)
    }
    for (const row of [0, 1]) expected.fill(255, offset + row * 16, offset + row * 16 + 4)
    Expect.numbers("the buffer", yield* CommandQueue.read(y, Uint8Array), expected)
    const column = yield* CommandQueue.readRect(to, Uint8Array, {
      region: [4, 4],
      buffer: { origin: [8], rowPitch: 16 }
    })
    const rows = Array.from(
      { length: 4 },
      (_, row) => [...expected.subarray(offset + 8 + row * 16, offset + 12 + row * 16)]
    )
    Expect.numbers("a column", column, rows.flat())
    const past = CommandQueue.copyRect(from, y, { region: [8, 5], source: { rowPitch: 16 } })
    yield* Expect.refused("rows past the region", past)
    const within = CommandQueue.copyRect(from, x, { region: [8] })
    yield* Expect.refused("rows within one buffer", within)
  }),
  test("rectangles of a sub-region whose parent was freed", ofOrphans),
  test("a region without bytes moves nothing", function*() {
    const x = yield* written(new Uint8Array(16).fill(5))
    const y = yield* written(new Uint8Array(16).fill(6))
    for (const region of [[0], [4, 0], [4, 1, 0]] as const) {
      yield* CommandQueue.copyRect(x, y, { region })
      yield* CommandQueue.writeRect(y, new Uint8Array(0), { region })
      Expect.equal("bytes read", (yield* CommandQueue.readRect(x, Uint8Array, { region })).length, 0)
    }
    Expect.numbers("the target", yield* CommandQueue.read(y, Uint8Array), new Uint8Array(16).fill(6))
  }),
  test("a rectangle of many rows is copied whole", { heavy: true }, function*() {
    const rows = yield* scaled(20_000, 500)
    const data = Uint8Array.from({ length: rows * 8 }, (_, at) => at % 251)
    const x = yield* written(data)
    const y = yield* filled(rows * 16, 0)
    yield* CommandQueue.copyRect(x, y, {
      region: [4, rows],
      source: { rowPitch: 8 },
      target: { origin: [4], rowPitch: 16 }
    })
    const found = yield* CommandQueue.readRect(y, Uint8Array, { region: [8, rows], buffer: { rowPitch: 16 } })
    const expected = new Uint8Array(rows * 8)
    for (let row = 0; row < rows; row++) expected.set(data.subarray(row * 8, row * 8 + 4), row * 8 + 4)
    Expect.numbers(`${rows} rows`, found, expected)
  }),
  ...mistakeTests("wrong rectangles", mistakes)
]
