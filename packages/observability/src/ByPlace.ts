/**
 * A map by a block and an offset in it. Most blocks have one lease, at offset 0, and need no map of their own.
 *
 * @internal
 */
export class ByPlace<A> {
  readonly #first = new Map<number, A>()
  readonly #others = new Map<number, Map<number, A>>()

  get(block: number, offset: number): A | undefined {
    return offset === 0 ? this.#first.get(block) : this.#others.get(block)?.get(offset)
  }

  set(block: number, offset: number, value: A): void {
    if (offset === 0) this.#first.set(block, value)
    else {
      const others = this.#others.get(block) ?? new Map<number, A>()
      this.#others.set(block, others)
      others.set(offset, value)
    }
  }

  delete(block: number, offset: number): void {
    if (offset === 0) this.#first.delete(block)
    else {
      const others = this.#others.get(block)
      others?.delete(offset)
      if (others?.size === 0) this.#others.delete(block)
    }
  }

  *values(): Generator<A, void> {
    yield* this.#first.values()
    for (const others of this.#others.values()) yield* others.values()
  }
}
