/** What a recorder keeps: the last events, and the state before the first of them. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferUsage from "effect-gpu-pool/BufferUsage"
import * as CallSite from "effect-gpu-pool/CallSite"
import { Host } from "effect-gpu-pool/host"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import { runs } from "../../../test/support/explore.ts"
import * as PoolEvents from "../src/events/PoolEvents.ts"
import * as Recording from "../src/recording/Recording.ts"

const gpu = (options: BufferPool.BufferPoolOptions = {}) =>
  BufferPool.layer({ label: "tested", onExhausted: "fail", ...options }).pipe(Layer.provideMerge(Host.layer()))

/** A recorder of `capacity` events under a pool, separate from those of other tests. */
const recorded = (capacity: number, options?: BufferPool.BufferPoolOptions) =>
  gpu(options).pipe(Layer.provideMerge(Recording.layer({ capacity })), Layer.provideMerge(PoolEvents.layer))

/** The events that a subscriber gets, which a recorder must have too. */
const received = Effect.gen(function*() {
  const events: Array<PoolEvent> = []
  yield* Effect.forkScoped(PoolEvents.listen((event) => void events.push(event)), { startImmediately: true })
  return events
})

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

/** The blocks, computed from all events. */
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

const textOf = (recording: Recording.Recording) => Stream.mkString(Recording.toLines(recording))

/** A text in pieces that do not end at line breaks. */
const inPieces = (text: string, length: number): Stream.Stream<string> =>
  Stream.fromIterable(text.match(new RegExp(`[^]{1,${length}}`, "g")) ?? [])

/** The facts after a round trip through JSON, which drops undefined members. */
const factsOf = (recording: Recording.Recording): unknown =>
  JSON.parse(
    JSON.stringify({ ...recording, chunks: [] }, (_key, value) => value === Infinity ? "Infinity" : value)
  )

const inTest = <A, E>(program: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(program, TestClock.layer()))

/** The host of a recording that was written and read, of a recorder with these options and metric attributes. */
const hostOf = (options: Recording.RecorderOptions, attributes: Record<string, string>) =>
  Recording.snapshot.pipe(
    Effect.provide(Recording.layer(options), { local: true }),
    Effect.provideService(Metric.CurrentMetricAttributes, attributes),
    Effect.flatMap((recording) => Effect.flatMap(textOf(recording), Recording.fromLines)),
    Effect.map(({ host }) => host)
  )

