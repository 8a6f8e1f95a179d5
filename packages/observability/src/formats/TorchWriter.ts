/**
 * Writes a recording as a snapshot of PyTorch's memory. Each block is a segment, and its lease the one block in that.
 *
 * @internal
 */
import type { RanOut } from "effect-gpu-pool/PoolEvent"
import { isFailure, type TooLarge } from "../events/Failure.ts"
import { BlockLedger, type LedgerBlock } from "../recording/BlockLedger.ts"
import { events as eventsOf, type RecordedMemory, type Recording } from "../recording/Recording.ts"
import { Addresses } from "./Addresses.ts"
import { JsonTexts, TextBuffer } from "./TextOutput.ts"

/** The index of each memory's device among all devices. */
const devicesOf = ({ memories }: Recording): ReadonlyMap<number, number> => {
  const names = Array.from(new Set(memories.map(({ device }) => device)))
  return new Map(memories.map(({ device, number }) => [number, names.indexOf(device)]))
}

/** Numbers queues in the order in which they occur; 0 is the queue of a device with only one. */
class Queues {
  readonly #numbers = new Map<string | undefined, number>([[undefined, 0]])

  of(queue: string | undefined): number {
    const known = this.#numbers.get(queue)
    if (known !== undefined) return known
    const number = this.#numbers.size
    this.#numbers.set(queue, number)
    return number
  }
}

/** The file and line of a call site, which is "file:line:column" or "file:line". */
const placeOf = (callSite: string): { readonly filename: string; readonly line: number } => {
  const parts = /^(.*?):(\d+)(?::\d+)?$/s.exec(callSite)
  return parts === null ? { filename: callSite, line: 0 } : { filename: parts[1]!, line: Number(parts[2]) }
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
  readonly queues = new Queues()
  readonly #texts = new JsonTexts()
  readonly memories: ReadonlyMap<number, RecordedMemory>

  constructor(recording: Recording) {
    this.recording = recording
    this.devices = devicesOf(recording)
    this.memories = new Map(recording.memories.map((memory) => [memory.number, memory]))
  }

  /** Each entry gets a frame: the viewer treats one without as older than the trace. */
  framesOf({ callSite, label, pool }: Asked): string {
    const { filename, line } = callSite === undefined ? { filename: pool, line: 0 } : placeOf(callSite)
    const name = this.#texts.of(label ?? pool)
    const metadata = label === undefined ? "" : `,"user_metadata":${name}`
    return `"frames":[{"name":${name},"filename":${this.#texts.of(filename)},"line":${line}}]${metadata}`
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
      leased: (block) => this.#entry("alloc", block, block.size, block),
      released: (block) => {
        this.#entry("free_requested", block, block.size, block)
        this.#entry("free_completed", block, block.size, block)
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
      const { capacity } = block
      const isHeld = block.lease === -1
      const asked = isHeld ? unasked(block) : block
      const size = isHeld ? 0 : block.size
      const address = this.#addresses.of(block)
      const stream = this.#snapshot.queues.of(asked.queue)
      const active = isHeld ? 0 : capacity
      const state = isHeld ? "inactive" : "active_allocated"
      yield `{"device":${this.#device},"address":${address},"total_size":${capacity},"allocated_size":${active},` +
        `"active_size":${active},"requested_size":${size},"stream":${stream},"segment_type":"large",` +
        `"segment_pool_id":[0,0],"is_expandable":false,"frames":[],"blocks":[{"address":${address},"size":${capacity},` +
        `"requested_size":${size},"state":"${state}",${this.#snapshot.framesOf(asked)}}]}`
    }
  }

  #has(memory: number): boolean {
    return this.#snapshot.deviceOf(memory) === this.#device
  }

  #failed(event: RanOut | TooLarge): void {
    const { memoryNumber: memory } = event
    const used = event._tag === "RanOut" ? event : this.#ledger.bytesOf(memory)
    const free = freeBytes(used, this.#snapshot.memories.get(memory))
    this.#entry("oom", undefined, event.size, event, `"device_free":${free},`)
  }

  #entry(action: string, block: LedgerBlock | undefined, size: number, asked: Asked, more = ""): void {
    const address = block === undefined ? 0 : this.#addresses.of(block)
    const stream = this.#snapshot.queues.of(asked.queue)
    const rest = `${more}${this.#snapshot.framesOf(asked)}`
    const time = Math.round(this.#at * 1000)
    const what = `"action":"${action}","addr":${address},"size":${size},"stream":${stream},"time_us":${time}`
    this.#text.add(`${this.#separator}{${what},${rest}}`)
    this.#separator = ",\n"
  }
}

/** Writes the traces first: what exists is only known at their end. */
export function* writeSnapshot(recording: Recording): Generator<string> {
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
