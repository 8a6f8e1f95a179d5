/**
 * Writes a recording as a snapshot of PyTorch's memory. Each block is a segment, and its lease the one block in that.
 *
 * @internal
 */
import type { PoolEvent, RanOut } from "../../domain/pool/PoolEvent.ts"
import { events as eventsOf, type RecordedMemory, type Recording } from "../recording/Recording.ts"
import { Addresses } from "./Addresses.ts"
import { type BlockChange, type BlockLease, BlockLedger, type LedgerBlock } from "./BlockLedger.ts"
import { JsonTexts } from "./TextOutput.ts"

/** The place of each memory's device among all devices. */
const devicesOf = ({ memories }: Recording): ReadonlyMap<number, number> => {
  const names = Array.from(new Set(memories.map(({ device }) => device)))
  return new Map(memories.map(({ device, number }) => [number, names.indexOf(device)]))
}

/** Queues by number, in the order in which they come; 0 is that of a device with one. */
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

/** The file, line and the rest of a call site: "file:line:column", or "file:line". */
const placeOf = (callSite: string): { readonly filename: string; readonly line: number } => {
  const parts = /^(.*?):(\d+)(?::\d+)?$/s.exec(callSite)
  return parts === null ? { filename: callSite, line: 0 } : { filename: parts[1]!, line: Number(parts[2]) }
}

/** What every entry of a request says beside its kind and its bytes. */
interface Asked {
  readonly pool: string
  readonly label: string | undefined
  readonly callSite: string | undefined
  readonly queue: string | undefined
}

const askedOf = ({ pool }: LedgerBlock, lease: BlockLease | undefined): Asked => ({
  pool,
  label: lease?.label,
  callSite: lease?.callSite,
  queue: lease?.queue
})

/** The bytes that the device may have left, as far as the recording tells. */
const freeBytes = ({ activeBytes, heldBytes }: RanOut, memory: RecordedMemory | undefined): number => {
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

  /** The viewer takes an entry without frames for one from before it began: each has one. */
  framesOf({ callSite, label, pool }: Asked): string {
    const { filename, line } = callSite === undefined ? { filename: pool, line: 0 } : placeOf(callSite)
    const name = this.#texts.of(label ?? pool)
    const metadata = label === undefined ? "" : `,"user_metadata":${name}`
    return `"frames":[{"name":${name},"filename":${this.#texts.of(filename)},"line":${line}}]${metadata}`
  }

  /** Events of a memory that the recording does not describe are those of the first device. */
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
  #separator = ""

  constructor(snapshot: Snapshot, device: number) {
    this.#snapshot = snapshot
    this.#device = device
    this.#ledger = new BlockLedger(snapshot.recording)
    for (const block of this.#ledger.blocks()) if (this.#has(block.memory)) this.#addressOf(block)
  }

  *trace(): Generator<string> {
    yield "["
    for (const event of eventsOf(this.#snapshot.recording)) {
      if (!this.#has(event.memoryNumber)) continue
      const change = this.#ledger.take(event)
      if (event._tag === "RanOut") yield this.#ranOut(event)
      else if (change.before !== undefined || change.after !== undefined) yield* this.#changed(event, change)
    }
    yield "]"
  }

  *segments(): Generator<string> {
    for (const block of this.#ledger.blocks()) {
      if (!this.#has(block.memory)) continue
      const { capacity, lease } = block
      const address = this.#addressOf(block)
      const stream = this.#snapshot.queues.of(lease?.queue)
      const active = lease === undefined ? 0 : capacity
      const state = lease === undefined ? "inactive" : "active_allocated"
      yield `{"device":${this.#device},"address":${address},"total_size":${capacity},"allocated_size":${active},` +
        `"active_size":${active},"requested_size":${lease?.size ?? 0},"stream":${stream},"segment_type":"large",` +
        `"segment_pool_id":[0,0],"is_expandable":false,"frames":[],"blocks":[{"address":${address},"size":${capacity},` +
        `"requested_size":${lease?.size ?? 0},"state":"${state}",${this.#snapshot.framesOf(askedOf(block, lease))}}]}`
    }
  }

  #has(memory: number): boolean {
    return this.#snapshot.deviceOf(memory) === this.#device
  }

  #addressOf({ block, capacity, memory }: LedgerBlock): number {
    return this.#addresses.of(memory, block, capacity)
  }

  *#changed(event: PoolEvent, { after, before }: BlockChange): Generator<string> {
    const { at } = event
    if (before === undefined && after !== undefined) yield* this.#segment("segment_alloc", at, after, after.lease)
    if (before?.lease !== undefined) {
      yield* this.#lease("free_requested", at, before, before.lease)
      yield* this.#lease("free_completed", at, before, before.lease)
    }
    if (after?.lease !== undefined) yield* this.#lease("alloc", at, after, after.lease)
    if (after === undefined && before !== undefined) {
      yield* this.#segment("segment_free", at, before, undefined)
      this.#addresses.end(before.memory, before.block)
    }
  }

  *#segment(action: string, at: number, block: LedgerBlock, lease: BlockLease | undefined): Generator<string> {
    yield this.#entry(action, at, this.#addressOf(block), block.capacity, askedOf(block, lease))
  }

  *#lease(action: string, at: number, block: LedgerBlock, lease: BlockLease): Generator<string> {
    yield this.#entry(action, at, this.#addressOf(block), lease.size, askedOf(block, lease))
  }

  #ranOut(event: RanOut): string {
    const free = freeBytes(event, this.#snapshot.memories.get(event.memoryNumber))
    return this.#entry("oom", event.at, 0, event.size, event, `"device_free":${free},`)
  }

  #entry(action: string, at: number, address: number, size: number, asked: Asked, more = ""): string {
    const separator = this.#separator
    this.#separator = ",\n"
    return `${separator}{"action":"${action}","addr":${address},"size":${size},"stream":${
      this.#snapshot.queues.of(asked.queue)
    },"time_us":${Math.round(at * 1000)},${more}${this.#snapshot.framesOf(asked)}}`
  }
}

/** The traces come first: only at their end it is known what is there. */
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
