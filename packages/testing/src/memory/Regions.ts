/**
 * Sub-regions of buffers, and buffers made from the program's data.
 *
 * @internal
 */
import { Allocator, BufferPool, BufferUsage, CommandQueue, Lease, MemoryObjects, SubRegion } from "effect-gpu-pool"
import type * as BufferLike from "effect-gpu-pool/BufferLike"
import type { DeviceBuffer } from "effect-gpu-pool/DeviceBuffer"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { QueueDriver } from "effect-gpu-pool/QueueDriver"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { fillBytes } from "../commands/CopiesAndFills.ts"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { filled, written } from "../pool/Leases.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"
import { actAt } from "../StoppedFiber.ts"

const test = inGroup("regions")

const alignment = Effect.map(DeviceContext, ({ info }) => info.limits.regionAlignment)

const regionsAlive = Effect.map(DeviceContext, ({ driverObjects }) => driverObjects.liveByKind.region ?? 0)

const words = (what: string, buffer: BufferLike.BufferLike, expected: ReadonlyArray<number>) =>
  Effect.map(CommandQueue.read(buffer, Uint32Array), (found) => Expect.numbers(what, found, expected))

/** A buffer or a sub-region, and its place in the model of the whole buffer. */
interface Part {
  readonly buffer: BufferLike.BufferLike
  readonly origin: number
  readonly size: number
}

type Step = Effect.Effect<void, unknown, TestServices>

/** A range that the portable rules allow. Half of the ranges go to the end. */
const anyRange = (random: Random, size: number): readonly [offset: number, length: number] => {
  const offset = 4 * random.integer(0, Math.floor(size / 4))
  const rest = size - offset
  return [offset, random.integer(0, 1) === 0 ? rest : 4 * random.integer(0, Math.floor(rest / 4))]
}

/** Makes a sub-region of any part, and checks its place in the whole buffer. */
const divide = Effect.fnUntraced(function*(random: Random, part: Part, unit: number) {
  const places = Math.floor((part.size - 1) / unit)
  const offset = unit * random.integer(0, places)
  const rest = part.size - offset
  const size = random.integer(0, 1) === 0 ? rest : Math.min(rest, 4 * random.integer(1, Math.ceil(rest / 4)))
  const region = yield* SubRegion.make(part.buffer, { offset, size })
  const origin = part.origin + offset
  Expect.same("where the sub-region is", { origin: region.origin, size: region.size }, { origin, size })
  return { buffer: region, origin, size }
})

const change = (random: Random, { buffer, origin, size }: Part, model: Uint8Array): Step => {
  const [offset, length] = anyRange(random, size)
  if (random.integer(0, 1) === 0) {
    const data = random.bytes(length)
    model.set(data, origin + offset)
    return CommandQueue.write(buffer, data, { offset })
  }
  // The pattern is a word where the range has whole words, else a byte.
  const pattern = length % 4 === 0 ? random.integer(0, 0xffffffff) : random.bytes(1)
  fillBytes(model, pattern, origin + offset, length)
  return CommandQueue.fill(buffer, pattern, { offset, size: length })
}

/** Copies bytes of one part to another part, through a second buffer. */
const move = (random: Random, from: Part, to: Part, model: Uint8Array): Step =>
  Effect.gen(function*() {
    const size = 4 * random.integer(0, Math.floor(Math.min(from.size, to.size) / 4))
    const sourceOffset = 4 * random.integer(0, Math.floor((from.size - size) / 4))
    const targetOffset = 4 * random.integer(0, Math.floor((to.size - size) / 4))
    const between = yield* BufferPool.allocate(size)
    yield* CommandQueue.copy(from.buffer, between, { sourceOffset, size })
    yield* CommandQueue.copy(between, to.buffer, { targetOffset })
    const moved = model.slice(from.origin + sourceOffset, from.origin + sourceOffset + size)
    model.set(moved, to.origin + targetOffset)
  })

/** A kernel counts up in the whole words of a part. */
const compute = (random: Random, { buffer, origin, size }: Part, model: Uint8Array): Step => {
  const count = Math.floor(size / 4)
  if (count === 0) return Effect.void
  const start = random.integer(0, 1000)
  const view = new DataView(model.buffer)
  for (let at = 0; at < count; at++) view.setUint32(origin + 4 * at, at + start, true)
  return CommandQueue.dispatch(Kernels.iota, { y: buffer, start }, count)
}

