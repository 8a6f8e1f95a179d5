/**
 * Values that hold leases, so that the leases can move with the value from scope to scope.
 *
 * @since 0.1.0
 */
import type { PooledBuffer } from "./PooledBuffer.ts"

/**
 * The method by which a value tells which leases it holds.
 *
 * **Example** (A record of leases with a method of its own)
 *
 * ```ts
 * import { LeaseHolder } from "effect-gpu-pool"
 * import type { PooledBuffer } from "effect-gpu-pool"
 *
 * const rows = (leases: ReadonlyArray<PooledBuffer.PooledBuffer>): LeaseHolder.LeaseHolder => ({
 *   [LeaseHolder.LeaseHolder]: () => leases
 * })
 * LeaseHolder.leases(rows([])).size // => 0
 * ```
 *
 * @category symbols
 * @since 0.1.0
 */
export const LeaseHolder: unique symbol = Symbol.for("effect-gpu-pool/LeaseHolder")

/**
 * A value that holds leases, as a device array or a struct of buffers of your own.
 *
 * **Example** (A pair of buffers that moves as one)
 *
 * ```ts
 * import type { PooledBuffer } from "effect-gpu-pool"
 * import { LeaseHolder } from "effect-gpu-pool"
 *
 * class Complex implements LeaseHolder.LeaseHolder {
 *   readonly re: PooledBuffer.PooledBuffer
 *   readonly im: PooledBuffer.PooledBuffer
 *   constructor(re: PooledBuffer.PooledBuffer, im: PooledBuffer.PooledBuffer) {
 *     this.re = re
 *     this.im = im
 *   }
 *   [LeaseHolder.LeaseHolder]() {
 *     return [this.re, this.im]
 *   }
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface LeaseHolder {
  [LeaseHolder](): Iterable<PooledBuffer>
}

const isHolder = (value: object): value is LeaseHolder => LeaseHolder in value

/** Only what a literal makes is walked: the inside of other objects is theirs. */
const isRecord = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * The leases that a value holds, each once: those of LeaseHolders, and of the tuples, arrays and records around them.
 *
 * **Example** (Finding the leases of a result)
 *
 * ```ts
 * import { LeaseHolder } from "effect-gpu-pool"
 *
 * LeaseHolder.leases({ sum: 3, parts: [] }).size // => 0
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const leases = (value: unknown): ReadonlySet<PooledBuffer> => {
  const found = new Set<PooledBuffer>()
  walk(value, (holder) => {
    for (const lease of holder[LeaseHolder]()) found.add(lease)
  })
  return found
}

/**
 * Visits the holders in a value, each once: itself, or those in tuples, arrays and records.
 *
 * @internal
 */
export const walk = (value: unknown, visit: (holder: LeaseHolder) => void): void => {
  const seen = new Set<object>()
  const pending: Array<unknown> = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== "object" || next === null || seen.has(next)) continue
    seen.add(next)
    if (isHolder(next)) {
      visit(next)
    } else if (Array.isArray(next)) {
      for (const element of next) pending.push(element)
    } else if (isRecord(next)) {
      for (const element of Object.values(next)) pending.push(element)
    }
  }
}
