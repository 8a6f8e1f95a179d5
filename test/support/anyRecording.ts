/**
 * Random recordings, and the state after each of their events, computed in the simplest way.
 */
import type { PoolEvent, Recording } from "@effect-gpu-pool/observability"
import * as fc from "fast-check"

export type Event = PoolEvent.PoolEvent

export const noFacts: Recording.RecordingFacts = {
  source: "test",
  reason: "asked",
  takenAt: 0,
  dropped: 0,
  memories: [{
    number: 1,
    device: "",
    kind: "pool",
    maxBytes: Infinity,
    maxHeldBytes: Infinity,
    maxBypasses: Infinity,
    deadlockTimeoutMillis: Infinity
  }],
  families: [],
  budgets: [],
  blocks: []
}

const begun = 1_700_000_000_000

const happened = { memory: undefined, memoryNumber: 1, device: "" }

const ofRequest = {
  ...happened,
  pool: "BufferPool",
  family: "storage",
  budget: undefined,
  budgetNumber: undefined,
  queue: undefined,
  waitAtMost: 0,
  under: undefined
}

export interface Asked {
  readonly at?: number
  readonly size: number
  readonly label?: string | undefined
  readonly callSite?: string | undefined
  readonly request?: number
}

const request = ({ at = 0, callSite, label, request = 0, size }: Asked) => (
  { ...ofRequest, at: begun + at, size, label, callSite, request }
)

/** The members that all events of a request of 10 bytes in the first memory have. */
export const requestNumbered = (request: number) => (
  { ...ofRequest, at: 0, family: "1", request, size: 10, label: undefined, callSite: undefined }
)

export const leased = (asked: Asked, block: number, from: PoolEvent.Leased["from"], capacity = asked.size): Event => (
  { ...request(asked), _tag: "Leased", from, block, capacity }
)

export const released = (at: number, block: number, size = 0, capacity = size): Event => (
  {
    ...happened,
    at: begun + at,
    _tag: "Released",
    pool: "BufferPool",
    block,
    size,
    capacity,
    label: undefined,
    callSite: undefined,
    why: "released"
  }
)

export const freed = (at: number, block: number, capacity = 0): Event => (
  { ...happened, at: begun + at, _tag: "Freed", pool: "BufferPool", block, capacity, why: "trimmed" }
)

export const ranOut = (asked: Asked, stepsTried: ReadonlyArray<string>): Event => (
  { ...request(asked), _tag: "RanOut", stepsTried, activeBytes: 1, heldBytes: 0 }
)

export const tooLarge = (asked: Asked): Event => ({ ...request(asked), _tag: "GaveUp", why: "limitExceeded" })

export const waiting = (asked: Asked): Event => ({ ...request(asked), _tag: "Waiting" })

export const waited = (asked: Asked, served: boolean): Event => (
  { ...request(asked), _tag: "Waited", served, waitedMillis: 1 }
)

/** One step of a program: what it does, with what, and how many milliseconds later. */
export interface Step {
  readonly what: "lease" | "release" | "free" | "wait" | "serve" | "runOut"
  readonly pick: number
  readonly label: number
  readonly bytes: number
  readonly later: number
}

export const anyStep: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(
    "lease",
    "lease",
    "lease",
    "lease",
    "release",
    "release",
    "release",
    "free",
    "wait",
    "serve",
    "runOut"
  ),
  pick: fc.nat(),
  label: fc.nat(15),
  bytes: fc.integer({ min: 1, max: 1 << 20 }),
  later: fc.nat(3)
})

interface Program {
  at: number
  blocks: number
  requests: number
  readonly events: Array<Event>
  readonly active: Array<{ readonly block: number; readonly size: number; readonly capacity: number }>
  readonly held: Array<{ readonly block: number; readonly capacity: number }>
  readonly waits: Array<Asked>
}

/** Takes an element out of a list. */
const pickFrom = <A>(list: Array<A>, pick: number): A | undefined =>
  list.length === 0 ? undefined : list.splice(pick % list.length, 1)[0]

