/**
 * Reads and writes snapshots of PyTorch's memory, as its viewer on https://pytorch.org/memory_viz shows them.
 *
 * @see torch.cuda.memory._snapshot, https://github.com/pytorch/pytorch
 * @since 0.1.0
 */
import { framesOf } from "effect-gpu-pool/CallStack"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { RanOut } from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import { isFailure, type TooLarge } from "../events/Failure.ts"
import { BlockLedger, leasesOf, type LedgerBlock, type LedgerLease } from "../recording/BlockLedger.ts"
import { events as eventsOf, type RecordedMemory, type Recording } from "../recording/Recording.ts"
import { Texts } from "../recording/Texts.ts"
import { Addresses } from "./Addresses.ts"
import { type Action, AllocatorLog } from "./AllocatorLog.ts"
import { type ElementPlace, JsonElements } from "./JsonElements.ts"
import { defaultPool, recordingOf } from "./LogRecorder.ts"
import { readText, shown, type TextReader } from "./TextInput.ts"
import { jsonOf, TextBuffer, textOf } from "./TextOutput.ts"

const importing = "TorchSnapshot.fromText"

/** PyTorch's actions that a recording keeps. */
const actions = new Map<unknown, Action>([
  ["alloc", "alloc"],
  ["free_completed", "free"],
  ["segment_alloc", "segmentAlloc"],
  ["segment_free", "segmentFree"],
  ["oom", "failure"]
])

/** Known actions that a recording does not keep. */
const passedOver = new Set<unknown>(["free_requested", "snapshot"])

const hint = "Pass the snapshot as PyTorch made it, written by Python's json.dump."

const howToConvert =
  "Pass it as JSON: python3 -c \"import json, pickle, sys; json.dump(pickle.load(open(sys.argv[1], 'rb')), sys.stdout)\" snapshot.pickle"

type Json = Readonly<Record<string, unknown>>

class Reader implements TextReader<Effect.Effect<Recording>> {
  readonly #elements = new JsonElements(
    importing,
    new Map([["segments", 1], ["device_traces", 2]]),
    (value, place) => this.#element(value, place)
  )
  readonly #log = new AllocatorLog(importing)
  #hasBegun = false

  take(piece: string): void {
    if (!this.#hasBegun && piece.trim() !== "") {
      this.#hasBegun = true
      const first = piece.trim()[0]!
      // A pickle begins with 0x80, which no UTF-8 text does.
      if (first === "\u0080" || first === "\ufffd") {
        throw this.#elements.problem("the text is a pickle, which only Python reads", howToConvert)
      }
    }
    this.#elements.take(piece)
  }

  end(): Effect.Effect<Recording> {
    this.#elements.end()
    for (const name of ["segments", "device_traces"]) {
      if (!this.#elements.found.has(name)) {
        throw this.#elements.problem(`the snapshot has no ${name}`, "Pass what torch.cuda.memory._snapshot() returns.")
      }
    }
    return recordingOf(this.#log, "PyTorch")
  }

  #element(value: Json, place: ElementPlace): void {
    if (place.member === "segments") this.#segment(value, `segments[${place.index}]`)
    else this.#entry(value, place)
  }

  #entry(value: Json, { index, list }: ElementPlace): void {
    const where = `device_traces[${list}][${index}]`
    const action = actions.get(value["action"])
    if (action === undefined) {
      if (passedOver.has(value["action"])) return
      return this.#log.leaveOut(`entries with the action ${shown(value["action"])}`, where)
    }
    const time = value["time_us"]
    this.#log.add({
      action,
      device: deviceName(list),
      pool: defaultPool,
      at: typeof time === "number" && Number.isFinite(time) ? time / 1000 : index,
      // An `oom` has no address.
      address: action === "failure" ? 0 : this.#number(value, "addr", where),
      size: this.#number(value, "size", where),
      capacity: Number.NaN,
      queue: queueOf(value["stream"]),
      ...frameOf(value),
      where
    })
  }

  #segment(value: Json, where: string): void {
    const device = deviceName(value["device"] === undefined ? 0 : this.#number(value, "device", where))
    const address = this.#number(value, "address", where)
    const size = this.#number(value, "total_size", where)
    // An expandable segment is nearly always divided.
    if (value["is_expandable"] !== true) this.#log.lastSegments.push({ device, address, size })
    let next = address
    for (const block of this.#blocks(value, where)) {
      const size = this.#number(block, "size", where)
      if (block["state"] === "active_allocated" || block["state"] === "active_pending_free") {
        this.#log.lastLeases.push({
          device,
          pool: defaultPool,
          address: next,
          size: block["requested_size"] === undefined ? size : this.#number(block, "requested_size", where),
          capacity: size,
          ...frameOf(block)
        })
      }
      next += size
    }
  }

  #blocks(segment: Json, where: string): ReadonlyArray<Json> {
    const blocks = segment["blocks"]
    const isList = Array.isArray(blocks) && blocks.every((block) => typeof block === "object" && block !== null)
    if (!isList) throw this.#elements.problem(`the blocks of ${where} are no list of objects`, hint)
    return blocks as ReadonlyArray<Json>
  }

  #number(value: Json, name: string, where: string): number {
    const number = value[name]
    if (!Number.isSafeInteger(number) || (number as number) < 0) {
      throw this.#elements.problem(`${name} of ${where} is ${shown(number)}, and no whole number`, hint)
    }
    return number as number
  }
}

