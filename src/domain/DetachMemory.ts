/**
 * Cutting views off from host memory that is not theirs any more.
 *
 * @internal
 */

/**
 * Takes the bytes away from every view of `memory`, whose length becomes 0. `transfer` came with ES2024; where it is
 * missing, a clone that transfers does the same.
 *
 * @internal
 */
export const detachMemory = (memory: ArrayBuffer): void => {
  // Also memory that was transferred before: it cannot be once more.
  if (memory.byteLength === 0) return
  // From the prototype: a backend keeps programs from transferring its memory.
  const { transfer } = ArrayBuffer.prototype as { readonly transfer?: (newLength: number) => ArrayBuffer }
  if (transfer === undefined) structuredClone(memory, { transfer: [memory] })
  else transfer.call(memory, 0)
}