const look = (random: Random, { buffer, origin, size }: Part, model: Uint8Array): Step => {
  const [offset, length] = anyRange(random, size)
  const expected = model.slice(origin + offset, origin + offset + length)
  return Effect.map(
    CommandQueue.read(buffer, Uint8Array, { offset, length }),
    (found) => Expect.numbers(`${length} bytes at ${offset} of the part from ${origin} on`, found, expected)
  )
}

const step = (random: Random, parts: ReadonlyArray<Part>, model: Uint8Array): Step => {
  const part = random.pick(parts)
  return random.pick([
    () => change(random, part, model),
    () => move(random, part, random.pick(parts), model),
    () => compute(random, part, model),
    () => look(random, part, model),
    () => CommandQueue.flush
  ])()
}

/** Bytes written through one part change in all parts that overlap it, and in no other. */
const algebra = (steps: number) => (random: Random): Step =>
  Effect.scoped(Effect.gen(function*() {
    const unit = yield* alignment
    const model = random.bytes(unit * 8 + random.integer(0, 7))
    const whole = yield* written(model)
    const parts: Array<Part> = [{ buffer: whole, origin: 0, size: model.length }]
    for (let at = 0; at < 7; at++) parts.push(yield* divide(random, random.pick(parts), unit))
    for (let at = 0; at < steps; at++) yield* step(random, parts, model)
    for (const { buffer, origin, size } of parts) {
      const found = yield* CommandQueue.read(buffer, Uint8Array)
      Expect.numbers(`the part from ${origin} on`, found, model.slice(origin, origin + size))
    }
  }))

const randomRegions = Effect.flatMap(scaled(16, 3), (count) => forSeeds(seeds(count), algebra(40)))

const ended = (what: string, region: DeviceBuffer) =>
  Effect.map(
    Expect.failsWith(`a part of a buffer, ${what}`, CommandQueue.read(region, Uint8Array), "Released"),
    ({ why }) => why
  )

const unpooled = <A, E, R>(body: Effect.Effect<A, E, R>) => Effect.provide(body, Allocator.layerImmediate)

const fromData = Effect.forEach([1, 3, 4, 23, 4096], (size) =>
  Effect.scoped(Effect.gen(function*() {
    const data = Uint8Array.from({ length: size }, (_, at) => at * 7)
    const buffer = yield* MemoryObjects.fromHost(data, { usage: BufferUsage.copySrc, label: "data" })
    Expect.same("what it is", [buffer.size, buffer.label], [size, "data"])
    data.fill(0)
    const expected = Uint8Array.from({ length: size }, (_, at) => at * 7)
    Expect.numbers("the data at that time", yield* CommandQueue.read(buffer, Uint8Array), expected)
  })), { discard: true })

const { transfer } = ArrayBuffer.prototype as { readonly transfer?: () => ArrayBuffer }

