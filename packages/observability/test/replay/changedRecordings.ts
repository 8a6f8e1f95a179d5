/** Recordings that no pool has made: recordings of programs with events removed, moved or changed, and random ones. */
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as fc from "fast-check"
import { type Field, isInput, kinds } from "../../src/recording/EventShape.ts"
import * as Recording from "../../src/recording/Recording.ts"

/** An event whose members may be anything. */
type AnyEvent = Record<string, unknown>

/** A line of a file: a kind, a time, a memory, and more. */
type Line = ReadonlyArray<unknown>

/** Numbers that a file may have anywhere; some are invalid in an event. */
const odd = fc.constantFrom(0, 1, 0.5, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e300, 5e-324, -1, NaN, Infinity)

/** One change of a recording: its kind, its event, and another event that it uses. */
export interface Change {
  readonly do: "drop" | "repeat" | "swap" | "move" | "take" | "number"
  readonly at: number
  readonly other: number
  readonly member: number
  readonly number: number
}

const place = fc.nat(1_000_000)

export const changes: fc.Arbitrary<ReadonlyArray<Change>> = fc.array(
  fc.record({
    do: fc.constantFrom("drop", "repeat", "swap", "move", "take", "number"),
    at: place,
    other: place,
    member: place,
    number: fc.oneof(odd, fc.nat(9000))
  }),
  { minLength: 1, maxLength: 8 }
)

/** A recording with these changes, or undefined if the result is invalid. */
export const changed = (
  recording: Recording.Recording,
  all: ReadonlyArray<Change>
): Recording.Recording | undefined => {
  const events: Array<AnyEvent> = Array.from(Recording.events(recording), (event) => ({ ...event }))
  for (const change of all) if (events.length > 0) apply(events, change)
  return recordingOf(recording, events)
}

const apply = (events: Array<AnyEvent>, change: Change): void => {
  const at = change.at % events.length
  const other = change.other % events.length
  const [one, two] = [events[at]!, events[other]!]
  switch (change.do) {
    case "drop":
      events.splice(at, 1)
      return
    case "repeat":
      events.splice(other, 0, { ...one })
      return
    case "swap":
      events[at] = two
      events[other] = one
      return
    case "move":
      events.splice(other, 0, ...events.splice(at, 1))
      return
    case "take": {
      const names = Object.keys(one).filter((name) => name !== "_tag" && name in two)
      const name = names[change.member % names.length]!
      one[name] = two[name]
      return
    }
    case "number": {
      const names = Object.keys(one).filter((name) => typeof one[name] === "number")
      one[names[change.member % names.length]!] = change.number
    }
  }
}

/** The same changes to its lines in a file, which also has the inputs of the machine. */
export const changedFile = async (
  recording: Recording.Recording,
  all: ReadonlyArray<Change>
): Promise<Recording.Recording | undefined> => {
  const text = await Effect.runPromise(Stream.mkString(Recording.toLines(recording)))
  const [header, ...others] = text.trimEnd().split("\n").map((line): unknown => JSON.parse(line)) as [
    { readonly length: number },
    ...ReadonlyArray<Line>
  ]
  const isText = ([tag]: Line): boolean => tag === "texts"
  const lines = others.filter((line) => !isText(line)).map((line) => ({ ...line }))
  for (const change of all) if (lines.length > 0) apply(lines, change)
  const written = lines.map((line) => Object.values(line))
  const length = written.filter(([tag]) => tag !== "Asked" && tag !== "Input").length
  const changed = [{ ...header, length }, ...others.filter(isText), ...written].map((line) => JSON.stringify(line))
  const read = Recording.fromLines(Stream.make(changed.join("\n")))
  return Effect.runPromise(Effect.catch(read, () => Effect.undefined))
}

/**
 * A recording of these facts and events, or undefined if they are invalid, which `Recording.make` reports by a
 * TypeError.
 */
const recordingOf = (
  facts: Recording.RecordingFacts,
  events: ReadonlyArray<AnyEvent>
): Recording.Recording | undefined => {
  try {
    return Recording.make(facts, events as unknown as ReadonlyArray<PoolEvent>)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Mostly few different ones, so that events are about the same requests and blocks. */
const mostly = (arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 300, arbitrary }, { weight: 1, arbitrary: odd })

const size = fc.constantFrom(10, 20, 30, 50, 100, 150)

const members: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  request: mostly(fc.integer({ min: 1, max: 6 })),
  block: mostly(fc.integer({ min: 1, max: 6 })),
  offset: fc.constant(0),
  partBytes: fc.constantFrom(undefined, undefined, undefined, 10),
  steps: mostly(fc.constantFrom(1, 2, 5)),
  waitAtMost: mostly(fc.constantFrom(0, 0, 5, Infinity)),
  under: mostly(fc.constantFrom(undefined, undefined, undefined, 1, 2, 3)),
  budgetNumber: fc.constantFrom(undefined, undefined, undefined, 1, 2, 3),
  pool: fc.constantFrom("BufferPool", "BufferPool", "ImagePool"),
  family: fc.constantFrom("1", "1", "1", "2", ""),
  queue: fc.constantFrom(undefined, undefined, undefined, "queue 1", "other"),
  stepsTried: fc.constantFrom(["bin"], ["wait"], ["bin", "wait"]),
  why: fc.constantFrom("OutOfMemory", "OutOfMemory", "DeviceLost", "LimitExceeded", "Interrupted", "Defect")
}