describe("a recorder", () => {
  it("has the events that a listener receives, the newest of them, and the blocks before the first", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 300, size: "max" }),
        fc.constantFrom(1, 5, 10, 64, 65, 100, 130, 200, 1000),
        fc.constantFrom(Infinity, 500),
        (steps, capacity, maxHeldBytes) =>
          inTest(
            Effect.gen(function*() {
              const events = yield* received
              const scopes: Array<Scope.Closeable> = []
              for (const step of steps) yield* run(step, scopes)
              const recording = yield* Recording.snapshot
              const kept = Array.from(Recording.events(recording))
              assert.isAtLeast(recording.length, Math.min(capacity, events.length))
              strictEqual(kept.length, recording.length)
              strictEqual(recording.dropped, events.length - kept.length)
              deepStrictEqual(kept, events.slice(events.length - kept.length))
              const blocks = new Blocks(recording.blocks)
              for (const event of kept) blocks.add(event)
              const { heldBlocks, activeBlocks } = yield* BufferPool.stats
              strictEqual(blocks.all.filter((block) => block.startsWith("held")).length, heldBlocks)
              strictEqual(blocks.all.length, heldBlocks + activeBlocks)
              yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), { discard: true })
              const read = yield* Recording.fromLines(inPieces(yield* textOf(recording), capacity))
              deepStrictEqual(factsOf(read), factsOf(recording))
              deepStrictEqual(Array.from(Recording.events(read)), kept)
              // A snapshot does not change, whatever happens later.
              deepStrictEqual(Array.from(Recording.events(recording)), kept)
            }).pipe(Effect.scoped, Effect.provide(recorded(capacity, { maxBytes: 1000, maxHeldBytes })))
          )
      ),
      { numRuns: runs(200) }
    ))

  it.effect("has the name of its host, given to it or as the metric attribute, and keeps it in files", () =>
    Effect.gen(function*() {
      strictEqual(yield* hostOf({}, {}), undefined)
      strictEqual(yield* hostOf({}, { host: "a" }), "a")
      strictEqual(yield* hostOf({ host: "b" }, { host: "a" }), "b")
      const { reason } = yield* Effect.flip(hostOf({ host: "" }, {}))
      strictEqual(reason._tag, "InvalidRequest")
    }))

  it("has the budget, the family and the size of each of its events among its facts", () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(500, 1000, 2000)),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }),
        (capacity, sizes) =>
          inTest(
            Effect.gen(function*() {
              const pool = yield* BufferPool.BufferPool
              const budget = yield* pool.budget(5000, { label: "tenant" })
              for (let i = 0; i < 150; i++) {
                yield* pool.use(64, () => Effect.void)
                yield* budget.use(100 + sizes[i % sizes.length]! + i % 50, () => Effect.void)
                const recording = yield* Recording.snapshot
                const budgets = new Set(recording.budgets.map(({ number }) => number))
                const sizesOf = new Map(
                  recording.families.map(({ family, sizes }) => [family, new Set(sizes.map(([size]) => size))])
                )
                const unknown = Array.from(Recording.events(recording)).filter((event) =>
                  "request" in event &&
                  (sizesOf.get(event.family)?.has(event.size) !== true ||
                    (event.budgetNumber !== undefined && !budgets.has(event.budgetNumber)))
                )
                deepStrictEqual(unknown, [])
              }
            }).pipe(Effect.provide(recorded(capacity)))
          )
      ),
      { numRuns: 20 }
    ))

  it.effect("knows the limits and the sizes of requests before the first event that it has", () =>
    Effect.gen(function*() {
      const budgeted = Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        yield* pool.use(64, () => Effect.void)
        yield* pool.setLimit({ maxBytes: 300 })
        for (let i = 0; i < 2000; i++) yield* pool.use(100, () => Effect.void)
      })
      yield* BufferPool.setLimit(900)
      yield* BufferPool.withBudget(budgeted, 200, { label: "tenant" })
      yield* BufferPool.setLimit(800)
      const { budgets, dropped, families, memories } = yield* Recording.snapshot
      assert.isAbove(dropped, 0)
      deepStrictEqual(memories.map(({ label, maxBytes }) => [label, maxBytes]), [["tested", 900]])
      deepStrictEqual(budgets.map(({ kind, label, maxBytes }) => [kind, label, maxBytes]), [["budget", "tenant", 300]])
      deepStrictEqual(families.map(({ pool, sizes }) => [pool, sizes.map(([size]) => size).sort()]), [["BufferPool", [
        100
      ]]])
    }).pipe(Effect.provide(recorded(50, { maxBytes: 1000 }))))

  it.effect("has hits of all kinds as a listener receives them, over many chunks", () =>
    Effect.gen(function*() {
      const events = yield* received
      const pool = yield* BufferPool.BufferPool
      const kinds: ReadonlyArray<BufferPool.PoolAllocateOptions | undefined> = [
        undefined,
        { label: "a" },
        { label: "b" },
        { label: "longer" },
        { onExhausted: "wait" },
        { onExhausted: "wait", waitAtMost: 1000 },
        { label: "b", usage: BufferUsage.storage | BufferUsage.copySrc }
      ]
      for (let i = 0; i < 4000; i++) {
        // The first size is constant, the second varies, and the third needs larger blocks at times.
        const sizes = [64, 1 + i % 3000, 40 + 8 * (i % 5)]
        for (const size of sizes) yield* pool.use(size, () => Effect.void, kinds[(i * 3 + size) % kinds.length])
        if (i % 100 === 0) yield* CallSite.track(Effect.suspend(() => pool.use(64, () => Effect.void)))
        if (i % 500 === 0) yield* BufferPool.reserve(BufferPool.use(64, () => Effect.void), 64)
        if (i % 700 === 0) yield* TestClock.adjust(1)
      }
      const recording = yield* Recording.snapshot
      assert.isAtLeast(recording.length, 10_000)
      assert.isAbove(recording.chunks.length, 2)
      const newest = events.slice(-recording.length)
      deepStrictEqual(Array.from(Recording.events(recording)), newest)
      const asked = new Set(newest.flatMap((event) => event._tag === "Leased" ? [event.size] : []))
      const known = new Set(recording.families.flatMap(({ sizes }) => sizes.map(([size]) => size)))
      deepStrictEqual([...asked].filter((size) => !known.has(size)), [])
    }).pipe(Effect.scoped, Effect.provide(recorded(10_000))))

  it.effect("knows where a lease of before was asked for, also when that has ended since", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const scopes = [yield* Scope.make(), yield* Scope.make()]
      for (const scope of scopes) {
        yield* CallSite.track(Effect.suspend(() => Scope.provide(BufferPool.allocate(64), scope)))
      }
      for (let i = 0; i < 5000; i++) yield* pool.use(100, () => Effect.void, { label: `${i}` })
      yield* Scope.close(scopes[0]!, Exit.void)
      const { blocks, dropped } = yield* Recording.snapshot
      assert.isAbove(dropped, 0)
      const before = blocks.filter(({ capacity }) => capacity === 64)
      strictEqual(before.length, 2)
      for (const { lease } of before) assert.match(lease?.callSite ?? "", /Recording\.test\.ts/)
      yield* Scope.close(scopes[1]!, Exit.void)
    }).pipe(Effect.provide(recorded(100))))

  interface Asked {
    readonly size: number
    readonly label?: string
  }
  const kinds: ReadonlyArray<readonly [name: string, most: number, request: (i: number) => Asked, isMiss?: boolean]> = [
    ["are all the same", 6, () => ({ size: 64 })],
    ["have a label of their own", 30, (i) => ({ size: 64, label: `request ${i}` })],
    ["have a size of their own", 42, (i) => ({ size: 1 + i })],
    ["have both", 42, (i) => ({ size: 1 + i, label: `request ${i}` })],
    ["have both and need the driver", 64, (i) => ({ size: 1 + i, label: `request ${i}` }), true]
  ]
  it.effect.each(kinds)(
    "has few bytes for an event where requests %s",
    ([, most, request, isMiss]) =>
      Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        for (let i = 0; i < 12_000; i++) {
          const { label, size } = request(i)
          yield* pool.use(size, () => Effect.void, { label })
        }
        const { chunks, length } = yield* Recording.snapshot
        assert.isAtLeast(length, 20_000)
        const sizesOf = ({ families }: typeof chunks[number]) =>
          Array.from(families.values()).reduce((sum, { sizes }) => sum + sizes.length, 0)
        const bytes = chunks.reduce((sum, chunk) => sum + chunk.words.byteLength + 8 * sizesOf(chunk), 0)
        assert.isBelow(bytes / length, most)
      }).pipe(Effect.provide(recorded(20_000, isMiss === true ? { maxHeldBytes: 0 } : {})))
  )

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

  it.effect("stops with its layer, and then a hit is published to nobody", () =>
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

const sample = Effect.gen(function*() {
  yield* BufferPool.use(64, () => Effect.void, { label: "first" })
  yield* Effect.exit(BufferPool.use(2000, () => Effect.void, { label: "line\nand \"quotes\"" }))
  yield* BufferPool.use(64, () => Effect.void, { label: "second" })
  return yield* textOf(yield* Recording.snapshot)
}).pipe(Effect.provide(recorded(100, { maxBytes: 1000 })))

describe("a file", () => {
  it.effect("is read again from disk", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      const recording = yield* Recording.fromLines(Stream.make(yield* sample))
      yield* Recording.save(recording, `${folder}/a.jsonl`)
      deepStrictEqual(yield* files.readDirectory(folder), ["a.jsonl"])
      const read = yield* Recording.load(`${folder}/a.jsonl`)
      deepStrictEqual(Array.from(Recording.events(read)), Array.from(Recording.events(recording)))
      deepStrictEqual(factsOf(read), factsOf(recording))
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)))

  it.effect("is read again where the limit became less than the driver was being asked for", () =>
    Effect.gen(function*() {
      const asking = yield* Effect.forkChild(BufferPool.use(64, () => Effect.void), { startImmediately: true })
      yield* BufferPool.setLimit(32)
      yield* TestClock.adjust(10)
      yield* Fiber.await(asking)
      const recording = yield* Recording.snapshot
      const trims = Array.from(Recording.events(recording)).flatMap((event) =>
        event._tag === "TrimAsked" ? [event.to] : []
      )
      deepStrictEqual(trims, [0])
      const again = yield* Recording.fromLines(Recording.toLines(recording))
      deepStrictEqual(Array.from(Recording.events(again)), Array.from(Recording.events(recording)))
    }).pipe(Effect.provide(
      BufferPool.layer().pipe(
        Layer.provide(Host.layer({ latency: 10 })),
        Layer.provideMerge(Recording.layer()),
        Layer.provideMerge(PoolEvents.layer)
      )
    )))

  it.effect("is refused with the line that is wrong", () =>
    Effect.gen(function*() {
      const text = yield* sample
      const lines = text.trimEnd().split("\n")
      const changed = (at: number, line: string) => [...lines.slice(0, at - 1), line, ...lines.slice(at)].join("\n")
      const leased = lines.findIndex((line) => line.startsWith(`["Leased"`))
      const changedLease = (line: string) => changed(leased + 1, line)
      const cases: ReadonlyArray<readonly [text: string, message: string]> = [
        ["", "line 0: the file is empty"],
        ["{}", "line 1: it is no header"],
        ["PK\u0003", "line 1: it is no header"],
        [
          changed(1, lines[0]!.replace(`"version":1`, `"version":2`)),
          "line 1: the file is of version 2, and not of version 1. Read it with the release that wrote it."
        ],
        [changed(1, lines[0]!.replace(`"version":1`, `"version":"2"`)), `Expected 1 at ["version"]`],
        [changed(1, lines[0]!.replace(`"Leased":["pool"`, `"Leased":["colour"`)), `line 1: "colour" is unknown`],
        [changed(3, "[1"), "line 3: it is no array"],
        [changedLease(`["Leased",1,1]`), `line ${leased + 1}: it has 2 values in place of`],
        [changed(4, `["Eaten",1,1]`), `line 4: "Eaten" is no kind of event`],
        [changed(4, lines[3]!.replace(/^(\["\w+",[^,]*),\d+/, "$1,99999")), "line 4: there is no memory 99999"],
        [
          changedLease(lines[leased]!.replace(/,64,0,0\]$/, ",-7,0,0]")),
          `line ${leased + 1}: its capacity -7 is no whole number of bytes`
        ],
        [
          changedLease(lines[leased]!.replace(/,64,0,0\]$/, ",64,32,48]")),
          `line ${leased + 1}: its part ends at 80 of 64 B`
        ],
        [
          changedLease(lines[leased]!.replace(/,64,0,0\]$/, ",64,32,0]")),
          `line ${leased + 1}: its offset 32 is that of a part without bytes`
        ],
        [changed(1, lines[0]!.replace(/"length":\d+/, `"length":-1`)), "line 1: it is no header of version 1"],
        [lines.slice(0, 3).join("\n") + lines.slice(3).join(","), "line 3: it is no array"],
        [changed(4, lines[3]!.replace(/^(\["\w+"),[^,]*/, "$1,1e999")), "line 4: its time Infinity is no number"],
        [changed(1, lines[0]!.replace(`"maxBytes":1000`, `"maxBytes":-1`)), "line 1: it is no header of version 1"],
        [changed(2, `["texts","a"]`), "is no place of a text"],
        [changed(2, `["texts",1]`), "line 2: 1 is no text"],
        [lines.slice(0, -1).join("\n"), "the file ends after"],
        [[...lines, lines.at(-1)].join("\n"), "one event more"]
      ]
      for (const [wrong, message] of cases) {
        const error = yield* Effect.flip(Recording.fromLines(Stream.make(wrong)))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, message)
      }
    }))

  it.effect("is read with a mark of its order of bytes before it", () =>
    Effect.gen(function*() {
      const text = yield* sample
      deepStrictEqual(
        factsOf(yield* Recording.fromLines(Stream.make(`\ufeff${text}`))),
        factsOf(yield* Recording.fromLines(Stream.make(text)))
      )
    }))

  it.effect("is read in pieces that end within a line, and within a character", () =>
    Effect.gen(function*() {
      const text = (yield* sample).replace("second", "second \u{1f600}")
      const events = Array.from(Recording.events(yield* Recording.fromLines(Stream.make(text))))
      assert.include(JSON.stringify(events), "second \u{1f600}")
      for (const length of [1, 7, 100]) {
        deepStrictEqual(Array.from(Recording.events(yield* Recording.fromLines(inPieces(text, length)))), events)
      }
    }))

  it.effect("is read in every way in which JSON has the same values", () =>
    Effect.gen(function*() {
      const text = yield* sample
      const recording = yield* Recording.fromLines(Stream.make(text))
      const ways = [
        text.replaceAll("\n", "\r\n"),
        text.replaceAll(",", " , "),
        text.replaceAll(/,(\d+)\]$/gm, ",$1.00]"),
        text.replaceAll(/,(\d+)\]$/gm, ",$1e0]"),
        text.replaceAll("[\"L", "[\"\\u004c"),
        text.trimEnd()
      ]
      for (const way of ways) {
        const read = yield* Recording.fromLines(Stream.make(way))
        deepStrictEqual(Array.from(Recording.events(read)), Array.from(Recording.events(recording)))
      }
    }))

  it("is refused or read, whatever one changes in it", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(), fc.constantFrom("", "0", "[", "]", ",", "\"", "\n", "-1", "null", "1e9", "{}")), {
          minLength: 1,
          maxLength: 3
        }),
        (changes) =>
          inTest(Effect.gen(function*() {
            let text = yield* sample
            for (const [place, other] of changes) {
              const at = place % text.length
              text = text.slice(0, at) + other + text.slice(at + 1)
            }
            const result = yield* Effect.result(Recording.fromLines(Stream.make(text)))
            if (result._tag === "Failure") strictEqual(result.failure.reason._tag, "InvalidRequest")
            else strictEqual(Array.from(Recording.events(result.success)).length, result.success.length)
          }))
      ),
      { numRuns: runs(200) }
    ))
})

