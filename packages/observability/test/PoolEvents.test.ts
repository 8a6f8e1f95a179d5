/** The events of a pool's memory: each by name, and the ledger computed from all of them. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CallSite from "effect-gpu-pool/CallSite"
import * as DeviceMemory from "effect-gpu-pool/DeviceMemory"
import { Host } from "effect-gpu-pool/host"
import * as Lease from "effect-gpu-pool/Lease"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import { runs } from "../../../test/support/explore.ts"
import { Ledger } from "../../../test/support/ledger.ts"
import { run, steps } from "../../../test/support/poolPrograms.ts"
import { stepsTaken } from "../../../test/support/stepsTaken.ts"
import * as MemoryHook from "../src/events/MemoryHook.ts"
import * as PoolEvents from "../src/events/PoolEvents.ts"

const gpu = (pool: BufferPool.BufferPoolOptions = {}, host: Host.HostOptions = {}) =>
  BufferPool.layer({ label: "tested", sizePolicy: SizePolicy.exact, ...pool }).pipe(
    Layer.provideMerge(Host.layer(host)),
    Layer.provideMerge(PoolEvents.layer)
  )

/** The events from now on. */
const received = Effect.gen(function*() {
  const events: Array<PoolEvent> = []
  yield* Effect.forkScoped(PoolEvents.listen((event) => void events.push(event)), { startImmediately: true })
  return events
})

/** The tags since the last look, with the members that distinguish events of one tag. */
const described = (events: Array<PoolEvent>): ReadonlyArray<string> =>
  events.splice(0).map((event) => {
    switch (event._tag) {
      case "Leased":
        return `${event._tag} ${event.size} of ${event.capacity}, ${event.from}`
      case "Released":
      case "Freed":
        return `${event._tag} ${event.capacity}, ${event.why}`
      case "Refused":
        return `${event._tag} ${event.capacity}, ${event.why}`
      case "Waited":
        return `${event._tag} ${event.size}, ${event.served ? "served" : "not served"} after ${event.waitedMillis} ms`
      case "HandlersAsked":
        return `${event._tag} ${event.size}, ${event.freed}`
      case "LimitChanged":
        return `${event._tag} ${event.budget ?? "memory"} ${event.from} to ${event.to}`
      case "Kept":
      case "DriverAsked":
        return `${event._tag} ${event.capacity}`
      case "RoomNeeded":
        return `${event._tag} ${event.missing}`
      case "TrimAsked":
        return event.all ? event._tag : `${event._tag} ${event.to}`
      case "Closing":
        return event.pool === undefined ? event._tag : `${event._tag} ${event.pool}`
      case "HoldingChanged":
        return `${event._tag} ${event.holds}`
      case "GaveUp":
        return `${event._tag} ${event.size}, ${event.why}`
      case "Waiting":
      case "Reserved":
      case "ReservationEnded":
      case "RanOut":
        return `${event._tag} ${event.size}`
      default:
        return event._tag
    }
  })

const lease = (size: number) => BufferPool.use(size, () => Effect.void)

const ask = (requests: Pick<BufferPool.BufferPool["Service"], "use">, size: number) =>
  Effect.forkChild(Effect.flip(requests.use(size, () => Effect.void)), { startImmediately: true })

