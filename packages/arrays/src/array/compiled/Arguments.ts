/**
 * The arguments of a compiled function: what calls must have in common to share a trace, and the leases in which they differ.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceArray } from "../ArrayValue.ts"

/** Marks in a key, which no argument is equal to. */
const array = Symbol("array")
const list = Symbol("list")
const record = Symbol("record")

/** How deep tuples and records are walked. What is deeper counts by its identity. */
const deepest = 16

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

  constructor(values: ReadonlyArray<unknown>) {
    this.values = values
    this.#read(values, 0)
  }

  #read(value: unknown, depth: number): void {
    if (value instanceof DeviceArray) this.#readArray(value)
    else if (depth < deepest && Array.isArray(value)) {
      this.key.push(list, value.length)
      for (const element of value) this.#read(element, depth + 1)
    } else if (depth < deepest && isRecord(value)) {
      const names = Object.keys(value)
      this.key.push(record, names.length)
      for (const name of names) {
        this.key.push(name)
        this.#read(value[name], depth + 1)
      }
    } else this.key.push(value)
  }

  #readArray(value: DeviceArray): void {
    const { dtype, lease, offset, shape, strides } = value
    this.arrays.push(value)
    if (lease === undefined) {
      this.recorded.push(value)
      return
    }
    const known = this.leases.indexOf(lease)
    this.key.push(array, known < 0 ? this.leases.push(lease) - 1 : known, dtype, offset, shape.length)
    for (let axis = 0; axis < shape.length; axis++) this.key.push(shape[axis], strides[axis])
  }

  /** The same values with another array in the place of each. */
  with(others: ReadonlyMap<DeviceArray, DeviceArray>): ReadonlyArray<unknown> {
    return this.values.map((value) => replaced(value, others, 0))
  }
}

const replaced = (value: unknown, others: ReadonlyMap<DeviceArray, DeviceArray>, depth: number): unknown => {
  if (value instanceof DeviceArray) return others.get(value)
  if (depth >= deepest) return value
  if (Array.isArray(value)) return value.map((element) => replaced(element, others, depth + 1))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, element]) => [name, replaced(element, others, depth + 1)])
  )
}
