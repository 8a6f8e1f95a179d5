/** The reports of replays under another policy, case by case. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as EvictionPolicy from "effect-gpu-pool/EvictionPolicy"
import { Host } from "effect-gpu-pool/host"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as ReusePolicy from "effect-gpu-pool/ReusePolicy"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as StagingPool from "effect-gpu-pool/StagingPool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { decorated, layer } from "../../../../test/support/hostPool.ts"
import { watchedGpu } from "../../../../test/support/watchedGpu.ts"
import * as PoolEvents from "../../src/events/PoolEvents.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"
import { comparable } from "./comparable.ts"
import { recordedFibers } from "./fibers.ts"

const recorded = <A, E>(
  program: Effect.Effect<A, E, BufferPool.BufferPool | CommandQueue.CommandQueue>,
  pool: BufferPool.BufferPoolOptions = {},
  host: Host.HostOptions = {}
) => {
  const gpu = BufferPool.layer({ label: "tested", sizePolicy: SizePolicy.exact, deadlockTimeout: Infinity, ...pool })
    .pipe(
      Layer.provideMerge(Host.layer(host))
    )
  return Effect.andThen(Effect.exit(Effect.provide(program, gpu)), Recording.snapshot).pipe(
    Effect.provide(Recording.layer({ capacity: 10_000 }).pipe(Layer.provideMerge(PoolEvents.layer)))
  )
}

const lease = (size: number, label?: string) => BufferPool.use(size, () => Effect.void, { label })

const coarse: SizePolicy.SizePolicy = { name: "coarse", borrow: 0, blockSize: (size) => Math.max(size, 400) }

const held = (size: number, millis: number, wait = false) =>
  BufferPool.use(size, () => Effect.sleep(millis), wait ? { onExhausted: "wait" } : {})

/**
 * Records a program on a driver that frees late: each free takes effect after the next of these delays, in
 * milliseconds.
 */
const recordedLate = <A, E>(
  program: Effect.Effect<A, E, BufferPool.BufferPool>,
  pool: BufferPool.BufferPoolOptions,
  delays: ReadonlyArray<number>
) => {
  const left = delays.slice()
  const late = decorated((allocator) => ({
    ...allocator,
    reclaim: Effect.andThen(allocator.reclaim, Effect.suspend(() => Effect.sleep(left.shift() ?? 0)))
  }))
  const gpu = layer({ pool: { deadlockTimeout: Infinity, ...pool }, allocator: late })
  return Effect.gen(function*() {
    const running = yield* Effect.forkChild(Effect.exit(Effect.provide(program, gpu)), { startImmediately: true })
    yield* TestClock.adjust(1000)
    yield* Fiber.join(running)
    return yield* Recording.snapshot
  }).pipe(
    Effect.provide(Recording.layer({ capacity: 10_000 }).pipe(Layer.provideMerge(PoolEvents.layer)))
  )
}

const sameAsRecorded = Effect.fnUntraced(function*(recording: Recording.Recording) {
  const { differsAt, recording: replayed } = yield* Replay.run(recording)
  deepStrictEqual(comparable(Recording.events(replayed)), comparable(Recording.events(recording)))
  strictEqual(differsAt, undefined)
})

/** Sizes that each grow by three tenths. */
const growing = (from: number, steps: number) =>
  Effect.forEach(
    Array.from({ length: steps }, (_, step) => Math.round(100 * 1.3 ** (from + step))),
    (size) => lease(size),
    { discard: true }
  )

/** Blocks that were freed as outgrown. */
const outgrown = (recording: Recording.Recording) =>
  Array.from(Recording.events(recording)).filter((event) => event._tag === "Freed" && event.why === "heldLimit")
    .length

/** A recording that begins in the middle of a program whose sizes grow. */
const recordedLater = (options: BufferPool.BufferPoolOptions) =>
  Effect.scoped(Effect.gen(function*() {
    yield* growing(0, 12)
    const context = yield* Layer.build(Recording.layer({ capacity: 1000 }))
    yield* growing(12, 12)
    return yield* Effect.provide(Recording.snapshot, context)
  })).pipe(
    Effect.provide(BufferPool.layer(options).pipe(Layer.provideMerge(Host.layer()))),
    Effect.provide(PoolEvents.layer)
  )