describe("a pool publishes", () => {
  it.effect("of hits, borrows, misses, ends and blocks that it frees", () =>
    Effect.gen(function*() {
      const events = yield* received
      yield* lease(64)
      deepStrictEqual(described(events), ["DriverAsked 64", "Leased 64 of 64, driver", "Released 64, scopeClosed"])
      yield* lease(64)
      deepStrictEqual(described(events), ["Leased 64 of 64, held", "Released 64, scopeClosed"])
      yield* lease(56)
      deepStrictEqual(described(events), ["Leased 56 of 64, borrowed", "Released 64, scopeClosed"])
      yield* lease(200)
      deepStrictEqual(described(events), [
        "RoomNeeded 8",
        "Freed 64, evicted",
        "Reclaimed",
        "DriverAsked 200",
        "Leased 200 of 200, driver",
        "Released 200, scopeClosed"
      ])
      yield* BufferPool.freeHeld
      deepStrictEqual(described(events), ["TrimAsked", "Freed 200, trimmed", "Reclaimed"])
      yield* BufferPool.stopHolding
      yield* lease(8)
      yield* BufferPool.resumeHolding
      deepStrictEqual(described(events), [
        "HoldingChanged false",
        "TrimAsked",
        "Reclaimed",
        "DriverAsked 8",
        "Leased 8 of 8, driver",
        "Released 8, scopeClosed",
        "Freed 8, notKept",
        "HoldingChanged true"
      ])
      yield* BufferPool.trimTo(100)
      deepStrictEqual(described(events), ["TrimAsked 100", "Reclaimed"])
    }).pipe(
      Effect.scoped,
      Effect.provide(gpu({ maxBytes: 256, sizePolicy: { ...SizePolicy.exact, borrow: 1 } }))
    ))

  it.effect("with the host, where the listener has that metric attribute", () =>
    Effect.gen(function*() {
      const plain = yield* received
      const named = yield* Effect.provideService(received, Metric.CurrentMetricAttributes, { host: "a", rack: "7" })
      yield* lease(64)
      deepStrictEqual(named, plain.map((event) => ({ ...event, host: "a" })))
      strictEqual(plain.length, 3)
      assert.isTrue(plain.every((event) => !("host" in event)))
    }).pipe(Effect.scoped, Effect.provide(gpu())))

  it.effect("of limits, reservations, budgets, and requests that run out", () =>
    Effect.gen(function*() {
      const events = yield* received
      yield* BufferPool.setLimit(100)
      yield* lease(64).pipe(BufferPool.reserve(64))
      deepStrictEqual(described(events), [
        "LimitChanged memory 256 to 100",
        "TrimAsked 100",
        "Reclaimed",
        "Reserved 64",
        "DriverAsked 64",
        "Leased 64 of 64, driver",
        "Released 64, scopeClosed",
        "ReservationEnded 64"
      ])
      const failed = BufferPool.use(64, () => lease(64), { label: "outer" })
      yield* Effect.exit(failed)
      const ranOut = events.find((event) => event._tag === "RanOut")
      assert.isDefined(ranOut)
      deepStrictEqual([ranOut.size, ranOut.activeBytes, ranOut.pool, ranOut.memory], [64, 64, "BufferPool", "tested"])
      events.length = 0
      const budgeted = Effect.flatMap(BufferPool.BufferPool, (pool) =>
        Effect.andThen(pool.setLimit({ maxBytes: 32 }), pool.use(16, () => Effect.void)))
      yield* BufferPool.withBudget(budgeted, 64, { label: "tenant" })
      const inBudget = events.filter((event) =>
        "budget" in event && event.budget === "tenant"
      )
      deepStrictEqual(inBudget.map(({ _tag }) => _tag), ["LimitChanged", "DriverAsked", "Leased"])
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 256 }))))

  it.effect("the label of each of several leases that are asked for together, hits and others", () =>
    Effect.gen(function*() {
      const events = yield* received
      const options = { label: "both", labels: { left: "left half" } }
      for (let run = 0; run < 2; run++) yield* BufferPool.useAll({ left: 64, right: 64 }, () => Effect.void, options)
      const labels = events.flatMap((event) => event._tag === "Leased" ? [event.label] : [])
      deepStrictEqual(labels, ["left half", "both", "left half", "both"])
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 256 }))))

  it.effect("who waits, for how long, and whether they were served", () =>
    Effect.gen(function*() {
      const events = yield* received
      const scope = yield* Scope.make()
      yield* Scope.provide(BufferPool.allocate(64), scope)
      const served = yield* Effect.forkChild(lease(64), { startImmediately: true })
      const late = yield* Effect.forkChild(
        Effect.exit(BufferPool.use(64, () => Effect.void, { waitAtMost: "1 second" })),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 second")
      strictEqual(Exit.isFailure(yield* Fiber.join(late)), true)
      yield* TestClock.adjust("2 seconds")
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(served)
      const waits = described(events).filter((one) => one.startsWith("Wait"))
      deepStrictEqual(waits, [
        "Waiting 64",
        "Waiting 64",
        "Waited 64, not served after 1000 ms",
        "Waited 64, served after 3000 ms"
      ])
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 64, onExhausted: "wait", deadlockTimeout: Infinity }))))

  it.effect("who gave up: while the driver was at work, and in the wait queue", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      const events = yield* received
      faults.delay({ allocations: "1 second" })
      const asking = yield* Effect.forkChild(lease(64), { startImmediately: true })
      const waiting = yield* Effect.forkChild(lease(64), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(asking)
      yield* TestClock.adjust("1 second")
      deepStrictEqual(described(events), [
        "DriverAsked 64",
        "Waiting 64",
        "GaveUp 64, interrupted",
        "Waited 64, not served after 0 ms",
        "GaveUp 64, interrupted",
        "Kept 64"
      ])
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 64, onExhausted: "wait" }, { faults })))
  })

  it.effect("of a request that is larger than a limit, and of nothing else that it does", () =>
    Effect.gen(function*() {
      const events = yield* received
      const pool = yield* BufferPool.BufferPool
      const budget = yield* pool.budget(100, { label: "tenant" })
      const tooLarge = [
        pool.use(300, () => Effect.void, { label: "of the pool" }),
        // The device makes multiples of 128 bytes.
        pool.use(257, () => Effect.void, { label: "rounded" }),
        budget.use(101, () => Effect.void, { label: "of a budget" }),
        pool.reserve(301, () => Effect.void, { label: "reserved" }),
        Effect.scoped(pool.allocate(302, { label: "allocated", onExhausted: "wait" })),
        pool.useAll([1, 303], () => Effect.void, { label: "one of several" }),
        pool.useAll([200, 200], () => Effect.void, { label: "together" })
      ]
      for (const request of tooLarge) {
        strictEqual((yield* Effect.flip(request)).reason._tag, "LimitExceeded")
      }
      const gaveUp = events.map((event) =>
        event._tag === "GaveUp" ? [event.why, event.size, event.label, event.budget, event.waitAtMost] : event._tag
      )
      deepStrictEqual(gaveUp, [
        ["limitExceeded", 300, "of the pool", undefined, 0],
        ["limitExceeded", 257, "rounded", undefined, 0],
        ["limitExceeded", 101, "of a budget", "tenant", 0],
        ["limitExceeded", 301, "reserved", undefined, Infinity],
        ["limitExceeded", 302, "allocated", undefined, Infinity],
        ["limitExceeded", 303, "one of several", undefined, 0],
        ["limitExceeded", 512, "together", undefined, 0]
      ])
    }).pipe(
      Effect.scoped,
      Effect.provide(gpu({ maxBytes: 300, sizePolicy: SizePolicy.exact }, { granularity: 128 }))
    ))

  it.effect("of one that is larger than the device's largest buffer, and not of one with options that are none", () =>
    Effect.gen(function*() {
      const events = yield* received
      strictEqual((yield* Effect.flip(lease(101))).reason._tag, "LimitExceeded")
      deepStrictEqual(described(events), ["GaveUp 101, limitExceeded"])
      const invalid = [
        lease(-1),
        lease(0.5),
        BufferPool.use(101, () => Effect.void, { waitAtMost: -1 }),
        BufferPool.use(8, () => Effect.void, { label: 5 as never })
      ]
      for (const request of invalid) strictEqual((yield* Effect.flip(request)).reason._tag, "InvalidRequest")
      deepStrictEqual(events, [])
    }).pipe(Effect.scoped, Effect.provide(gpu({}, { maxBufferSize: 100 }))))

  it.effect("of those in the wait queue that are larger than a lower limit", () =>
    Effect.gen(function*() {
      const events = yield* received
      const pool = yield* BufferPool.BufferPool
      const budget = yield* pool.budget(60, { label: "tenant", onExhausted: "wait" })
      const fibers = yield* Effect.scoped(Effect.gen(function*() {
        yield* pool.allocate(64)
        yield* budget.allocate(32)
        const fibers = [yield* ask(pool, 50), yield* ask(budget, 40)]
        events.length = 0
        yield* budget.setLimit(39)
        yield* pool.setLimit(49)
        return fibers
      }))
      const reasons = yield* Effect.forEach(fibers, Fiber.join)
      deepStrictEqual(reasons.map(({ reason }) => reason._tag), ["LimitExceeded", "LimitExceeded"])
      deepStrictEqual(described(events).filter((one) => !/Freed|Reclaimed|Released/.test(one)), [
        "LimitChanged tenant 60 to 39",
        "GaveUp 40, limitExceeded",
        "Waited 40, not served after 0 ms",
        "LimitChanged memory 100 to 49",
        "GaveUp 50, limitExceeded",
        "Waited 50, not served after 0 ms",
        "TrimAsked 49"
      ])
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 100, onExhausted: "wait", deadlockTimeout: Infinity }))))

  it.effect("that a pool on a shared memory closes, and then the memory", () =>
    Effect.gen(function*() {
      const events = yield* received
      const shared = BufferPool.layerShared({ sizePolicy: SizePolicy.exact }).pipe(
        Layer.provideMerge(DeviceMemory.layer()),
        Layer.provideMerge(Host.layer())
      )
      yield* Effect.provide(Effect.scoped(BufferPool.allocate(64)), shared)
      deepStrictEqual(described(events).slice(2), [
        "Released 64, scopeClosed",
        "Closing BufferPool",
        "Freed 64, closed",
        "Closing",
        "Closed"
      ])
    }).pipe(Effect.scoped, Effect.provide(PoolEvents.layer)))

  it.effect("what the driver refuses, what handlers did, and that the device is lost", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      const events = yield* received
      yield* BufferPool.onOutOfMemory(() => Effect.succeed(false))
      yield* Effect.exit(BufferPool.use(200, () => lease(100)))
      const tags = events.map(({ _tag }) => _tag)
      assert.include(tags, "Refused")
      assert.include(tags, "HandlersAsked")
      events.length = 0
      yield* lease(8)
      faults.lose()
      yield* Effect.yieldNow
      deepStrictEqual(described(events).slice(-3), ["Lost", "Freed 200, lost", "Freed 8, lost"])
    }).pipe(Effect.scoped, Effect.provide(gpu({}, { capacityBytes: 256, maxBufferSize: 512, faults })))
  })

  it.effect("that a request ends as a handler fails", () =>
    Effect.gen(function*() {
      const events = yield* received
      yield* BufferPool.onOutOfMemory(() => Effect.die("no cache"))
      strictEqual((yield* Effect.exit(BufferPool.use(64, () => lease(32))))._tag, "Failure")
      deepStrictEqual(described(events.filter((event) => "size" in event && event.size === 32)), [
        "RoomNeeded 32",
        "HandlersAsked 32, false",
        "GaveUp 32, failed"
      ])
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 64 }))))

  it.effect("of a request that gets its lease while a handler works, and nothing as that fails", () =>
    Effect.gen(function*() {
      const events = yield* received
      const fails = yield* Deferred.make<void>()
      yield* BufferPool.onOutOfMemory(() => Effect.andThen(Deferred.await(fails), Effect.die("no cache")))
      const all = yield* BufferPool.allocate(64)
      const request = BufferPool.use(64, () => Effect.void, { label: "waits" })
      const waits = yield* Effect.forkChild(Effect.exit(request), { startImmediately: true })
      yield* Lease.release(all)
      yield* Deferred.done(fails, Exit.void)
      strictEqual((yield* Fiber.join(waits))._tag, "Failure")
      deepStrictEqual(described(events.filter((event) => "label" in event && event.label === "waits")), [
        "RoomNeeded 64",
        "Leased 64 of 64, held",
        "HandlersAsked 64, false",
        "Released 64, scopeClosed"
      ])
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 64 }))))

  it.effect("at what time, by the clock of who listens", () =>
    Effect.gen(function*() {
      const events = yield* received
      yield* TestClock.adjust("5 seconds")
      yield* lease(64)
      deepStrictEqual(events.map(({ at }) => at), [5000, 5000, 5000])
    }).pipe(Effect.scoped, Effect.provide(gpu())))
})

