/**
 * Addresses for blocks, since drivers do not tell them: each block is placed in the lowest gap that is large enough.
 *
 * @internal
 */
import { notBelow } from "./Bisection.ts"

/** The most gaps that are searched: then a block is placed above all others. */
const mostLooks = 256

export class AddressSpace {
  readonly #starts: Array<number> = []
  readonly #sizes: Array<number> = []
  /** The bytes from address 0 to the highest end that a block has had. */
  height = 0
  /** Where the highest block ends now. */
  #top = 0

  take(bytes: number): number {
    const looks = Math.min(this.#sizes.length, mostLooks)
    for (let at = 0; at < looks; at++) {
      if (this.#sizes[at]! >= bytes) return this.#cut(at, bytes)
    }
    const address = this.#top
    this.#top += bytes
    this.height = Math.max(this.height, this.#top)
    return address
  }

  #cut(at: number, bytes: number): number {
    const address = this.#starts[at]!
    if (this.#sizes[at] === bytes) this.#remove(at)
    else {
      this.#starts[at] = address + bytes
      this.#sizes[at]! -= bytes
    }
    return address
  }

  give(address: number, bytes: number): void {
    if (bytes === 0) return
    const at = notBelow(this.#starts, address)
    this.#starts.splice(at, 0, address)
    this.#sizes.splice(at, 0, bytes)
    this.#join(at)
    if (at > 0) this.#join(at - 1)
    const last = this.#starts.length - 1
    if (this.#starts[last]! + this.#sizes[last]! < this.#top) return
    this.#top = this.#starts[last]!
    this.#remove(last)
  }

  /** Merges a gap with the next one, if they touch. */
  #join(at: number): void {
    if (at + 1 >= this.#starts.length || this.#starts[at]! + this.#sizes[at]! !== this.#starts[at + 1]) return
    this.#sizes[at]! += this.#sizes[at + 1]!
    this.#remove(at + 1)
  }

  #remove(at: number): void {
    this.#starts.splice(at, 1)
    this.#sizes.splice(at, 1)
  }
}