const deviceName = (index: number): string => `CUDA device ${index}`

/** Stream 0 is the default one. */
const queueOf = (stream: unknown): string | undefined =>
  stream === undefined || stream === null || stream === 0 ? undefined : String(stream)

/** The innermost frame that has a line as call site; its function is the label. Where no frame has a line, a function alone is. */
const frameOf = (value: Json): { readonly label: string | undefined; readonly callSite: string | undefined } => {
  const frames: ReadonlyArray<unknown> = Array.isArray(value["frames"]) ? value["frames"] : []
  const frame = frames.find((frame): frame is Json => typeof frame === "object" && frame !== null)
  const metadata = value["user_metadata"]
  const label = typeof metadata === "string" && metadata !== "" ? metadata : frame?.["name"]
  const isPlace = typeof frame?.["filename"] === "string" && typeof frame["line"] === "number" && frame["line"] > 0
  return {
    label: typeof label === "string" ? label : undefined,
    callSite: isPlace ? `${String(frame["filename"])}:${String(frame["line"])}` : undefined
  }
}

/**
 * A recording of a snapshot of PyTorch's memory, as JSON: what `torch.cuda.memory._snapshot()` returns, written by Python's
 * `json.dump`. The text is a string, or a stream of its pieces, cut anywhere; its entries are read one by one. Only Python reads the
 * pickle that `torch.cuda.memory._dump_snapshot` writes: the error for one says how to convert it.
 *
 * Each allocation is a lease, from `alloc` to `free_completed`; `oom` is a `RanOut`; the innermost frame is the call site, and its function
 * the label; streams become queues, and each device a memory. A segment that PyTorch has not divided is a block, which it holds between
 * leases. Each part of a divided segment is a block of its own, made for its lease; what lies between the parts is lost. What existed
 * before the trace begins is among the `blocks` of the recording. Without `time_us`, entries are one millisecond apart.
 *
 * Unknown actions, and frees of what was not allocated, are left out, and one warning lists them. Fails with
 * InvalidRequest for malformed entries, with line and index, and with the errors of the stream.
 *
 * **Example** (What was allocated before the trace)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TorchSnapshot } from "@effect-gpu-pool/observability"
 *
 * const snapshot = JSON.stringify({
 *   segments: [],
 *   device_traces: [[
 *     { action: "free_completed", addr: 4096, size: 512, stream: 0, frames: [] },
 *     { action: "segment_free", addr: 4096, size: 2097152, stream: 0 }
 *   ]]
 * })
 * Effect.map(TorchSnapshot.fromText(snapshot), ({ blocks }) => blocks.map(({ capacity }) => capacity)) // => [2097152]
 * ```
 *
 * @see torch.cuda.memory._snapshot
 * @category imports
 * @since 0.1.0
 */
export const fromText = <E = never, R = never>(
  text: string | Stream.Stream<string, E, R>
): Effect.Effect<Recording, E | GpuError, R> => Effect.flatten(readText(text, () => new Reader()))

/** The index of each memory's device among all devices. */
const devicesOf = ({ memories }: Recording): ReadonlyMap<number, number> => {
  const names = Array.from(new Set(memories.map(({ device }) => device)))
  return new Map(memories.map(({ device, number }) => [number, names.indexOf(device)]))
}

