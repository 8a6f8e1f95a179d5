/**
 * Mappings: buffers as typed arrays of the host.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease, Mapping, SubRegion } from "effect-gpu-pool"
import type { BufferLike } from "effect-gpu-pool/BufferLike"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { filled, written } from "../pool/Leases.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"
import { failing, type Mistake, mistakeTests } from "./BadRequests.ts"

const test = inGroup("mappings")

const types = [Uint8Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array] as const

interface Layout {
  readonly shape: ReadonlyArray<number>
  readonly strides: ReadonlyArray<number>
}

/** Every index of a shape; the last axis changes fastest. */
export const indices = function*(shape: ReadonlyArray<number>): Generator<ReadonlyArray<number>> {
  if (shape.length === 0) return yield []
  for (let index = 0; index < shape[0]!; index++) {
    for (const rest of indices(shape.slice(1))) yield [index, ...rest]
  }
}

/** A layout in which no two indices meet: axes in any order, with gaps or without. */
const anyLayout = (random: Random, gaps: boolean): Layout => {
  const shape = Array.from({ length: random.integer(1, 3) }, () => random.integer(1, 4))
  const strides = shape.map(() => 0)
  const axes = shape.map((_, axis) => axis)
  let stride = gaps ? random.integer(1, 2) : 1
  while (axes.length > 0) {
    const [axis] = axes.splice(random.integer(0, axes.length - 1), 1)
    strides[axis!] = stride
    stride *= shape[axis!]!
    if (gaps) stride += random.integer(0, 2)
  }
  return { shape, strides }
}

const place = ({ strides }: Layout, index: ReadonlyArray<number>): number =>
  index.reduce((at, each, axis) => at + each * strides[axis]!, 0)

const spanOf = (layout: Layout): number => place(layout, layout.shape.map((length) => length - 1)) + 1

/** Adds bytes before and after the mapped ones, so that the range can lie inside the buffer. */
const around = (random: Random, unit: number) => {
  const step = Math.max(4, unit)
  return { offset: step * random.integer(0, 3), after: random.pick([0, 4, 12]) }
}

const bytesOf = (buffer: BufferLike) => CommandQueue.read(buffer, Uint8Array)

/** One array of numbers in a range of a buffer, mapped with every access, against the same array over plain bytes. */
const trial = Effect.fnUntraced(function*(random: Random) {
  const type = random.pick(types)
  const unit = type.BYTES_PER_ELEMENT
  const layout = anyLayout(random, random.integer(0, 1) === 0)
  const { after, offset } = around(random, unit)
  const span = spanOf(layout)
  // the mapped range ends at a multiple of 4 or with the buffer
  const size = offset + span * unit + (span * unit % 4 === 0 ? after : 0)
  const expected = random.bytes(size)
  const lease = yield* written(expected)
  const numbers = new type(expected.buffer, offset, span)
  const what = `${type.name} ${JSON.stringify({ ...layout, offset, size })}`
  yield* Effect.scoped(Effect.gen(function*() {
    const mapped = yield* Mapping.map<InstanceType<typeof type>>(lease, type, { ...layout, offset, access: "read" })
    Expect.equal(`elements of ${what}`, mapped.data.length, span)
    for (const index of indices(layout.shape)) {
      Expect.equal(`${what} [${index.join()}]`, mapped.getUnsafe(...index), numbers[place(layout, index)])
    }
  }))
  yield* Effect.scoped(Effect.gen(function*() {
    const access = random.pick(["write", "readwrite"] as const)
    const mapped = yield* Mapping.map<InstanceType<typeof type>>(lease, type, { ...layout, offset, access })
    for (const index of indices(layout.shape)) {
      const value = random.integer(0, 255)
      mapped.setUnsafe(value, ...index)
      numbers[place(layout, index)] = value
    }
  }))
  Expect.numbers(`${what} after stores`, yield* bytesOf(lease), expected)
})

const trials = Effect.flatMap(
  scaled(80, 8),
  (count) => forSeeds(seeds(count), (random) => Effect.scoped(trial(random)))
)

const expectEnded = (what: string, mapped: Mapping.MappedArray<Uint32Array<ArrayBuffer>>) =>
  Effect.gen(function*() {
    Expect.equal(`elements of ${what}`, mapped.data.length, 0)
    mapped.data[0] = 1
    Expect.equal(`a stray store to ${what}`, mapped.data[0], undefined)
    yield* Expect.failsWith(`get of ${what}`, Expect.thrownBy(() => mapped.getUnsafe(0)), "Released")
    yield* Expect.failsWith(`set of ${what}`, Expect.thrownBy(() => mapped.setUnsafe(1, 0)), "Released")
    yield* Expect.failsWith(`unmap of ${what}`, Mapping.unmap(mapped), "Released")
  })

const short = BufferPool.allocate(62)

const wrong = (
  what: string,
  type: CommandQueue.ElementType<Mapping.Elements>,
  options: Mapping.MapOptions
): Mistake => [what, "InvalidRequest", Effect.flatMap(short, (lease) => Mapping.map(lease, type, options))]

