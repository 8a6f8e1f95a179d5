/**
 * The limits of recordings from outside: more is refused with the place in the recording, by `Recording.make` and in
 * files.
 */
import { assert, describe, it, vi } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { WaitQueue } from "../../../../src/domain/pool/machine/WaitQueue.ts"
import { noFacts, requestNumbered } from "../../../../test/support/anyRecording.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"

// JSON has no Infinity.
const memory = {
  ...noFacts.memories[0]!,
  maxBytes: 100,
  maxHeldBytes: 100,
  maxBypasses: 16,
  deadlockTimeoutMillis: 1000
}
const facts = { ...noFacts, memories: [memory] }

const lost = { at: 0, memory: undefined, memoryNumber: 1, device: "" }
const events: ReadonlyArray<PoolEvent> = [{ _tag: "Lost", ...lost }]

const linesOf = (recording: Recording.Recording): Array<string> =>
  Array.from(Effect.runSync(Stream.runCollect(Recording.toLines(recording)))).join("").trimEnd().split("\n")

/** Reads a recording whose lines are changed. */
const read = (change: (lines: Array<string>) => void): Effect.Effect<Recording.Recording, unknown> =>
  Effect.suspend(() => {
    const lines = linesOf(Recording.make(facts, events))
    change(lines)
    return Recording.fromLines(Stream.make(lines.join("\n")))
  })

const withFacts = (changed: Partial<Recording.RecordingFacts>) =>
  read((lines) => {
    const header = JSON.parse(lines[0]!) as { facts: object }
    lines[0] = JSON.stringify({ ...header, facts: { ...header.facts, ...changed } })
  })

const budgets = (parents: ReadonlyArray<number | undefined>): Pick<Recording.RecordingFacts, "budgets"> => ({
  budgets: parents.map((parent, at) => ({ number: at + 1, memory: 1, kind: "budget", maxBytes: 10, parent }))
})

const chain = (length: number): ReadonlyArray<number | undefined> => Array.from({ length }, (_, at) => at || undefined)

/** The parents of `length` nested budgets, the innermost first. */
const inward = (length: number): ReadonlyArray<number | undefined> =>
  Array.from({ length }, (_, at) => at + 1 < length ? at + 2 : undefined)

const idle = (settings: object): Pick<Recording.RecordingFacts, "memories"> => ({
  memories: [{ ...memory, idle: { steps: 1, keepBytes: 0, stepMillis: 1, ...settings } }]
})

const sizes = (...all: readonly [number, number, number, number]): Pick<Recording.RecordingFacts, "families"> => ({
  families: [{ memory: 1, pool: "BufferPool", family: "1", clears: false, sizes: [all] }]
})

const block = (more: object): Pick<Recording.RecordingFacts, "blocks"> => ({
  blocks: [{ memory: 1, block: 1, capacity: 1, pool: "BufferPool", ...more }]
})

const refused: ReadonlyArray<
  readonly [what: string, facts: Partial<Recording.RecordingFacts>, messages: ReadonlyArray<string>]
> = [
  ["257 budgets within each other", budgets(chain(257)), [
    "within 256 budgets",
    "255 are the most",
    `["budgets"][256]`
  ]],
  ["30,000 budgets within each other", budgets(chain(30_000)), ["within 256 budgets", `["budgets"][256]`]],
  ["30,000 budgets, from the innermost out", budgets(inward(30_000)), ["within 29999 budgets", `["budgets"][0]`]],
  ["a budget within itself", budgets([undefined, 2]), ["it is within itself", `["budgets"][1]`]],
  ["budgets within each other in a circle", budgets([undefined, 4, 2, 3]), ["it is within itself", `["budgets"][1]`]],
  ["a budget within one in a circle", budgets([2, 3, 2]), ["it is within itself", `["budgets"][0]`]],
  ["a budget within none", budgets([undefined, 7]), ["there is no budget 7", `["budgets"][1]`]],
  ["1e300 steps of an idle clock", idle({ steps: 1e300 }), ["an integer", `["idle"]["steps"]`]],
  ["1,001 of them", idle({ steps: 1001 }), ["between 1 and 1000", `["idle"]["steps"]`]],
  ["no steps of one", idle({ steps: 0 }), ["between 1 and 1000", `["idle"]["steps"]`]],
  ["half a step", idle({ steps: 0.5 }), ["an integer", `["idle"]["steps"]`]],
  ["steps of no time", idle({ stepMillis: 0 }), ["greater than or equal to 0.001", `["idle"]["stepMillis"]`]],
  ["less than no held bytes", { memories: [{ ...memory, maxHeldBytes: -1 }] }, [`["memories"][0]["maxHeldBytes"]`]],
  ["half a byte", sizes(0.5, 1, 1, 1), ["an integer", `["families"][0]["sizes"][0][0]`]],
  ["a block of 2^53 bytes", block({ capacity: 2 ** 53 }), ["an integer", `["blocks"][0]["capacity"]`]],
  ["a lease of 1e300 bytes", block({ lease: { size: 1e300 } }), ["an integer", `["blocks"][0]["lease"]["size"]`]]
]

