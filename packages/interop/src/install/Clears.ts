/**
 * The zeros that WebGPU promises for a new buffer: reused ones are cleared before the first commands that could read them.
 *
 * @internal
 */
import type { Buffer, Native } from "./Native.ts"
import type { Slot } from "./Slot.ts"

export class Clears {
  cleared = 0
  /** How many were written in full before they could be read. */
  leftOut = 0
  readonly #native: Native
  /** The buffers are kept: a bind group may be all that the program has of one. */
  readonly #waiting = new Map<Slot, Buffer>()

  constructor(native: Native) {
    this.#native = native
  }

  add(slot: Slot, buffer: Buffer): void {
    this.#waiting.set(slot, buffer)
  }

  has(slot: Slot): boolean {
    return this.#waiting.size > 0 && this.#waiting.has(slot)
  }

  /** The lease has ended. */
  drop(slot: Slot): void {
    if (this.#waiting.size > 0) this.#waiting.delete(slot)
  }

  /** The program has written all of it. */
  leaveOut(slot: Slot): void {
    if (this.#waiting.delete(slot)) this.leftOut++
  }

  /** In a submit of their own: if one of the program's is refused, these commands run nevertheless. */
  flush(): void {
    if (this.#waiting.size === 0) return
    const encoder = this.#native.createCommandEncoder()
    for (const [slot, buffer] of this.#waiting) encoder.clearBuffer(buffer, 0, slot.size)
    this.cleared += this.#waiting.size
    this.#waiting.clear()
    this.#native.submit([encoder.finish()])
  }

  forgetAll(): void {
    this.#waiting.clear()
  }
}