export const tests: ReadonlyArray<ConformanceTest> = [
  test(
    "any mix of commands through sub-regions of sub-regions leaves what one array would have",
    { heavy: true },
    randomRegions
  ),
  test("a slice counts elements", function*() {
    const unit = yield* alignment
    const whole = yield* BufferPool.allocate(4 * unit, { label: "whole" })
    yield* CommandQueue.write(whole, Uint32Array.from({ length: unit }, (_, at) => at))
    const middle = yield* SubRegion.slice(whole, Float32Array, unit / 4, unit / 2)
    Expect.same("its bytes", [middle.origin, middle.size], [unit, unit])
    Expect.equal("its label", middle.label, `whole[${unit}:${2 * unit}]`)
    yield* words("its words", middle, Array.from({ length: unit / 4 }, (_, at) => at + unit / 4))
    const rest = yield* SubRegion.slice(middle, Uint8Array, 0, undefined, { label: "rest" })
    Expect.same("all of it", [rest.origin, rest.size, rest.label], [unit, unit, "rest"])
  }),
  test("the driver sees no call for an invalid sub-region", { counting: true }, function*() {
    const unit = yield* alignment
    const whole = yield* BufferPool.allocate(4 * unit + 2)
    const region = yield* SubRegion.make(whole, { offset: unit, size: unit })
    const empty = yield* BufferPool.allocate(0)
    const before = yield* regionsAlive
    const bounds: ReadonlyArray<SubRegion.Bounds> = [
      { size: 0 },
      { offset: unit, size: 0 },
      { offset: -unit },
      { offset: 1.5 },
      { offset: NaN },
      { offset: 2 },
      { offset: 2 ** 53 },
      { offset: 8 * unit },
      { size: 4 * unit + 4 },
      { offset: unit, size: 4 * unit },
      { size: 3 },
      { size: Infinity },
      ...(unit > 4 ? [{ offset: 4, size: 4 }, { offset: unit + 4, size: 4 }] : [])
    ]
    for (const bad of bounds) {
      yield* Expect.refused(`a sub-region of ${JSON.stringify(bad)}`, SubRegion.make(whole, bad))
    }
    const wider = { usage: BufferUsage.defaultUsage | BufferUsage.vertex }
    yield* Expect.refused("more usage", SubRegion.make(whole, {}, wider))
    yield* Expect.refused("no usage", SubRegion.make(whole, {}, { usage: 0 }))
    yield* Expect.refused("no bytes to divide", SubRegion.make(empty, {}))
    yield* Expect.refused("beyond the region", SubRegion.make(region, { size: unit + 4 }))
    const none: ReadonlyArray<readonly [number, number | undefined]> = [[0, 0], [4, 2], [-1, 3], [0.5, 3], [NaN, 1]]
    for (const [from, to] of none) {
      const made = SubRegion.slice(whole, Uint32Array, from, to)
      yield* Expect.refused(`the elements ${from} to ${to}`, made)
    }
    Expect.equal("regions of buffers that are alive", yield* regionsAlive, before)
  }),
  test("a sub-region allows less than its buffer, never more", function*() {
    const whole = yield* BufferPool.allocate(64)
    const usage = whole.usage | BufferUsage.kernelReadOnly
    const readOnly = yield* SubRegion.make(whole, {}, { usage })
    const other = yield* BufferPool.allocate(64)
    yield* CommandQueue.fill(readOnly, 3)
    yield* Expect.refused(
      "a kernel that writes to it",
      CommandQueue.dispatch(Kernels.iota, { y: readOnly, start: 0 }, 16)
    )
    yield* CommandQueue.dispatch(Kernels.addTo, { x: readOnly, y: other, a: 1 }, 16)
    yield* words("what the kernel read", other, Array.from({ length: 16 }, () => 4))
    yield* Expect.refused("a sub-region of it that kernels write", SubRegion.make(readOnly, {}, { usage: whole.usage }))
    const source = yield* SubRegion.make(whole, {}, { usage: BufferUsage.copySrc })
    yield* Expect.refused("a write without copyDst", CommandQueue.fill(source, 0))
  }),
  test("sub-regions of one buffer count as that buffer", function*() {
    const unit = yield* alignment
    const whole = yield* BufferPool.allocate(4 * unit)
    const [first, second] = [
      yield* SubRegion.make(whole, { size: unit }),
      yield* SubRegion.make(whole, { offset: 2 * unit, size: unit })
    ]
    const out = yield* BufferPool.allocate(unit)
    const pairs: ReadonlyArray<readonly [BufferLike.BufferLike, BufferLike.BufferLike]> = [
      [first, second],
      [first, whole],
      [whole, second],
      [first, first]
    ]
    for (const [x, y] of pairs) {
      yield* Expect.refused("a copy within one buffer", CommandQueue.copy(x, y, { size: 4 }))
      const written = CommandQueue.dispatch(Kernels.addTo, { x, y, a: 1 }, 1)
      yield* Expect.refused("a kernel that writes a part of it", written)
    }
    yield* CommandQueue.fill(whole, 5)
    yield* CommandQueue.fill(second, 7)
    yield* CommandQueue.dispatch(Kernels.sum, { a: first, b: second, y: out }, unit / 4)
    yield* words("two parts that are only read", out, Array.from({ length: unit / 4 }, () => 12))
  }),
  test("sub-regions of the same range are equal, however they were made", { counting: true }, function*() {
    const unit = yield* alignment
    const whole = yield* BufferPool.allocate(2 * unit)
    const other = yield* BufferPool.allocate(2 * unit)
    const bounds = { offset: unit, size: unit }
    const region = yield* SubRegion.make(whole, bounds)
    const same = yield* SubRegion.make(yield* SubRegion.make(whole, {}), bounds)
    Expect.isTrue("the same part", Equal.equals(region, same))
    Expect.isTrue("another part", !Equal.equals(region, yield* SubRegion.make(whole, { size: unit })))
    Expect.isTrue("the same part of another buffer", !Equal.equals(region, yield* SubRegion.make(other, bounds)))
    Expect.isTrue("a lease is itself", Equal.equals(whole, whole) && !Equal.equals(whole, other))
  }),
  test("a lease's end releases its sub-regions before the next owner gets the block", function*() {
    const unit = yield* alignment
    const before = yield* regionsAlive
    const lease = yield* BufferPool.allocate(2 * unit)
    const region = yield* SubRegion.make(lease, { offset: unit })
    const inner = yield* SubRegion.make(region, { size: 4 })
    yield* CommandQueue.fill(inner, 1)
    yield* Lease.release(lease)
    Expect.equal("regions of buffers that are alive", yield* regionsAlive, before)
    yield* filled(2 * unit, 2)
    Expect.equal("why", yield* ended("after the lease", region), "parentReleased")
    yield* ended("and of a sub-region, after the lease", inner)
    yield* Expect.failsWith("writing to a buffer through its sub-region", CommandQueue.fill(region, 3), "Released")
    yield* Expect.failsWith("a sub-region of an ended sub-region", SubRegion.make(region, {}), "Released")
  }),
  test("a sub-region ends with its scope, after the commands that were recorded through it", function*() {
    const unit = yield* alignment
    const lease = yield* BufferPool.allocate(2 * unit)
    const before = yield* regionsAlive
    const region = yield* Effect.scoped(Effect.gen(function*() {
      const region = yield* SubRegion.make(lease, { size: unit })
      yield* CommandQueue.fill(lease, 1)
      yield* CommandQueue.fill(region, 2)
      return region
    }))
    Expect.equal("regions of buffers that are alive", yield* regionsAlive, before)
    Expect.equal("why", yield* ended("after its scope", region), "scopeClosed")
    const found = yield* CommandQueue.read(lease, Uint32Array)
    Expect.same("the commands recorded through it have run", [found[0], found[unit / 4]], [2, 1])
  }),
  test("a transferred lease keeps its sub-regions", function*() {
    const outer = yield* Scope.make()
    const [lease, region] = yield* Effect.scoped(Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(64)
      const region = yield* Scope.provide(SubRegion.make(lease, {}), outer)
      yield* Lease.transfer(lease, outer)
      return [lease, region] as const
    }))
    yield* CommandQueue.fill(region, 6)
    yield* words("the lease in its new scope", lease, Array.from({ length: 16 }, () => 6))
    yield* Scope.close(outer, Exit.void)
    yield* ended("after the new scope", region)
    const closed = Effect.exit(Scope.provide(SubRegion.make(yield* BufferPool.allocate(64), {}), outer))
    Expect.isTrue("in a closed scope no sub-region is made", Exit.isFailure(yield* closed))
  }),
  test("a sub-region keeps the memory of a freed buffer, until its last sub-region ends", function*() {
    const unit = yield* alignment
    const { driverObjects } = yield* DeviceContext
    const before = driverObjects.live
    const scope = yield* Scope.make()
    const [parent, region] = yield* Effect.scoped(Effect.gen(function*() {
      const parent = yield* unpooled(Allocator.allocate(2 * unit))
      yield* CommandQueue.fill(parent, 1)
      return [parent, yield* Scope.provide(SubRegion.make(parent, { offset: unit }), scope)] as const
    }))
    yield* Expect.failsWith("the freed buffer", CommandQueue.fill(parent, 2), "Released")
    yield* Expect.failsWith("a sub-region of the freed buffer", SubRegion.make(parent, {}), "Released")
    const inner = yield* Scope.provide(SubRegion.make(region, { size: 4 }), scope)
    yield* CommandQueue.fill(inner, 9)
    yield* words("the region", region, [9, ...Array.from({ length: unit / 4 - 1 }, () => 1)])
    yield* Scope.close(scope, Exit.void)
    // What the driver keeps for later reads is no memory of buffers.
    yield* QueueDriver.use(({ reclaim }) => reclaim)
    Expect.isTrue("the buffer's memory is free after its last sub-region", driverObjects.live <= before)
  }),
  test("a buffer begins with the program's data, of any length", fromData),
  /** As PyOpenCL's `Buffer(size=, hostbuf=)`: the buffer takes the first `size` bytes, and the data must have so many. */
  test("a buffer begins with a part of the program's data", function*() {
    const { usesHostMemory } = (yield* DeviceContext).info.traits
    const memory = new Uint8Array(80)
    const data = memory.subarray(8, 72)
    const trial = Effect.fnUntraced(function*(mode: "copy" | "use", size: number) {
      data.forEach((_, at) => data[at] = 3 * at)
      const buffer = yield* MemoryObjects.fromHost(data, { mode, size })
      Expect.equal("bytes", buffer.size, size)
      Expect.numbers(`the first ${size}`, yield* CommandQueue.read(buffer, Uint8Array), data.slice(0, size))
      if (mode === "copy") return
      yield* CommandQueue.fill(buffer, Uint8Array.of(255))
      const seen = yield* MemoryObjects.hostArray(buffer, Uint8Array)
      Expect.numbers("the data in use", seen, new Uint8Array(size).fill(255))
      const rest = data.slice(size)
      Expect.numbers("what is not in use", rest, Uint8Array.from(rest, (_, at) => 3 * (at + size)))
    }, Effect.scoped)
    for (const mode of usesHostMemory ? ["copy", "use"] as const : ["copy"] as const) {
      for (const size of [1, 3, 4, 40, 63, 64]) yield* trial(mode, size)
    }
  }),
  test("data that is transferred during the copy gives a typed error, or arrives as a whole", function*() {
    const failures = new Set<string>()
    for (let step = 0, isInside = true; isInside; step++) {
      const data = new Uint8Array(64).fill(3)
      const copy = Effect.scoped(
        Effect.flatMap(MemoryObjects.fromHost(data), (buffer) => CommandQueue.read(buffer, Uint8Array))
      )
      const away = Effect.sync(() => transfer?.call(data.buffer) ?? structuredClone(data, { transfer: [data.buffer] }))
      const exit = yield* actAt(copy, step, away)
      isInside = exit !== undefined
      if (exit === undefined) continue
      if (Exit.isSuccess(exit)) Expect.numbers("the copy", exit.value, new Uint8Array(64).fill(3))
      else failures.add((yield* Expect.refused(`data transferred at step ${step}`, exit))._tag)
    }
    Expect.same("failures", [...failures], ["InvalidRequest"])
  }),
  test("data that cannot be the memory of a buffer is refused", { counting: true }, function*() {
    const { limits, traits } = (yield* DeviceContext).info
    const data = new Uint8Array(64)
    const detached = new Uint8Array(8)
    structuredClone(detached.buffer, { transfer: [detached.buffer] })
    const bad: ReadonlyArray<readonly [string, ArrayBufferView, MemoryObjects.FromHostOptions?]> = [
      ["more bytes than there are", data, { size: 65 }],
      ["a part of a byte", data, { size: 1.5 }],
      ["less than nothing", data, { size: -1 }],
      ["more bytes than there are, in use", data, { size: 72, mode: "use" }],
      ["detached", detached],
      ["shared", new Uint8Array(new SharedArrayBuffer(8))],
      ["no usage", data, { usage: 0 }],
      ["misaligned", data.subarray(4), { mode: "use" }]
    ]
    for (const [what, value, options] of bad) {
      yield* Expect.refused(what, MemoryObjects.fromHost(value, options))
    }
    const used = yield* Effect.exit(Effect.scoped(MemoryObjects.fromHost(data, { mode: "use" })))
    Expect.equal("using the program's memory", Exit.isSuccess(used), traits.usesHostMemory)
    Expect.isTrue("sub-regions begin at multiples of 4", limits.regionAlignment % 4 === 0)
  })
]
