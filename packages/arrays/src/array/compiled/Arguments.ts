/**
 * The arguments of a compiled function: what calls must have in common to share a trace, and the leases in which they differ.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { thrownText } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { DeviceArray } from "../ArrayValue.ts"

/** Marks in a key, which no argument is equal to. */
const array = Symbol("array")
const list = Symbol("list")
const record = Symbol("record")

/** How deep an argument may be nested, and how many values it may contain. */
const deepest = 16
const most = 65_536

/** Arrays and plain objects are walked: other objects may have private members. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export class Arguments {
  readonly values: ReadonlyArray<unknown>
  /** Everything but the leases, in order. */
  readonly key: Array<unknown> = []
  readonly arrays: Array<DeviceArray> = []
  /** Those of the arrays, each once. */
  readonly leases: Array<PooledBuffer> = []
  /** The arrays that have no memory yet. */
  readonly recorded: Array<DeviceArray> = []

  readonly #numbers = new Map<PooledBuffer, number>()
  /** How many values the current argument contains so far. */
  #count = 0

  /** Throws InvalidRequest for arguments that no trace can be found by. */
  constructor(values: ReadonlyArray<unknown>) {
    this.values = values
    for (const [position, value] of values.entries()) {
      this.#count = 0
      this.#read(value, 0, position)
    }
  }

  #read(value: unknown, depth: number, position: number): void {
    if (depth > 0 && ++this.#count > most) throw tooLarge(position)
    if (value instanceof DeviceArray) this.#readArray(value)
    else if (typeof value !== "object" || value === null) this.key.push(value)
    else if (depth === deepest) throw tooLarge(position)
    else if (Array.isArray(value)) {
      this.key.push(list, value.length)
      for (let index = 0; index < value.length; index++) {
        if (!(index in value)) throw unusual(position, "a list without an element at some positions")
        this.#read(value[index], depth + 1, position)
      }
    } else if (isRecord(value)) {
      const names = Object.keys(value)
      this.key.push(record, names.length)
      for (const name of names) {
        this.key.push(name)
        this.#read(value[name], depth + 1, position)
      }
    } else throw unusual(position, Effect.isEffect(value) ? "an effect" : "an object of a class")
  }

  #readArray(value: DeviceArray): void {
    const { dtype, lease, offset, shape, strides } = value
    this.arrays.push(value)
    if (lease === undefined) {
      this.recorded.push(value)
      return
    }
    let number = this.#numbers.get(lease)
    if (number === undefined) {
      number = this.leases.push(lease) - 1
      this.#numbers.set(lease, number)
    }
    this.key.push(array, number, dtype, offset, shape.length)
    for (let axis = 0; axis < shape.length; axis++) this.key.push(shape[axis], strides[axis])
  }

  /** The place of a lease in `leases`. */
  numberOf(lease: PooledBuffer): number {
    return this.#numbers.get(lease)!
  }

  /** The same values with another array in the place of each. */
  with(others: ReadonlyMap<DeviceArray, DeviceArray>): ReadonlyArray<unknown> {
    return this.values.map((value) => replaced(value, others))
  }
}

const replaced = (value: unknown, others: ReadonlyMap<DeviceArray, DeviceArray>): unknown => {
  if (value instanceof DeviceArray) {
    const other = others.get(value)
    if (other === undefined) throw changed()
    return other
  }
  if (Array.isArray(value)) return value.map((element) => replaced(element, others))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, element]) => [name, replaced(element, others)]))
}

const operation = "DeviceArray.compile"

const unusual = (position: number, what: string): GpuError =>
  invalidRequest(
    operation,
    `argument ${position} is or has ${what}`,
    "Pass arrays, lists and plain records of them, numbers, texts and other plain values, or functions. Run effects before, make data " +
      "of the host an array, and let the function know everything else from elsewhere."
  )

const tooLarge = (position: number): GpuError =>
  invalidRequest(
    operation,
    `argument ${position} contains itself, or is nested more than ${deepest} deep, or contains more than ${most} values`,
    "Pass only what the function needs, or join arrays of one shape into one."
  )

const changed = (): GpuError =>
  invalidRequest(
    operation,
    "an argument was another array when it was read again",
    "Pass records whose members stay the same, without accessors."
  )

/** The arguments of a call, or InvalidRequest for those that no trace can be found by. */
export const read = (values: ReadonlyArray<unknown>): Arguments | GpuError => reading(() => new Arguments(values))

/** What a function gives that reads values of a program: members of these may throw. */
export const reading = <A>(look: () => A): A | GpuError => {
  try {
    return look()
  } catch (thrown) {
    return isGpuError(thrown) ? thrown : invalidRequest(
      operation,
      `reading an argument or a result threw ${thrownText(thrown)}`,
      "Pass and return plain values."
    )
  }
}

/** InvalidRequest for a result that is nested too deep. */
export const resultTooDeep = (): GpuError =>
  invalidRequest(
    operation,
    `the result contains itself, or is nested more than ${deepest} deep`,
    "Return arrays, or tuples, arrays and records of them."
  )

export const isTooDeep = (depth: number): boolean => depth >= deepest
