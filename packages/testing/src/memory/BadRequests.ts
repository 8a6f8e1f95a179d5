/**
 * Wrong calls of a pool, a queue or an allocator: each mistake has one reason, the same on every backend.
 *
 * @internal
 */
import { Allocator, BufferPool, BufferUsage, CommandQueue, Lease, LeaseHolder } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { Reason } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import {
  type ConformanceTest,
  expectInvariants,
  inGroup,
  runsCommands,
  type TestOptions,
  type TestServices
} from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

/** A call that must fail with one reason. The pool and the queue must work after it as before. */
export type Mistake = readonly [
  name: string,
  reason: Reason["_tag"],
  call: Effect.Effect<unknown, unknown, TestServices>,
  options?: TestOptions
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
  return mistakes.map(([name, reason, call, options]) =>
    test(
      `${name}: ${reason}`,
      { counting: true, ...options },
      Effect.andThen(Expect.failsWith(name, call, reason), expectUsable)
    )
  )
}

const notByteCounts: ReadonlyArray<readonly [string, number]> = [
  ["negative", -1],
  ["fractional", 1.5],
  ["NaN", NaN],
  ["infinite", Infinity],
  ["of 2^53 bytes", 2 ** 53]
]

const badSizes: ReadonlyArray<Mistake> = notByteCounts.flatMap(([name, size]): ReadonlyArray<Mistake> => [
  [`a lease ${name}`, "InvalidRequest", BufferPool.allocate(size)],
  [`a loan ${name}`, "InvalidRequest", BufferPool.use(size, () => Effect.void)],
  [
    `a device buffer ${name}`,
    "InvalidRequest",
    Effect.provide(Allocator.allocate(size), Allocator.layerImmediate)
  ]
])

const badUsages: ReadonlyArray<Mistake> = ([
  ["without flags", 0],
  ["with an unknown flag", 1 << 20],
  ["that is negative", -1],
  ["that is fractional", 1.5],
  ["that allows no operation", BufferUsage.kernelReadOnly],
  ["that contradicts itself", BufferUsage.storage | BufferUsage.kernelReadOnly | BufferUsage.kernelWriteOnly]
] as const).flatMap(([name, usage]): ReadonlyArray<Mistake> => [
  [`a lease with a usage ${name}`, "InvalidRequest", BufferPool.allocate(64, { usage })],
  [
    `a device buffer with a usage ${name}`,
    "InvalidRequest",
    Effect.provide(Allocator.allocate(64, { usage }), Allocator.layerImmediate)
  ]
])

const overMaxBufferSize = DeviceContext.useSync((device) => device.info.limits.maxBufferSize + 4)

const limits: ReadonlyArray<Mistake> = [
  ...failing("LimitExceeded", {
    "a lease over the largest buffer": Effect.flatMap(overMaxBufferSize, BufferPool.allocate),
    "a device buffer over the largest one": Effect.provide(
      Effect.flatMap(overMaxBufferSize, (size) => Allocator.allocate(size)),
      Allocator.layerImmediate
    )
  }),
  ["a lease over maxBytes", "LimitExceeded", BufferPool.allocate(4097), { pool: { maxBytes: 4096 } }]
]

const buildPool = (options: BufferPool.BufferPoolOptions) => Layer.build(Layer.fresh(BufferPool.layer(options)))

const badPools = failing("InvalidRequest", {
  "a pool with a negative limit": buildPool({ maxBytes: -1 }),
  "a pool with a fractional limit": buildPool({ maxBytes: 1.5 }),
  "a pool with NaN for a limit": buildPool({ maxBytes: NaN }),
  "a pool with an unknown way to clear": buildPool({ clear: "always" as "acquire" }),
  "a pool with two limits": buildPool({ maxBytes: 1024, maxFraction: 0.5 }),
  "a pool with more than the device's memory": buildPool({ maxFraction: 1.5 }),
  "a pool with a limit that is no size": buildPool({ maxBytes: "512 potatoes" }),
  "a pool with an unknown way to run out": buildPool({ onExhausted: "block" as "wait" }),
  "a pool with a negative wait": buildPool({ waitAtMost: -1 }),
  "a pool without steps of idle time": buildPool({ idleTimeToLive: "1 second", idleSteps: 0 }),
  "a pool with a negative bound on bypassing": buildPool({ maxBypasses: -1 }),
  "a pool with a misspelt limit": buildPool({ maxByte: 1 } as BufferPool.BufferPoolOptions)
})

const badLimits: ReadonlyArray<Mistake> = [
  ...failing("InvalidRequest", {
    "a negative limit for a running pool": BufferPool.setLimit({ maxBytes: -1 }),
    "trimming to a negative size": BufferPool.trimTo(-1),
    "a fractional budget": BufferPool.withBudget(Effect.void, 0.5),
    "a budget with an unknown way to run out": BufferPool.withBudget(Effect.void, 64, {
      onExhausted: "block" as "wait"
    }),
    "a budget without a limit": BufferPool.withBudget(BufferPool.setLimit({}), 64)
  }),
  ...failing("LimitExceeded", {
    "a lease over its budget": BufferPool.withBudget(BufferPool.allocate(65), 64)
  })
]

/** A closed scope. */
const closedScope = Effect.gen(function*() {
  const scope = yield* Scope.make()
  yield* Scope.close(scope, Exit.void)
  return scope
})

/** A second pool, which is closed, and a lease that was active when it closed. */
export const closedPool = Effect.gen(function*() {
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(Layer.fresh(BufferPool.layer()), scope)
  const pool = Context.get(context, BufferPool.BufferPool)
  const lease = yield* pool.allocate(64, { label: "orphan" })
  yield* Scope.close(scope, Exit.void)
  return { pool, lease }
})

const releasedLease = Effect.tap(BufferPool.allocate(64), Lease.release)

const leaseOfClosedScope = Effect.scoped(BufferPool.allocate(64))

const lifetimes: ReadonlyArray<Mistake> = [
  ...failing("Released", {
    "allocating in a closed scope": Effect.flatMap(
      closedScope,
      (scope) => Scope.provide(BufferPool.allocate(64), scope)
    ),
    "allocating from a closed pool": Effect.flatMap(closedPool, ({ pool }) => pool.allocate(64)),
    "borrowing from a closed pool": Effect.flatMap(closedPool, ({ pool }) => pool.use(64, () => Effect.void)),
    "releasing twice": Effect.flatMap(releasedLease, Lease.release),
    "releasing a lease of a closed scope": Effect.flatMap(leaseOfClosedScope, Lease.release),
    "releasing a lease of a closed pool": Effect.flatMap(closedPool, ({ lease }) => Lease.release(lease)),
    "transferring a released lease": Effect.flatMap(
      releasedLease,
      (lease) => Effect.flatMap(Effect.scope, (scope) => Lease.transfer(lease, scope))
    ),
    "transferring into a closed scope": Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(64)
      return yield* Lease.transfer(lease, yield* closedScope)
    }),
    "extracting into a closed scope": Effect.flatMap(
      closedScope,
      (scope) => Scope.provide(LeaseHolder.extract(BufferPool.allocate(64)), scope)
    ),
    "using a lease that was transferred and then released": Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(64)
      const scope = yield* Scope.make()
      yield* Lease.transfer(lease, scope)
      yield* Scope.close(scope, Exit.void)
      return yield* CommandQueue.fill(lease, 0)
    })
  })
]

export const tests: ReadonlyArray<ConformanceTest> = mistakeTests("bad requests", [
  ...badSizes,
  ...badUsages,
  ...limits,
  ...badPools,
  ...badLimits,
  ...lifetimes
])
