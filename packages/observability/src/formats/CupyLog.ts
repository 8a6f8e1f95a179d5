/**
 * Reads the lines of CuPy's `DebugPrintHook`, and those of `MemoryHook.debugPrint`.
 *
 * @see cupy.cuda.memory_hooks.DebugPrintHook, https://github.com/cupy/cupy
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Recording } from "../recording/Recording.ts"
import { Addresses } from "./Addresses.ts"
import { type Action, AllocatorLog } from "./AllocatorLog.ts"
import { defaultPool, recordingOf } from "./LogRecorder.ts"
import { type LineReader, parsedJson, readLines, shown } from "./TextInput.ts"

const operation = "CupyLog.fromText"

const malformed = (line: number, problem: string, hint: string): GpuError =>
  invalidRequest(operation, `line ${line}: ${problem}`, hint)

const actions = new Map<unknown, Action>([["alloc", "segmentAlloc"], ["malloc", "alloc"], ["free", "free"]])

/** The members that a recording uses: CuPy writes `mem_ptr`, `MemoryHook.debugPrint` `pool` and `block`. */
const known = new Set(["hook", "device_id", "size", "mem_size", "mem_ptr", "pmem_id", "pool", "block"])

const hint = "Pass the lines of DebugPrintHook or MemoryHook.debugPrint alone: what else the program printed has to go."

type Line = Readonly<Record<string, unknown>>

const parsed = (text: string, line: number): Line => {
  const value = parsedJson(text)
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
  if (!isObject) throw malformed(line, `${shown(text)} is no JSON object`, hint)
  return value as Line
}

const bytesOf = (line: number, name: string, value: unknown): number => {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw malformed(line, `${name} is ${shown(value)}, and no whole number of bytes`, hint)
  }
  return value as number
}

/** CuPy numbers devices from 0; `MemoryHook.debugPrint` names them. */
const deviceOf = (line: number, id: unknown): string => {
  if (typeof id !== "string" && !Number.isSafeInteger(id)) {
    throw malformed(line, `device_id is ${shown(id)}, and neither a number nor a name`, hint)
  }
  return typeof id === "string" ? id : `CUDA device ${String(id)}`
}

class Reader implements LineReader<Effect.Effect<Recording>> {
  readonly #log = new AllocatorLog(operation)
  readonly #addresses = new Addresses(operation)
  readonly #blocks = new Set<number>()

  end(): Effect.Effect<Recording> {
    return recordingOf(this.#log, "CuPy")
  }

  line(text: string, number: number): void {
    const line = parsed(text, number)
    for (const name in line) if (!known.has(name)) this.#log.leaveOut(`member ${shown(name)}`, `line ${number}`)
    const event = line["hook"]
    const action = actions.get(event)
    if (action === undefined) return this.#log.leaveOut(`lines of the hook ${shown(event)}`, `line ${number}`)
    const { block, device_id, mem_ptr, mem_size, pool, size = mem_size } = line
    const capacity = bytesOf(number, "mem_size", mem_size)
    const device = deviceOf(number, device_id)
    this.#log.add({
      action,
      device,
      pool: typeof pool === "string" ? pool : defaultPool,
      at: this.#log.entries.length,
      address: mem_ptr === undefined && block !== undefined
        ? this.#addressOf(bytesOf(number, "block", block), device, capacity, action)
        : bytesOf(number, "mem_ptr", mem_ptr),
      size: bytesOf(number, "size", size),
      capacity,
      where: `line ${number}`
    })
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
