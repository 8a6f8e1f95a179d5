/** Recordings of random programs, like those of pools: every lease has a block, and ends once. */
import type { OfRequest, PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as fc from "fast-check"
import * as Recording from "../../src/recording/Recording.ts"

const text = fc.oneof(
  fc.constantFrom(
    "",
    "weights",
    "a,b",
    "say \"hi\"",
    "two\nlines",
    "</script>",
    "\u{1f600} emoji",
    "\ud800",
    "tab\t",
    "\0",
    "\\",
    "'"
  ),
  fc.string({ unit: "binary", maxLength: 6 })
)

const bytes = fc.oneof(
  // Often the same sizes, so that blocks and addresses are reused.
  fc.constantFrom(64, 100),
  fc.integer({ min: 1, max: 4096 }),
  fc.constantFrom(1, 2 ** 31, 2 ** 32 + 1, 2 ** 45)
)

const step = fc.record({
  kind: fc.constantFrom(
    "lease",
    "lease",
    "lease",
    "release",
    "release",
    "free",
    "keep",
    "wait",
    "serve",
    "reserve",
    "runOut",
    "exceed",
    "refuse",
    "ask",
    "limit",
    "lose",
    "reclaim"
  ),
  memory: fc.integer({ min: 1, max: 3 }),
  which: fc.nat(1000),
  size: bytes,
  extra: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 512 })),
  passed: fc.constantFrom(0, 0, 0.25, 1, 1000, 86_400_000),
  label: fc.option(text, { nil: undefined }),
  queue: fc.constantFrom(undefined, undefined, "0x7f12", "second", "3"),
  callSite: fc.option(fc.constantFrom("src/train.ts:10:5", "C:\\src\\a.ts:7:1", "odd", "a:b:3:4"), { nil: undefined })
})

type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

interface Block {
  readonly memory: number
  readonly block: number
  readonly capacity: number
  readonly lease:
    | { readonly size: number; readonly label: string | undefined; readonly callSite: string | undefined }
    | undefined
}

const devices = ["host, simulated", "host, simulated", "OpenCL \"two\""]

const memories = devices.map((device, index): Recording.RecordedMemory => ({
  number: index + 1,
  label: index === 0 ? undefined : `memory <${index}>`,
  device,
  kind: "pool",
  maxBytes: index === 1 ? 2 ** 30 : Number.POSITIVE_INFINITY,
  maxHeldBytes: Number.POSITIVE_INFINITY,
  deviceBytes: undefined,
  eviction: undefined,
  reuse: undefined,
  idle: undefined,
  maxBypasses: 8,
  deadlockTimeoutMillis: 1000
}))

class Program {
  readonly events: Array<PoolEvent> = []
  readonly blocks: Array<Block> = []
  #at = 1_700_000_000_000
  #block = 0
  #request = 0
  readonly #waiting: Array<OfRequest> = []

  before({ extra, label, memory, size, which, callSite }: Step): Recording.RecordedBlock {
    const lease = which % 2 === 0 ? { size, label, callSite } : undefined
    const block = { memory, block: ++this.#block, capacity: size + extra, lease }
    this.blocks.push(block)
    return { ...block, pool: "BufferPool", family: "0" }
  }

  #happened(memory: number) {
    return {
      at: this.#at,
      memory: memories[memory - 1]!.label,
      memoryNumber: memory,
      device: devices[memory - 1]!
    }
  }

