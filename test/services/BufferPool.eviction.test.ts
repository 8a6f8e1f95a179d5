import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as EvictionPolicy from "../../src/domain/pool/EvictionPolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import { hasStats, hold, type OpenOptions, reasonOf } from "../support/hostPool.ts"
import { withEvents } from "../support/poolEvents.ts"

interface Expected {
  readonly policy: EvictionPolicy.EvictionPolicy | undefined
  /** The blocks evicted for 7 bytes, of those that {@link past} leaves. */
  readonly known: ReadonlyArray<number>
  /** The blocks evicted for 45 bytes, of the same blocks and one of 10 bytes that is released last. */
  readonly waiting: ReadonlyArray<number>
  /** The order of eviction of the same blocks if the number of missing bytes is unknown. */
  readonly unknown: ReadonlyArray<number>
}

/**
 * Five blocks, 42 bytes. A scope releases its last lease first, so the last block here has been held longest; the first
 * has been used once more since.
 */
const past = Effect.andThen(hold([4, 20, 8, 6, 4]), BufferPool.use(4, () => Effect.void))

const byNeed: Expected = {
  policy: EvictionPolicy.byNeed,
  known: [8],
  waiting: [20, 10, 8, 6, 4],
  unknown: [20, 8, 6, 4, 4]
}

/** A policy with getters, which no copy of its own members has. */
class OldestOrLeastUsed implements EvictionPolicy.EvictionPolicy {
  get name() {
    return "of one's own"
  }
  get whenKnown() {
    return "oldestFirst" as const
  }
  get whenUnknown() {
    return "leastRecentlyUsed" as const
  }
}

const table: ReadonlyArray<Expected> = [
  { ...byNeed, policy: undefined },
  byNeed,
  {
    policy: EvictionPolicy.largestFirst,
    known: [20],
    waiting: [20, 10, 8, 6, 4],
    unknown: [20, 8, 6, 4, 4]
  },
  {
    policy: EvictionPolicy.oldestFirst,
    known: [4, 6],
    waiting: [4, 6, 8, 20, 4, 10],
    unknown: [4, 6, 8, 20, 4]
  },
  {
    policy: EvictionPolicy.leastRecentlyUsed,
    known: [6, 8],
    waiting: [6, 8, 20, 4, 4, 10],
    unknown: [6, 8, 20, 4, 4]
  },
  {
    policy: new OldestOrLeastUsed(),
    known: [4, 6],
    waiting: [4, 6, 8, 20, 4, 10],
    unknown: [6, 8, 20, 4, 4]
  }
]

const poolOf = (
  policy: EvictionPolicy.EvictionPolicy | undefined,
  options: BufferPool.BufferPoolOptions = {}
): OpenOptions => ({
  pool: { eviction: policy, ...options }
})

const freed = (events: ReadonlyArray<string>): ReadonlyArray<number> =>
  events.filter((event) => event.startsWith("free ")).map((event) => Number(event.slice("free ".length)))

