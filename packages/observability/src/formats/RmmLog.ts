/**
 * Reads and writes the CSV logs of RMM's `logging_resource_adaptor`.
 *
 * @see rmm::mr::logging_resource_adaptor, https://github.com/rapidsai/rmm
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import { isFailure } from "../events/Failure.ts"
import { BlockLedger, type LedgerLease } from "../recording/BlockLedger.ts"
import { events as eventsOf, type Recording } from "../recording/Recording.ts"
import { startOf } from "../recording/RecordingModel.ts"
import { Texts } from "../recording/Texts.ts"
import { Addresses } from "./Addresses.ts"
import { type Action, AllocatorLog } from "./AllocatorLog.ts"
import { defaultPool, recordingOf } from "./LogRecorder.ts"
import { type LineReader, readLines, shown } from "./TextInput.ts"
import { TextBuffer, textOf } from "./TextOutput.ts"

const columns = ["Thread", "Time", "Action", "Pointer", "Size", "Stream"] as const

type Column = typeof columns[number]

/** A file without these columns has nothing that a recording keeps. */
const needed: ReadonlyArray<Column> = ["Action", "Pointer", "Size"]

const actions = new Map<string, Action>([["allocate", "alloc"], ["free", "free"], ["allocate failure", "failure"]])

const importing = "RmmLog.fromText"

const malformed = (line: number, problem: string, hint: string): GpuError =>
  invalidRequest(importing, `line ${line}: ${problem}`, hint)

const dayMillis = 86_400_000

/** Converts times of day to milliseconds since the first midnight: a time before the last one means a new day. */
class Days {
  #last = 0
  #days = 0

  at(line: number, text: string): number {
    // "12:34:56:123456" until 2020, "12:34:56.123456" since.
    const parts = /^([01]?\d|2[0-3]):([0-5]\d):([0-5]\d)(?:[.:](\d{1,9}))?$/.exec(text)
    if (parts === null) {
      throw malformed(line, `the Time ${shown(text)} is no time of day`, `Write it as "23:59:59.123456".`)
    }
    const [, hours, minutes, seconds, fraction = ""] = parts
    const whole = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
    const millis = whole * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6)) / 1000
    if (millis < this.#last - dayMillis / 2) this.#days++
    this.#last = millis
    return this.#days * dayMillis + millis
  }
}

class Reader implements LineReader<Effect.Effect<Recording>> {
  readonly #log = new AllocatorLog(importing)
  readonly #days = new Days()
  /** Pointers too large for a number, by their texts. */
  readonly #longPointers = new Texts()
  #places: ReadonlyMap<string, number> | undefined
  #width = 0

  end(): Effect.Effect<Recording> {
    if (this.#places === undefined) {
      throw malformed(1, "the text is empty", `Pass a file that begins with "${columns.join(",")}".`)
    }
    return recordingOf(this.#log, "RMM")
  }

  line(line: string, number: number): void {
    const cells = line.split(",").map((cell) => cell.trim())
    if (this.#places === undefined) return this.#header(cells, number)
    if (cells.length !== this.#width) {
      throw malformed(
        number,
        `the row has ${cells.length} cells, and the header ${this.#width}`,
        "Remove the row if the program was ended while it wrote it."
      )
    }
    this.#row(cells, number, this.#places)
  }

  #header(cells: ReadonlyArray<string>, number: number): void {
    const missing = needed.filter((name) => !cells.includes(name))
    if (missing.length > 0) {
      throw malformed(
        number,
        `the header ${shown(cells.join(","))} has no column ${missing.join(", ")}`,
        `Pass a log of logging_resource_adaptor: it begins with "${columns.join(",")}".`
      )
    }
    for (const cell of cells) {
      if (!columns.some((name) => name === cell)) this.#log.leaveOut(`column ${shown(cell)}`, `line ${number}`)
    }
    this.#width = cells.length
    this.#places = new Map(cells.map((name, place) => [name, place]))
  }

  #row(cells: ReadonlyArray<string>, line: number, places: ReadonlyMap<string, number>): void {
    const cell = (column: Column): string => cells[places.get(column) ?? -1] ?? ""
    const action = actions.get(cell("Action"))
    if (action === undefined) {
      return this.#log.leaveOut(`rows with the action ${shown(cell("Action"))}`, `line ${line}`)
    }
    const size = sizeOf(line, cell("Size"))
    if (size === 0) return this.#log.leaveOut("rows of 0 bytes", `line ${line}`)
    this.#log.add({
      action,
      device: "RMM",
      pool: defaultPool,
      at: places.has("Time") ? this.#days.at(line, cell("Time")) : this.#log.entries.length,
      address: this.#addressOf(line, cell("Pointer")),
      size,
      capacity: size,
      queue: streamOf(cell("Stream")),
      where: `line ${line}`
    })
  }

  #addressOf(line: number, text: string): number {
    if (text === "(nil)") return 0
    if (!/^(0x)?[0-9a-f]+$/i.test(text)) {
      throw malformed(line, `the Pointer ${shown(text)} is no address`, `Write it as "0x7f00", or "(nil)".`)
    }
    const address = Number.parseInt(text, 16)
    return Number.isSafeInteger(address) ? address : -this.#longPointers.placeOf(text)
  }
}

const sizeOf = (line: number, text: string): number => {
  const size = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(size)) {
    throw malformed(
      line,
      `the Size ${shown(text)} is no whole number of bytes up to ${Number.MAX_SAFE_INTEGER}`,
      "Pass the log as RMM wrote it."
    )
  }
  return size
}