describe("a hook", () => {
  it.effect("is called for what the driver makes, for leases, their ends and what is freed", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const note = (name: string) => ({ capacity }: { readonly capacity: number }) =>
        void calls.push(`${name} ${capacity}`)
      const hook = {
        onAllocate: note("allocate"),
        onLease: note("lease"),
        onRelease: note("release"),
        onFree: note("free")
      }
      yield* MemoryHook.run(Effect.andThen(Effect.andThen(lease(64), lease(64)), BufferPool.freeHeld), hook)
      deepStrictEqual(calls, ["allocate 64", "lease 64", "release 64", "lease 64", "release 64", "free 64"])
      yield* lease(64)
      strictEqual(calls.length, 6)
    }).pipe(Effect.provide(gpu())))

  it.effect("is called before and after, also where there is no lease in the end", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const note = (name: string) => ({ _tag, size }: { readonly _tag: string; readonly size: number }) =>
        void calls.push(`${name} ${size} ${_tag}`)
      const hook: MemoryHook.MemoryHook = {
        onRequest: note("request"),
        onAsk: note("ask"),
        onRefuse: note("refuse"),
        onLease: note("lease"),
        onFail: note("fail"),
        onRelease: note("release")
      }
      const job = Effect.gen(function*() {
        yield* Effect.scoped(Effect.andThen(BufferPool.allocate(64), Effect.exit(lease(128))))
        yield* lease(64)
        yield* Effect.exit(lease(1024))
      })
      yield* MemoryHook.run(job, hook)
      deepStrictEqual(calls, [
        "request 64 DriverAsked",
        "ask 64 DriverAsked",
        "lease 64 Leased",
        "request 128 DriverAsked",
        "ask 128 DriverAsked",
        "refuse 128 Refused",
        // once more, after the driver has given back what was freed
        "ask 128 DriverAsked",
        "refuse 128 Refused",
        "fail 128 RanOut",
        "release 64 Released",
        "request 64 Leased",
        "lease 64 Leased",
        "release 64 Released",
        "request 1024 GaveUp",
        "fail 1024 GaveUp"
      ])
    }).pipe(Effect.provide(gpu({ maxBytes: 512 }, { capacityBytes: 128 }))))

  it.effect("is called once for a request that waits, and never for a reservation", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const hook: MemoryHook.MemoryHook = {
        onRequest: ({ _tag, label }) => void calls.push(`request ${label} ${_tag}`),
        onLease: ({ label }) => void calls.push(`lease ${label}`),
        onFail: ({ _tag, label }) => void calls.push(`fail ${label} ${_tag}`)
      }
      const job = Effect.gen(function*() {
        const scope = yield* Scope.make()
        yield* Scope.provide(BufferPool.allocate(64, { label: "first" }), scope)
        const served = yield* Effect.forkChild(BufferPool.use(64, () => Effect.void, { label: "served" }), {
          startImmediately: true
        })
        const ended = yield* Effect.forkChild(BufferPool.use(64, () => Effect.void, { label: "ended" }), {
          startImmediately: true
        })
        const reserved = yield* Effect.forkChild(BufferPool.reserve(Effect.void, 64), { startImmediately: true })
        yield* Fiber.interrupt(ended)
        yield* Scope.close(scope, Exit.void)
        yield* Fiber.join(served)
        yield* Fiber.join(reserved)
      })
      yield* MemoryHook.run(job, hook)
      deepStrictEqual(calls, [
        "request first DriverAsked",
        "lease first",
        "request served Waiting",
        "request ended Waiting",
        "fail ended GaveUp",
        "lease served"
      ])
    }).pipe(Effect.provide(gpu({ maxBytes: 64, onExhausted: "wait" }))))

  it.effect("that throws ends the effect with that, and no lease stays", () =>
    Effect.gen(function*() {
      const hook = {
        onLease: () => {
          throw new Error("mine")
        }
      }
      const exit = yield* Effect.exit(MemoryHook.run(Effect.scoped(Effect.andThen(lease(64), Effect.never)), hook))
      assert.isTrue(Exit.hasDies(exit))
      strictEqual((yield* BufferPool.stats).activeBlocks, 0)
    }).pipe(Effect.provide(gpu())))

  it.effect("prints lines of JSON as CuPy's", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      yield* MemoryHook.run(lease(60), MemoryHook.debugPrint((line) => lines.push(line)))
      const common = { device_id: "host process memory", pool: "BufferPool", mem_size: 60 }
      const [allocated, leased, freed] = lines.map((line) => JSON.parse(line))
      const { block } = allocated
      deepStrictEqual(allocated, { hook: "alloc", ...common, block })
      deepStrictEqual(leased, { hook: "malloc", ...common, size: 60, block })
      deepStrictEqual(freed, { hook: "free", ...common, block })
    }).pipe(Effect.provide(gpu())))

  it("prints names of devices so that they steer no terminal", () => {
    const lines: Array<string> = []
    const device = "a \u009b2J\u202e GPU"
    const lease = { pool: "BufferPool", block: 1, capacity: 4, size: 4, label: undefined, callSite: undefined }
    const event = { _tag: "Released", at: 0, memory: undefined, memoryNumber: 1, device, ...lease } as const
    MemoryHook.debugPrint((line) => lines.push(line)).onRelease?.({ ...event, why: "released" })
    assert.notMatch(lines[0]!, /[\u009b\u202e]/)
    strictEqual(JSON.parse(lines[0]!).device_id, device)
  })

  it.effect("counts bytes by the place that asked", () =>
    Effect.gen(function*() {
      const { hook, report } = MemoryHook.lineProfile()
      const job = Effect.gen(function*() {
        yield* BufferPool.use(100, () => Effect.void)
        for (let round = 0; round < 3; round++) yield* BufferPool.use(64, () => Effect.void)
      })
      yield* MemoryHook.run(CallSite.track(job), hook)
      const [first, second] = report()
      deepStrictEqual([first?.leases, first?.bytes, first?.acquiredBytes], [3, 192, 64])
      deepStrictEqual([second?.leases, second?.bytes], [1, 100])
      assert.match(first!.callSite, /PoolEvents\.test/)
    }).pipe(Effect.provide(gpu())))
})

