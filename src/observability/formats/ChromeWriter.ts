/**
 * Writes a recording in the Trace Event Format. The slices of leases overlap, so they are asynchronous ones, each with a number
 * of its own.
 *
 * @internal
 */
import type { OfRequest, PoolEvent } from "../../domain/pool/PoolEvent.ts"
import { events as eventsOf, type Recording } from "../recording/Recording.ts"
import { type BlockChange, type BlockLease, BlockLedger, type LedgerBlock } from "./BlockLedger.ts"
import { JsonTexts } from "./TextOutput.ts"

type Value = string | number | boolean | undefined

/** Readers take a slice without a name for one without an end. */
const nameOf = (label: string | undefined, other: string): string => label === undefined || label === "" ? other : label

/** What a request says of itself. */
const requestArgs = (event: OfRequest): Readonly<Record<string, Value>> => ({
  request: event.request,
  pool: event.pool,
  size: event.size,
  family: event.family,
  label: event.label,
  budget: event.budget,
  queue: event.queue,
  "call site": event.callSite,
  "wait at most, ms": event.waitAtMost,
  "under request": event.under
})

/** The kinds of slices: a reader tells those of one number apart by them. */
type Category = "lease" | "waiting" | "reservation" | "driver"

/** Threads of services have numbers apart from those of the processes, whose first threads have theirs. */
const firstThread = 1_000_001

/** A slice that has not ended. */
interface Open {
  readonly category: Category
  readonly name: string
  readonly id: number
}

class Writer {
  readonly #recording: Recording
  readonly #ledger: BlockLedger
  /** The slices of requests, by category and request. */
  readonly #open = new Map<string, Open>()
  /** The threads of each process, by the name of the service. */
  readonly #threads = new Map<string, number>()
  readonly #processes = new Set<number>()
  readonly #managed = new Map<number, number>()
  readonly #texts = new JsonTexts()
  #lastSlice = 0
  #separator = ""

  constructor(recording: Recording) {
    this.#recording = recording
    this.#ledger = new BlockLedger(recording)
  }

  *all(): Generator<string> {
    yield `{"displayTimeUnit":"ms","traceEvents":[`
    let isFirst = true
    for (const event of eventsOf(this.#recording)) {
      if (isFirst) yield* this.#before(event.at)
      isFirst = false
      yield* this.#process(event.memoryNumber, event.memory, event.device)
      const change = this.#ledger.take(event)
      yield* this.#changed(event, change)
      yield* this.#told(event)
    }
    if (isFirst) yield* this.#before(this.#recording.takenAt)
    const { dropped, reason, source } = this.#recording
    yield `],\n"otherData":{"source":${this.#texts.of(source)},"reason":${
      this.#texts.of(reason)
    },"dropped":"${dropped}"}}\n`
  }

  *#before(at: number): Generator<string> {
    for (const { device, label, maxBytes, number } of this.#recording.memories) {
      yield* this.#process(number, label, device)
      if (Number.isFinite(maxBytes)) yield this.#counter("limit", at, number, { bytes: maxBytes })
    }
    for (const block of this.#ledger.blocks()) {
      yield* this.#process(block.memory, undefined, "")
      if (block.lease !== undefined) yield* this.#lease("b", at, block, block.lease)
    }
    for (const memory of this.#processes) yield* this.#bytes(at, memory)
  }

  *#process(memory: number, label: string | undefined, device: string): Generator<string> {
    if (this.#processes.has(memory)) return
    this.#processes.add(memory)
    const name = [nameOf(label, `memory ${memory}`), device].filter((part) => part !== "").join(", ")
    yield this.#event("M", "process_name", 0, memory, memory, this.#args({ name }))
  }

  *#thread(memory: number, pool: string): Generator<string, number> {
    const key = `${memory} ${pool}`
    const known = this.#threads.get(key)
    if (known !== undefined) return known
    const thread = firstThread + this.#threads.size
    this.#threads.set(key, thread)
    yield this.#event("M", "thread_name", 0, memory, thread, this.#args({ name: nameOf(pool, "pool") }))
    return thread
  }