const tagsOf = (recording: Recording.Recording) => Array.from(Recording.events(recording), ({ _tag }) => _tag)

/** Records a program on a pool with these options, until an hour after the pool has closed. */
const recordedWhole = <A, E>(program: Effect.Effect<A, E, BufferPool.BufferPool>, pool: BufferPool.BufferPoolOptions) =>
  Effect.gen(function*() {
    yield* Effect.provide(program, BufferPool.layer(pool).pipe(Layer.provideMerge(Host.layer())))
    yield* TestClock.adjust("1 hour")
    return yield* Recording.snapshot
  }).pipe(Effect.provide(Recording.layer().pipe(Layer.provideMerge(PoolEvents.layer))))

describe("a replay under another policy that is the recorded one", () => {
  const idle = { idleTimeToLive: 400, maxBypasses: 3 }

  it.effect("publishes no step of the idle clock after the pool has closed", () =>
    Effect.gen(function*() {
      const recording = yield* recordedWhole(Effect.andThen(lease(64), TestClock.adjust(10)), idle)
      const { recording: replayed } = yield* Replay.run(recording, { maxBypasses: 3 })
      deepStrictEqual(tagsOf(replayed), tagsOf(recording))
      strictEqual(tagsOf(replayed).at(-1), "Closed")
    }))

  it.effect("lets a request that is served go on before the idle clock begins", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const budget = yield* BufferPool.budget(300)
        const [first, second] = [yield* Scope.make(), yield* Scope.make()]
        yield* Scope.provide(budget.allocate(200), first)
        const waits = Scope.provide(budget.allocate(250, { onExhausted: "wait" }), second)
        yield* Effect.forkDetach(waits, { startImmediately: true })
        yield* Effect.yieldNow
        yield* Scope.close(first, Exit.void)
        yield* TestClock.adjust(10)
        yield* Scope.close(second, Exit.void)
      })
      const recording = yield* recordedWhole(program, idle)
      const { recording: replayed } = yield* Replay.run(recording, { maxBypasses: 3 })
      deepStrictEqual(tagsOf(replayed), tagsOf(recording))
      deepStrictEqual(tagsOf(replayed).slice(3, 8), ["Released", "Waited", "DriverAsked", "Leased", "IdleStep"])
    }))
})

describe("a replay under the recorded policy, of a limit that is raised", () => {
  it.effect("has the blocks of sizes that were larger than the limit before", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        yield* Effect.exit(lease(350))
        yield* (yield* BufferPool.BufferPool).setLimit(400)
        yield* lease(350)
      })
      const recording = yield* recorded(program, {
        maxBytes: 300,
        sizePolicy: coarse
      })
      strictEqual((yield* Replay.run(recording)).peakManagedBytes, 400)
      yield* sameAsRecorded(recording)
    }))
})

describe("a replay under another size policy", () => {
  it.effect("has no blocks that the device does not make", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(lease(200), {}, { maxBufferSize: 300 })
      strictEqual((yield* Replay.run(recording, { sizePolicy: coarse })).peakManagedBytes, 200)
    }))
})

describe("a replay under the recorded policy, of a driver that has memory back later", () => {
  it.effect("ends where idle memory was not back yet", () =>
    Effect.gen(function*() {
      const program = Effect.andThen(lease(64), Effect.sleep(50))
      const recording = yield* recordedLate(program, { idleTimeToLive: 10 }, [500])
      deepStrictEqual(tagsOf(recording).filter((tag) => tag !== "IdleStep").slice(3), ["Freed", "Closing", "Closed"])
      yield* sameAsRecorded(recording)
    }))

  it.effect("interrupts a request that waits for it", () =>
    Effect.gen(function*() {
      const program = Effect.andThen(lease(64), Effect.timeoutOption(lease(80), 50))
      const recording = yield* recordedLate(program, { maxBytes: 100 }, [500])
      deepStrictEqual(tagsOf(recording).slice(3, 6), ["RoomNeeded", "Freed", "GaveUp"])
      yield* sameAsRecorded(recording)
    }))

  it.effect("has it back for the request that has it first, and not for who asked first", () =>
    Effect.gen(function*() {
      const trimmed = Effect.andThen(lease(60), BufferPool.freeHeld)
      const asked = Effect.andThen(lease(30), lease(80))
      const both = Effect.all([trimmed, Effect.delay(asked, 1)], { concurrency: 2 })
      const recording = yield* recordedLate(both, { maxBytes: 100 }, [50, 5])
      const tags = tagsOf(recording)
      deepStrictEqual(tags.slice(tags.indexOf("RoomNeeded")).slice(0, 6), [
        "RoomNeeded",
        "Freed",
        "Reclaimed",
        "DriverAsked",
        "Leased",
        "Released"
      ])
      yield* sameAsRecorded(recording)
    }))
})

