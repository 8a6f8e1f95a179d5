/**
 * One event as a row of numbers, as recordings in memory and in files are written and read.
 *
 * @internal
 */
import * as CallSite from "effect-gpu-pool/CallSite"
import type { Block, Lease } from "effect-gpu-pool/Lease"
import type { Leased, OfPart, OfRequest, PoolEvent, Released } from "effect-gpu-pool/PoolEvent"
import { columnCount, columns, type Field, kinds, placeOf } from "./EventShape.ts"
import type { Asked, Input } from "./Inputs.ts"
import { Texts } from "./Texts.ts"

/** The names of a memory in its events; rows have its number alone. */
export interface MemoryNames {
  readonly label?: string | undefined
  readonly device: string
}

/** The numbers of memories, or of budgets. */
interface Numbers {
  readonly has: (number: number) => boolean
}

/** What a hit says besides its lease and its block. */
type Hit = Pick<Leased, "at" | "family" | "from" | "pool" | "queue" | "request" | "waitAtMost">

type EventLease = Pick<Lease, "label" | "size">
type EventBlock = Pick<Block, "begin" | "capacity"> & { readonly whole: Pick<Block, "capacity" | "number"> }

/** The longest time of a Date, in milliseconds before or after 1970. */
const longestTime = 8.64e15

const leased = placeOf("Leased")!
const released = placeOf("Released")!

export class EventRow {
  /** The index of its kind among all kinds. */
  kind = 0
  /** The number of its memory. */
  memory = 0
  at = 0
  /** Values by column. Columns that its kind does not have may have values of an earlier event. */
  readonly values = new Float64Array(columnCount)
  /** The texts that its columns have indices of. */
  texts = new Texts()

  /** Sets the row to this event or input. */
  set(event: PoolEvent | Asked | Input): void {
    this.kind = placeOf(event._tag)!
    this.memory = event.memoryNumber
    this.at = event.at
    const values = event as unknown as Record<string, unknown>
    for (const { as, column, isText, name } of kinds[this.kind]!.fields) {
      const value = as === "list" ? (values[name] as ReadonlyArray<string> | undefined)?.join(",") : values[name]
      this.values[column] = isText ? this.texts.placeOf(value as string | undefined) : Number(value ?? 0)
    }
  }

