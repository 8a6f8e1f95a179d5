/**
 * Empty buffers, and dispatches of 0 items: every backend does nothing, and no driver gets a call.
 *
 * @internal
 */
import {
  Allocator,
  BufferPool,
  BufferUsage,
  CommandQueue,
  Lease,
  Mapping,
  MemoryObjects,
  SubRegion
} from "effect-gpu-pool"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Kernels from "../commands/Kernels.ts"
import { allocator, type ConformanceTest, inGroup, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { filled } from "../pool/Leases.ts"
import { failing, type Mistake, mistakeTests } from "./BadRequests.ts"

const test = inGroup("empty buffers")

type Call = (buffer: BufferLike.BufferLike) => Effect.Effect<unknown, GpuError, TestServices>

/** A buffer from the allocator under test. */
const allocated = (options?: Allocator.AllocateOptions) =>
  Effect.flatMap(
    allocator,
    (layer) => Effect.flatMap(Layer.build(layer), (context) => Effect.provide(Allocator.allocate(0, options), context))
  )

/** All ways to get an empty buffer. */
const ways: ReadonlyArray<
  readonly [name: string, make: Effect.Effect<BufferLike.BufferLike, GpuError, TestServices>]
> = [
  ["a lease", BufferPool.allocate(0)],
  ["a buffer of the allocator", allocated()],
  ["a buffer of an immediate allocator", Effect.provide(Allocator.allocate(0), Allocator.layerImmediate)],
  ["a buffer of a deferred allocator", Effect.provide(Allocator.allocate(0), Allocator.layerDeferred)],
  ["a copy of no data", MemoryObjects.fromHost(new Float32Array(0))],
  ["a copy of 0 bytes of the data", MemoryObjects.fromHost(Float32Array.of(1), { size: 0 })]
]

const isReleased = (buffer: BufferLike.BufferLike) =>
  Expect.failsWith("a read when it is released", CommandQueue.read(buffer, Uint8Array), "Released")

/** Each command leaves the 64 bytes of another buffer as they are. */
const commands: Readonly<
  Record<
    string,
    (buffer: BufferLike.BufferLike, other: BufferLike.BufferLike) => Effect.Effect<unknown, GpuError, TestServices>
  >
> = {
  "write": (buffer) => CommandQueue.write(buffer, new Uint8Array(0)),
  "read": (buffer) => Effect.map(CommandQueue.read(buffer, Float64Array), ({ length }) => length),
  "readInto": (buffer) => CommandQueue.readInto(buffer, new Uint8Array(0)),
  "fill": (buffer) => CommandQueue.fill(buffer, 7),
  "fill with 128 bytes": (buffer) => CommandQueue.fill(buffer, new Uint8Array(128)),
  "copy to": (buffer, other) => CommandQueue.copy(other, buffer, { size: 0 }),
  "copy from": (buffer, other) => CommandQueue.copy(buffer, other),
  "copy to itself": (buffer) => CommandQueue.copy(buffer, buffer),
  "copy a rectangle to": (buffer, other) => CommandQueue.copyRect(other, buffer, { region: [0, 4] }),
  "copy a rectangle from": (buffer, other) => CommandQueue.copyRect(buffer, other, { region: [0, 4] }),
  "write a rectangle": (buffer) => CommandQueue.writeRect(buffer, new Uint8Array(0), { region: [0, 2] }),
  "read a rectangle": (buffer) =>
    Effect.map(CommandQueue.readRect(buffer, Uint8Array, { region: [0] }), ({ length }) => length),
  "read a rectangle into an array": (buffer) => CommandQueue.readRectInto(buffer, new Uint8Array(0), { region: [0] }),
  "map": (buffer) => Effect.map(Effect.scoped(Mapping.map(buffer, Float32Array)), ({ data }) => data.length),
  "dispatch": (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 0),
  "dispatch beside another": (x, y) => CommandQueue.dispatch(Kernels.addTo, { x, y, a: 1 }, 0),
  "migrate": (buffer) =>
    Effect.catchReason(MemoryObjects.migrate([buffer]), "GpuError", "Unsupported", () => Effect.void)
}

const wrong: Readonly<Record<string, Call>> = {
  "a write of one byte to": (buffer) => CommandQueue.write(buffer, new Uint8Array(1)),
  "a read of one byte of": (buffer) => CommandQueue.read(buffer, Uint8Array, { length: 1 }),
  "a fill of four bytes of": (buffer) => CommandQueue.fill(buffer, 0, { size: 4 }),
  "a dispatch of one item on": (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 1),
  "a part of": (buffer) => SubRegion.make(buffer, {}),
  "the data in use of": (buffer) => MemoryObjects.hostArray(buffer, Uint8Array)
}

const mistakes: ReadonlyArray<Mistake> = [
  ...Object.entries(wrong).flatMap(([what, call]) =>
    ways.map(([name, make]): Mistake => [`${what} ${name} without bytes`, "InvalidRequest", Effect.flatMap(make, call)])
  ),
  ...failing("InvalidRequest", {
    "data of no bytes in use": MemoryObjects.fromHost(new Uint8Array(0), { mode: "use" })
  })
]

/** Arguments of a kernel that adds one to each item of y. */
const noItems: ReadonlyArray<readonly [name: string, y: Effect.Effect<BufferLike.BufferLike, GpuError, TestServices>]> =
  [
    ["a lease of many elements", BufferPool.allocate(4096)],
    ["a lease without a whole element", BufferPool.allocate(3)],
    ...ways
  ]

const readOnly = BufferUsage.defaultUsage | BufferUsage.kernelReadOnly

const wrongDispatches: ReadonlyArray<Mistake> = [
  ...failing("InvalidRequest", {
    "no items, on an empty lease that kernels only read": Effect.flatMap(
      BufferPool.allocate(0, { usage: readOnly }),
      (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 0)
    ),
    "no items, on one lease twice": (x) => CommandQueue.dispatch(Kernels.addTo, { x, y: x, a: 1 }, 0),
    "no items, from past the end of a view": (x, y) =>
      CommandQueue.dispatch(Kernels.view, { x: { buffer: x, offset: 17 }, y }, 0)
  }),
  ...failing("Released", {
    "no items, on a released lease": Effect.flatMap(
      Effect.tap(BufferPool.allocate(0), Lease.release),
      (y) => CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 0)
    )
  })
]

