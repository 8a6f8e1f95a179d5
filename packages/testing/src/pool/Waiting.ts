/**
 * Requests that wait for memory: their order, the data that they find, and what an interrupted or failed request leaves
 * behind.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease, SizePolicy } from "effect-gpu-pool"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { type ConformanceTest, expectInvariants, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "../memory/BadRequests.ts"
import { onAllocator, watched } from "./AllocatorWatch.ts"
import { expectStats } from "./PoolOnDevice.ts"
import { expectOwn, fork, ownWork, untilWaiting, writeOwn } from "./Waiters.ts"

const test = inGroup("waiting", { counting: true })

const patient = (maxBytes: number, options?: BufferPool.BufferPoolOptions): BufferPool.BufferPoolOptions => ({
  maxBytes,
  sizePolicy: SizePolicy.exact,
  onExhausted: "wait",
  ...options
})

/** An allocator that refuses memory sends a request back to its place in the wait queue, and others go first. */
const expectServed = (what: string, served: ReadonlyArray<string>, expected: ReadonlyArray<string>) =>
  Effect.map(watched, (found) => {
    if (found === undefined || found.watch.refusals === 0) Expect.same(what, served, expected)
    else Expect.same(`${what}, in any order`, [...served].sort(), [...expected].sort())
  })

/** 400 bytes are free, too few for the large request that waits. */
const bypassing = (served: Array<string>) => {
  const named = (name: string, bytes: number) =>
    BufferPool.use(bytes, (lease) => {
      served.push(name)
      return ownWork(lease, 1)
    })
  return Effect.gen(function*() {
    const holder = yield* BufferPool.allocate(600)
    const large = yield* fork(named("large", 800))
    yield* untilWaiting(1)
    const small = yield* Effect.forEach(["a", "b", "c"], (name) => fork(named(name, 300)))
    return { holder, fibers: [large, ...small] }
  })
}

const limit = 4096

const withinLimit = Effect.map(BufferPool.stats, (stats) => {
  expectInvariants(stats)
  const used = stats.managedBytes + stats.pendingBytes
  Expect.isTrue(`${used} bytes are managed and pending under a limit of ${limit}`, used <= limit)
})