const memory: Recording.RecordedMemory = {
  number: 1,
  device: "host",
  kind: "pool",
  maxBytes: Infinity,
  maxHeldBytes: Infinity,
  maxBypasses: 8,
  deadlockTimeoutMillis: Infinity
}

describe("facts", () => {
  const budget = { number: 1, memory: 1, kind: "budget", maxBytes: 10, parent: undefined } as const
  const block = { memory: 1, block: 1, capacity: 64, pool: "BufferPool" } as const
  const family = { memory: 1, pool: "BufferPool", family: "0", clears: false, sizes: [[60, 60, 64, 128]] } as const
  const right: Recording.RecordingFacts = {
    source: "test",
    reason: "asked",
    takenAt: 0,
    dropped: 0,
    memories: [memory],
    families: [family],
    budgets: [budget, { ...budget, number: 2, parent: 1 }],
    blocks: [block]
  }
  const wrong: ReadonlyArray<readonly [name: string, facts: Partial<Record<keyof Recording.RecordingFacts, unknown>>]> =
    [
      ["a time that is none", { takenAt: Number.NaN }],
      ["a negative count", { dropped: -1 }],
      ["another reason", { reason: "why not" }],
      ["no list", { blocks: {} }],
      ["a number of a memory that is too large", { memories: [memory, { ...memory, number: 2 ** 27 }] }],
      ["a limit that is no number", { memories: [{ ...memory, maxBytes: Number.NaN }] }],
      ["a memory twice", { memories: [memory, memory] }],
      ["a negative capacity", { blocks: [{ ...block, capacity: -1 }] }],
      ["an infinite capacity", { blocks: [{ ...block, capacity: Infinity }] }],
      ["a block twice", { blocks: [block, { ...block, capacity: 1 }] }],
      ["a block of an unknown memory", { blocks: [{ ...block, memory: 2 }] }],
      ["a family twice", { families: [family, { ...family, clears: true }] }],
      ["a family of an unknown memory", { families: [{ ...family, memory: 2 }] }],
      ["a size that is none", { families: [{ ...family, sizes: [[60, 60, Number.NaN, 128]] }] }],
      ["a budget twice", { budgets: [budget, budget] }],
      ["a budget of an unknown memory", { budgets: [{ ...budget, memory: 2 }] }],
      ["a budget under an unknown one", { budgets: [{ ...budget, parent: 2 }] }],
      ["budgets within each other", { budgets: [{ ...budget, parent: 2 }, { ...budget, number: 2, parent: 1 }] }]
    ]

  it("are taken as they are, and read again", () =>
    inTest(Effect.gen(function*() {
      const recording = Recording.make(right, [])
      deepStrictEqual(factsOf(yield* Recording.fromLines(Stream.make(yield* textOf(recording)))), factsOf(recording))
    })))

  it.each(wrong)("are refused with %s, of a program and of a file alike", (_, change) =>
    inTest(Effect.gen(function*() {
      const facts = { ...right, ...change } as Recording.RecordingFacts
      assert.throws(
        () => Recording.make(facts, []),
        TypeError,
        "Recording.make: these are not the facts of a recording"
      )
      const [header] = (yield* textOf(Recording.make(right, []))).split("\n")
      const text = JSON.stringify(
        { ...JSON.parse(header!), facts },
        (_key, value) => typeof value === "number" && !Number.isFinite(value) ? String(value) : value
      )
      const error = yield* Effect.flip(Recording.fromLines(Stream.make(text)))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "line 1: it is no header of version 1")
    })))

  it("of a file from before hosts had names are read without one", () =>
    inTest(Effect.gen(function*() {
      const text = yield* textOf(Recording.make({ ...right, host: "a" }, []))
      const old = text.replace(`"host":"a",`, "")
      assert.notStrictEqual(old, text)
      deepStrictEqual(factsOf(yield* Recording.fromLines(old)), factsOf(Recording.make(right, [])))
    })))

  it("have the memory of each event", () =>
    assert.throws(
      () => Recording.make(right, [{ _tag: "Lost", at: 0, memory: undefined, memoryNumber: 2, device: "host" }]),
      TypeError,
      "there is no memory 2 in the facts"
    ))
})