/** In a buffer of 62 bytes. */
const mistakes: ReadonlyArray<Mistake> = [
  wrong("a mapping past the end", Uint8Array, { shape: [63] }),
  wrong("a mapping from past the end", Uint8Array, { offset: 64 }),
  wrong("a mapping across the end", Uint32Array, { shape: [16] }),
  wrong("a mapping past the end by its strides", Uint8Array, { shape: [4, 4], strides: [20, 1] }),
  wrong("a mapping that begins within a word", Uint8Array, { offset: 2, shape: [4] }),
  wrong("a mapping that ends within a word", Uint8Array, { shape: [6] }),
  wrong("a mapping that begins within an element", Float64Array, { offset: 4, shape: [1] }),
  wrong("a mapping to the end, within an element", Uint32Array, {}),
  wrong("a mapping with a negative length", Uint8Array, { shape: [-4] }),
  wrong("a mapping with a fractional length", Uint8Array, { shape: [1.5] }),
  wrong("a mapping with NaN elements", Uint8Array, { shape: [NaN] }),
  wrong("a mapping with a negative stride", Uint8Array, { shape: [4], strides: [-1] }),
  wrong("a mapping with too few strides", Uint8Array, { shape: [4, 4], strides: [1] }),
  ...failing("InvalidRequest", {
    "an element outside the shape": Effect.flatMap(
      Effect.flatMap(short, (lease) => Mapping.map(lease, Uint8Array, { shape: [2, 2] })),
      (mapped) => Expect.thrownBy(() => mapped.getUnsafe(0, 2))
    ),
    "an element with too few indices": Effect.flatMap(
      Effect.flatMap(short, (lease) => Mapping.map(lease, Uint8Array, { shape: [2, 2] })),
      (mapped) => Expect.thrownBy(() => mapped.setUnsafe(1, 0))
    )
  })
]