/** The file and line of a call site, which is "file:line:column" or "file:line". */
const placeOf = (callSite: string): { readonly filename: string; readonly line: number } => {
  const parts = /^(.*?):(\d+)(?::\d+)?$/s.exec(callSite)
  return parts === null ? { filename: callSite, line: 0 } : { filename: parts[1]!, line: Number(parts[2]) }
}

/** A caller of a call site, which may have a name: "decode (file:line:column)". */
const callerOf = (frame: string) => {
  const [, name = "", place = frame] = /^(.*) \((.*)\)$/s.exec(frame) ?? []
  return { name, ...placeOf(place) }
}

/** What every entry of a request has besides its kind and its bytes. */
interface Asked {
  readonly pool: string
  readonly label: string | undefined
  readonly callSite: string | undefined
  readonly queue: string | undefined
}

/** The attributes of a block that no request has. */
const unasked = ({ pool }: LedgerBlock): Asked => ({ pool, label: undefined, callSite: undefined, queue: undefined })

/** The bytes that the device may have left, as far as the recording says. */
const freeBytes = (
  { activeBytes, heldBytes }: Pick<RanOut, "activeBytes" | "heldBytes">,
  memory: RecordedMemory | undefined
): number => {
  const most = Math.min(memory?.maxBytes ?? Number.POSITIVE_INFINITY, memory?.deviceBytes ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(most) ? Math.max(0, most - activeBytes - heldBytes) : 0
}

/** What all devices of one snapshot share. */
class Snapshot {
  readonly recording: Recording
  readonly devices: ReadonlyMap<number, number>
  /** Queues, in the order in which they occur; 0 is the queue of a device with only one. */
  readonly queues = new Texts([undefined])
  readonly memories: ReadonlyMap<number, RecordedMemory>

  constructor(recording: Recording) {
    this.recording = recording
    this.devices = devicesOf(recording)
    this.memories = new Map(recording.memories.map((memory) => [memory.number, memory]))
  }

  /** Each entry gets a frame: the viewer treats one without as older than the trace. */
  framesOf({ callSite, label, pool }: Asked) {
    const [first = "", ...callers] = framesOf(callSite ?? "")
    const place = callSite === undefined ? { filename: pool, line: 0 } : placeOf(first)
    return { frames: [{ name: label ?? pool, ...place }, ...callers.map(callerOf)], user_metadata: label }
  }

  /** The device of a memory; the first one for a memory that the recording does not describe. */
  deviceOf(memory: number): number {
    return this.devices.get(memory) ?? 0
  }
}

/** One device: its trace, and then its segments. */
class DeviceWriter {
  readonly #snapshot: Snapshot
  readonly #device: number
  readonly #addresses = new Addresses("TorchSnapshot.toText")
  readonly #ledger: BlockLedger
  #at = 0
  #separator = ""
  readonly #text = new TextBuffer()

  constructor(snapshot: Snapshot, device: number) {
    this.#snapshot = snapshot
    this.#device = device
    const blocks = snapshot.recording.blocks.filter(({ memory }) => this.#has(memory))
    this.#ledger = new BlockLedger({ blocks }, {
      begins: (block) => this.#entry("segment_alloc", block, block.capacity, block),
      leased: (lease) => this.#entry("alloc", lease, lease.size, lease),
      released: (lease) => {
        this.#entry("free_requested", lease, lease.size, lease)
        this.#entry("free_completed", lease, lease.size, lease)
      },
      ends: (block) => {
        this.#entry("segment_free", block, block.capacity, unasked(block))
        this.#addresses.end(block)
      }
    })
  }

  *trace(): Generator<string> {
    // What existed before the first event is not part of the trace.
    this.#text.take()
    this.#separator = ""
    yield "["
    for (const event of eventsOf(this.#snapshot.recording)) {
      if (!this.#has(event.memoryNumber)) continue
      this.#at = event.at
      this.#ledger.take(event)
      if (isFailure(event)) this.#failed(event)
      yield this.#text.take()
    }
    yield `${this.#text.take()}]`
  }

  *segments(): Generator<string> {
    for (const block of this.#ledger.blocks()) {
      const { capacity, leasedBytes } = block
      const leases = Array.from(leasesOf(block)).sort((one, other) => one.offset - other.offset)
      yield jsonOf({
        device: this.#device,
        address: this.#addresses.of(block),
        total_size: capacity,
        allocated_size: leasedBytes,
        active_size: leasedBytes,
        requested_size: leases.reduce((sum, { size }) => sum + size, 0),
        stream: this.#snapshot.queues.placeOf(leases[0]?.queue),
        segment_type: "large",
        segment_pool_id: [0, 0],
        is_expandable: false,
        frames: [],
        blocks: this.#pieces(block, leases)
      })
    }
  }

  /** The leases of a block, and what is free between them. */
  #pieces(block: LedgerBlock, leases: ReadonlyArray<LedgerLease>): ReadonlyArray<object> {
    const pieces: Array<object> = []
    let next = 0
    const add = (end: number, lease: LedgerLease | undefined): void => {
      if (end === next) return
      pieces.push({
        address: this.#addresses.of(block) + next,
        size: end - next,
        requested_size: lease?.size ?? 0,
        state: lease === undefined ? "inactive" : "active_allocated",
        ...this.#snapshot.framesOf(lease ?? unasked(block))
      })
      next = end
    }
    for (const lease of leases) {
      add(lease.offset, undefined)
      add(lease.offset + lease.bytes, lease)
    }
    add(block.capacity, undefined)
    return pieces
  }

  #has(memory: number): boolean {
    return this.#snapshot.deviceOf(memory) === this.#device
  }

  #failed(event: RanOut | TooLarge): void {
    const { memoryNumber: memory } = event
    const used = event._tag === "RanOut" ? event : this.#ledger.bytesOf(memory)
    const free = freeBytes(used, this.#snapshot.memories.get(memory))
    this.#entry("oom", undefined, event.size, event, { device_free: free })
  }

  #entry(action: string, place: LedgerLease | undefined, size: number, asked: Asked, more: object = {}): void {
    const addr = place === undefined ? 0 : this.#addresses.of(place) + place.offset
    const stream = this.#snapshot.queues.placeOf(asked.queue)
    const time_us = Math.round(this.#at * 1000)
    const entry = { action, addr, size, stream, time_us, ...more, ...this.#snapshot.framesOf(asked) }
    this.#text.add(this.#separator + jsonOf(entry))
    this.#separator = ",\n"
  }
}

/** Writes the traces first: what exists is only known at their end. */
function* writeSnapshot(recording: Recording): Generator<string> {
  const snapshot = new Snapshot(recording)
  const count = Math.max(1, ...Array.from(snapshot.devices.values(), (device) => device + 1))
  const devices = Array.from({ length: count }, (_, device) => new DeviceWriter(snapshot, device))
  yield `{"device_traces":[`
  for (const [index, device] of devices.entries()) {
    if (index > 0) yield ",\n"
    yield* device.trace()
  }
  yield `],\n"segments":[`
  let separator = ""
  for (const device of devices) {
    for (const segment of device.segments()) {
      yield separator + segment
      separator = ",\n"
    }
  }
  yield "],\n\"allocator_settings\":{},\"external_annotations\":[]}\n"
}

/**
 * A recording as a snapshot of PyTorch's memory, JSON in pieces: drop the file on https://pytorch.org/memory_viz, which uploads
 * nothing. Each block is a segment, and its leases the blocks in that: `segment_alloc` and `segment_free` when the driver makes
 * and frees it, `alloc`, `free_requested` and `free_completed` for the lease, `oom` for a request that ran out or was larger than a
 * limit. The call site is the frame, and the label its function and the `user_metadata`; queues become streams, and times microseconds.
 * Memories of one device share its trace.
 *
 * Waits, refusals of the driver, reservations, limits and pools are lost. The viewer is slow from some 15,000 leases on.
 *
 * The stream fails with InvalidRequest where the blocks have more bytes than there are addresses (8 PiB).
 *
 * **Example** (To a file)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Recording, TorchSnapshot } from "@effect-gpu-pool/observability"
 *
 * const nothing = Recording.make(
 *   { source: "example", reason: "asked", takenAt: 0, dropped: 0, memories: [], families: [], budgets: [], blocks: [] },
 *   []
 * )
 * Effect.map(Stream.mkString(TorchSnapshot.toText(nothing)), (text) => JSON.parse(text).segments) // => []
 * ```
 *
 * @see torch.cuda._memory_viz
 * @category exports
 * @since 0.1.0
 */
export const toText = (recording: Recording): Stream.Stream<string, GpuError> =>
  Addresses.checked(textOf(() => writeSnapshot(recording)))
