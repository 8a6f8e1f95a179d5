/**
 * Reads and writes the lines of CuPy's `DebugPrintHook`, and reads those of `MemoryHook.debugPrint`.
 *
 * @see cupy.cuda.memory_hooks.DebugPrintHook, https://github.com/cupy/cupy
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { problemIn } from "../Checked.ts"
import { BlockLedger, type LedgerBlock, type LedgerLease } from "../recording/BlockLedger.ts"
import { events as eventsOf, type Recording } from "../recording/Recording.ts"
import { Texts } from "../recording/Texts.ts"
import { Addresses } from "./Addresses.ts"
import { type Action, AllocatorLog } from "./AllocatorLog.ts"
import { defaultPool, recordingOf } from "./LogRecorder.ts"
import { type LineReader, parsedJson, readLines, shown } from "./TextInput.ts"
import { jsonOf, TextBuffer, textOf } from "./TextOutput.ts"

const operation = "CupyLog.fromText"

const bytes = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/**
 * What a recording uses of a line. CuPy writes `mem_ptr`, and numbers devices from 0; `MemoryHook.debugPrint` writes `pool` and `block`, with
 * `offset` and `block_size` for a part of a block, and names devices.
 */
const Line = Schema.Struct({
  hook: Schema.Literals(["alloc", "malloc", "free"]),
  device_id: Schema.Union([Schema.String, Schema.Int]),
  size: Schema.optional(bytes),
  mem_size: bytes,
  mem_ptr: Schema.optional(bytes),
  pmem_id: Schema.optional(Schema.Unknown),
  pool: Schema.optional(Schema.String),
  block: Schema.optional(bytes),
  offset: Schema.optional(bytes),
  block_size: Schema.optional(bytes)
})

const decodeLine = Schema.decodeUnknownResult(Line)

const actions: { readonly [hook in typeof Line.Type["hook"]]: Action } = {
  alloc: "segmentAlloc",
  malloc: "alloc",
  free: "free"
}

const malformed = (line: number, problem: string): GpuError =>
  invalidRequest(
    operation,
    `line ${line}: ${problem}`,
    "Pass the lines of DebugPrintHook or MemoryHook.debugPrint alone: what else the program printed has to go."
  )

class Reader implements LineReader<Effect.Effect<Recording>> {
  readonly #log = new AllocatorLog(operation)
  readonly #addresses = new Addresses(operation)
  readonly #blocks = new Set<number>()

  end(): Effect.Effect<Recording> {
    return recordingOf(this.#log, "CuPy")
  }

  line(text: string, number: number): void {
    const value = parsedJson(text)
    if (!Predicate.isObject(value)) throw malformed(number, `${shown(text)} is no JSON object`)
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(Line.fields, name)) this.#log.leaveOut(`member ${shown(name)}`, `line ${number}`)
    }
    const name: unknown = Reflect.get(value, "hook")
    if (!Object.hasOwn(actions, String(name))) {
      return this.#log.leaveOut(`lines of the hook ${shown(name)}`, `line ${number}`)
    }
    const line = decodeLine(value)
    if (line._tag === "Failure") throw malformed(number, problemIn(line.failure))
    this.#add(line.success, number)
  }

  #add(
    { block, block_size, device_id, hook, mem_ptr, mem_size, offset = 0, pool = defaultPool, size = mem_size }:
      typeof Line.Type,
    line: number
  ) {
    const device = typeof device_id === "string" ? device_id : `CUDA device ${device_id}`
    const action = actions[hook]
    const address = mem_ptr ??
      (block === undefined ? undefined : offset + this.#addressOf(block, device, block_size ?? mem_size, action))
    if (address === undefined) throw malformed(line, "it has neither mem_ptr nor block")
    const at = this.#log.entries.length
    this.#log.add({ action, device, pool, at, address, size, capacity: mem_size, where: `line ${line}` })
  }

  /** An address for a numbered block; numbered blocks never overlap. A block that no line made existed before the lines. */
  #addressOf(block: number, device: string, capacity: number, action: Action): number {
    const address = this.#addresses.of({ place: block, capacity })
    if (!this.#blocks.has(block) && action !== "segmentAlloc") {
      this.#log.lastSegments.push({ device, address, size: capacity })
    }
    this.#blocks.add(block)
    return address
  }
}