const countOrNone = fc.nat({ max: 2 })
const bytesOfEvent = fc.oneof(fc.nat(), fc.constantFrom(-1, 0.5, Infinity, -Infinity, Number.NaN, 2 ** 40))
const oddEvent = fc.record({
  _tag: fc.constantFrom("Leased", "Released", "Freed", "GaveUp", "RanOut", "Refused", "Waited", "LimitChanged", "Lost"),
  at: fc.oneof({ weight: 9, arbitrary: fc.nat() }, { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Infinity) }),
  memoryNumber: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constant(2) }),
  request: fc.oneof(fc.nat(), bytesOfEvent),
  block: fc.oneof(fc.nat(), bytesOfEvent),
  budgetNumber: countOrNone,
  size: bytesOfEvent,
  capacity: bytesOfEvent,
  to: bytesOfEvent,
  from: fc.constantFrom("held", "driver", "nonsense", 7),
  why: fc.constantFrom("", "nonsense", "released", "evicted", "failed"),
  label: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
  served: fc.boolean(),
  stepsTried: fc.array(fc.constantFrom("bin", "driver"))
}, { requiredKeys: ["_tag", "at", "memoryNumber"] })

describe("events of a program", () => {
  const facts: Recording.RecordingFacts = {
    source: "test",
    reason: "asked",
    takenAt: 0,
    dropped: 0,
    memories: [memory],
    families: [],
    budgets: [{ number: 1, memory: 1, kind: "budget", maxBytes: 10 }],
    blocks: []
  }
  const made = (event: object) =>
    Recording.make(facts, [{ at: 0, memory: undefined, memoryNumber: 1, device: "host", ...event } as never])

  it("are refused, or written and read again as they are", () => {
    let taken = 0
    return fc.assert(
      fc.asyncProperty(oddEvent, (event) =>
        inTest(Effect.gen(function*() {
          let recording: Recording.Recording
          try {
            recording = made(event)
          } catch (thrown) {
            assert.instanceOf(thrown, TypeError)
            assert.match((thrown as TypeError).message, /^Recording\.make: /)
            return
          }
          taken++
          const [kept] = Array.from(Recording.events(recording))
          const read = yield* Recording.fromLines(Stream.make(yield* textOf(recording)))
          deepStrictEqual(Array.from(Recording.events(read)), [kept!])
          deepStrictEqual(Array.from(Recording.events(Recording.make(facts, [kept!]))), [kept!])
        }))),
      { numRuns: runs(3000) }
    ).then(() => assert.isAbove(taken, runs(3000) / 30))
  })

  const leased = {
    _tag: "Leased",
    pool: "BufferPool",
    from: "driver",
    request: 1,
    family: "0",
    size: 1,
    block: 1,
    capacity: 1
  }
  it.each<readonly [object, string]>([
    [{ ...leased, block: -1.5 }, "event 1, Leased: its block -1.5 is no whole number from 0"],
    [{ ...leased, capacity: -7 }, "its capacity -7 is no whole number of bytes"],
    [{ ...leased, size: -Infinity }, "its size -Infinity is no whole number of bytes"],
    [{ ...leased, from: "nonsense" }, "its from \"nonsense\" is not one of held, borrowed, driver"],
    [{ ...leased, budgetNumber: 2 }, "there is no budget 2 in the facts"]
  ])("are refused: %j", (event, message) => assert.throws(() => made(event), TypeError, message))

  it("have no stepsTried where they are left out", () =>
    strictEqual(
      Array.from(Recording.events(made({ _tag: "RanOut" })), (event) =>
        event._tag === "RanOut" ? event.stepsTried.length : undefined)[0],
      0
    ))
})