describe("a replay of a WebGPU device that is lost", () => {
  it.effect("loses it under the driver's calls", () =>
    Effect.gen(function*() {
      const gpu = BufferPool.layer({ label: "tested" }).pipe(Layer.provideMerge(WebGpu.layerFrom(watchedGpu().gpu)))
      const program = Effect.gen(function*() {
        const asking = yield* Effect.forkChild(lease(64), { startImmediately: true })
        yield* WebGpu.WebGpu.useSync(({ device }) => device.destroy())
        yield* Fiber.await(asking)
      })
      const recording = yield* Effect.andThen(Effect.provide(program, gpu), Recording.snapshot)
      const refused = Array.from(Recording.events(recording)).find((event) => event._tag === "Refused")
      strictEqual(refused?.why, "DeviceLost")
      yield* sameAsRecorded(recording)
    }).pipe(Effect.provide(Recording.layer().pipe(Layer.provideMerge(PoolEvents.layer)))))
})

describe("a replay", () => {
  it.effect("names the first request that fails under a smaller limit", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(BufferPool.use(60, () => lease(50, "inner"), { label: "outer" }))
      const { failed, peakActiveBytes } = yield* Replay.run(recording, { maxBytes: 100 })
      deepStrictEqual(failed.map(({ label, pool, size, why }) => [label, pool, size, why]), [
        ["inner", "BufferPool", 50, "OutOfMemory"]
      ])
      strictEqual(peakActiveBytes, 60)
      const tooSmall = yield* Replay.run(recording, { maxBytes: 40 })
      deepStrictEqual(tooSmall.failed.map(({ why }) => why), ["LimitExceeded", "LimitExceeded"])
    }))

  it.effect("does what was recorded of requests that are larger than a limit of the pool, a budget or the device", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(
        Effect.gen(function*() {
          const pool = yield* BufferPool.BufferPool
          const budget = yield* pool.budget(100, { label: "tenant" })
          for (const  of of[pool, budget]) {
            for (const size of [90, 110, 310, 1010]) yield* Effect.exit(of.use(size, () => Effect.void))
            yield* Effect.exit(of.reserve(1020, () => Effect.void))
            yield* Effect.exit(of.useAll([60, 250], () => Effect.void))
          }
          yield* Effect.exit(pool.reserve(310, (requests) => requests.use(311, () => Effect.void)))
          yield* pool.setLimit(80)
          yield* Effect.exit(lease(90))
        }),
        { maxBytes: 1000 },
        { maxBufferSize: 300 }
      )
      const gaveUp = Array.from(Recording.events(recording)).filter(({ _tag }) => _tag === "GaveUp")
      strictEqual(gaveUp.length, 10)
      const { differsAt, failed, recording: replayed } = yield* Replay.run(recording)
      strictEqual(differsAt, undefined)
      deepStrictEqual(comparable(Recording.events(replayed)), comparable(Recording.events(recording)))
      deepStrictEqual(
        failed.map(({ size, why }) => [size, why]),
        gaveUp.map((event) => [
          "size" in event && event.size,
          "LimitExceeded"
        ])
      )
    }))

  it.effect("ends what a larger limit has room for at once, since the program went on without it", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(
        Effect.gen(function*() {
          yield* Effect.exit(lease(200, "too large"))
          yield* Effect.exit(BufferPool.use(60, () => lease(50, "ran out")))
          yield* Effect.exit(Effect.andThen(lease(8), Effect.void).pipe(BufferPool.reserve(150)))
          yield* lease(90, "last")
        }),
        { maxBytes: 100 }
      )
      deepStrictEqual((yield* Replay.run(recording)).failed.map(({ size, why }) => [size, why]), [
        [200, "LimitExceeded"],
        [50, "OutOfMemory"],
        [150, "LimitExceeded"]
      ])
      const { failed, leases, peakActiveBytes, recording: replayed } = yield* Replay.run(recording, { maxBytes: 200 })
      deepStrictEqual([failed, leases, peakActiveBytes], [[], 4, 200])
      const ends = Array.from(Recording.events(replayed))
        .filter(({ _tag }) => _tag === "Released" || _tag === "ReservationEnded")
        .map((event) => "size" in event && event.size)
      deepStrictEqual(ends, [200, 50, 60, 150, 90])
    }))

  it.effect("counts what the pool counts", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(
        Effect.andThen(Effect.andThen(lease(64), lease(64)), Effect.andThen(lease(55), lease(200))),
        { maxBytes: 256, sizePolicy: { ...SizePolicy.exact, borrow: 1 } }
      )
      const { borrows, evictedBytes, evictions, fragmentation, hitRate, hits, misses, peakManagedBytes } = yield* Replay
        .run(recording)
      deepStrictEqual([hits, borrows, misses, hitRate], [2, 1, 2, 0.5])
      deepStrictEqual([evictions, evictedBytes, peakManagedBytes, fragmentation], [1, 64, 200, 0])
    }))

  it.effect("has a lease that begins later for as long as recorded", () =>
    Effect.gen(function*() {
      const job = yield* Effect.forkChild(
        recorded(
          Effect.andThen(Effect.all([held(64, 100, true), held(64, 50, true)], { concurrency: 2 }), Effect.sleep(100))
        )
      )
      yield* TestClock.adjust(200)
      const recording = yield* Fiber.join(job)
      const { failed, longestWaitMillis, recording: replayed, waits } = yield* Replay.run(recording, { maxBytes: 64 })
      deepStrictEqual([failed.length, waits, longestWaitMillis], [0, 1, 100])
      const released = Array.from(Recording.events(replayed)).filter(({ _tag }) => _tag === "Released")
      deepStrictEqual(released.map(({ at }) => at), [100, 150])
    }))

  it.effect("has a lease for as long as recorded that began later, also when it would have ended meanwhile", () =>
    Effect.gen(function*() {
      const second = Effect.delay(held(64, 100, true), 90)
      const both = Effect.all([held(64, 100, true), second], { concurrency: 2 })
      const job = yield* Effect.forkChild(recorded(Effect.andThen(both, Effect.sleep(100))))
      yield* TestClock.adjust(300)
      const { failed, recording: replayed } = yield* Replay.run(yield* Fiber.join(job), { maxBytes: 64 })
      strictEqual(failed.length, 0)
      const released = Array.from(Recording.events(replayed)).filter(({ _tag }) => _tag === "Released")
      deepStrictEqual(released.map(({ at }) => at), [100, 200])
    }))

  it.effect("keeps the blocks of several queues apart, as recorded and under another policy", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(Effect.scoped(Effect.gen(function*() {
        const other = yield* CommandQueue.make({ label: "other" })
        yield* lease(64)
        yield* CommandQueue.on(lease(64), other)
        yield* lease(64)
        yield* CommandQueue.on(lease(64), other)
      })))
      const queues = Array.from(
        Recording.events(recording),
        (event) => event._tag === "Leased" ? event.queue : undefined
      )
      deepStrictEqual(new Set(queues), new Set(["queue 1", undefined, "other"]))
      const same = yield* Replay.run(recording)
      strictEqual(same.differsAt, undefined)
      deepStrictEqual(comparable(Recording.events(same.recording)), comparable(Recording.events(recording)))
      const apart = yield* Replay.run(recording, { reuse: ReusePolicy.ownQueue })
      deepStrictEqual([apart.hits, apart.misses], [2, 2])
    }))

  it.effect("ends what a lost device ended", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      const recording = yield* recorded(
        BufferPool.use(64, () => Effect.andThen(Effect.sync(() => faults.lose()), Effect.exit(lease(32)))),
        {},
        { faults }
      )
      assert.include(Array.from(Recording.events(recording), ({ _tag }) => _tag), "Lost")
      const { differsAt, recording: replayed } = yield* Replay.run(recording)
      strictEqual(differsAt, undefined)
      deepStrictEqual(comparable(Recording.events(replayed)), comparable(Recording.events(recording)))
    }))

  it.effect("says where it differs from a recording that no pool has made", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(Effect.andThen(lease(64), lease(64)))
      const events = Array.from(Recording.events(recording)).filter(({ _tag }) => _tag !== "DriverAsked")
      const { differsAt } = yield* Replay.run(Recording.make(recording, events))
      strictEqual(differsAt, 0)
    }))

  it.effect("differs where anything but the numbers of blocks is other", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(
        BufferPool.withBudget(
          BufferPool.reserve(Effect.andThen(lease(64, "one"), Effect.exit(lease(200))), 64),
          100,
          { onExhausted: "wait", label: "part" }
        )
      )
      const events = Array.from(Recording.events(recording))
      const differsAt = (changed: ReadonlyArray<PoolEvent>) =>
        Effect.map(Replay.run(Recording.make(recording, changed)), ({ differsAt }) => differsAt)
      const at = (tag: PoolEvent["_tag"]) => events.findIndex(({ _tag }) => _tag === tag)
      const changedAt = (place: number, change: Readonly<Record<string, unknown>>) =>
        differsAt(events.map((event, index) => index === place ? { ...event, ...change } as PoolEvent : event))
      strictEqual(yield* differsAt(events), undefined)
      strictEqual(
        yield* differsAt(events.map((event) => "block" in event ? { ...event, block: event.block + 7 } : event)),
        undefined
      )
      strictEqual(yield* changedAt(at("Leased"), { budget: "other" }), at("Leased"))
      strictEqual(yield* changedAt(at("Leased"), { label: "other" }), at("Leased"))
      strictEqual(yield* changedAt(at("Leased"), { callSite: "other" }), at("Leased"))
      strictEqual(yield* changedAt(at("Released"), { block: 1000 }), at("Released"))
      strictEqual(yield* changedAt(at("ReservationEnded"), { budget: "other" }), at("ReservationEnded"))
      // A recorded event after the replay's last one differs too.
      strictEqual(yield* differsAt([...events, events[at("Released")]!]), events.length)
    }))

  it.effect("reports those that are never served", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(
        BufferPool.use(64, () => BufferPool.use(64, () => Effect.never, { onExhausted: "wait" })).pipe(
          Effect.timeout(1),
          Effect.forkChild({ startImmediately: true }),
          Effect.andThen(TestClock.adjust(1))
        )
      )
      const { failed } = yield* Replay.run(recording, { maxBytes: 64 })
      deepStrictEqual(failed, [])
      const waits = { onExhausted: "wait" as const }
      const stuck = yield* recorded(
        BufferPool.use(64, () => BufferPool.use(32, () => Effect.die("over"), waits), waits)
      )
      const smaller = yield* Replay.run(stuck, { maxBytes: 64 })
      // The outer one ends when it did, and the inner one is served then.
      deepStrictEqual(smaller.failed, [])
    }))

  it.effect("reports each request that fails once", () =>
    Effect.gen(function*() {
      const both = Effect.andThen(
        BufferPool.allocate(64),
        Effect.andThen(BufferPool.allocate(64, { onExhausted: "wait" }), Recording.snapshot)
      )
      const gpu = BufferPool.layer({ sizePolicy: SizePolicy.exact }).pipe(Layer.provideMerge(Host.layer()))
      const recording = yield* Effect.scoped(Effect.provide(both, gpu)).pipe(
        Effect.provide(Recording.layer({ capacity: 100 }).pipe(Layer.provideMerge(PoolEvents.layer)))
      )
      const { failed } = yield* Replay.run(recording, { maxBytes: 64 })
      deepStrictEqual(failed.map(({ size, why }) => [size, why]), [[64, "NeverServed"]])
      const { failed: limit } = (yield* Replay.smallestLimit(recording, { mayWait: false }))!
      strictEqual(limit, undefined)
    }))

  it.effect("ends, whatever the recording says", () =>
    Effect.gen(function*() {
      const memory = { number: 1, device: "d", kind: "pool" as const, maxBytes: 1000, maxHeldBytes: Infinity }
      const facts = {
        source: "made",
        reason: "imported" as const,
        takenAt: 0,
        dropped: 0,
        memories: [{ ...memory, maxBypasses: 16, deadlockTimeoutMillis: Infinity }],
        families: [],
        budgets: [],
        blocks: []
      }
      const memoryOf = { memory: undefined, memoryNumber: 1, device: "d", pool: "BufferPool", family: "13", size: 500 }
      const nothing = {
        label: undefined,
        budget: undefined,
        budgetNumber: undefined,
        queue: undefined,
        callSite: undefined,
        under: undefined
      }
      const of = (request: number) => ({ ...memoryOf, ...nothing, at: request, request, waitAtMost: 0 })
      const recording = Recording.make(facts, [
        { _tag: "HandlersAsked", ...of(1), freed: false },
        { _tag: "Refused", ...of(2), capacity: 500, why: "OutOfMemory" }
      ])
      const { failed } = yield* Replay.run(recording, { maxBytes: 600 })
      deepStrictEqual(failed.map(({ request, why }) => [request, why]), [[1, "OutOfMemory"], [2, "OutOfMemory"]])
    }))

  it.effect("distinguishes families of pools that have one name", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(lease(100))
      const family = recording.families[0]!
      const staging = { ...family, pool: "StagingPool", sizes: [[100, 100, 128, 256]] as const }
      const { recording: replayed } = yield* Replay.run(
        Recording.make({ ...recording, families: [family, staging] }, Recording.events(recording))
      )
      deepStrictEqual(replayed.families, [family, staging])
    }))

  it.effect("splits slabs of staging memory where the program did", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        for (const direction of ["upload", "download", "both"] as const) {
          yield* StagingPool.allocate(100, Uint8Array, { direction })
          yield* StagingPool.use(40, Uint8Array, () => Effect.void, { direction })
          yield* StagingPool.allocate(24, Uint8Array, { direction })
        }
      })
      const strategy = PoolStrategy.arena({ unitBytes: 16, slabBytes: 256, growth: 0 })
      const recording = yield* Effect.scoped(program).pipe(
        Effect.provide(StagingPool.layer({ strategy }).pipe(Layer.provideMerge(Host.layer()))),
        Effect.andThen(Recording.snapshot),
        Effect.provide(Recording.layer({ capacity: 10_000 }).pipe(Layer.provideMerge(PoolEvents.layer)))
      )
      const same = yield* Replay.run(recording)
      deepStrictEqual(comparable(Recording.events(same.recording)), comparable(Recording.events(recording)))
      strictEqual(same.driverAllocations, 2)
      const inBlocks = yield* Replay.run(recording, { strategy: PoolStrategy.blocks })
      // The last array borrows the block of the one before.
      strictEqual(inBlocks.driverAllocations, 6)
    }))

  it.effect("refuses what a driver without memory refused, and no more", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(BufferPool.use(200, () => lease(100)), {}, { capacityBytes: 256 })
      const same = yield* Replay.run(recording)
      deepStrictEqual(same.failed.map(({ size }) => size), [100])
      deepStrictEqual(comparable(Recording.events(same.recording)), comparable(Recording.events(recording)))
      const other = yield* Replay.run(recording, { maxBytes: 1000 })
      deepStrictEqual(other.failed.map(({ size }) => size), [100])
    }))

  it.effect("asks handlers when the recording did", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(
        Effect.scoped(Effect.gen(function*() {
          const cached = yield* Effect.forkChild(Effect.scoped(Effect.andThen(BufferPool.allocate(64), Effect.never)), {
            startImmediately: true
          })
          yield* BufferPool.onOutOfMemory(() => Effect.as(Fiber.interrupt(cached), true))
          yield* lease(64)
        })),
        { maxBytes: 100 }
      )
      assert.include(Array.from(Recording.events(recording), ({ _tag }) => _tag), "HandlersAsked")
      const replayed = yield* Replay.run(recording)
      deepStrictEqual(comparable(Recording.events(replayed.recording)), comparable(Recording.events(recording)))
    }))

  it.effect.each(["succeeds", "dies", "never ends"] as const)(
    "has the handlers of a budget as long as the recording, where the last one %s",
    (how) =>
      Effect.gen(function*() {
        const recording = yield* recorded(
          Effect.scoped(Effect.gen(function*() {
            const pool = yield* BufferPool.BufferPool
            const budget = yield* pool.budget(100, { label: "part" })
            const cached = yield* Effect.forkChild(Effect.scoped(Effect.andThen(budget.allocate(64), Effect.never)), {
              startImmediately: true
            })
            yield* Effect.scoped(Effect.andThen(
              budget.onOutOfMemory(() => Effect.as(Fiber.interrupt(cached), true)),
              budget.use(80, () => Effect.void)
            ))
            yield* budget.allocate(50)
            // No handler is there any more.
            yield* Effect.exit(budget.allocate(60))
            const last = how === "succeeds" ? Effect.succeed(false) : how === "dies" ? Effect.die("over") : Effect.never
            yield* budget.onOutOfMemory(() => Effect.andThen(Effect.yieldNow, last))
            const asks = yield* Effect.forkChild(Effect.exit(budget.allocate(70)), { startImmediately: true })
            yield* Effect.yieldNow
            yield* budget.use(40, () => Effect.yieldNow)
            yield* Effect.yieldNow
            yield* Fiber.interrupt(asks)
            yield* budget.use(30, () => Effect.void)
          }))
        )
        const asked = Array.from(Recording.events(recording)).filter(({ _tag }) => _tag === "HandlersAsked")
        deepStrictEqual(asked.map((event) => "freed" in event && event.freed), [true, false])
        const { differsAt, recording: replayed } = yield* Replay.run(recording)
        strictEqual(differsAt, undefined)
        deepStrictEqual(comparable(Recording.events(replayed)), comparable(Recording.events(recording)))
      })
  )

  it.effect("of a recording that begins later has the blocks that there were", () =>
    Effect.gen(function*() {
      const recording = yield* Effect.scoped(Effect.gen(function*() {
        yield* lease(64)
        yield* BufferPool.allocate(32)
        const later = Layer.build(Recording.layer({ capacity: 100 }))
        const context = yield* later
        yield* lease(64)
        yield* Effect.scoped(BufferPool.allocate(128))
        return yield* Effect.provide(Recording.snapshot, context)
      })).pipe(
        Effect.provide(BufferPool.layer({ sizePolicy: SizePolicy.exact }).pipe(Layer.provideMerge(Host.layer()))),
        Effect.provide(PoolEvents.layer)
      )
      const { hits, misses, peakActiveBytes, peakManagedBytes } = yield* Replay.run(recording)
      deepStrictEqual([hits, misses, peakActiveBytes, peakManagedBytes], [1, 1, 160, 224])
    }))

  it.effect("frees what the program had outgrown, also when the recorder came later", () =>
    Effect.gen(function*() {
      const recording = yield* recordedLater({})
      strictEqual(outgrown(recording) > 5, true)
      // The largest lease had ended before the recorder was built.
      deepStrictEqual(recording.memories[0]!.outgrown, { mostLeasedBytes: 1792, missedBytes: 0 })
      yield* sameAsRecorded(recording)
      const all = yield* recordedLater({ maxHeldBytes: Infinity })
      deepStrictEqual([outgrown(all), all.memories[0]!.outgrown], [0, undefined])
      yield* sameAsRecorded(all)
      strictEqual((yield* Replay.run(recording, { maxHeldBytes: Infinity })).evictions, 0)
    }))

  it.effect("states the policy that was replayed, and the blocks that there were under it", () =>
    Effect.gen(function*() {
      const recording = yield* Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.useAll([64, 100], () => Effect.void)
        yield* BufferPool.allocate(32)
        const context = yield* Layer.build(Recording.layer({ capacity: 100 }))
        yield* lease(60)
        yield* Effect.scoped(BufferPool.allocate(128))
        return yield* Effect.provide(Recording.snapshot, context)
      })).pipe(
        Effect.provide(BufferPool.layer({ sizePolicy: SizePolicy.exact }).pipe(Layer.provideMerge(Host.layer()))),
        Effect.provide(PoolEvents.layer)
      )
      const policy = {
        maxBytes: 200,
        maxHeldBytes: 150,
        eviction: EvictionPolicy.oldestFirst,
        maxBypasses: 3,
        idleTimeToLive: 1000,
        idleSteps: 2,
        idleKeepBytes: 10
      }
      const sizePolicy = { name: "of 32", blockSize: (size: number) => 32 * Math.ceil(size / 32), borrow: 1 }
      const { recording: replayed } = yield* Replay.run(recording, { ...policy, sizePolicy })
      const { eviction, idle, maxBytes, maxHeldBytes, maxBypasses } = replayed.memories[0]!
      deepStrictEqual([maxBytes, maxHeldBytes, eviction?.name, maxBypasses], [200, 150, "oldestFirst", 3])
      assert.deepInclude(idle, { steps: 2, keepBytes: 10, stepMillis: 500 })
      deepStrictEqual(replayed.families.map(({ sizes }) => sizes), [[[60, 60, 64, 128], [128, 128, 128, 256]]])
      // The limit has room for one of the held blocks.
      deepStrictEqual(replayed.blocks.map(({ capacity }) => capacity), [100, 32])
      const again = yield* Replay.run(replayed)
      deepStrictEqual([again.differsAt, again.hits, again.leases], [undefined, 0, 2])
      deepStrictEqual(comparable(Recording.events(again.recording)), comparable(Recording.events(replayed)))
    }))

  it.effect("refuses options that do not suit the recording", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(lease(64))
      const wrong: ReadonlyArray<Replay.ReplayOptions> = [
        { maxBytes: -1 },
        { memory: "other" },
        { sizePolicy: SizePolicy.leadingBits(99) }
      ]
      for (const options of wrong) {
        const error = yield* Effect.flip(Replay.run(recording, options))
        strictEqual(error.reason._tag, "InvalidRequest")
      }
    }))
})

