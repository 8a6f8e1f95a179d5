import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Lease from "../../src/services/lease/Lease.ts"
import { memoryOf } from "../../src/services/pool/OpenShared.ts"
import { nextTurn, outOfMemoryOf, reasonOf, tagOf } from "../support/hostPool.ts"
import { quiet } from "../support/poolClients.ts"
import {
  type HostServices,
  type OpenMemory,
  openMemory,
  type SharedOptions,
  type SharedPool,
  type SizedLease,
  type SizedPool,
  slow
} from "../support/sizedPools.ts"

const buffersAndImages: ReadonlyArray<SharedPool> = [{ kind: "buffers" }, { kind: "images" }]

type Shared = OpenMemory & { readonly buffers: SizedPool; readonly images: SizedPool }

/** Closes all, and checks that no driver object is left. */
const close = Effect.fnUntraced(function*({ closeHost, closeMemory, driverObjects, memory }: OpenMemory) {
  yield* closeMemory
  const { activeBlocks, managedBytes, pendingBytes, reservedBytes, waiters } = yield* memory.stats
  deepStrictEqual([activeBlocks, managedBytes, pendingBytes, reservedBytes, waiters], [0, 0, 0, 0, 0])
  yield* closeHost
  strictEqual(driverObjects.live, 0)
})

/** A test on a pool of buffers and one of images over one memory; then all of it closes. */
const shared = <A>(
  options: Partial<SharedOptions>,
  test: (shared: Shared) => Effect.Effect<A, unknown, Scope.Scope | HostServices>
) =>
  Effect.gen(function*() {
    const opened = yield* openMemory({ pools: buffersAndImages, ...options })
    const [buffers, images] = opened.pools.map(({ pool }) => pool) as [SizedPool, SizedPool]
    yield* Effect.provide(Effect.scoped(test({ ...opened, buffers, images })), opened.services)
    yield* close(opened)
  })

const patient = { onExhausted: "wait" } as const

/** A request on a fiber of its own, whose lease belongs to a scope of its own. */
const asked = (pool: SizedPool, bytes: number) =>
  Effect.gen(function*() {
    const scope = Scope.makeUnsafe()
    const fiber = yield* Effect.forkDetach(Scope.provide(pool.allocate(bytes, patient), scope), {
      startImmediately: true
    })
    yield* quiet
    return { fiber, scope, done: () => fiber.pollUnsafe() !== undefined }
  })

const endedBecause = (lease: SizedLease) =>
  Effect.map(reasonOf(Lease.release(lease)), (reason) => reason._tag === "Released" ? reason.why : reason._tag)

const limit = (maxBytes: number) => ({ memory: { maxBytes } })

const counted = (controls: Pick<SizedPool, "stats">) =>
  Effect.map(
    controls.stats,
    ({ activeBlocks, activeBytes, heldBytes }) => [activeBlocks, activeBytes, heldBytes]
  )

const labels = (controls: Pick<SizedPool, "holders">) =>
  Effect.map(controls.holders(), (holders) => holders.map(({ label }) => label))

/** Has memory of one pool while it waits for memory of the other. */
const job = (first: SizedPool, then: SizedPool) =>
  Effect.scoped(Effect.gen(function*() {
    yield* first.allocate(50)
    yield* Effect.yieldNow
    yield* then.allocate(50, patient)
  }))

