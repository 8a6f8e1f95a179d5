/**
 * Random programs on pools over one limited allocator, and on the allocator itself: the limit is never exceeded, no
 * request waits for idle memory, reserved bytes are available whatever others do, and each request is served once
 * enough is released.
 */
import { assert, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as SizePolicy from "../../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../../src/host.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as LimitingAllocator from "../../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type { DeviceBuffer } from "../../../src/services/device/DeviceBuffer.ts"
import { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import { runs } from "../../support/explore.ts"
import { nextTurn } from "../../support/hostPool.ts"

const limit = 100

/** Waits until every published release has been handled. */
const settled = Effect.replicateEffect(nextTurn, 6, { discard: true })

/** Runs a step of the program until the driver has answered. */
const done = (effect: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(effect)
    for (let turns = 0; turns < 4; turns++) yield* Effect.andThen(settled, TestClock.adjust("5 millis"))
    yield* settled
    return yield* Fiber.join(fiber)
  })

type Step =
  | { readonly kind: "ask" | "askPair" | "reserve"; readonly pool: number; readonly bytes: number }
  | { readonly kind: "end"; readonly nth: number }
  | { readonly kind: "allocate"; readonly bytes: number }
  | { readonly kind: "free"; readonly nth: number }
  | { readonly kind: "freeHeld"; readonly pool: number }

const nth = fc.nat(9)
const pool = fc.nat(2)
const bytes = fc.constantFrom(10, 30, 50, 70)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("ask"), pool, bytes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("askPair"), pool, bytes: fc.constantFrom(10, 30, 50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reserve"), pool, bytes: fc.constantFrom(20, 50, 70) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("end"), nth }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("allocate"), bytes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("free"), nth }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("freeHeld"), pool }) }
)

const settings = fc.record({
  /** The pool's own limit, below the common one. */
  maxBytes: fc.constantFrom(Infinity, 80),
  latency: fc.constantFrom(0, 1),
  capacityBytes: fc.constantFrom(1_000_000, 1_000_000, 80)
})

interface Asked {
  readonly pool: BufferPool.Pool
  readonly bytes: number
  readonly scope: Scope.Closeable
  readonly fiber: Fiber.Fiber<unknown, unknown>
  /** The state of a reservation's effect, which runs until it is interrupted. */
  readonly reserved: { hasBegun: boolean; hasAll: boolean }
}

const isServed = ({ fiber, reserved }: Asked): boolean => reserved.hasBegun || fiber.pollUnsafe() !== undefined

/** Runs a program on pools whose requests wait. The clock advances by itself, since drivers may be slow. */
const run = Effect.fnUntraced(function*(steps: ReadonlyArray<Step>, maxBytes: number, isRich: boolean) {
  const { driverObjects } = yield* DeviceContext
  const { allocate, freeUnsafe } = yield* Allocator.Allocator
  const home = Scope.makeUnsafe()
  const pools = yield* Effect.forEach(
    [Infinity, maxBytes, Infinity],
    (own) =>
      Scope.provide(
        BufferPool.make({
          sizePolicy: SizePolicy.exact,
          maxBytes: own,
          onExhausted: "wait",
          deadlockTimeout: Infinity
        }),
        home
      )
  )
  const asked: Array<Asked> = []
  const own: Array<DeviceBuffer> = []

  const ask = (
    pool: BufferPool.Pool,
    bytes: number,
    request: Effect.Effect<unknown, unknown, Scope.Scope>,
    reserved = { hasBegun: false, hasAll: false }
  ) => {
    const scope = Scope.makeUnsafe()
    return Effect.map(Effect.forkDetach(Scope.provide(request, scope)), (fiber) => {
      asked.push({ pool, bytes, scope, fiber, reserved })
    })
  }
  const reserve = (pool: BufferPool.Pool, bytes: number) => {
    const reserved = { hasBegun: false, hasAll: false }
    const use = pool.reserve(bytes, (within) => {
      reserved.hasBegun = true
      const all = Effect.sync(() => {
        reserved.hasAll = true
      })
      return within.use(bytes / 2, () => within.use(bytes / 2, () => Effect.andThen(all, Effect.never)))
    })
    return ask(pool, bytes, use, reserved)
  }
  const end = ({ fiber, scope }: Asked) => Effect.andThen(Fiber.interrupt(fiber), Scope.close(scope, Exit.void))

  const act = (step: Step): Effect.Effect<unknown, unknown> => {
    switch (step.kind) {
      case "ask":
        return ask(pools[step.pool]!, step.bytes, pools[step.pool]!.allocate(step.bytes))
      case "askPair":
        return ask(pools[step.pool]!, 2 * step.bytes, pools[step.pool]!.allocateAll([step.bytes, step.bytes]))
      case "reserve":
        return reserve(pools[step.pool]!, step.bytes)
      case "end":
        return Effect.forEach(asked.splice(step.nth, 1), end)
      case "allocate":
        return Effect.match(allocate(step.bytes), { onFailure: () => {}, onSuccess: (buffer) => void own.push(buffer) })
      case "free":
        return Effect.forEach(own.splice(step.nth, 1), freeUnsafe)
      case "freeHeld":
        return pools[step.pool]!.freeHeld
    }
  }

  const look = Effect.gen(function*() {
    const stats = yield* Effect.forEach(pools, (pool) => pool.stats)
    const managed = stats.reduce((sum, { managedBytes }) => sum + managedBytes, 0)
    const used = managed + own.reduce((sum, { size }) => sum + size, 0)
    assert.isAtMost(used, limit)
    const idle = stats.reduce((sum, { heldBytes, reservedBytes }) => sum + heldBytes - reservedBytes, 0)
    for (const { bytes, reserved } of isRich ? asked : []) {
      assert.isTrue(reserved.hasAll || !reserved.hasBegun, `${bytes} bytes are reserved, and not there`)
    }
    for (const [index, pool] of pools.entries()) {
      const first = asked.find((one) => one.pool === pool && !isServed(one))
      if (first === undefined || !isRich) continue
      const { heldBytes, managedBytes, reservedBytes } = stats[index]!
      const fits = first.bytes <= limit - used + idle &&
        first.bytes <= (yield* pool.maxBytes) - reservedBytes - managedBytes + heldBytes
      assert.isFalse(fits, `pool ${index} waits for ${first.bytes} of ${limit - used} free and ${idle} idle bytes`)
    }
  })

  for (const step of steps) {
    yield* done(act(step))
    yield* look
  }
  yield* done(Effect.forEach(own.splice(0), freeUnsafe))
  // The first remaining request must be served in the end, whatever the others do.
  while (asked.length > 0) {
    const served = asked.findIndex(isServed)
    assert.notStrictEqual(served, -1, `${asked.length} requests wait for each other, or for nothing`)
    yield* done(end(asked.splice(served, 1)[0]!))
  }
  yield* Scope.close(home, Exit.void)
  strictEqual(driverObjects.liveByKind["buffer"] ?? 0, 0)
})

it("pools on one limited allocator stay within its limit, and wait for nothing that is idle", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40, size: "max" }),
      settings,
      (steps, { capacityBytes, latency, maxBytes }) => {
        const gpu = LimitingAllocator.layer({ maxBytes: limit }).pipe(
          Layer.provide(Allocator.layerImmediate),
          Layer.provideMerge(Host.layer({ capacityBytes, latency: `${latency} millis`, granularity: 1 }))
        )
        return run(steps, maxBytes, capacityBytes > limit).pipe(
          Effect.provide(gpu),
          Effect.provide(TestClock.layer()),
          Effect.runPromise
        )
      }
    ),
    { numRuns: runs(200) }
  ))
