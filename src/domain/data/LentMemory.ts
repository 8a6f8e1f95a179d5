/**
 * Mapped memory that the program sees as an array: the driver's, or a copy that is written back.
 *
 * @internal
 */

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
