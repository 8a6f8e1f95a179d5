/**
 * The log of another program's allocator, the common form of all imports. {@link LogRecorder} makes a recording of it.
 *
 * @internal
 */
import * as Effect from "effect/Effect"

/**
 * The actions of an allocator: it leases bytes and gets them back, gets a segment from the driver and frees it, or has no memory left.
 */
export type Action = "alloc" | "free" | "segmentAlloc" | "segmentFree" | "failure"

/** One line of the log. */
export interface LogEntry {
  readonly action: Action
  /** The name of the device in messages. */
  readonly device: string
  /** The service that the entry names, if any. */
  readonly pool: string
  /** Milliseconds. */
  readonly at: number
  /** The address on the device. */
  readonly address: number
  /** The bytes that were requested; for a segment, all of its bytes. */
  readonly size: number
  /** The bytes that the lease takes in its segment; NaN where the log does not say. */
  readonly capacity: number
  readonly queue?: string | undefined
  readonly label?: string | undefined
  readonly callSite?: string | undefined
  /** The position in the file, such as "line 7". */
  readonly where: string
}

/** A lease that existed when the log ended. */
export interface LastLease
  extends Pick<LogEntry, "device" | "pool" | "address" | "size" | "capacity" | "label" | "callSite">
{}

/** A segment that existed when the log ended. */
export interface LastSegment extends Pick<LogEntry, "device" | "address" | "size"> {}

export class AllocatorLog {
  readonly #operation: string
  readonly #texts = new Map<string, string>()
  readonly #leftOut = new Map<string, { count: number; readonly first: string }>()
  readonly entries: Array<LogEntry> = []
  /** What existed at the end, where the file says. */
  readonly lastLeases: Array<LastLease> = []
  readonly lastSegments: Array<LastSegment> = []

  constructor(operation: string) {
    this.#operation = operation
  }

  add(entry: LogEntry): void {
    const { callSite, device, label, pool, queue } = entry
    this.entries.push({
      ...entry,
      device: this.#once(device),
      pool: this.#once(pool),
      queue: this.#once(queue),
      label: this.#once(label),
      callSite: this.#once(callSite)
    })
  }

  /** Interns a text: many entries have it, and as a slice it would keep the long text it comes from in memory. */
  #once<T extends string | undefined>(text: T): T {
    if (text === undefined) return text
    const known = this.#texts.get(text) ?? text
    this.#texts.set(known, known)
    return known as T
  }

  /** All entries, in the order of their times; those of one device stay in the order of the log. */
  inOrder(): ReadonlyArray<LogEntry> {
    const latest = new Map<string, number>()
    const times = Float64Array.from(this.entries, ({ at, device }) => {
      const time = Math.max(at, latest.get(device) ?? at)
      latest.set(device, time)
      return time
    })
    return Array.from(times.keys()).sort((one, other) => times[one]! - times[other]!).map((place) =>
      this.entries[place]!
    )
  }

  /** Notes what a recording cannot keep, and where the file has it. */
  leaveOut(what: string, where: string): void {
    const known = this.#leftOut.get(what)
    if (known === undefined) this.#leftOut.set(what, { count: 1, first: where })
    else known.count++
  }

  /** Logs what was left out, with the first position of each. */
  get warning(): Effect.Effect<void> {
    if (this.#leftOut.size === 0) return Effect.void
    const all = Array.from(this.#leftOut, ([what, { count, first }]) => `${what}: ${count} times, first in ${first}`)
    return Effect.logWarning([`${this.#operation} has left out what a recording cannot keep.`, ...all].join("\n"))
  }
}