for (const { known, policy, unknown, waiting } of table) {
  describe(`eviction ${policy?.name ?? "without a policy"}`, () => {
    it.effect("makes room under the limit, and waits for the driver once", () =>
      withEvents(poolOf(policy, { maxBytes: 42 }), (events) =>
        Effect.gen(function*() {
          yield* past
          events()
          yield* BufferPool.allocate(7)
          deepStrictEqual(events(), [...known.map((size) => `free ${size}`), "reclaim", "allocate 7"])
        })))

    it.effect("makes room for a request that waits", () =>
      withEvents(poolOf(policy, { maxBytes: 52, onExhausted: "wait" }), (events) =>
        Effect.gen(function*() {
          const scope = yield* Scope.make()
          yield* Scope.provide(BufferPool.allocate(10), scope)
          yield* past
          const fiber = yield* Effect.forkChild(Effect.scoped(BufferPool.allocate(45)), { startImmediately: true })
          yield* hasStats({ waiters: 1 })
          events()
          yield* Scope.close(scope, Exit.void)
          yield* Fiber.join(fiber)
          deepStrictEqual(freed(events()), waiting)
        })))

    it.effect("answers a driver that refuses, one block at a time", () =>
      withEvents(poolOf(policy), (events) =>
        Effect.gen(function*() {
          const { faults } = yield* Host.Host
          yield* past
          events()
          faults.failAllocations({ times: Infinity })
          strictEqual((yield* reasonOf(BufferPool.allocate(7)))._tag, "OutOfMemory")
          deepStrictEqual(
            events(),
            ["allocate 7", "reclaim", "allocate 7"].concat(
              unknown.flatMap((size) => [`free ${size}`, "reclaim", "allocate 7"])
            )
          )
        })))

    it.effect("is the order of trimTo", () =>
      withEvents(poolOf(policy), (events) =>
        Effect.gen(function*() {
          yield* past
          events()
          yield* BufferPool.trimTo(42 - 7)
          deepStrictEqual(freed(events()), known)
        })))

    it.effect("is the order of freeHeld", () =>
      withEvents(poolOf(policy), (events) =>
        Effect.gen(function*() {
          yield* past
          events()
          yield* BufferPool.freeHeld
          deepStrictEqual(freed(events()), unknown)
        })))

    it.effect("leaves it to maxHeldBytes that the block goes which was held for the longest time", () =>
      withEvents(poolOf(policy, { maxHeldBytes: 42 }), (events) =>
        Effect.gen(function*() {
          yield* past
          events()
          yield* hold([1])
          deepStrictEqual(freed(events()), [4])
          yield* hold([30])
          deepStrictEqual(freed(events()), [6, 8, 20])
        })))
  })
}

const leftBy = (eviction: EvictionPolicy.EvictionPolicy) =>
  Effect.gen(function*() {
    yield* ImagePool.use(ImageShape.image2d(8, 8), ImageFormat.rgba8, () => Effect.void)
    yield* hold([512])
    yield* DeviceMemory.trimTo(256 + 512 - 1)
    return (yield* DeviceMemory.stats).heldBytes
  }).pipe(Effect.provide(
    Layer.merge(BufferPool.layerShared(), ImagePool.layerShared()).pipe(
      Layer.provideMerge(DeviceMemory.layer({ eviction })),
      Layer.provideMerge(Layer.fresh(Host.layer()))
    )
  ))

describe("eviction in a memory that pools share", () => {
  it.effect("goes by one order over buffers and images", () =>
    Effect.gen(function*() {
      strictEqual(yield* leftBy(EvictionPolicy.oldestFirst), 512)
      strictEqual(yield* leftBy(EvictionPolicy.largestFirst), 256)
    }))
})

const built = (given: unknown) => {
  const options = { eviction: given as EvictionPolicy.EvictionPolicy }
  return [
    Layer.build(Layer.provide(BufferPool.layer(options), Host.layer())),
    Layer.build(Layer.provide(ImagePool.layer(options), Host.layer())),
    Layer.build(Layer.provide(DeviceMemory.layer(options), Host.layer()))
  ]
}

describe("an eviction policy that is none", () => {
  const refused = [
    {},
    null,
    "largestFirst",
    { name: "p", whenKnown: "byNeed" },
    { name: "p", whenKnown: "byNeed", whenUnknown: "random" },
    { name: "p", whenKnown: 4, whenUnknown: "byNeed" }
  ]
  it.effect.each(refused)("is refused before a pool stands: %j", (policy) =>
    Effect.gen(function*() {
      for (const one of built(policy)) {
        const reason = yield* reasonOf(Effect.scoped<unknown, GpuError, Scope.Scope>(one))
        strictEqual(reason._tag, "InvalidRequest")
        assert.match(reason.message, /is no EvictionPolicy\. Pass EvictionPolicy\./)
        for (const name of Object.keys(EvictionPolicy)) assert.include(reason.message, name)
      }
    }))
})