  *#changed(event: PoolEvent, { after, before }: BlockChange): Generator<string> {
    if (before === undefined && after === undefined) return
    if (before?.lease !== undefined) yield* this.#lease("e", event.at, before, before.lease)
    if (after?.lease !== undefined) yield* this.#lease("b", event.at, after, after.lease)
    yield* this.#bytes(event.at, event.memoryNumber)
  }

  *#lease(phase: "b" | "e", at: number, block: LedgerBlock, lease: BlockLease): Generator<string> {
    const { label, size } = lease
    const thread = yield* this.#thread(block.memory, block.pool)
    const slice: Open = { category: "lease", name: nameOf(label, "lease"), id: lease.number }
    const args = phase === "e" ? {} : {
      size,
      capacity: block.capacity,
      block: block.block,
      "call site": lease.callSite,
      queue: lease.queue
    }
    yield this.#slice(phase, slice, at, block.memory, thread, args)
  }

  *#bytes(at: number, memory: number): Generator<string> {
    const { active, held } = this.#ledger.bytesOf(memory)
    yield this.#counter("bytes in use", at, memory, { active, held })
    const managed = active + held
    if (this.#managed.get(memory) === managed) return
    this.#managed.set(memory, managed)
    yield this.#counter("managed bytes", at, memory, { bytes: managed })
  }

  *#told(event: PoolEvent): Generator<string> {
    switch (event._tag) {
      case "DriverAsked":
        return yield* this.#begin("driver", event, event.at, { capacity: event.capacity })
      case "Leased":
      case "Kept":
        return yield* this.#end("driver", event)
      case "Refused":
        yield* this.#end("driver", event)
        return yield* this.#instant(event, { ...requestArgs(event), capacity: event.capacity, why: event.why })
      case "Waiting":
        return yield* this.#begin("waiting", event, event.at, {})
      case "Waited":
        return yield* this.#waited(event)
      case "Reserved":
        return yield* this.#begin("reservation", event, event.at, {})
      case "ReservationEnded":
        return yield* this.#end("reservation", event)
      case "HandlersAsked":
        return yield* this.#instant(event, { ...requestArgs(event), freed: event.freed })
      case "RanOut":
        return yield* this.#instant(event, {
          ...requestArgs(event),
          rungs: event.rungs.join(", "),
          "active bytes": event.activeBytes,
          "held bytes": event.heldBytes
        })
      case "LimitChanged":
        return yield* this.#limitChanged(event)
      case "Lost":
      case "Closed":
        return yield* this.#instant(event, {})
      default:
        return
    }
  }

  *#waited(event: Extract<PoolEvent, { readonly _tag: "Waited" }>): Generator<string> {
    const { at, served, waitedMillis } = event
    // Its beginning may have been before the first event.
    if (!this.#open.has(`waiting ${event.request}`)) yield* this.#begin("waiting", event, at - waitedMillis, {})
    yield* this.#end("waiting", event, { served })
  }

  *#limitChanged(event: Extract<PoolEvent, { readonly _tag: "LimitChanged" }>): Generator<string> {
    const { at, budget, budgetNumber, from, memoryNumber, to } = event
    yield* this.#instant(event, { budget, from, to })
    if (budgetNumber === undefined && Number.isFinite(to)) {
      yield this.#counter("limit", at, memoryNumber, { bytes: to })
    }
  }

  *#begin(
    category: Category,
    event: OfRequest,
    at: number,
    more: Readonly<Record<string, Value>>
  ): Generator<string> {
    const slice = { category, name: `${category}: ${nameOf(event.label, "request")}`, id: ++this.#lastSlice }
    // The one before has no end then: the recording lacks it.
    this.#open.set(`${category} ${event.request}`, slice)
    const thread = yield* this.#thread(event.memoryNumber, event.pool)
    yield this.#slice("b", slice, at, event.memoryNumber, thread, { ...requestArgs(event), ...more })
  }

  *#end(category: Category, event: OfRequest, args: Readonly<Record<string, Value>> = {}): Generator<string> {
    const key = `${category} ${event.request}`
    const slice = this.#open.get(key)
    if (slice === undefined) return
    this.#open.delete(key)
    const thread = yield* this.#thread(event.memoryNumber, event.pool)
    yield this.#slice("e", slice, event.at, event.memoryNumber, thread, args)
  }

  *#instant(event: PoolEvent, args: Readonly<Record<string, Value>>): Generator<string> {
    yield this.#event(
      "i",
      event._tag,
      event.at,
      event.memoryNumber,
      event.memoryNumber,
      `"cat":"memory","s":"p",${this.#args(args)}`
    )
  }

  #slice(
    phase: "b" | "e",
    { category, id, name }: Open,
    at: number,
    memory: number,
    thread: number,
    args: Readonly<Record<string, Value>>
  ): string {
    return this.#event(phase, name, at, memory, thread, `"cat":"${category}","id":"${id}",${this.#args(args)}`)
  }

  #counter(name: string, at: number, memory: number, args: Readonly<Record<string, number>>): string {
    return this.#event("C", name, at, memory, memory, this.#args(args))
  }

  #args(args: Readonly<Record<string, Value>>): string {
    let text = ""
    for (const name in args) {
      const value = args[name]
      if (value === undefined) continue
      // JSON has no numbers that are not finite.
      const json = typeof value === "string" || (typeof value === "number" && !Number.isFinite(value))
        ? this.#texts.of(String(value))
        : String(value)
      text += `${text === "" ? "" : ","}"${name}":${json}`
    }
    return `"args":{${text}}`
  }

  #event(phase: string, name: string, at: number, memory: number, thread: number, more: string): string {
    const separator = this.#separator
    this.#separator = ",\n"
    const ts = Math.round(at * 1_000_000) / 1000
    return `${separator}{"ph":"${phase}","name":${
      this.#texts.of(name)
    },"ts":${ts},"pid":${memory},"tid":${thread},${more}}`
  }
}

export const writeTrace = (recording: Recording): Iterable<string> => new Writer(recording).all()
