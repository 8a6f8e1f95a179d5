/**
 * The log of another program's allocator, in columns: what the imports read, whatever the file. {@link LogRecorder} makes a
 * recording of it.
 *
 * @internal
 */
import { Texts } from "../recording/Texts.ts"

/**
 * What an allocator does: it leases bytes and gets them back, gets a segment from the driver and frees it, or has no memory left.
 */
export type Action = "alloc" | "free" | "segmentAlloc" | "segmentFree" | "failure"

const actions: ReadonlyArray<Action> = ["alloc", "free", "segmentAlloc", "segmentFree", "failure"]

/** One line of the log. */
export interface LogEntry {
  readonly action: Action
  /** The device, as messages name it. */
  readonly device: string
  /** The service that the entry names, if any. */
  readonly pool: string
  /** Milliseconds. */
  readonly at: number
  /** Tells which bytes, among those of the device. */
  readonly address: number
  /** The bytes that were asked for; of a segment, all it has. */
  readonly size: number
  /** The bytes that this takes in its segment; NaN where the log does not tell. */
  readonly capacity: number
  readonly queue: string | undefined
  readonly label: string | undefined
  readonly callSite: string | undefined
}

/** A lease that was there when the log ended. */
export interface LastLease
  extends Pick<LogEntry, "device" | "pool" | "address" | "size" | "capacity" | "label" | "callSite">
{}

/** A segment that was there when the log ended. */
export interface LastSegment extends Pick<LogEntry, "device" | "address" | "size"> {}

/** Numbers in little memory, which grow in number. */
class Column {
  #values = new Float64Array(64)
  length = 0

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Float64Array(2 * this.length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.length++] = value
  }

  at(place: number): number {
    return this.#values[place]!
  }
}

/** Texts in a column, each once. */
class TextColumn {
  readonly #places = new Column()
  readonly #texts = new Texts()

  push(text: string | undefined): void {
    this.#places.push(this.#texts.placeOf(text))
  }

  at(place: number): string | undefined {
    return this.#texts.all[this.#places.at(place)]
  }
}

export class AllocatorLog {
  readonly #actions = new Column()
  readonly #devices = new TextColumn()
  readonly #pools = new TextColumn()
  readonly #times = new Column()
  readonly #addresses = new Column()
  readonly #sizes = new Column()
  readonly #capacities = new Column()
  readonly #queues = new TextColumn()
  readonly #labels = new TextColumn()
  readonly #callSites = new TextColumn()

  /** What was there in the end, where the file tells. */
  readonly lastLeases: Array<LastLease> = []
  readonly lastSegments: Array<LastSegment> = []

  get length(): number {
    return this.#actions.length
  }

  add(entry: LogEntry): void {
    this.#actions.push(actions.indexOf(entry.action))
    this.#devices.push(entry.device)
    this.#pools.push(entry.pool)
    this.#times.push(entry.at)
    this.#addresses.push(entry.address)
    this.#sizes.push(entry.size)
    this.#capacities.push(entry.capacity)
    this.#queues.push(entry.queue)
    this.#labels.push(entry.label)
    this.#callSites.push(entry.callSite)
  }

  actionAt(place: number): Action {
    return actions[this.#actions.at(place)]!
  }

  deviceAt(place: number): string {
    return this.#devices.at(place)!
  }

  addressAt(place: number): number {
    return this.#addresses.at(place)
  }

  timeAt(place: number): number {
    return this.#times.at(place)
  }

  /** The entry at a place. */
  at(place: number): LogEntry {
    return {
      action: this.actionAt(place),
      device: this.deviceAt(place),
      pool: this.#pools.at(place)!,
      at: this.timeAt(place),
      address: this.addressAt(place),
      size: this.#sizes.at(place),
      capacity: this.#capacities.at(place),
      queue: this.#queues.at(place),
      label: this.#labels.at(place),
      callSite: this.#callSites.at(place)
    }
  }

  /** The places of all entries, in the order of their times; those of one device stay in the order of the log. */
  order(): Uint32Array {
    const ofDevices = new Map<string, Column>()
    for (let place = 0; place < this.length; place++) {
      const device = this.deviceAt(place)
      const places = ofDevices.get(device) ?? new Column()
      if (places.length === 0) ofDevices.set(device, places)
      places.push(place)
    }
    return merged(Array.from(ofDevices.values()), (place) => this.timeAt(place))
  }
}

/** Lists of places as one, always with the earliest of their first places next. */
const merged = (lists: ReadonlyArray<Column>, timeAt: (place: number) => number): Uint32Array => {
  const order = new Uint32Array(lists.reduce((sum, { length }) => sum + length, 0))
  const heads = lists.map(() => 0)
  const times = lists.map((list) => timeAt(list.at(0)))
  for (let at = 0; at < order.length; at++) {
    let earliest = 0
    for (let list = 1; list < lists.length; list++) if (times[list]! < times[earliest]!) earliest = list
    const places = lists[earliest]!
    order[at] = places.at(heads[earliest]!++)
    const head = heads[earliest]!
    times[earliest] = head < places.length ? timeAt(places.at(head)) : Number.POSITIVE_INFINITY
  }
  return order
}