  /** Sets what hits and the ends of leases have in common. */
  #setLease(kind: number, pool: string, lease: EventLease, { begin, capacity, whole }: EventBlock): void {
    const { texts, values } = this
    this.kind = kind
    values[columns.pool] = texts.placeOf(pool)
    values[columns.block] = whole.number
    values[columns.capacity] = whole.capacity
    values[columns.offset] = begin
    values[columns.partBytes] = capacity === whole.capacity ? 0 : capacity
    values[columns.size] = lease.size
    values[columns.label] = texts.placeOf(lease.label)
    values[columns.callSite] = texts.placeOf(CallSite.of(lease))
  }

  /** Sets the row to the end of a lease. */
  setReleased(at: number, pool: string, lease: EventLease, block: EventBlock, why: Released["why"]): void {
    this.#setLease(released, pool, lease, block)
    this.at = at
    this.values[columns.detail] = this.texts.placeOf(why)
  }

  /** Sets the row to a hit. */
  setHit(lease: EventLease, block: EventBlock, { at, family, from, pool, queue, request, waitAtMost }: Hit): void {
    const { texts, values } = this
    this.#setLease(leased, pool, lease, block)
    this.at = at
    values[columns.request] = request
    values[columns.waitAtMost] = waitAtMost
    values[columns.under] = 0
    values[columns.budgetNumber] = 0
    values[columns.family] = texts.placeOf(family)
    values[columns.budget] = 0
    values[columns.queue] = texts.placeOf(queue)
    values[columns.detail] = texts.placeOf(from)
  }

  /** What is wrong with this event in a recording of these memories and budgets. Checks events of programs and of files. */
  problem(memories: Numbers, budgets: Numbers): string | undefined {
    const texts = this.texts.all
    const { at } = this
    if (!(Math.abs(at) <= longestTime)) {
      return `its time ${at} is no number of milliseconds from -${longestTime} to ${longestTime}`
    }
    if (!memories.has(this.memory)) return `there is no memory ${this.memory} in the facts`
    for (const field of kinds[this.kind]!.fields) {
      const { choices, column, isText, name, range } = field
      const value = this.values[column]!
      // Most columns are 0, which is valid for all but choices.
      if (value === 0 && choices === undefined) continue
      const isInRange = value >= range.least && value <= range.most && (!range.isWhole || Number.isInteger(value))
      if (!isInRange) return `its ${name} ${value} is no ${range.name}`
      if (isText && value >= texts.length) return `its ${name} ${value} is no place of a text`
      if (choices !== undefined && !choices.has(texts[value])) {
        return `its ${name} ${JSON.stringify(texts[value])} is not one of ${[...choices].join(", ")}`
      }
      if (column === columns.budgetNumber && !budgets.has(value)) return `there is no budget ${value} in the facts`
    }
    return this.#partProblem
  }

  get #partProblem(): string | undefined {
    const { kind, values } = this
    if (kind !== leased && kind !== released) return undefined
    const offset = values[columns.offset]!
    const bytes = values[columns.partBytes]!
    const capacity = values[columns.capacity]!
    if (bytes === 0) return offset === 0 ? undefined : `its offset ${offset} is that of a part without bytes`
    return offset + bytes <= capacity ? undefined : `its part ends at ${offset + bytes} of ${capacity} B`
  }

  text(column: number): string | undefined {
    return this.texts.all[this.values[column]!]
  }

  /** The event, for a reader that reads no inputs. `names` has the names of memories by number. */
  event(names: ReadonlyMap<number, MemoryNames>): PoolEvent {
    return this.entry(names) as PoolEvent
  }

  /** The event, or the input. */
  entry(names: ReadonlyMap<number, MemoryNames>): PoolEvent | Asked | Input {
    const { isOfRequest, mayBeOfPart, others, tag } = kinds[this.kind]!
    const name = names.get(this.memory)
    if (this.kind === released) return this.#released(name)
    const event: Record<string, unknown> = isOfRequest ? this.#ofRequest(tag, name) : this.#happened(tag, name)
    for (const field of others) event[field.name] = this.#value(field)
    if (mayBeOfPart && this.values[columns.partBytes] !== 0) Object.assign(event, this.#part)
    return event as unknown as PoolEvent | Asked | Input
  }

  #happened(tag: string, name: MemoryNames | undefined): Record<string, unknown> {
    return {
      _tag: tag,
      at: this.at,
      memory: name?.label,
      memoryNumber: this.memory,
      device: name?.device ?? ""
    }
  }

  get #part(): Required<OfPart> {
    const { values } = this
    return { offset: values[columns.offset]!, partBytes: values[columns.partBytes]! }
  }

  /** Nearly all events are of requests or ends of leases. These are object literals: adding members one by one takes three times as long. */
  #released(name: MemoryNames | undefined): Released {
    const { values } = this
    const { all } = this.texts
    const event: Released = {
      _tag: "Released",
      at: this.at,
      memory: name?.label,
      memoryNumber: this.memory,
      device: name?.device ?? "",
      pool: all[values[columns.pool]!] ?? "",
      block: values[columns.block]!,
      capacity: values[columns.capacity]!,
      size: values[columns.size]!,
      label: all[values[columns.label]!],
      callSite: all[values[columns.callSite]!],
      why: all[values[columns.detail]!] as Released["why"]
    }
    return values[columns.partBytes] === 0 ? event : { ...event, ...this.#part }
  }

  #ofRequest(tag: string, name: MemoryNames | undefined): Record<string, unknown> {
    const { values } = this
    const { all } = this.texts
    return {
      _tag: tag,
      at: this.at,
      memory: name?.label,
      memoryNumber: this.memory,
      device: name?.device ?? "",
      pool: all[values[columns.pool]!] ?? "",
      request: values[columns.request]!,
      family: all[values[columns.family]!] ?? "",
      size: values[columns.size]!,
      label: all[values[columns.label]!],
      budget: all[values[columns.budget]!],
      budgetNumber: values[columns.budgetNumber]! || undefined,
      queue: all[values[columns.queue]!],
      callSite: all[values[columns.callSite]!],
      waitAtMost: values[columns.waitAtMost]!,
      under: values[columns.under]! || undefined
    } satisfies OfRequest & { readonly _tag: string }
  }

  #value({ as, column, isOptional, isText }: Field): unknown {
    const value = this.values[column]!
    if (as === "yes or no") return value === 1
    if (!isText) return isOptional && value === 0 ? undefined : value
    const text = this.texts.all[value]
    return as === "list" ? (text === undefined || text === "" ? [] : text.split(",")) : text
  }
}
