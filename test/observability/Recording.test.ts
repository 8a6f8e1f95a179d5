/** What a recorder keeps: the last events, and how everything was before the first of them. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import type { PoolEvent } from "../../src/domain/pool/PoolEvent.ts"
import { Host } from "../../src/host.ts"
import * as PoolEvents from "../../src/observability/events/PoolEvents.ts"
import * as Recording from "../../src/observability/recording/Recording.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as CallSite from "../../src/services/calls/CallSite.ts"

const gpu = (options: BufferPool.BufferPoolOptions = {}) =>
  BufferPool.layer({ label: "tested", onExhausted: "fail", ...options }).pipe(Layer.provideMerge(Host.layer()))

/** A recorder of so many events under a pool, apart from those of other tests. */
const recorded = (capacity: number, options?: BufferPool.BufferPoolOptions) =>
  gpu(options).pipe(Layer.provideMerge(Recording.layer({ capacity })), Layer.provideMerge(PoolEvents.layer))

/** The events that a listener hears, which a recorder must have too. */
const heard = Effect.gen(function*() {
  const events: Array<PoolEvent> = []
  yield* Effect.forkScoped(PoolEvents.listen((event) => void events.push(event)), { startImmediately: true })
  return events
})

/** Events have a number for each request that they tell of; those of a hit have one of their own for each listener. */
const withoutNumbers = (events: Iterable<PoolEvent>): ReadonlyArray<unknown> => {
  const numbers = new Map<number, number>()
  return Array.from(events, (event) => {
    if (!("request" in event)) return event
    if (event._tag === "Leased" && event.from !== "driver") return { ...event, request: 0 }
    numbers.set(event.request, numbers.get(event.request) ?? numbers.size + 1)
    return { ...event, request: numbers.get(event.request) }
  })
}

type Step =
  | { readonly do: "allocate"; readonly size: number; readonly label: string | undefined }
  | { readonly do: "release"; readonly which: number }
  | { readonly do: "trim" | "limit" | "reserve" | "budget" | "pass"; readonly bytes: number }
  | { readonly do: "tracked" }

const bytes = fc.integer({ min: 1, max: 300 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("allocate" as const),
      size: bytes,
      label: fc.option(fc.constantFrom("a", "b", "c,d"), { nil: undefined })
    })
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("release" as const), which: fc.nat(50) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("trim" as const, "limit" as const, "reserve" as const, "budget" as const, "pass" as const),
      bytes: fc.integer({ min: 1, max: 1000 })
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tracked" as const) }) }
)

const run = (step: Step, scopes: Array<Scope.Closeable>): Effect.Effect<unknown, unknown, BufferPool.BufferPool> =>
  Effect.gen(function*() {
    if (step.do === "allocate") {
      const scope = yield* Scope.make()
      yield* Effect.exit(Scope.provide(BufferPool.allocate(step.size, { label: step.label }), scope))
      scopes.push(scope)
    } else if (step.do === "release") {
      const [scope] = scopes.splice(step.which % (scopes.length + 1), 1)
      if (scope !== undefined) yield* Scope.close(scope, Exit.void)
    } else if (step.do === "tracked") {
      yield* Effect.exit(CallSite.track(BufferPool.use(10, () => Effect.void)))
    } else if (step.do === "pass") yield* TestClock.adjust(step.bytes)
    else if (step.do === "trim") yield* BufferPool.trimTo(step.bytes)
    else if (step.do === "limit") yield* BufferPool.setLimit(step.bytes)
    else if (step.do === "reserve") {
      yield* Effect.exit(
        BufferPool.reserve(BufferPool.use(step.bytes, () => Effect.void), step.bytes, { onExhausted: "fail" })
      )
    } else {
      yield* Effect.exit(
        BufferPool.withBudget(BufferPool.use(step.bytes, () => Effect.void), 200, { label: "tenant" })
      )
    }
  })

/** The blocks, as events from the first on say them. */
class Blocks {
  readonly #blocks = new Map<number, string>()

  constructor(blocks: ReadonlyArray<Recording.RecordedBlock>) {
    for (const { block, capacity, lease } of blocks) {
      this.#blocks.set(block, lease === undefined ? `held ${capacity}` : `${lease.size} of ${capacity}, ${lease.label}`)
    }
  }