describe("a recording from outside", () => {
  it.effect.each(refused)("is refused with %s", ([, changed, messages]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(withFacts(changed))
      for (const text of ["Recording.fromLines: line 1", ...messages]) assert.include(String(error), text)
      let thrown: unknown
      try {
        Recording.make({ ...facts, ...changed }, [])
      } catch (error) {
        thrown = error
      }
      assert.instanceOf(thrown, TypeError)
      for (const text of ["Recording.make: these are not the facts", ...messages]) assert.include(String(thrown), text)
    }))

  it.effect("has as many budgets within each other as a pool, wherever they stand", () =>
    Effect.gen(function*() {
      for (const parents of [chain(256), inward(256)]) {
        const recording = yield* withFacts(budgets(parents))
        strictEqual(recording.budgets.length, 256)
        strictEqual((yield* Replay.run(recording)).differsAt, undefined)
      }
    }))

  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
  const lines: ReadonlyArray<readonly [what: string, line: string, message: string]> = [
    ["a list in lists as its time", `["Lost",${deep},1]`, "line 3: time [[[["],
    ["a text as its time", `["Lost","0",1]`, "line 3: time \"0\" is no number"],
    ["a text as its memory", `["Lost",0,"1"]`, "line 3: memory \"1\" is no number"],
    ["a list in lists as its memory", `["Lost",0,${deep}]`, "line 3: memory [[[["],
    ["a time that no Date has", `["Lost",1e300,1]`, "line 3: its time 1e+300 is no number of milliseconds from -"],
    ["a time before all of these", `["Lost",-8.7e15,1]`, "line 3: its time -8700000000000000 is no number"],
    ["no number of steps", `["IdleStep",0,1,1e300]`, "line 3: its steps 1e+300 is no whole number"]
  ]
  it.effect.each(lines)(
    "is refused where an event has %s",
    ([, line, message]) =>
      Effect.map(
        Effect.flip(read((lines) => lines.splice(2, 1, line))),
        (error) => assert.include(String(error), message)
      )
  )
})

const many = (count: number, more: (number: number) => ReadonlyArray<PoolEvent>): Recording.Recording => {
  const numbers = Array.from({ length: count }, (_, at) => at + 1)
  const memories = numbers.map((number) => ({ ...memory, number }))
  return Recording.make({ ...facts, memories }, numbers.flatMap(more))
}

/** A request that waits for the driver. */
const waiting = (request: number, memoryNumber = 1): Extract<PoolEvent, { readonly _tag: "DriverAsked" }> => ({
  ...requestNumbered(request),
  _tag: "DriverAsked",
  memoryNumber,
  capacity: 10
})

