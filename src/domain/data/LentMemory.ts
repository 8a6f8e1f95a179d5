/**
 * Memory of a driver, or a copy that goes back to it, as an array of the program until a mapping ends.
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
 * Hides the methods that transfer the memory: a program that moved the bytes to an ArrayBuffer of its own would still see them
 * after the driver has the memory back. A program can transfer it all the same, with the methods of the prototype or a stream
 * that takes arrays. So the backend checks, before it unmaps the memory, whether the program has done that.
 */
export const lend = (memory: ArrayBuffer): ArrayBuffer => Object.defineProperties(memory, transfers)