/** A clock that stands still until the test moves it. */
const stillClock = Layer.build(TestClock.layer({ warningDelay: "1 hour" }))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a release hands its block to the request that waits", { pool: patient(2048) }, function*() {
    const kept = yield* BufferPool.allocate(1024)
    const first = yield* BufferPool.allocate(1024)
    const block = BufferLike.deviceBuffer(first)
    yield* writeOwn(first, 1)
    const second = yield* fork(BufferPool.use(1024, (lease) => {
      Expect.isTrue("the block that was released", BufferLike.deviceBuffer(lease) === block)
      return ownWork(lease, 2)
    }))
    yield* untilWaiting(1)
    yield* CommandQueue.copy(first, kept)
    yield* Lease.release(first)
    yield* expectStats("served in the step of the release", { activeBlocks: 2, heldBlocks: 0, waiters: 0 })
    yield* Fiber.join(second)
    yield* expectOwn("the bytes that the first owner copied", kept, 1)
  }),
  /** The sizes differ: the pool reserves the bytes of the released block for the waiter, so no other request gets them. */
  test("a release reserves its bytes for the request that waits", { pool: patient(1024) }, function*() {
    const first = yield* BufferPool.allocate(1024)
    yield* writeOwn(first, 1)
    const second = yield* fork(BufferPool.use(512, (lease) => ownWork(lease, 2)))
    yield* untilWaiting(1)
    yield* Lease.release(first)
    yield* expectStats("pending in the step of the release", { activeBlocks: 0, pendingBytes: 512, heldBytes: 0 })
    yield* BufferPool.use(1024, (lease) => ownWork(lease, 3))
    yield* Fiber.join(second)
  }),
  test("requests are served in the order in which they came", { pool: patient(256) }, function*() {
    const served: Array<number> = []
    const first = yield* BufferPool.allocate(256)
    const fibers = yield* Effect.forEach([0, 1, 2, 3, 4, 5], (owner) =>
      fork(BufferPool.use(256, (lease) => {
        served.push(owner)
        return ownWork(lease, owner)
      })))
    yield* untilWaiting(6)
    yield* Lease.release(first)
    yield* Fiber.joinAll(fibers)
    Expect.same("the order in which requests were served", served, [0, 1, 2, 3, 4, 5])
  }),
  test(
    "small requests bypass a large one no more often than the bound",
    { pool: patient(1000, { maxBypasses: 2 }) },
    function*() {
      const served: Array<string> = []
      const { fibers, holder } = yield* bypassing(served)
      yield* Fiber.join(fibers[1]!)
      yield* Fiber.join(fibers[2]!)
      yield* untilWaiting(2)
      yield* expectServed("small requests bypass as often as the bound allows", served, ["a", "b"])
      yield* Lease.release(holder)
      yield* Fiber.joinAll(fibers)
      yield* expectServed("then the large request is served", served, ["a", "b", "large", "c"])
    }
  ),
  test("no request bypasses another with a bound of 0", { pool: patient(1000, { maxBypasses: 0 }) }, function*() {
    const served: Array<string> = []
    const { fibers, holder } = yield* bypassing(served)
    yield* untilWaiting(4)
    yield* Lease.release(holder)
    yield* Fiber.joinAll(fibers)
    yield* expectServed("first come, first served", served, ["large", "a", "b", "c"])
  }),
  test(
    "fibers that contend for memory never see each other's data",
    { pool: { maxBytes: limit, onExhausted: "wait" } },
    function*() {
      const once = (owner: number) =>
        BufferPool.use(64 + 4 * (owner * 61 % 220), (lease) => Effect.andThen(withinLimit, ownWork(lease, owner)))
      const owners = Array.from({ length: 24 }, (_, index) => index + 1)
      yield* Effect.forEach(owners, (owner) => Effect.andThen(once(owner), once(owner + 100)), {
        concurrency: "unbounded",
        discard: true
      })
      yield* withinLimit
      yield* expectStats("all requests were served", { activeBlocks: 0, pendingBytes: 0, waiters: 0 })
    }
  ),
  test("a wait that times out leaves the pool as it was", { pool: patient(1024) }, function*() {
    const clock = yield* stillClock
    const pass = (seconds: number) => Effect.provide(TestClock.adjust(seconds * 1000), clock)
    const holder = yield* BufferPool.allocate(1024, { label: "holder" })
    yield* writeOwn(holder, 1)
    const late = yield* BufferPool.allocate(512, { label: "late", waitAtMost: "5 seconds" }).pipe(
      Effect.flip,
      Effect.provide(clock),
      fork
    )
    yield* untilWaiting(1)
    yield* pass(4)
    yield* untilWaiting(1)
    yield* pass(1)
    const reason = Expect.reasonOf("a wait that took too long", yield* Fiber.join(late), "OutOfMemory")
    Expect.equal("how long it waited", reason.waitedMillis, 5000)
    Expect.equal("the last step", reason.stepsTried.at(-1), "wait")
    Expect.same("the holders", reason.holders.map(({ label, size }) => [label, size]), [["holder", 1024]])
    const abandoned = yield* BufferPool.allocate(512).pipe(
      Effect.timeoutOption("5 seconds"),
      Effect.provide(clock),
      fork
    )
    yield* untilWaiting(1)
    yield* pass(5)
    Expect.isTrue("Effect.timeout ends a wait too", Option.isNone(yield* Fiber.join(abandoned)))
    yield* expectStats("no request waits any more", { waiters: 0, activeBlocks: 1, pendingBytes: 0 })
    yield* expectOwn("the holder's data", holder, 1)
    yield* Lease.release(holder)
    yield* expectUsable
  }),
  test(
    "waiting fibers may be interrupted, also in the step that serves them",
    { pool: patient(256), interrupts: true },
    function*() {
      const served: Array<number> = []
      const holder = yield* BufferPool.allocate(256)
      const fibers = yield* Effect.forEach([0, 1, 2, 3, 4, 5], (owner) =>
        fork(BufferPool.use(256, (lease) => {
          served.push(owner)
          return ownWork(lease, owner)
        })))
      yield* untilWaiting(6)
      yield* Fiber.interruptAll([fibers[0]!, fibers[3]!, fibers[5]!])
      yield* untilWaiting(3)
      yield* Lease.release(holder)
      // The release served the request, but its fiber has not run since.
      yield* Fiber.interrupt(fibers[1]!)
      yield* Fiber.joinAll([fibers[2]!, fibers[4]!])
      Expect.same("those who stayed", served.filter((owner) => owner !== 1), [2, 4])
      yield* expectStats("nothing is left of the other requests", { waiters: 0, activeBlocks: 0, pendingBytes: 0 })
      yield* expectUsable
    }
  ),
  test("a request that can never fit does not wait", { pool: patient(1024) }, function*() {
    yield* BufferPool.allocate(1024)
    yield* Expect.failsWith("more than the limit", BufferPool.allocate(1028), "LimitExceeded")
    yield* Expect.failsWith("no wait", BufferPool.allocate(4, { onExhausted: "fail" }), "OutOfMemory")
    yield* expectStats("nobody waits", { waiters: 0 })
  }),
  test("requests that wait fail when the pool closes", function*() {
    const scope = yield* Scope.make()
    const pool = yield* BufferPool.make(patient(256)).pipe(
      onAllocator,
      Scope.provide(scope)
    )
    yield* pool.allocate(256)
    const waiting = yield* Effect.forEach([0, 1, 2], () => fork(Effect.flip(pool.allocate(64))))
    yield* untilWaiting(3, pool.stats)
    yield* Scope.close(scope, Exit.void)
    for (const error of yield* Fiber.joinAll(waiting)) {
      const { why } = Expect.reasonOf("a wait when the pool closes", error, "Released")
      Expect.equal("why", why, "poolClosed")
    }
    Expect.equal("waiting requests", (yield* pool.stats).waiters, 0)
  })
]
