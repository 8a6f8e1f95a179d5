/**
 * Writes recordings in the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing show.
 *
 * @see Trace Event Format, https://github.com/google/perfetto
 * @since 0.1.0
 */
import type { OfRequest, PoolEvent } from "effect-gpu-pool/PoolEvent"
import type * as Stream from "effect/Stream"
import { isTooLarge } from "../events/Failure.ts"
import { BlockLedger, type LedgerLease } from "../recording/BlockLedger.ts"
import { events as eventsOf, type Recording } from "../recording/Recording.ts"
import { startOf } from "../recording/RecordingModel.ts"
import { jsonOf, TextBuffer, textOf } from "./TextOutput.ts"

type Args = Readonly<Record<string, string | number | boolean | undefined>>

/** Readers treat a slice without a name as one without an end. */
const nameOf = (label: string | undefined, other: string): string => label === undefined || label === "" ? other : label

/** JSON has finite numbers only. */
const finite = (value: number): number | string => value === Infinity ? "Infinity" : value

/** The attributes of a request. */
const requestArgs = (event: OfRequest): Args => ({
  request: event.request,
  pool: event.pool,
  size: event.size,
  family: event.family,
  label: event.label,
  budget: event.budget,
  queue: event.queue,
  "call site": event.callSite,
  "wait at most, ms": finite(event.waitAtMost),
  "under request": event.under
})

/** The categories of slices: a reader distinguishes slices of equal id by them. */
type Category = "lease" | "waiting" | "reservation" | "driver"

/** The ids of services' threads begin here: the first thread of each process has the id of the process. */
const firstThread = 1_000_001

/** A slice that has not ended. */
interface Open {
  readonly category: Category
  readonly name: string
  readonly id: number
}

/** The slices of leases overlap, so they are asynchronous slices, each with an id of its own. */
class Writer {
  readonly #recording: Recording
  /** The slices of requests, by category and request. */
  readonly #open = new Map<string, Open>()
  /** The threads of each process, by the name of the service. */
  readonly #threads = new Map<string, number>()
  readonly #processes = new Set<number>()
  readonly #managed = new Map<number, number>()
  #lastSlice = 0
  /** The time of the event that is being written, and whether it has changed the bytes of its memory. */
  #at: number
  #hasChanged = false
  #separator = ""
  readonly #text = new TextBuffer()

  constructor(recording: Recording) {
    this.#recording = recording
    this.#at = startOf(recording)
  }

  *all(): Generator<string> {
    yield `{"displayTimeUnit":"ms","traceEvents":[`
    const ledger = this.#before()
    for (const event of eventsOf(this.#recording)) {
      this.#at = event.at
      this.#process(event.memoryNumber, event.memory, event.device)
      this.#hasChanged = false
      ledger.take(event)
      if (this.#hasChanged) this.#bytes(event.memoryNumber, ledger)
      this.#request(event)
      yield this.#text.take()
    }
    yield this.#text.take()
    const { dropped, reason, source } = this.#recording
    yield `],\n"otherData":${jsonOf({ source, reason, dropped: String(dropped) })}}\n`
  }

  #before(): BlockLedger {
    for (const { device, label, maxBytes, number } of this.#recording.memories) {
      this.#process(number, label, device)
      if (Number.isFinite(maxBytes)) this.#counter("limit", number, { bytes: maxBytes })
    }
    const ledger = new BlockLedger(this.#recording, {
      begins: ({ memory }) => {
        this.#hasChanged = true
        this.#process(memory, undefined, "")
      },
      leased: (lease) => this.#lease("b", lease),
      released: (lease) => this.#lease("e", lease),
      ends: () => {
        this.#hasChanged = true
      }
    })
    for (const memory of this.#processes) this.#bytes(memory, ledger)
    return ledger
  }

  #process(memory: number, label: string | undefined, device: string): void {
    if (this.#processes.has(memory)) return
    this.#processes.add(memory)
    const name = [nameOf(label, `memory ${memory}`), device].filter((part) => part !== "").join(", ")
    this.#event("M", "process_name", 0, memory, memory, { args: { name } })
  }

  #thread(memory: number, pool: string): number {
    const key = `${memory} ${pool}`
    const known = this.#threads.get(key)
    if (known !== undefined) return known
    const thread = firstThread + this.#threads.size
    this.#threads.set(key, thread)
    this.#event("M", "thread_name", 0, memory, thread, { args: { name: nameOf(pool, "pool") } })
    return thread
  }