describe("pools on one memory", () => {
  for (const [mine, other] of [["buffers", "images"], ["images", "buffers"]] as const) {
    it.effect(`what is held for ${mine} gives way to ${other}`, () =>
      shared(limit(100), (all) =>
        Effect.gen(function*() {
          yield* all[mine].use(80, () => Effect.void)
          yield* all[other].use(70, () => Effect.void)
          const { driverFrees, heldBytes } = yield* all.memory.stats
          deepStrictEqual([heldBytes, driverFrees], [70, 1])
        })))

    it.effect(`a release of ${mine} serves who waits for ${other}`, () =>
      shared(limit(100), (all) =>
        Effect.gen(function*() {
          const lease = yield* all[mine].allocate(80)
          const waiting = yield* asked(all[other], 50)
          deepStrictEqual([waiting.done(), (yield* all[other].stats).waiters, (yield* all.memory.stats).waiters], [
            false,
            0,
            1
          ])
          yield* Lease.release(lease)
          yield* quiet
          strictEqual((yield* Fiber.join(waiting.fiber)).size, 50)
          yield* Scope.close(waiting.scope, Exit.void)
        })))
  }

  it.effect("count together in the memory, and apart in their own counters", () =>
    shared(limit(1000), ({ buffers, images, memory }) =>
      Effect.gen(function*() {
        yield* buffers.allocate(100, { label: "weights" })
        yield* images.allocate(200, { label: "texture" })
        yield* images.use(50, () => Effect.void)
        deepStrictEqual(yield* counted(memory), [2, 300, 50])
        deepStrictEqual(yield* counted(buffers), [1, 100, 0])
        deepStrictEqual(yield* counted(images), [1, 200, 0])
        deepStrictEqual(yield* labels(memory), ["texture", "weights"])
        deepStrictEqual(yield* labels(buffers), ["weights"])
        deepStrictEqual(yield* labels(images), ["texture"])
      })))

  it.effect("give the leases of a scope back in the reverse order of their making", () => {
    const destroyed: Array<number> = []
    return shared(
      { watch: { destroying: (bytes) => destroyed.push(bytes) } },
      ({ buffers, images, memory }) =>
        Effect.gen(function*() {
          yield* memory.stopHolding
          yield* Effect.scoped(Effect.all([buffers.allocate(10), images.allocate(20), buffers.allocate(30)]))
          deepStrictEqual(destroyed, [30, 20, 10])
        })
    )
  })

  it.effect("have limits of their own, and errors that name the limit", () =>
    shared({
      memory: { maxBytes: 100, label: "card" },
      pools: [{ kind: "buffers", maxBytes: 60, label: "weights" }, { kind: "images" }]
    }, ({ buffers, images }) =>
      Effect.gen(function*() {
        const never = yield* reasonOf(buffers.allocate(61))
        assert(never._tag === "LimitExceeded")
        assert.include(never.message, `maxBytes of the pool "weights", 60 bytes`)
        const neverAtAll = yield* reasonOf(images.allocate(101))
        assert(neverAtAll._tag === "LimitExceeded")
        assert.include(neverAtAll.message, `maxBytes of the memory "card", 100 bytes`)
        yield* buffers.allocate(50)
        const own = yield* outOfMemoryOf(buffers.allocate(11))
        deepStrictEqual([own.limit, own.limitLabel, own.activeBytes], [60, "weights", 50])
        yield* images.allocate(45)
        const all = yield* outOfMemoryOf(buffers.allocate(6))
        deepStrictEqual([all.limit, all.limitLabel, all.activeBytes], [100, "card", 95])
      })))

  it.effect("ask a handler of a pool where its own limit ends, and where the memory does, for whomever", () =>
    shared({
      memory: { maxBytes: 100 },
      pools: [{ kind: "buffers", maxBytes: 60 }, { kind: "images" }]
    }, ({ buffers, images, memory }) =>
      Effect.gen(function*() {
        const needs: Array<number> = []
        let cache = yield* buffers.allocate(50)
        const handlers = Scope.makeUnsafe()
        yield* Scope.provide(
          buffers.onOutOfMemory(({ missing }) => {
            needs.push(missing)
            return Effect.as(Lease.release(cache), true)
          }),
          handlers
        )
        // This request lacks 10 bytes of the pool's own limit.
        yield* buffers.use(20, () => Effect.void)
        cache = yield* buffers.allocate(50)
        yield* memory.freeHeld
        // This request lacks 30 bytes of the memory's limit.
        yield* images.use(80, () => Effect.void)
        deepStrictEqual(needs, [10, 30])
        yield* Scope.close(handlers, Exit.void)
        cache = yield* buffers.allocate(50)
        strictEqual(yield* tagOf(images.allocate(80)), "OutOfMemory")
        strictEqual(needs.length, 2)
      })))

  it.effect("end a deadlock between a job that waits for an image and one that waits for a buffer", () =>
    shared({ memory: { maxBytes: 100, deadlockTimeout: "1 second" } }, ({ buffers, images }) =>
      Effect.gen(function*() {
        const one = yield* Effect.forkChild(job(buffers, images), { startImmediately: true })
        const other = yield* Effect.forkChild(job(images, buffers), { startImmediately: true })
        yield* quiet
        deepStrictEqual([one.pollUnsafe(), other.pollUnsafe()], [undefined, undefined])
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(one)
        const error = yield* outOfMemoryOf(Fiber.join(other))
        strictEqual(error.deadlock.length, 2)
      })))
})