  #asked({ callSite, label, memory, queue, size, which }: Step): OfRequest {
    return {
      ...this.#happened(memory),
      pool: which % 5 === 0 ? "ImagePool" : "BufferPool",
      request: ++this.#request,
      family: "0",
      size,
      label,
      budget: undefined,
      budgetNumber: undefined,
      queue,
      callSite,
      waitAtMost: which % 3 === 0 ? Number.POSITIVE_INFINITY : which,
      under: undefined
    }
  }

  #pick(memory: number, which: number, test: (block: Block) => boolean): number {
    const places = this.blocks.flatMap((block, place) => block.memory === memory && test(block) ? [place] : [])
    return places.length === 0 ? -1 : places[which % places.length]!
  }

  #lease(step: Step): void {
    const { callSite, label, memory, size } = step
    const place = this.#pick(memory, step.which, ({ capacity, lease }) => lease === undefined && capacity >= size)
    const known = this.blocks[place]
    const block = known ?? { memory, block: ++this.#block, capacity: size + step.extra, lease: undefined }
    const leased = { ...block, lease: { size, label, callSite } }
    if (known === undefined) this.blocks.push(leased)
    else this.blocks[place] = leased
    const from = known === undefined ? "driver" : step.which % 2 === 0 ? "held" : "borrowed"
    this.events.push({
      _tag: "Leased",
      ...this.#asked(step),
      from,
      block: block.block,
      capacity: block.capacity
    })
  }

  #release({ memory, which }: Step): void {
    const place = this.#pick(memory, which, ({ lease }) => lease !== undefined)
    const known = this.blocks[place]
    if (known?.lease === undefined) return
    const { block, capacity, lease: { callSite, label, size } } = known
    this.blocks[place] = { ...known, lease: undefined }
    this.events.push({
      _tag: "Released",
      ...this.#happened(memory),
      pool: "BufferPool",
      block,
      capacity,
      size,
      label,
      callSite,
      why: "released"
    })
  }

  #free({ memory, which }: Step): void {
    const place = this.#pick(memory, which, ({ lease }) => lease === undefined)
    const known = this.blocks[place]
    if (known === undefined) return
    const { block, capacity } = known
    this.blocks.splice(place, 1)
    this.events.push({ _tag: "Freed", ...this.#happened(memory), pool: "BufferPool", block, capacity, why: "evicted" })
  }

  #keep(step: Step): void {
    const { extra, memory, size } = step
    const block = { memory, block: ++this.#block, capacity: size + extra, lease: undefined }
    this.blocks.push(block)
    this.events.push({ _tag: "Kept", ...this.#asked(step), block: block.block, capacity: block.capacity })
  }

  take(step: Step): void {
    const { extra, kind, memory, passed, size, which } = step
    this.#at += passed
    if (kind === "lease") this.#lease(step)
    else if (kind === "release") this.#release(step)
    else if (kind === "free") this.#free(step)
    else if (kind === "keep") this.#keep(step)
    else if (kind === "wait") {
      const asked = this.#asked(step)
      this.#waiting.push(asked)
      this.events.push({ _tag: "Waiting", ...asked })
    } else if (kind === "serve") {
      const asked = this.#waiting.pop() ?? this.#asked(step)
      const waitedMillis = this.#at - asked.at + extra
      this.events.push({ _tag: "Waited", ...asked, at: this.#at, served: which % 2 === 0, waitedMillis })
    } else if (kind === "reserve") {
      const asked = this.#asked(step)
      this.events.push({ _tag: "Reserved", ...asked }, { _tag: "ReservationEnded", ...asked })
    } else if (kind === "runOut") {
      const stepsTried = which % 2 === 0 ? [] : ["evict", "reclaim"]
      this.events.push({ _tag: "RanOut", ...this.#asked(step), stepsTried, activeBytes: extra, heldBytes: which })
    } else if (kind === "exceed") {
      this.events.push({ _tag: "GaveUp", ...this.#asked(step), why: "limitExceeded" })
    } else if (kind === "refuse") {
      this.events.push({ _tag: "Refused", ...this.#asked(step), capacity: size + extra, why: "OutOfMemory" })
    } else if (kind === "ask") {
      this.events.push({ _tag: "DriverAsked", ...this.#asked(step), capacity: size })
    } else if (kind === "limit") {
      const to = which % 2 === 0 ? Number.POSITIVE_INFINITY : size
      this.events.push({
        _tag: "LimitChanged",
        ...this.#happened(memory),
        budget: undefined,
        budgetNumber: undefined,
        from: extra,
        to
      })
    } else this.events.push({ _tag: kind === "lose" ? "Lost" : "Reclaimed", ...this.#happened(memory) })
  }
}

/** A recording, and its events as values. */
export class RandomRecording {
  readonly recording: Recording.Recording
  readonly events: ReadonlyArray<PoolEvent>

  constructor(recording: Recording.Recording, events: ReadonlyArray<PoolEvent>) {
    this.recording = recording
    this.events = events
  }

  /** For messages: without the columns of the recording. */
  [fc.toStringMethod](): string {
    return fc.stringify({ blocks: this.recording.blocks, events: this.events })
  }
}

const recordingOf = (before: ReadonlyArray<Step>, steps: ReadonlyArray<Step>): RandomRecording => {
  const program = new Program()
  const blocks = before.map((step) => program.before(step))
  for (const step of steps) program.take(step)
  const facts: Recording.RecordingFacts = {
    source: "test \"<random>\"",
    reason: "asked",
    takenAt: 1_700_000_000_000,
    dropped: 3,
    memories,
    families: [],
    budgets: [],
    blocks
  }
  return new RandomRecording(Recording.make(facts, program.events), program.events)
}

export const randomRecordings: fc.Arbitrary<RandomRecording> = fc
  .tuple(fc.array(step, { maxLength: 5 }), fc.array(step, { maxLength: 60 }))
  .map(([before, steps]) => recordingOf(before, steps))

/** The devices, in the order in which exports number them. */
export const deviceNames = Array.from(new Set(devices))

/** The device of each memory. */
export const deviceOfMemory = (memory: number): string => devices[memory - 1]!