describe("a replay of a recording from outside", () => {
  it.effect("has 100,000 memories, as long as there are few at a time", () =>
    Effect.gen(function*() {
      const recording = many(100_000, (number) =>
        number % 50 === 0 ? [{ _tag: "Lost", ...lost, memoryNumber: number }] : [])
      const { differsAt, recording: replayed } = yield* Replay.run(recording)
      strictEqual(differsAt, undefined)
      strictEqual(replayed.memories.length, 100_000)
    }))

  it.effect("says that there are too many at a time", () =>
    Effect.gen(function*() {
      const recording = many(16_385, (number) => [waiting(number, number)])
      const replays: ReadonlyArray<Effect.Effect<unknown, GpuError>> = [
        Replay.run(recording),
        Replay.smallestLimit(recording)
      ]
      for (const replay of replays) {
        const error = yield* Effect.flip(replay)
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, "more than 16384 memories at event 16385 of 16385")
      }
    }))

  it.effect("says that its blocks are more bytes than a pool counts", () =>
    Effect.gen(function*() {
      const capacity = Number.MAX_SAFE_INTEGER
      const blocks = [1, 2].map((block) => ({ memory: 1, block, capacity, pool: "BufferPool", family: "1" }))
      const error = yield* Effect.flip(Replay.run(Recording.make({ ...facts, blocks }, [])))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "the blocks of memory 1 before the first event have more than 9007199254740991 B")
    }))

  it.effect("has no blocks of no bytes, and none that is smaller than its request", () =>
    Effect.gen(function*() {
      const odd = { ...facts, ...block({ capacity: 0 }), ...sizes(42, 17, 10, 109) }
      const asked = { ...waiting(1), size: 42 }
      const leased: PoolEvent = { ...asked, _tag: "Leased", from: "driver", block: 2 }
      const { peakManagedBytes, recording } = yield* Replay.run(Recording.make(odd, [asked, leased]))
      strictEqual(peakManagedBytes, 42)
      strictEqual(recording.blocks.length, 0)
    }))

  it.effect("ends a lease in its own memory, whatever another one says of a block with this number", () =>
    Effect.gen(function*() {
      const memories = [memory, { ...memory, number: 2 }]
      const ends = [2, 1].map((memoryNumber): PoolEvent => {
        return { ...waiting(1), memoryNumber, _tag: "Released", block: 1, capacity: 10, size: 10, why: "released" }
      })
      const held = { ...facts, memories, ...block({ capacity: 10, family: "1", lease: { size: 10 } }) }
      const { recording } = yield* Replay.run(Recording.make(held, ends))
      deepStrictEqual(
        Array.from(Recording.events(recording), ({ _tag, memoryNumber }) => [_tag, memoryNumber]),
        [["Released", 1]]
      )
    }))

  it.effect("leaves those alone who wait at its end", () =>
    Effect.gen(function*() {
      const { capacity: _, ...asked } = { ...waiting(1), waitAtMost: Infinity }
      const requests = Array.from({ length: 1000 }, (_, at) => ({ ...asked, request: at + 2 }))
      const waits = requests.map((request): PoolEvent => ({ ...request, _tag: "Waiting" }))
      const recording = Recording.make(
        { ...facts, memories: [{ ...memory, maxBytes: 10 }] },
        [waiting(1), { ...waiting(1), _tag: "Leased", from: "driver", block: 1 }, ...waits]
      )
      const left = vi.spyOn(WaitQueue.prototype, "leave")
      strictEqual((yield* Replay.run(recording)).differsAt, undefined)
      strictEqual((yield* Replay.run(recording, { maxBytes: 10 })).waits, 1000)
      strictEqual(left.mock.calls.length, 0)
      left.mockRestore()
    }))

  /** Nested reservations, as deep as a file may have them. */
  const numbers = Array.from({ length: 20_000 }, (_, at) => at + 1)
  const reservation = (request: number, _tag: "Reserved" | "ReservationEnded"): PoolEvent => {
    const under = request === 1 ? undefined : request - 1
    return { ...waiting(request), family: "", waitAtMost: Infinity, under, _tag }
  }
  const reserved = numbers.map((number) => reservation(number, "Reserved"))
  const endedInward = numbers.map((number) => reservation(number, "ReservationEnded"))
  const endedOutward = numbers.map((_, at) => reservation(numbers.length - at, "ReservationEnded"))
  const leased = (under: number | undefined): PoolEvent => {
    return { ...waiting(numbers.length + 1), under, _tag: "Leased", from: "driver", block: 1 }
  }
  const released: PoolEvent = { ...waiting(0), _tag: "Released", block: 1, why: "released" }

  it.effect("ends a lease within reservations that have ended, whichever ended first", () =>
    Effect.gen(function*() {
      for (const ended of [endedInward, endedOutward]) {
        const recording = Recording.make(facts, [...reserved, leased(numbers.length), ...ended, released])
        for (const options of [{}, { maxBytes: 1000 }]) {
          const replayed = Recording.events((yield* Replay.run(recording, options)).recording)
          strictEqual(Array.from(replayed).filter(({ _tag }) => _tag === "Released").length, 1)
        }
      }
    }))

  it.effect("begins reservations within one that has waited", () =>
    Effect.gen(function*() {
      const recording = Recording.make(facts, [leased(undefined), ...reserved, released, ...endedOutward])
      const replayed = Recording.events((yield* Replay.run(recording, { maxBytes: 10 })).recording)
      const begun = Array.from(replayed).filter(({ _tag }) => _tag === "Reserved")
      strictEqual(begun.length, numbers.length)
    }))
})