describe("one of several pools that closes", () => {
  it.effect("takes its leases, those of zero bytes too, and what is held for it, and nothing of the others", () =>
    shared({}, ({ buffers, images, memory, pools }) =>
      Effect.gen(function*() {
        const scope = Scope.makeUnsafe()
        const mine = yield* Scope.provide(buffers.allocate(10), scope)
        const empty = yield* Scope.provide(buffers.allocate(0), scope)
        const theirs = yield* Scope.provide(images.allocate(20), scope)
        yield* buffers.use(30, () => Effect.void)
        yield* images.use(40, () => Effect.void)
        yield* pools[0]!.close
        deepStrictEqual([mine, empty, theirs].map(Lease.isLive), [false, false, true])
        deepStrictEqual([yield* endedBecause(mine), yield* endedBecause(empty)], ["poolClosed", "poolClosed"])
        const { activeBytes, heldBytes } = yield* memory.stats
        deepStrictEqual([activeBytes, heldBytes], [20, 40])
        strictEqual(yield* tagOf(buffers.allocate(1)), "Released")
        strictEqual(yield* tagOf(buffers.allocate(0)), "Released")
        yield* Scope.close(scope, Exit.void)
        strictEqual((yield* memory.stats).heldBytes, 60)
      })))

  it.effect("answers those who wait in it, and serves those who wait beside it", () =>
    shared(limit(100), ({ buffers, images, pools }) =>
      Effect.gen(function*() {
        const scope = Scope.makeUnsafe()
        yield* Scope.provide(buffers.allocate(80), scope)
        const [mine, theirs] = [yield* asked(buffers, 50), yield* asked(images, 60)]
        deepStrictEqual([mine.done(), theirs.done()], [false, false])
        yield* pools[0]!.close
        yield* quiet
        strictEqual(yield* tagOf(Fiber.join(mine.fiber)), "Released")
        strictEqual((yield* Fiber.join(theirs.fiber)).size, 60)
        yield* Scope.close(theirs.scope, Exit.void)
        yield* Scope.close(scope, Exit.void)
      })))

  it.effect("answers requests that the driver works for: they fail, and are not interrupted", () =>
    shared({ host: { latency: "1 hour" } }, ({ buffers, memory, pools }) =>
      Effect.gen(function*() {
        const mine = yield* asked(buffers, 50)
        strictEqual((yield* memory.stats).pendingBytes, 50)
        yield* pools[0]!.close
        const reason = yield* reasonOf(Fiber.join(mine.fiber))
        assert(reason._tag === "Released")
        strictEqual(reason.why, "poolClosed")
        strictEqual((yield* memory.stats).pendingBytes, 0)
      })))

  it.effect("answers requests for which a handler works that never ends", () =>
    shared(limit(100), ({ buffers, pools }) =>
      Effect.gen(function*() {
        const scope = Scope.makeUnsafe()
        yield* Scope.provide(buffers.onOutOfMemory(() => Effect.never), scope)
        yield* Scope.provide(buffers.allocate(80), scope)
        const mine = yield* asked(buffers, 50)
        strictEqual(mine.done(), false)
        yield* pools[0]!.close
        strictEqual(yield* tagOf(Fiber.join(mine.fiber)), "Released")
        yield* Scope.close(scope, Exit.void)
      })))

  it.effect("leaves what it has reserved to the others", () =>
    shared(limit(100), ({ buffers, images, memory, pools }) =>
      Effect.gen(function*() {
        const job = yield* Effect.forkChild(buffers.reserve(90, () => Effect.never), { startImmediately: true })
        const theirs = yield* asked(images, 60)
        deepStrictEqual([(yield* memory.stats).reservedBytes, theirs.done()], [90, false])
        yield* pools[0]!.close
        strictEqual((yield* Fiber.join(theirs.fiber)).size, 60)
        yield* Fiber.interrupt(job)
        strictEqual((yield* memory.stats).reservedBytes, 0)
        yield* Scope.close(theirs.scope, Exit.void)
      })))

  it.effect("changes nothing for the others any more", () =>
    shared(limit(100), ({ buffers, images, memory, pools }) =>
      Effect.gen(function*() {
        yield* pools[0]!.close
        yield* images.use(40, () => Effect.void)
        yield* buffers.freeHeld
        yield* buffers.trimTo(0)
        yield* buffers.stopHolding
        yield* images.use(30, () => Effect.void)
        strictEqual((yield* memory.stats).heldBytes, 70)
      })))

  it.live("waits for a driver that cannot be interrupted, and gives its block back", () =>
    shared({ watch: slow }, ({ images, memory, pools }) =>
      Effect.gen(function*() {
        const scope = Scope.makeUnsafe()
        const fiber = yield* Effect.forkChild(Scope.provide(images.allocate(50), scope), { startImmediately: true })
        yield* pools[1]!.close
        strictEqual(yield* tagOf(Fiber.join(fiber)), "Released")
        const { driverAllocations, driverFrees, managedBytes } = yield* memory.stats
        deepStrictEqual([driverAllocations, driverFrees, managedBytes], [1, 1, 0])
      })))

  it.effect("leaves nothing in its memory, however many come and go", () =>
    shared({}, ({ memory, openPool, services }) =>
      Effect.gen(function*() {
        for (let i = 0; i < 10_000; i++) {
          const { close, pool } = yield* openPool({ kind: i % 2 === 0 ? "buffers" : "images" })
          if (i % 100 === 0) yield* pool.use(8, () => Effect.void)
          yield* close
        }
        const { machine: { state }, sources } = yield* Effect.provide(memoryOf, services)
        deepStrictEqual([sources.size, state.queues.size, state.reservations.size], [2, 0, 0])
        const { driverAllocations, driverFrees } = yield* memory.stats
        deepStrictEqual([driverAllocations, driverFrees], [100, 100])
      })))
})