/**
 * A recording of the lines that CuPy's `DebugPrintHook` printed, or `MemoryHook.debugPrint`. The text is a string, or a stream of
 * its pieces, cut anywhere. `alloc` is a block of the driver, `malloc` a lease and `free` its end; a `malloc` right after its `alloc` is
 * a miss, and one of an existing block a hit. Where CuPy has divided a block, each part is a block of its own, made for its lease.
 *
 * The lines have no times: each is one millisecond after the one before, from 1970-01-01 on. They do not say when the driver gets
 * memory back, so held bytes only grow, except where a new block replaces an old one.
 *
 * Unknown members and hooks, and frees of what was not allocated, are left out, and one warning lists them. Fails with
 * InvalidRequest for a malformed line, with its number, and with the errors of the stream.
 *
 * **Example** (A miss, then a hit)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CupyLog, Recording } from "@effect-gpu-pool/observability"
 *
 * const lines = `{"hook":"alloc","device_id":0,"mem_size":512,"mem_ptr":4096}
 * {"hook":"malloc","device_id":0,"size":24,"mem_size":512,"mem_ptr":4096,"pmem_id":"0x1"}
 * {"hook":"free","device_id":0,"mem_size":512,"mem_ptr":4096,"pmem_id":"0x1"}
 * {"hook":"malloc","device_id":0,"size":30,"mem_size":512,"mem_ptr":4096,"pmem_id":"0x2"}`
 *
 * Effect.map(CupyLog.fromText(lines), (recording) =>
 *   Array.from(Recording.events(recording), (event) => event._tag === "Leased" ? event.from : event._tag)
 * ) // => ["driver", "Released", "held"]
 * ```
 *
 * @see cupy.cuda.memory_hooks.DebugPrintHook
 * @category imports
 * @since 0.1.0
 */
export const fromText = <E = never, R = never>(
  text: string | Stream.Stream<string, E, R>
): Effect.Effect<Recording, E | GpuError, R> => Effect.flatten(readLines(text, () => new Reader()))

/** A line, in the order of CuPy's members. */
interface WrittenLine {
  readonly hook: typeof Line.Type["hook"]
  readonly device_id: number
  readonly size?: number
  readonly mem_size: number
  readonly mem_ptr: number
  readonly pmem_id?: string
}

class Writer {
  readonly #recording: Recording
  readonly #devices = new Texts([])
  readonly #deviceOf = new Map<number, string>()
  readonly #addresses = new Addresses("CupyLog.toText")
  readonly #text = new TextBuffer()

  constructor(recording: Recording) {
    this.#recording = recording
    for (const { device, number } of recording.memories) this.#deviceOf.set(number, device)
  }

  *all(): Generator<string> {
    // The lines of what existed before the first event come first.
    const ledger = new BlockLedger(this.#recording, {
      begins: (block) => this.#block(block),
      leased: (lease) => this.#lease("malloc", lease),
      released: (lease) => this.#lease("free", lease),
      ends: (block) => this.#addresses.end(block)
    })
    for (const event of eventsOf(this.#recording)) {
      if (!this.#deviceOf.has(event.memoryNumber)) this.#deviceOf.set(event.memoryNumber, event.device)
      ledger.take(event)
      yield this.#text.take()
    }
    yield this.#text.take()
  }

  #write(line: WrittenLine): void {
    this.#text.add(`${jsonOf(line)}\n`)
  }

  /** CuPy numbers devices. */
  #device(memory: number): number {
    return this.#devices.placeOf(this.#deviceOf.get(memory) ?? "")
  }

  #block(block: LedgerBlock): void {
    const { capacity, memory } = block
    const mem_ptr = this.#addresses.of(block)
    this.#write({ hook: "alloc", device_id: this.#device(memory), mem_size: capacity, mem_ptr })
  }

  #lease(hook: "malloc" | "free", lease: LedgerLease): void {
    const place = { mem_size: lease.bytes, mem_ptr: this.#addresses.of(lease) + lease.offset }
    const pmem_id = `0x${(lease.lease + 1).toString(16)}`
    const size = hook === "malloc" ? { size: lease.size } : {}
    this.#write({ hook, device_id: this.#device(lease.memory), ...size, ...place, pmem_id })
  }
}

/**
 * A recording as the lines that CuPy's `DebugPrintHook` prints, in pieces: `alloc` for each block that the driver made, `malloc` for each
 * lease and `free` for its end. Devices are numbered from 0 on in the order in which the recording has them; an address identifies the
 * block, or the part of one, and `pmem_id` the lease. What existed before the first event has the first lines. Times, labels, call sites,
 * waits, failures, and frees of blocks are lost, as CuPy has no lines for them.
 *
 * The stream fails with InvalidRequest where the blocks have more bytes than there are addresses (8 PiB).
 *
 * **Example** (Written and read again)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { CupyLog, Recording } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   yield* BufferPool.use(60, () => Effect.void)
 *   const recording = yield* CupyLog.fromText(CupyLog.toText(yield* Recording.snapshot))
 *   return Array.from(Recording.events(recording), ({ _tag }) => _tag)
 * }).pipe(Effect.provide(Recording.layer())) // => ["Leased", "Released"]
 * ```
 *
 * @see cupy.cuda.memory_hooks.DebugPrintHook
 * @category exports
 * @since 0.1.0
 */
export const toText = (recording: Recording): Stream.Stream<string, GpuError> =>
  Addresses.checked(textOf(() => new Writer(recording).all()))