/** Frees an empty buffer at another allocator, and twice at its own. */
const givenBack = Effect.gen(function*() {
  const allocator = yield* Allocator.Allocator
  const empty = yield* allocator.allocate(0)
  for (const time of ["first", "second"]) {
    Expect.isTrue(`the ${time} time`, Exit.isSuccess(allocator.freeUnsafe(empty)))
  }
  yield* isReleased(empty)
  const scope = yield* Scope.make()
  const buffer = yield* Scope.provide(Allocator.allocate(0), scope)
  yield* Scope.close(scope, Exit.void)
  yield* isReleased(buffer)
}).pipe(Effect.provide(Allocator.layerImmediate))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("an empty buffer has no driver object, however it was made", { counting: true }, function*() {
    const { driverObjects, info } = yield* DeviceContext
    for (const [name, make] of ways) {
      const before = driverObjects.live
      const buffer = yield* Effect.scoped(Effect.gen(function*() {
        const buffer = yield* make
        Expect.equal(`bytes of ${name}`, buffer.size, 0)
        Expect.equal(`capacity of ${name}`, buffer.capacity, 0)
        Expect.equal(`usage of ${name}`, buffer.usage, BufferUsage.defaultUsage)
        Expect.isTrue(`${name} has no memory`, BufferLike.deviceBuffer(buffer) === undefined)
        Expect.isTrue(`${name} can be used`, BufferLike.problem("test", buffer, info) === undefined)
        Expect.equal(`driver objects of ${name}`, driverObjects.live, before)
        return buffer
      }))
      yield* isReleased(buffer)
      Expect.equal(`driver objects after ${name}`, driverObjects.live, before)
    }
  }),
  test("an empty buffer keeps its usage and label", { counting: true }, function*() {
    const usage = BufferUsage.storage | BufferUsage.copyDst
    const buffer = yield* allocated({ usage, label: "nothing" })
    Expect.same("label and usage", [buffer.label, buffer.usage], ["nothing", usage])
    const read = yield* Expect.refused("a read without copySrc", CommandQueue.read(buffer, Uint8Array))
    Expect.isTrue(`the message names the missing flag: ${read.problem}`, read.problem.includes("copySrc"))
  }),
  test("every command accepts an empty buffer, and does nothing", function*() {
    const other = yield* BufferPool.allocate(64)
    const data = Uint8Array.from({ length: 64 }, (_, at) => at)
    yield* CommandQueue.write(other, data)
    for (const [name, make] of ways) {
      const buffer = yield* make
      for (const [command, call] of Object.entries(commands)) {
        const answer = yield* call(buffer, other)
        if (answer !== undefined) Expect.equal(`elements of ${command} on ${name}`, answer as number, 0)
      }
    }
    Expect.numbers("the other buffer", yield* CommandQueue.read(other, Uint8Array), data)
  }),
  test("an empty buffer is freed as any other", { counting: true }, givenBack),
  test("a dispatch of no items runs nothing, on buffers of any size", function*() {
    const x = yield* filled(64, 5)
    for (const [, make] of noItems) {
      const y = yield* make
      yield* CommandQueue.dispatch(Kernels.iota, { y, start: 3 }, 0)
      yield* CommandQueue.dispatch(Kernels.addTo, { x: y, y: x, a: 1 }, 0)
      yield* CommandQueue.dispatch(Kernels.view, { x: { buffer: y, offset: 0 }, y: x }, 0)
    }
    yield* CommandQueue.dispatch(Kernels.view, { x: { buffer: x, offset: 16 }, y: yield* BufferPool.allocate(0) }, 0)
    yield* CommandQueue.finish
    Expect.numbers("what no item touched", yield* CommandQueue.read(x, Uint32Array), new Uint32Array(16).fill(5))
  }),
  ...mistakeTests("wrong uses of empty buffers", mistakes),
  ...mistakeTests("wrong dispatches of 0 items", wrongDispatches)
]
