/**
 * What a bind group, an encoder or a command buffer uses, so that a submit after a lease has ended is refused.
 *
 * @internal
 */
import type { Slot } from "./Slot.ts"

export class Recording {
  readonly #leases = new Map<Slot, number>()
  readonly #parts = new Set<Recording>()
  #isMixed = false

  /** The buffer is used as the lease has it now. */
  use(slot: Slot): void {
    const known = this.#leases.get(slot)
    if (known === undefined) this.#leases.set(slot, slot.lease)
    else if (known !== slot.lease) this.#isMixed = true
  }

  /** A bind group or a bundle is used. */
  include(part: Recording | undefined): void {
    if (part !== undefined) this.#parts.add(part)
  }

  /** Whether the lease of a buffer that it uses has ended, or had when it was used. */
  get isStale(): boolean {
    if (this.#isMixed) return true
    for (const [slot, lease] of this.#leases) if (slot.lease !== lease || lease % 2 === 0) return true
    for (const part of this.#parts) if (part.isStale) return true
    return false
  }
}