/** The default stream becomes no queue. */
const streamOf = (text: string): string | undefined => /^(0x0*|0*|\(nil\))$/.test(text) ? undefined : text

/**
 * A recording of a log that RMM's `logging_resource_adaptor` wrote. The text is a string, or a stream of its pieces, cut anywhere.
 * Each `allocate` is a lease of a block that the driver made for it, `free` ends it and frees the block, and `allocate failure` is
 * a `RanOut`. Streams become queues. RMM logs no dates: times count from the midnight of 1970-01-01.
 *
 * Unknown columns and actions, rows of 0 bytes and frees of what was not allocated are left out, and one warning
 * lists them. Fails with InvalidRequest for a malformed row, with its line, and with the errors of the stream.
 *
 * **Example** (What a log has at its peak)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Recording, RmmLog } from "@effect-gpu-pool/observability"
 *
 * const log = `Thread,Time,Action,Pointer,Size,Stream
 * 7,12:00:00.000000,allocate,0x7f00,256,0x0
 * 7,12:00:00.000125,free,0x7f00,256,0x0`
 *
 * Effect.map(RmmLog.fromText(log), (recording) =>
 *   Array.from(Recording.events(recording), ({ _tag }) => _tag)) // => ["Leased", "Released", "Freed"]
 * ```
 *
 * @see rmm::mr::logging_resource_adaptor
 * @category imports
 * @since 0.1.0
 */
export const fromText = <E = never, R = never>(
  text: string | Stream.Stream<string, E, R>
): Effect.Effect<Recording, E | GpuError, R> => Effect.flatten(readLines(text, () => new Reader()))

const pad = (value: number, length: number): string => String(Math.floor(value)).padStart(length, "0")

/** Microseconds of the day, as RMM writes them. */
const timeOfDay = (at: number): string => {
  const micros = ((Math.round(at * 1000) % (dayMillis * 1000)) + dayMillis * 1000) % (dayMillis * 1000)
  const seconds = Math.floor(micros / 1_000_000)
  const clock = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => pad(part, 2)).join(":")
  return `${clock}.${pad(micros % 1_000_000, 6)}`
}

/** RMM's own reader only takes numbers for streams: a queue whose name is not a number gets the next free one. */
class Streams {
  readonly #numbers = new Map<string, string>()
  readonly #taken = new Set<string>(["0"])
  #last = 0

  of(queue: string | undefined): string {
    if (queue === undefined) return "0"
    const known = this.#numbers.get(queue)
    if (known !== undefined) return known
    const number = /^(0x[0-9a-f]+|[1-9]\d*)$/.test(queue) && !this.#taken.has(queue) ? queue : this.#next()
    this.#taken.add(number)
    this.#numbers.set(queue, number)
    return number
  }

  #next(): string {
    do this.#last++
    while (this.#taken.has(String(this.#last)))
    return String(this.#last)
  }
}

class Writer {
  readonly #streams = new Streams()
  readonly #addresses = new Addresses("RmmLog.toText")
  #at = 0
  readonly #text = new TextBuffer()

  #pointer(lease: LedgerLease): string {
    return `0x${(this.#addresses.of(lease) + lease.offset).toString(16)}`
  }

  *of(recording: Recording): Generator<string> {
    yield `${columns.join(",")}\n`
    this.#at = startOf(recording)
    // RMM cannot say that a lease existed before its log, so the lease is allocated at the log's beginning.
    const ledger = new BlockLedger(recording, {
      leased: (lease) => this.#row("allocate", this.#pointer(lease), lease.memory, lease),
      released: (lease) => this.#row("free", this.#pointer(lease), lease.memory, lease),
      ends: (block) => this.#addresses.end(block)
    })
    for (const event of eventsOf(recording)) {
      this.#at = event.at
      ledger.take(event)
      if (isFailure(event)) this.#row("allocate failure", "(nil)", event.memoryNumber, event)
      yield this.#text.take()
    }
    yield this.#text.take()
  }

  #row(action: string, pointer: string, thread: number, { queue, size }: Pick<LedgerLease, "size" | "queue">): void {
    this.#text.add(`${thread},${timeOfDay(this.#at)},${action},${pointer},${size},${this.#streams.of(queue)}\n`)
  }
}

/**
 * A recording as a log of RMM's `logging_resource_adaptor`, in pieces: `allocate` for each lease, `free` for its end, `allocate failure`
 * for each request that ran out or was larger than a limit. RMM's own replay reads it. The thread is the number of the memory; a queue
 * keeps its name if that is a number, and otherwise gets a number; the address identifies the block, or the part of one. Leases from before the first event
 * are allocated at its time. Labels, call sites, waits, held blocks and the date are lost.
 *
 * The stream fails with InvalidRequest where the blocks have more bytes than there are addresses (8 PiB).
 *
 * **Example** (To a file)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Recording, RmmLog } from "@effect-gpu-pool/observability"
 *
 * const nothing = Recording.make(
 *   { source: "example", reason: "asked", takenAt: 0, dropped: 0, memories: [], families: [], budgets: [], blocks: [] },
 *   []
 * )
 * Effect.map(Stream.mkString(RmmLog.toText(nothing)), (text) => text.trim()) // => "Thread,Time,Action,Pointer,Size,Stream"
 * ```
 *
 * @see rmm::mr::logging_resource_adaptor
 * @category exports
 * @since 0.1.0
 */
export const toText = (recording: Recording): Stream.Stream<string, GpuError> =>
  Addresses.checked(textOf(() => new Writer().of(recording)))
