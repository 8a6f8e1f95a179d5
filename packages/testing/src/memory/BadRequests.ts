/**
 * Wrong requests of buffers: each mistake has one reason, the same on every backend. Also what other tests of mistakes use.
 *
 * @internal
 */
import { Allocator, BufferPool, BufferUsage, CommandQueue } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { Reason } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { type ConformanceTest, expectInvariants, inGroup, runsCommands, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

/** A call that must fail with one reason. The pool and the queue must work after it as before. */
export type Mistake = readonly [
  name: string,
  reason: Reason["_tag"],
  call: Effect.Effect<unknown, unknown, TestServices>
]

/** A call, or one on leases of 64 bytes, as many as it takes. */
type Call = Mistake[2] | ((x: PooledBuffer, y: PooledBuffer, z: PooledBuffer) => Mistake[2])

export const onLeases = (call: Call): Mistake[2] =>
  Effect.isEffect(call) ? call : Effect.flatMap(
    Effect.forEach(Array.from({ length: call.length }), () => BufferPool.allocate(64)),
    ([x, y, z]) => call(x!, y!, z!)
  )

/** The mistakes with one reason, by their names. */
export const failing = (
  reason: Reason["_tag"],
  calls: { readonly [name: string]: Call }
): ReadonlyArray<Mistake> => Object.entries(calls).map(([name, call]) => [name, reason, onLeases(call)])

/** A mistake with the reason InvalidRequest. */
export const invalid = (name: string, call: Call): Mistake => [name, "InvalidRequest", onLeases(call)]

/** Checks that pool and queue work after a mistake. */
export const expectUsable: Effect.Effect<void, unknown, TestServices> = Effect.scoped(Effect.gen(function*() {
  expectInvariants(yield* BufferPool.stats)
  const lease = yield* BufferPool.allocate(64)
  const copy = yield* BufferPool.allocate(64)
  yield* CommandQueue.write(lease, new Uint8Array(64).fill(3))
  yield* CommandQueue.copy(lease, copy)
  const found = yield* CommandQueue.read(copy, Uint8Array)
  if (yield* runsCommands) Expect.numbers("work after the mistake", found, new Uint8Array(64).fill(3))
  yield* CommandQueue.finish
}))

/** Makes one test for each mistake. */
export const mistakeTests = (group: string, mistakes: ReadonlyArray<Mistake>): ReadonlyArray<ConformanceTest> => {
  const test = inGroup(group)
  return mistakes.map(([name, reason, call]) =>
    test(`${name}: ${reason}`, { counting: true }, Effect.andThen(Expect.failsWith(name, call, reason), expectUsable))
  )
}

const unpooled = <A, E, R>(body: Effect.Effect<A, E, R>) => Effect.provide(body, Allocator.layerImmediate)

const notByteCounts: ReadonlyArray<readonly [string, number]> = [
  ["negative", -1],
  ["fractional", 1.5],
  ["NaN", NaN],
  ["infinite", Infinity],
  ["of 2^53 bytes", 2 ** 53]
]

const overMaxBufferSize = DeviceContext.useSync((device) => device.info.limits.maxBufferSize + 4)

/** A second pool, which is closed, and a lease that was active when it closed. */
export const closedPool = Effect.gen(function*() {
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(Layer.fresh(BufferPool.layer()), scope)
  const pool = Context.get(context, BufferPool.BufferPool)
  const lease = yield* pool.allocate(64, { label: "orphan" })
  yield* Scope.close(scope, Exit.void)
  return { pool, lease }
})

const badUsages: ReadonlyArray<readonly [string, number]> = [
  ["without flags", 0],
  ["with an unknown flag", 1 << 20],
  ["that is negative", -1],
  ["that is fractional", 1.5],
  ["that allows no operation", BufferUsage.kernelReadOnly],
  ["that contradicts itself", BufferUsage.storage | BufferUsage.kernelReadOnly | BufferUsage.kernelWriteOnly]
]

/** Of buffers without a pool. A pool's own checks come before any of the device. */
export const tests: ReadonlyArray<ConformanceTest> = mistakeTests("bad requests", [
  ...notByteCounts.map(([name, size]) => invalid(`a device buffer ${name}`, unpooled(Allocator.allocate(size)))),
  ...badUsages.map(([name, usage]) =>
    invalid(`a device buffer with a usage ${name}`, unpooled(Allocator.allocate(64, { usage })))
  ),
  ...failing("LimitExceeded", {
    "a device buffer over the largest one": unpooled(
      Effect.flatMap(overMaxBufferSize, (size) => Allocator.allocate(size))
    )
  })
])
