/**
 * Values of wrong types, and values that throw when they are looked at: an effect answers each with InvalidRequest, on
 * every backend alike, and never dies of one. `test/fuzz` looks for such calls at random; these are the ones by name.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Kernel from "../domain/Kernel.ts"
import { ScalarArg, VectorArg } from "../domain/KernelArgument.ts"
import * as Allocator from "../services/Allocator.ts"
import * as FaultyAllocator from "../services/allocators/FaultyAllocator.ts"
import * as LimitingAllocator from "../services/allocators/LimitingAllocator.ts"
import * as BufferPool from "../services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../services/buffers/PooledBuffer.ts"
import * as CommandQueue from "../services/CommandQueue.ts"
import type * as ImageLike from "../services/images/ImageLike.ts"
import * as Images from "../services/images/Images.ts"
import * as Lease from "../services/lease/Lease.ts"
import * as Mapping from "../services/mapping/Mapping.ts"
import * as MemoryObjects from "../services/memory/MemoryObjects.ts"
import * as SubRegion from "../services/memory/SubRegion.ts"
import * as QueueEvent from "../services/QueueEvent.ts"
import { type Mistake, mistakeTests } from "./BadRequests.ts"
import { type ConformanceTest, inGroup, runsCommands, type TestServices } from "./ConformanceTest.ts"
import * as Expect from "./Expect.ts"
import * as Kernels from "./Kernels.ts"

/** What no type of a parameter allows, and programs without types can pass. */
const wrong = <A>(value: unknown): A => value as A

/** Throws whatever is asked of it. */
const revoked = <A>(): A => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy as A
}

/** An object whose members throw when they are read. */
const throwing = <A>(...names: ReadonlyArray<string>): A => {
  const made = {}
  for (const name of names) Object.defineProperty(made, name, { get: refuse, enumerable: true })
  return made as A
}

const refuse = (): never => {
  throw new Error("unreadable")
}

const withLease = <A, E>(
  use: (lease: PooledBuffer.PooledBuffer) => Effect.Effect<A, E, TestServices>
): Effect.Effect<A, E | Effect.Error<ReturnType<typeof BufferPool.allocate>>, TestServices> =>
  Effect.flatMap(BufferPool.allocate(64), use)

const build = <A, E>(layer: Layer.Layer<A, E, TestServices>) => Effect.scoped(Layer.build(layer))

const mistakes: ReadonlyArray<readonly [name: string, call: Mistake[2]]> = [
  ["MemoryObjects.migrate(7)", MemoryObjects.migrate(wrong(7))],
  ["MemoryObjects.migrate of a text", MemoryObjects.migrate(wrong("ab"))],
  ["SubRegion.make without bounds", withLease((lease) => SubRegion.make(lease, wrong(undefined)))],
  ["SubRegion.make with bounds that throw", withLease((lease) => SubRegion.make(lease, throwing("offset")))],
  ["QueueEvent.isDone(undefined)", QueueEvent.isDone(wrong(undefined))],
  ["QueueEvent.wait(null)", QueueEvent.wait(wrong(null))],
  ["CommandQueue.after(undefined)", CommandQueue.after(Effect.void, wrong(undefined))],
  ["CommandQueue.after of a list that throws", CommandQueue.after(Effect.void, revoked())],
  ["FaultyAllocator.layer(null)", build(Layer.provide(FaultyAllocator.layer(wrong(null)), Allocator.layerImmediate))],
  [
    "FaultyAllocator.layer with no faults",
    build(Layer.provide(FaultyAllocator.layer({ faults: wrong({}) }), Allocator.layerImmediate))
  ],
  [
    "LimitingAllocator.layer(null)",
    build(Layer.provide(LimitingAllocator.layer(wrong(null)), Allocator.layerImmediate))
  ],
  ["a revoked proxy for a lease to write", CommandQueue.write(revoked<PooledBuffer.PooledBuffer>(), new Uint8Array(4))],
  ["a revoked proxy for data", withLease((lease) => CommandQueue.write(lease, revoked()))],
  ["options that throw", withLease((lease) => CommandQueue.fill(lease, 0, throwing("offset")))],
  ["a kernel that throws", withLease((x) => CommandQueue.dispatch(revoked<Kernel.Kernel>(), { x }, 1))],
  ["arguments that throw", CommandQueue.dispatch(Kernels.constant(1), throwing("y"), 1)],
  ["a revoked proxy to release", Lease.release(revoked())],
  ["a revoked proxy for a scope", withLease((lease) => Lease.transfer(lease, revoked()))],
  ["a revoked proxy to map", Mapping.map(revoked<PooledBuffer.PooledBuffer>(), Uint8Array)],
  ["options of a mapping that throw", withLease((lease) => Mapping.map(lease, Uint8Array, throwing("access")))],
  ["a revoked proxy for an image", Images.read(revoked<ImageLike.ImageLike>())],
  ["a revoked proxy for a format", Images.make({ kind: "1d", width: 1, height: 1, depth: 1, layers: 1 }, revoked())],
  ["a limit that throws", BufferPool.setLimit(throwing("maxBytes"))],
  ["options of a pool that throw", build(BufferPool.layer(throwing("sizePolicy")))]
]

const group = "wrong values"

/** @internal */
export const tests: ReadonlyArray<ConformanceTest> = [
  ...mistakeTests(group, mistakes.map(([name, call]): Mistake => [name, "InvalidRequest", call])),
  /** What a program does to the list that it made a kernel of changes neither what was compiled nor what is asked for. */
  inGroup(group)("kernels whose list of arguments is changed later stay what they are", function*() {
    const changes: ReadonlyArray<(args: Array<unknown>) => unknown> = [
      (args) => args.push(VectorArg("f32", "more")),
      (args) => args.pop(),
      (args) => args.fill(undefined),
      (args) => args.splice(0, 1)
    ]
    const x = yield* BufferPool.allocate(16)
    for (const change of changes) {
      const args = [VectorArg("f32", "x"), ScalarArg("f32", "a")] as const
      const list = [...args]
      const made = Kernel.make({
        name: "kept",
        args: list as unknown as typeof args,
        body: Kernels.scale.body as never
      })
      const own: typeof made = { ...made, args: list as unknown as typeof args }
      for (const kernel of [made, own]) yield* CommandQueue.dispatch(kernel, { x, a: 2 }, 4)
      change(list)
      yield* CommandQueue.write(x, new Float32Array([1, 2, 3, 4]))
      for (const kernel of [made, own]) yield* CommandQueue.dispatch(kernel, { x, a: 2 }, 4)
      const found = yield* CommandQueue.read(x, Float32Array)
      if (yield* runsCommands) Expect.numbers("after the change", found, [4, 8, 12, 16])
    }
    yield* CommandQueue.finish
  })
]