describe("the smallest limit", () => {
  it.effect("is within a whole number of bytes", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(lease(64))
      for (const within of [0, -1, 1.5, NaN, Infinity]) {
        const { message, reason } = yield* Effect.flip(Replay.smallestLimit(recording, { within }))
        strictEqual(reason._tag, "InvalidRequest")
        assert.include(message, `within ${within} is no whole number`)
      }
    }))

  it.effect("passes, and a byte less does not", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(BufferPool.use(600, () => Effect.andThen(lease(300), lease(350))))
      const found = yield* Replay.smallestLimit(recording)
      deepStrictEqual([found?.maxBytes, found?.failsAt, found?.failed?.size], [950, 949, 350])
      deepStrictEqual((yield* Replay.run(recording, { maxBytes: 950 })).failed, [])
      strictEqual((yield* Replay.run(recording, { maxBytes: 949 })).failed.length, 1)
    }))

  it.effect("says that a larger one may fail", () =>
    Effect.gen(function*() {
      const recording = yield* recordedFibers([
        [{
          do: "nested",
          size: 1013,
          wait: 2,
          yields: 0,
          steps: [{ do: "use", size: 195, wait: Infinity, yields: 1 }]
        }],
        [{ do: "use", size: 86, wait: 0, yields: 2 }]
      ], { sizePolicy: { ...SizePolicy.exact, borrow: 1 } })
      const found = yield* Replay.smallestLimit(recording)
      deepStrictEqual([found?.maxBytes, found?.failsAt, found?.failed?.size, found?.isMonotonic], [
        1294,
        1293,
        86,
        false
      ])
    }))

  it.effect("has room for a request that was larger than the limit of the recording", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(
        BufferPool.use(60, () => Effect.exit(lease(200, "too large"))),
        { maxBytes: 100 }
      )
      const found = yield* Replay.smallestLimit(recording)
      deepStrictEqual([found?.maxBytes, found?.failsAt, found?.failed?.why], [260, 259, "OutOfMemory"])
      const ofBudget = yield* recorded(
        Effect.exit(BufferPool.withBudget(lease(200), 100, { label: "tenant" })),
        { maxBytes: 1000 }
      )
      strictEqual(yield* Replay.smallestLimit(ofBudget), undefined)
    }))

  it.effect("is none where the driver has too little memory", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(BufferPool.use(200, () => lease(100)), {}, { capacityBytes: 256 })
      strictEqual(yield* Replay.smallestLimit(recording), undefined)
    }))
})
