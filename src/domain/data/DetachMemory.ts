/**
 * Memory that the program sees as an array for a time: hides it from the program's own transfers, and detaches the
 * program's views at the end.
 *
 * @internal
 */

/**
 * From the prototype, since a backend may hide them on its memory; and looked up once, since a program may replace
 * them. `transfer` came with ES2024; where it is missing, a clone that transfers does the same.
 */
const { transfer } = ArrayBuffer.prototype as {
  readonly transfer?: (this: ArrayBuffer, newLength?: number) => ArrayBuffer
}
const byteLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength")!.get as (
  this: ArrayBuffer
) => number

/** Whether memory of some bytes is detached. */
export const isDetached = (memory: ArrayBuffer): boolean => byteLength.call(memory) === 0

const move = (memory: ArrayBuffer, newLength?: number): ArrayBuffer | undefined => {
  if (isDetached(memory)) return undefined
  try {
    return transfer === undefined
      ? structuredClone(memory, { transfer: [memory] })
      : transfer.call(memory, ...(newLength === undefined ? [] : [newLength]))
  } catch {
    // Node lets a program mark memory so that no one can transfer it.
    return undefined
  }
}

/**
 * Detaches every view of `memory`: their length becomes 0. Returns false where it cannot: the program has transferred
 * the memory, so that other views of it exist, or has marked it as untransferable.
 */
export const detachMemory = (memory: ArrayBuffer): boolean => move(memory, 0) !== undefined

/**
 * The bytes of `memory` in another ArrayBuffer, without a copy; views of the old one are detached. `undefined` where
 * {@link detachMemory} would return false.
 */
export const moveMemory = (memory: ArrayBuffer): ArrayBuffer | undefined => move(memory)

const refuse = (): never => {
  throw new TypeError("the memory is the device's and cannot be transferred: copy it with slice()")
}

const stays = { value: refuse }

/** Not all engines have all of them. */
const transfers = { transfer: stays, transferToFixedLength: stays, transferToImmutable: stays }

/**
 * Hides the methods that transfer the memory, since a program that moved the bytes to its own ArrayBuffer would still
 * see them after the driver has unmapped them. A program can still transfer it with the methods of the prototype, or
 * with a stream that takes arrays. So the backend checks for that before it unmaps the memory.
 */
export const lend = (memory: ArrayBuffer): ArrayBuffer => Object.defineProperties(memory, transfers)