/** The recordings in a folder, by the reason for which they were saved. */
const savedIn = Effect.fnUntraced(function*(folder: string) {
  const files = yield* FileSystem.FileSystem
  const names = yield* files.readDirectory(folder)
  const recordings = yield* Effect.forEach(names.sort(), (name) => Recording.load(`${folder}/${name}`))
  return recordings.map(({ length, reason }) => `${reason} ${length}`)
})

const saving = (directory: string, options: Partial<Recording.SavingOptions>) =>
  gpu({ maxBytes: 100 }).pipe(
    Layer.provideMerge(Recording.layerSaving({ directory, ...options })),
    Layer.provideMerge(PoolEvents.layer)
  )

const tooMuch = Effect.exit(BufferPool.use(64, () => BufferPool.use(64, () => Effect.void)))

describe("a recorder that saves", () => {
  it.effect("writes a file at the first out of memory alone, before its layer has closed", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      const directory = `${folder}/new/one`
      yield* Effect.provide(Effect.andThen(tooMuch, tooMuch), saving(directory, {}))
      deepStrictEqual(yield* savedIn(directory), ["outOfMemory 3"])
      yield* Effect.provide(tooMuch, saving(directory, { atOutOfMemory: false }))
      strictEqual((yield* savedIn(directory)).length, 1)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("writes none for a request that is larger than the limit, whose error says it all", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const directory = yield* files.makeTempDirectoryScoped()
      const tooLarge = Effect.exit(BufferPool.use(101, () => Effect.void))
      yield* Effect.provide(tooLarge, saving(directory, {}))
      deepStrictEqual(yield* savedIn(directory), [])
      yield* Effect.provide(Effect.andThen(tooLarge, tooMuch), saving(directory, {}))
      deepStrictEqual(yield* savedIn(directory), ["outOfMemory 4"])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("writes a file at each signal, and leaves no listener", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const directory = yield* files.makeTempDirectoryScoped()
      const before = process.listenerCount("SIGUSR2")
      const program = Effect.gen(function*() {
        process.emit("SIGUSR2")
        yield* TestClock.adjust("1 second")
        yield* BufferPool.use(64, () => Effect.void)
        process.emit("SIGUSR2")
      })
      yield* Effect.provide(program, saving(directory, { signal: "SIGUSR2" }))
      deepStrictEqual(yield* savedIn(directory), ["signal 0", "signal 3"])
      strictEqual(process.listenerCount("SIGUSR2"), before)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("keeps the last of many signals that come while it writes", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const directory = yield* files.makeTempDirectoryScoped()
      const program = Effect.gen(function*() {
        for (let signal = 0; signal < 1000; signal++) process.emit("SIGUSR2")
        yield* BufferPool.use(64, () => Effect.sync(() => process.emit("SIGUSR2")))
        yield* tooMuch
        process.emit("SIGUSR2")
      })
      yield* Effect.provide(program, saving(directory, { signal: "SIGUSR2" }))
      deepStrictEqual(yield* savedIn(directory), ["outOfMemory 5", "signal 6"])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("logs what it could not write, and the program goes on", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const directory = yield* files.makeTempDirectoryScoped()
      const logged: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => void logged.push(`${logLevel} ${String(message)}`))
      const program = Effect.andThen(
        Effect.andThen(files.remove(directory, { recursive: true }), tooMuch),
        Effect.succeed(1)
      )
      const result = yield* Effect.provide(program, saving(directory, {})).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      strictEqual(result, 1)
      assert.match(logged.join(), /^Error The events of GPU memory could not be written/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect.each(
    [
      { directory: "" },
      { directory: 1 },
      { directory: "x", signal: "USR2" },
      { directory: "x", atOutOfMemory: 1 },
      { directory: "x", capacity: 0 }
    ] as ReadonlyArray<unknown>
  )("refuses %j", (options) =>
    Effect.gen(function*() {
      const built = Layer.build(Recording.layerSaving(options as Recording.SavingOptions))
      const error = yield* Effect.flip(Effect.scoped(built))
      strictEqual(error._tag === "GpuError" ? error.reason._tag : error._tag, "InvalidRequest")
    }).pipe(Effect.provide(NodeServices.layer)))
})
