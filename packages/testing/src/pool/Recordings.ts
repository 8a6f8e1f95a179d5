/**
 * Recordings of pools on a real device: a recording's ledger must agree with the counters of the pool and of the
 * driver.
 *
 * @internal
 */
import { PoolEvents, Recording } from "@effect-gpu-pool/observability"
import { BufferPool, CommandQueue, Lease } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { type ConformanceTest, inGroup, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"
import { liveBuffers, onAllocator } from "./AllocatorWatch.ts"
import { fork, untilWaiting } from "./Waiters.ts"

const test = inGroup("recordings")

/** A pool of the test's own, so that the recording has no events of other pools. */
const recorded = <A, E>(
  program: Effect.Effect<A, E, TestServices | Recording.Recorder>,
  options: BufferPool.BufferPoolOptions
) => {
  const pool = BufferPool.layerNoDeps(options).pipe(
    Layer.provideMerge(Recording.layer()),
    Layer.provideMerge(PoolEvents.layer)
  )
  return Effect.flatMap(onAllocator(Layer.build(pool)), (context) => Effect.provide(Effect.scoped(program), context))
}

interface Ledger {
  /** The capacities of the blocks. */
  readonly blocks: Map<number, number>
  readonly leased: Set<number>
  hits: number
  misses: number
}

const count = (ledger: Ledger, event: PoolEvent): void => {
  if (event._tag === "Leased") {
    ledger.blocks.set(event.block, event.capacity)
    ledger.leased.add(event.block)
    if (event.from === "driver") ledger.misses++
    else ledger.hits++
  } else if (event._tag === "Kept") ledger.blocks.set(event.block, event.capacity)
  else if (event._tag === "Released") ledger.leased.delete(event.block)
  else if (event._tag === "Freed") ledger.blocks.delete(event.block)
}

const expectLedger = Effect.gen(function*() {
  const recording = yield* Recording.snapshot
  const ledger: Ledger = { blocks: new Map(), leased: new Set(), hits: 0, misses: 0 }
  for (const event of Recording.events(recording)) count(ledger, event)
  const { activeBlocks, hits, managedBlocks, managedBytes, misses } = yield* BufferPool.stats
  Expect.same(
    "the ledger of the recording",
    {
      activeBlocks: ledger.leased.size,
      managedBlocks: ledger.blocks.size,
      managedBytes: [...ledger.blocks.values()].reduce((sum, capacity) => sum + capacity, 0),
      hits: ledger.hits,
      misses: ledger.misses
    },
    { activeBlocks, managedBlocks, managedBytes, hits, misses }
  )
})

const act = Effect.fnUntraced(function*(random: Random, leases: Array<PooledBuffer>) {
  const size = 4 * random.integer(1, 750)
  const choice = random.integer(0, 9)
  if (choice < 4) {
    const lease = yield* Effect.result(BufferPool.allocate(size))
    if (lease._tag === "Success") {
      leases.push(lease.success)
      yield* CommandQueue.fill(lease.success, Uint8Array.of(1))
    }
  } else if (choice < 7 && leases.length > 0) {
    yield* Lease.release(leases.splice(random.integer(0, leases.length - 1), 1)[0]!)
  } else if (choice === 7) yield* BufferPool.trimTo(size)
  else if (choice === 8) yield* Effect.ignore(BufferPool.withBudget(BufferPool.use(size, () => Effect.void), 2000))
  else yield* BufferPool.setLimit(random.integer(2000, 8000))
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("have the pool's ledger after every step, and the driver's count of buffers", function*() {
    yield* forSeeds(seeds(3), (random) =>
      recorded(
        Effect.gen(function*() {
          const before = yield* liveBuffers
          const leases: Array<PooledBuffer> = []
          for (let step = 0; step < 60; step++) {
            yield* act(random, leases)
            yield* expectLedger
          }
          yield* CommandQueue.finish
          const { managedBlocks } = yield* BufferPool.stats
          Expect.equal("buffers in use", (yield* liveBuffers) - before, managedBlocks)
        }),
        { maxBytes: 6000 }
      ))
  }),
  test("have who waited, for whom memory ran out, and who asked for more than the limit", function*() {
    const program = Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(600, { label: "first" })
      const waiter = yield* fork(BufferPool.use(600, () => Effect.void, { onExhausted: "wait", label: "second" }))
      yield* untilWaiting(1)
      yield* Effect.ignore(BufferPool.use(600, () => Effect.void, { onExhausted: "fail", label: "third" }))
      yield* Expect.failsWith(
        "more than the limit",
        BufferPool.use(1004, () => Effect.void, { label: "fourth" }),
        "LimitExceeded"
      )
      yield* Lease.release(lease)
      yield* Fiber.join(waiter)
      const recording = yield* Recording.snapshot
      const told = Array.from(Recording.events(recording))
        .flatMap((event) => "label" in event && event._tag !== "DriverAsked" ? [`${event._tag} ${event.label}`] : [])
      Expect.same("what is told", told, [
        "Leased first",
        "Waiting second",
        "RanOut third",
        "GaveUp fourth",
        "Released first",
        "Waited second",
        "Leased second",
        "Released second"
      ])
    })
    yield* recorded(program, { maxBytes: 1000 })
  })
]