  #lease(phase: "b" | "e", of: LedgerLease): void {
    const { block, bytes, callSite, capacity, label, lease, memory, offset, pool, queue, size } = of
    this.#hasChanged = true
    const slice: Open = { category: "lease", name: nameOf(label, "lease"), id: lease + 1 }
    const args = phase === "e" ? {} : {
      size,
      capacity,
      block,
      ...bytes < capacity && { offset, "part, bytes": bytes },
      "call site": callSite,
      queue
    }
    this.#slice(phase, slice, this.#at, memory, this.#thread(memory, pool), args)
  }

  #bytes(memory: number, ledger: BlockLedger): void {
    const { heldBytes: held, managedBytes: managed } = ledger.bytesOf(memory)
    this.#counter("bytes in use", memory, { active: managed - held, held })
    if (this.#managed.get(memory) === managed) return
    this.#managed.set(memory, managed)
    this.#counter("managed bytes", memory, { bytes: managed })
  }

  #request(event: PoolEvent): void {
    switch (event._tag) {
      case "DriverAsked":
        return this.#begin("driver", event, event.at, { capacity: event.capacity })
      case "Leased":
      case "Kept":
        return this.#end("driver", event)
      case "Refused":
        this.#end("driver", event)
        return this.#instant(event, { ...requestArgs(event), capacity: event.capacity, why: event.why })
      case "Waiting":
        if (!this.#open.has(`waiting ${event.request}`)) this.#begin("waiting", event, event.at, {})
        return
      case "Waited":
        return this.#waited(event)
      case "Reserved":
        return this.#begin("reservation", event, event.at, {})
      case "ReservationEnded":
        return this.#end("reservation", event)
      case "HandlersAsked":
        return this.#instant(event, { ...requestArgs(event), freed: event.freed })
      case "RanOut":
        return this.#instant(event, {
          ...requestArgs(event),
          stepsTried: event.stepsTried.join(", "),
          "active bytes": event.activeBytes,
          "held bytes": event.heldBytes
        })
      case "GaveUp":
        return isTooLarge(event) ? this.#instant(event, { ...requestArgs(event), why: event.why }) : undefined
      case "LimitChanged":
        return this.#limitChanged(event)
      case "Lost":
      case "Closed":
        return this.#instant(event, {})
      default:
        return
    }
  }

  #waited(event: Extract<PoolEvent, { readonly _tag: "Waited" }>): void {
    const { at, served, waitedMillis } = event
    // It may have begun before the first event.
    if (!this.#open.has(`waiting ${event.request}`)) this.#begin("waiting", event, at - waitedMillis, {})
    this.#end("waiting", event, { served })
  }

  #limitChanged(event: Extract<PoolEvent, { readonly _tag: "LimitChanged" }>): void {
    const { budget, budgetNumber, from, memoryNumber, to } = event
    this.#instant(event, { budget, from: finite(from), to: finite(to) })
    if (budgetNumber === undefined && Number.isFinite(to)) this.#counter("limit", memoryNumber, { bytes: to })
  }

  #begin(category: Category, event: OfRequest, at: number, more: Args): void {
    const slice = { category, name: `${category}: ${nameOf(event.label, "request")}`, id: ++this.#lastSlice }
    // If there is an open one already, the recording lacks its end.
    this.#open.set(`${category} ${event.request}`, slice)
    const thread = this.#thread(event.memoryNumber, event.pool)
    this.#slice("b", slice, at, event.memoryNumber, thread, { ...requestArgs(event), ...more })
  }

  #end(category: Category, event: OfRequest, args: Args = {}): void {
    const key = `${category} ${event.request}`
    const slice = this.#open.get(key)
    if (slice === undefined) return
    this.#open.delete(key)
    const thread = this.#thread(event.memoryNumber, event.pool)
    this.#slice("e", slice, event.at, event.memoryNumber, thread, args)
  }

  #instant({ _tag, at, memoryNumber }: PoolEvent, args: Args): void {
    this.#event("i", _tag, at, memoryNumber, memoryNumber, { cat: "memory", s: "p", args })
  }

  #slice(
    phase: "b" | "e",
    { category, id, name }: Open,
    at: number,
    memory: number,
    thread: number,
    args: Args
  ): void {
    this.#event(phase, name, at, memory, thread, { cat: category, id: String(id), args })
  }

  #counter(name: string, memory: number, args: Readonly<Record<string, number>>): void {
    this.#event("C", name, this.#at, memory, memory, { args })
  }

  #event(ph: string, name: string, at: number, pid: number, tid: number, more: object): void {
    const ts = Math.round(at * 1_000_000) / 1000
    this.#text.add(this.#separator + jsonOf({ ph, name, ts, pid, tid, ...more }))
    this.#separator = ",\n"
  }
}

/**
 * A recording in the Trace Event Format, JSON in pieces: open the file on https://ui.perfetto.dev, which uploads nothing, or in
 * chrome://tracing. Each memory is a process. It has
 *
 * - counters, in bytes: `bytes in use`, of which some are active and some held, `managed bytes`, and the `limit` where there is one;
 * - slices, which may overlap: each lease under its label, and what requests wait for: `waiting` in the wait queue, `reservation`, and
 *   `driver`, from `DriverAsked` to its answer;
 * - instants, with the members of the event: `RanOut`, `Refused`, `HandlersAsked`, `LimitChanged`, `Lost`, `Closed`, and `GaveUp` for a
 *   request that is larger than a limit.
 *
 * A slice without an end was not over when the recording was taken; a lease from before the first event begins with that event. Times
 * are microseconds since 1970. A trace has some 250 bytes for each event. Perfetto's page has trouble above about 256 MB.
 *
 * **Example** (To a file)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { ChromeTrace, Recording } from "@effect-gpu-pool/observability"
 *
 * const nothing = Recording.make(
 *   { source: "example", reason: "asked", takenAt: 0, dropped: 0, memories: [], families: [], budgets: [], blocks: [] },
 *   []
 * )
 * Effect.map(Stream.mkString(ChromeTrace.toText(nothing)), (text) => JSON.parse(text).traceEvents) // => []
 * ```
 *
 * @category exports
 * @since 0.1.0
 */
export const toText = (recording: Recording): Stream.Stream<string> => textOf(() => new Writer(recording).all())