describe("a memory that several pools share", () => {
  it.effect("may close before they do: everything on it ends", () =>
    Effect.gen(function*() {
      const opened = yield* openMemory({ pools: buffersAndImages, ...limit(100) })
      const [buffers, images] = opened.pools.map(({ pool }) => pool) as [SizedPool, SizedPool]
      const scope = Scope.makeUnsafe()
      const leases = yield* Scope.provide(Effect.all([buffers.allocate(50), images.allocate(50)]), scope)
      const waiting = [yield* asked(buffers, 60), yield* asked(images, 60)]
      yield* opened.closeMemory
      yield* nextTurn
      deepStrictEqual(yield* Effect.forEach(leases, endedBecause), ["poolClosed", "poolClosed"])
      for (const { fiber } of waiting) strictEqual(yield* tagOf(Fiber.join(fiber)), "Released")
      for (const pool of [buffers, images]) strictEqual(yield* tagOf(Effect.scoped(pool.allocate(1))), "Released")
      for (const pool of opened.pools) yield* pool.close
      yield* Scope.close(scope, Exit.void)
      yield* close(opened)
      strictEqual(yield* tagOf(Effect.scoped(images.allocate(2))), "Released")
    }))

  it.effect("loses everything with its device", () =>
    shared(limit(100), ({ buffers, faults, images, memory }) =>
      Effect.gen(function*() {
        const scope = Scope.makeUnsafe()
        yield* Scope.provide(Effect.all([buffers.allocate(50), images.allocate(40)]), scope)
        yield* images.use(10, () => Effect.void)
        const waiting = [yield* asked(buffers, 60), yield* asked(images, 60)]
        faults.lose()
        yield* quiet
        for (const { fiber } of waiting) strictEqual(yield* tagOf(Fiber.join(fiber)), "DeviceLost")
        for (const pool of [buffers, images]) strictEqual(yield* tagOf(pool.allocate(1)), "DeviceLost")
        yield* Scope.close(scope, Exit.void)
        strictEqual((yield* memory.stats).managedBlocks, 0)
      })))
})