const lease = (program: Program, asked: Asked): void => {
  const at = program.held.findIndex(({ capacity }) => capacity >= asked.size)
  const found = at === -1 ? undefined : program.held.splice(at, 1)[0]
  const block = found ?? { block: ++program.blocks, capacity: 2 ** Math.ceil(Math.log2(asked.size)) }
  program.active.push({ ...block, size: asked.size })
  program.events.push(leased(asked, block.block, found === undefined ? "driver" : "held", block.capacity))
}

const release = (program: Program, pick: number): void => {
  const ended = pickFrom(program.active, pick)
  if (ended === undefined) return
  program.held.push(ended)
  program.events.push(released(program.at, ended.block, ended.size, ended.capacity))
}

const free = (program: Program, pick: number): void => {
  const ended = pickFrom(program.held, pick)
  if (ended !== undefined) program.events.push(freed(program.at, ended.block, ended.capacity))
}

const take = (program: Program, { bytes, label, later, pick, what }: Step): void => {
  program.at += later
  const asked: Asked = {
    at: program.at,
    size: bytes,
    label: label === 0 ? undefined : `label ${label}`,
    callSite: label % 3 === 0 ? undefined : `src/file${label % 5}.ts:${label}`,
    request: ++program.requests
  }
  if (what === "lease") return lease(program, asked)
  if (what === "release") return release(program, pick)
  if (what === "free") return free(program, pick)
  if (what === "runOut") return void program.events.push(ranOut(asked, ["hit", "evict"]))
  if (what === "wait") {
    program.waits.push(asked)
    program.events.push(waiting(asked))
    return
  }
  const served = pickFrom(program.waits, pick)
  if (served !== undefined) program.events.push(waited({ ...served, at: program.at }, true))
}

/** The events of a program with these steps. */
export const eventsOf = (steps: Iterable<Step>): Array<Event> => {
  const program: Program = { at: 0, blocks: 0, requests: 0, events: [], active: [], held: [], waits: [] }
  for (const step of steps) take(program, step)
  return program.events
}

export const anyEvents = (most: number): fc.Arbitrary<Array<Event>> =>
  fc.array(anyStep, { minLength: 1, maxLength: most, size: "max" }).map(eventsOf).filter((events) => events.length > 0)

/** The state after an event. */
export interface StateModel {
  readonly blocks: ReadonlyMap<number, number>
  readonly leases: ReadonlyMap<number, PoolEvent.Leased>
  readonly waiting: number
}

const after = ({ blocks, leases, waiting }: StateModel, event: Event): StateModel => {
  switch (event._tag) {
    case "Leased":
      return {
        blocks: new Map(blocks).set(event.block, event.capacity),
        leases: new Map(leases).set(event.block, event),
        waiting
      }
    case "Released":
      return { blocks, leases: new Map([...leases].filter(([block]) => block !== event.block)), waiting }
    case "Freed":
      return { blocks: new Map([...blocks].filter(([block]) => block !== event.block)), leases, waiting }
    case "Waiting":
      return { blocks, leases, waiting: waiting + 1 }
    case "Waited":
      return { blocks, leases, waiting: waiting - 1 }
    default:
      return { blocks, leases, waiting }
  }
}

/** The states of a recording without contradictions, the first one before its first event. */
export const statesOf = (events: ReadonlyArray<Event>): ReadonlyArray<StateModel> => {
  const states: Array<StateModel> = [{ blocks: new Map(), leases: new Map(), waiting: 0 }]
  for (const event of events) states.push(after(states.at(-1)!, event))
  return states
}

const total = (numbers: Iterable<number>): number => [...numbers].reduce((sum, bytes) => sum + bytes, 0)

export const activeIn = ({ leases }: StateModel): number => total([...leases.values()].map(({ size }) => size))
export const managedIn = ({ blocks }: StateModel): number => total(blocks.values())

/** The bytes of leases, grouped by a name, the largest first. */
export const bytesBy = (
  { leases }: StateModel,
  nameOf: (lease: PoolEvent.Leased) => string
): ReadonlyArray<readonly [name: string, bytes: number]> => {
  const sums = new Map<string, number>()
  for (const lease of leases.values()) sums.set(nameOf(lease), (sums.get(nameOf(lease)) ?? 0) + lease.size)
  return [...sums].sort(([, one], [, other]) => other - one)
}