  add(event: PoolEvent): void {
    if (event._tag === "Leased") {
      assert.strictEqual(this.#blocks.has(event.block), event.from !== "driver")
      this.#blocks.set(event.block, `${event.size} of ${event.capacity}, ${event.label}`)
    } else if (event._tag === "Kept") this.#blocks.set(event.block, `held ${event.capacity}`)
    else if (event._tag === "Released") {
      assert.strictEqual(this.#blocks.get(event.block), `${event.size} of ${event.capacity}, ${event.label}`)
      this.#blocks.set(event.block, `held ${event.capacity}`)
    } else if (event._tag === "Freed") assert.isTrue(this.#blocks.delete(event.block))
  }

  get all(): ReadonlyArray<string> {
    return [...this.#blocks.values()].sort()
  }
}

const inTest = <A, E>(program: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(program, TestClock.layer()))

describe("a recorder", () => {
  it("has the events that a listener hears, the newest of them, and the blocks before the first", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 120 }),
        fc.constantFrom(1, 5, 64, 100, 1000),
        fc.constantFrom(Infinity, 500),
        (steps, capacity, maxHeldBytes) =>
          inTest(
            Effect.gen(function*() {
              const events = yield* heard
              const scopes: Array<Scope.Closeable> = []
              for (const step of steps) yield* run(step, scopes)
              const recording = yield* Recording.snapshot
              const kept = Array.from(Recording.events(recording))
              strictEqual(recording.length, Math.min(capacity, events.length))
              strictEqual(kept.length, recording.length)
              strictEqual(recording.dropped, events.length - kept.length)
              deepStrictEqual(withoutNumbers(kept), withoutNumbers(events.slice(events.length - kept.length)))
              const blocks = new Blocks(recording.blocks)
              for (const event of kept) blocks.add(event)
              const { heldBlocks, activeBlocks } = yield* BufferPool.stats
              strictEqual(blocks.all.filter((block) => block.startsWith("held")).length, heldBlocks)
              strictEqual(blocks.all.length, heldBlocks + activeBlocks)
              yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), { discard: true })
              // What was taken stays as it was, whatever happens later.
              deepStrictEqual(Array.from(Recording.events(recording)), kept)
            }).pipe(Effect.scoped, Effect.provide(recorded(capacity, { maxBytes: 1000, maxHeldBytes })))
          )
      ),
      { numRuns: 200 }
    ))

  it.effect("knows the limits and the sizes of requests before the first event that it has", () =>
    Effect.gen(function*() {
      const budgeted = Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        yield* pool.use(64, () => Effect.void)
        yield* pool.setLimit({ maxBytes: 300 })
        for (let i = 0; i < 40; i++) yield* pool.use(100, () => Effect.void)
      })
      yield* BufferPool.setLimit(900)
      yield* BufferPool.withBudget(budgeted, 200, { label: "tenant" })
      yield* BufferPool.setLimit(800)
      const { budgets, dropped, families, memories } = yield* Recording.snapshot
      assert.isAbove(dropped, 0)
      deepStrictEqual(memories.map(({ label, maxBytes }) => [label, maxBytes]), [["tested", 900]])
      deepStrictEqual(budgets.map(({ kind, label, maxBytes }) => [kind, label, maxBytes]), [["budget", "tenant", 300]])
      deepStrictEqual(families.map(({ pool, sizes }) => [pool, sizes.at(-1)?.[0]]), [["BufferPool", 100]])
    }).pipe(Effect.provide(recorded(50, { maxBytes: 1000 }))))

  it.effect("keeps the memories that have closed, and several with one label apart", () =>
    Effect.gen(function*() {
      const use = BufferPool.use(64, () => Effect.void)
      yield* Effect.provide(use, gpu(), { local: true })
      yield* Effect.provide(use, gpu(), { local: true })
      const recording = yield* Recording.snapshot
      deepStrictEqual(recording.memories.map(({ label }) => label), ["tested", "tested"])
      deepStrictEqual(recording.blocks, [])
      const numbers = new Set(Array.from(Recording.events(recording), ({ memoryNumber }) => memoryNumber))
      deepStrictEqual([...numbers], recording.memories.map(({ number }) => number))
      strictEqual(Array.from(Recording.events(recording)).at(-1)?._tag, "Closed")
    }).pipe(Effect.provide(Recording.layer().pipe(Layer.provideMerge(PoolEvents.layer)))))

  it.effect("stops with its layer, and then a hit is told to nobody", () =>
    Effect.gen(function*() {
      const use = BufferPool.use(64, () => Effect.void)
      const inside = Effect.andThen(use, Recording.snapshot)
      const first = yield* Effect.provide(inside, Recording.layer(), { local: true })
      yield* use
      const second = yield* Effect.provide(inside, Recording.layer(), { local: true })
      deepStrictEqual([first.length, second.length], [3, 2])
    }).pipe(Effect.provide(gpu().pipe(Layer.provideMerge(PoolEvents.layer)))))

  it.effect.each([0, -1, 1.5, Number.NaN, 1e9, "x"])("refuses a capacity of %s", (capacity) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Recording.layer({ capacity: capacity as number }))))
      strictEqual(error.reason._tag, "InvalidRequest")
    }))
})