export const tests: ReadonlyArray<ConformanceTest> = [
  test("mapped arrays show and store what plain arrays would", { heavy: true }, trials),
  test("a shape has the order of rows or of columns", function*() {
    const lease = yield* written(Uint8Array.from({ length: 24 }, (_, at) => at))
    const rows = yield* Mapping.map(lease, Uint8Array, { access: "read", shape: [2, 3, 4] })
    Expect.same("strides by rows", rows.strides, [12, 4, 1])
    Expect.equal("an element by rows", rows.getUnsafe(1, 2, 3), 23)
    const columns = yield* Mapping.map(lease, Uint8Array, { access: "read", shape: [2, 3, 4], order: "F" })
    Expect.same("strides by columns", columns.strides, [1, 2, 6])
    Expect.equal("an element by columns", columns.getUnsafe(1, 2, 2), 17)
    const flat = yield* Mapping.map(lease, Uint32Array, { access: "read", offset: 8 })
    Expect.same("the shape of what is left", flat.shape, [4])
    Expect.equal("its type", flat.dtype, "u32")
    const one = yield* Mapping.map(lease, Uint32Array, { access: "read", shape: [] })
    Expect.equal("an array without axes", one.getUnsafe(), 0x03020100)
  }),
  /** A mapping sees the results of commands recorded before it, and commands recorded after it see what it stored. */
  test("a mapping has its place in queue order", function*() {
    const x = yield* BufferPool.allocate(64)
    const y = yield* BufferPool.allocate(64)
    yield* CommandQueue.dispatch(Kernels.iota, { y: x, start: 100 }, 16)
    yield* Effect.scoped(Effect.gen(function*() {
      const mapped = yield* Mapping.map(x, Uint32Array)
      Expect.equal("what a kernel left", mapped.data[3], 103)
      mapped.data[3] = 7
    }))
    yield* CommandQueue.fill(y, 0)
    yield* CommandQueue.dispatch(Kernels.addTo, { x, y, a: 1 }, 16)
    Expect.equal("what a kernel found", (yield* CommandQueue.read(y, Uint32Array))[3], 8)
  }),
  test("a mapping ends with its scope, by `unmap`, or with its lease", function*() {
    const x = yield* filled(64, 1)
    const scoped = yield* Effect.scoped(Mapping.map(x, Uint32Array))
    yield* expectEnded("a closed scope's mapping", scoped)
    const unmapped = yield* Mapping.map(x, Uint32Array)
    unmapped.data[1] = 11
    yield* Mapping.unmap(unmapped)
    yield* expectEnded("an ended mapping", unmapped)
    Expect.equal("its store", (yield* CommandQueue.read(x, Uint32Array))[1], 11)
    const released = yield* Mapping.map(x, Uint32Array)
    yield* Lease.release(x)
    yield* expectEnded("a released lease's mapping", released)
  }),
  /** The lease ends before the mapping's scope. The block must get the stored bytes before its next owner uses it. */
  test("a mapping that ends with its lease changes nothing of the next owner", function*() {
    const mapped = yield* Effect.scoped(Effect.gen(function*() {
      const scope = yield* Effect.scope
      return yield* Effect.scoped(Effect.gen(function*() {
        const x = yield* filled(256, 1)
        const mapped = yield* Scope.provide(Mapping.map(x, Uint32Array), scope)
        mapped.data.fill(2)
        return mapped
      }))
    }))
    yield* expectEnded("a mapping that outlived its lease", mapped)
    const next = yield* filled(256, 3)
    Expect.numbers("the next owner's", yield* CommandQueue.read(next, Uint32Array), new Uint32Array(64).fill(3))
  }),
  test("commands cannot use bytes mapped for writing, and can only read bytes mapped for reading", function*() {
    const x = yield* BufferPool.allocate(64)
    const y = yield* BufferPool.allocate(64)
    yield* CommandQueue.fill(x, 5)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Mapping.map(x, Uint8Array, { access: "read", shape: [16] })
      yield* Mapping.map(x, Uint8Array, { access: "read" })
      Expect.equal("a read of it", (yield* CommandQueue.read(x, Uint32Array))[0], 5)
      yield* CommandQueue.copy(x, y)
      yield* Expect.refused("a fill of what is mapped for reading", CommandQueue.fill(x, 0))
      yield* Expect.refused("a kernel on it", CommandQueue.dispatch(Kernels.iota, { y: x, start: 0 }, 1))
      yield* Expect.refused("mapping it for writing", Mapping.map(x, Uint8Array, { access: "write" }))
    }))
    yield* Effect.scoped(Effect.gen(function*() {
      const low = yield* Mapping.map(x, Uint32Array, { shape: [8] })
      const high = yield* Mapping.map(x, Uint32Array, { shape: [8], offset: 32 })
      yield* Expect.refused("a read of what is mapped for writing", CommandQueue.read(x, Uint8Array))
      yield* Expect.refused("a copy from it", CommandQueue.copy(x, y))
      yield* Expect.refused("a rectangle of it", CommandQueue.copyRect(x, y, { region: [4] }))
      yield* Expect.refused(
        "mapping a part again",
        Mapping.map(x, Uint8Array, { access: "read", offset: 28, shape: [8] })
      )
      low.data.fill(1)
      high.data.fill(2)
    }))
    const expected = Uint32Array.from({ length: 16 }, (_, at) => at < 8 ? 1 : 2)
    Expect.numbers("both halves", yield* CommandQueue.read(x, Uint32Array), expected)
  }),
  /** The offsets of a sub-region's mapping count from its first byte, and its mappings end with it. */
  test("offsets in a mapping count from the sub-region's first byte", function*() {
    const { limits } = yield* DeviceContext.useSync(({ info }) => info)
    const offset = Math.max(64, limits.regionAlignment)
    const x = yield* filled(offset + 64, 1)
    const region = yield* SubRegion.make(x, { offset, size: 32 })
    yield* Effect.scoped(Effect.gen(function*() {
      const mapped = yield* Mapping.map(region, Uint32Array, { offset: 8 })
      Expect.equal("elements", mapped.data.length, 6)
      mapped.data.fill(2)
      yield* Expect.refused("a fill of the rest of the buffer", CommandQueue.fill(x, 0, { size: 4 }))
      yield* Expect.refused("mapping the same bytes", Mapping.map(x, Uint32Array, { offset: offset + 8, shape: [1] }))
    }))
    const expected = new Uint32Array(offset / 4 + 16).fill(1).fill(2, offset / 4 + 2, offset / 4 + 8)
    Expect.numbers("the buffer", yield* CommandQueue.read(x, Uint32Array), expected)
    const mapped = yield* Mapping.map(region, Uint32Array)
    yield* Lease.release(x)
    yield* expectEnded("a mapping whose sub-region's lease ended", mapped)
  }),
  test("a mapping of 0 bytes makes no driver object", { counting: true }, function*() {
    const { driverObjects } = yield* DeviceContext
    const empty = yield* BufferPool.allocate(0)
    const x = yield* BufferPool.allocate(16)
    const before = driverObjects.live
    for (const [lease, shape] of [[empty, undefined], [x, [0]], [x, [2, 0, 2]]] as const) {
      const mapped = yield* Mapping.map(lease, Float32Array, { shape })
      Expect.equal("elements", mapped.data.length, 0)
    }
    Expect.equal("driver objects for nothing", driverObjects.live, before)
    yield* CommandQueue.fill(x, 0)
  }),
  /** Many mappings begin and end in one long scope, and the scope keeps nothing of them. */
  test("ended mappings leave nothing in a long scope", function*() {
    const { driverObjects } = yield* DeviceContext
    const x = yield* filled(16, 0)
    yield* CommandQueue.finish
    const before = driverObjects.liveByKind["mapping"] ?? 0
    for (let round = 0; round < 50; round++) {
      const mapped = yield* Mapping.map(x, Uint32Array)
      mapped.data[0]! += 1
      yield* Mapping.unmap(mapped)
      Expect.equal("mappings that are left", driverObjects.liveByKind["mapping"] ?? 0, before)
    }
    Expect.equal("the sum", (yield* CommandQueue.read(x, Uint32Array))[0], 50)
  }),
  ...mistakeTests("wrong mappings", mistakes)
]
