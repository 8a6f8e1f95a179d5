/**
 * Detaches views of host memory, so that they no longer see it.
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