const memberOf = ({ as, choices, isText, name }: Field): fc.Arbitrary<unknown> => {
  if (choices !== undefined) return fc.constantFrom(...choices)
  if (as === "yes or no") return fc.boolean()
  return members[name] ?? (isText ? fc.constantFrom(undefined, "a") : mostly(size))
}

/** Each memory may have an event about what happens in the other one. */
const event = fc.oneof(
  ...kinds.filter((_, kind) => !isInput(kind)).map(({ fields, isOfRequest, tag }) => ({
    weight: isOfRequest || tag === "Released" || tag === "Reclaimed" || tag === "Freed" ? 3 : 1,
    arbitrary: fc.record<AnyEvent>({
      _tag: fc.constant(tag),
      at: mostly(fc.nat(50)),
      memoryNumber: fc.constantFrom(1, 1, 1, 1, 2),
      ...Object.fromEntries(fields.map((field) => [field.name, memberOf(field)]))
    })
  }))
)

const limit = fc.oneof({ weight: 20, arbitrary: fc.constantFrom(Infinity, 50, 100, 200) }, {
  weight: 1,
  arbitrary: odd
})

const facts = fc.record({
  maxBytes: limit,
  maxHeldBytes: limit,
  maxBypasses: fc.constantFrom(0, 1, 16, Infinity),
  deviceBytes: fc.option(limit, { nil: undefined, freq: 5 }),
  maxBufferSize: fc.option(limit, { nil: undefined, freq: 5 }),
  idle: fc.option(
    fc.record({ steps: mostly(fc.constantFrom(1, 2, 4)), keepBytes: limit, stepMillis: mostly(fc.constantFrom(1, 2)) }),
    { nil: undefined }
  ),
  sizes: fc.array(fc.tuple(mostly(size), mostly(size), mostly(size), mostly(size)), { maxLength: 4 }),
  blocks: fc.array(
    fc.oneof(
      fc.record({
        capacity: mostly(size),
        lease: fc.option(fc.record({ size }), { nil: undefined }),
        family: fc.constantFrom("1", "2", undefined)
      }),
      fc.record({
        capacity: fc.constantFrom(48, 64),
        parts: fc.subarray([
          { offset: 0, partBytes: 16, size: 10 },
          { offset: 16, partBytes: 16, size: 1 },
          { offset: 32, partBytes: 16, size: 16 }
        ]),
        family: fc.constantFrom("1", "2", undefined)
      })
    ),
    { maxLength: 4 }
  ),
  strategy: fc.constantFrom(undefined, { name: "arena", unitBytes: 16, slabBytes: 64 }),
  budgets: fc.tuple(limit, limit, limit),
  kind: fc.constantFrom("budget", "pool"),
  reason: fc.constantFrom("asked", "asked", "imported")
})

/** Recordings of random events; undefined if the events are invalid. */
export const randomRecordings: fc.Arbitrary<Recording.Recording | undefined> = fc.tuple(
  facts,
  fc.array(event, { maxLength: 40, size: "max" })
).map(([{ blocks, budgets: [one, two, three], kind, reason, sizes, ...settings }, events]) => {
  const memory = { device: "", kind: "pool", deadlockTimeoutMillis: 1000, ...settings }
  const all: unknown = {
    source: "test",
    reason,
    takenAt: 0,
    dropped: 0,
    memories: [{ number: 1, ...memory }, { number: 2, ...memory }],
    families: [{ memory: 1, pool: "BufferPool", family: "1", clears: false, sizes }],
    budgets: [
      { number: 1, memory: 1, kind: "budget", maxBytes: one },
      { number: 2, memory: 1, kind: "budget", maxBytes: two, parent: 1 },
      { number: 3, memory: 1, kind, maxBytes: three }
    ],
    blocks: blocks.map((block, at) => ({ memory: 1, block: at + 1, pool: "BufferPool", ...block }))
  }
  return recordingOf(all as Recording.RecordingFacts, events)
})