describe("who listens", () => {
  it.effect("ends with what it throws, and the pool goes on", () =>
    Effect.gen(function*() {
      const listener = yield* Effect.forkChild(
        PoolEvents.listen(() => {
          throw new Error("mine")
        }),
        { startImmediately: true }
      )
      yield* lease(64)
      const exit = yield* Fiber.await(listener)
      assert.isTrue(Exit.hasDies(exit))
      yield* lease(64)
      strictEqual((yield* BufferPool.stats).hits, 1)
    }).pipe(Effect.scoped, Effect.provide(gpu())))

  it.effect("may listen to a stream, and to its own pools alone", () =>
    Effect.gen(function*() {
      const first = yield* Effect.forkChild(Stream.runCollect(Stream.take(PoolEvents.stream, 2)), {
        startImmediately: true
      })
      yield* Effect.provide(lease(8), Layer.fresh(gpu()))
      yield* lease(64)
      const found = yield* Fiber.join(first)
      deepStrictEqual(found.map((event) => "size" in event ? event.size : event._tag), [64, 64])
    }).pipe(Effect.scoped, Effect.provide(gpu())))

  it("costs a hit nothing once it has stopped", async () => {
    await Effect.runPromise(
      Effect.gen(function*() {
        const hits = (): number =>
          stepsTaken("/services/pool/", () => Effect.runSync(Effect.provide(lease(64), context)))
        const context = yield* Effect.context<BufferPool.BufferPool>()
        yield* lease(64)
        const before = hits()
        const stop = yield* Effect.forkChild(PoolEvents.listen(() => {}), { startImmediately: true })
        assert.isAbove(hits(), before)
        yield* Fiber.interrupt(stop)
        strictEqual(hits(), before)
      }).pipe(Effect.provide(gpu()))
    )
  })
})

describe("the events of a pool", () => {
  it("give its ledger, after every step of any program", () => {
    const options = fc.record({
      maxHeldBytes: fc.constantFrom(Infinity, 300),
      clear: fc.constantFrom("never" as const, "acquire" as const),
      policy: fc.constantFrom(SizePolicy.exact, SizePolicy.defaultPolicy)
    })
    return fc.assert(
      fc.asyncProperty(steps, options, (steps, { clear, maxHeldBytes, policy }) => {
        const faults = Host.makeFaults()
        const program = Effect.gen(function*() {
          const ledger = new Ledger()
          yield* Effect.forkScoped(PoolEvents.listen((event) => ledger.add(event)), { startImmediately: true })
          const scopes: Array<Scope.Closeable> = []
          for (const step of steps) {
            yield* run(step, scopes, faults)
            const stats: PoolStats = yield* BufferPool.stats
            ledger.expect(stats)
          }
          yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), { discard: true })
        })
        const pool = { maxBytes: 1000, maxHeldBytes, clear, sizePolicy: policy }
        return Effect.runPromise(
          Effect.scoped(program).pipe(Effect.provide(gpu(pool, { faults })), Effect.provide(TestClock.layer()))
        )
      }),
      { numRuns: runs(200) }
    )
  })
})
