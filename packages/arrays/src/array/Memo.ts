/**
 * Kernels that are made on demand, one for each key.
 *
 * @internal
 */

/**
 * Caches values by key; beyond the capacity it drops the oldest. A dropped kernel is made again, and the device's
 * cache has its source.
 */
export class Memo<A> {
  readonly #capacity: number
  readonly #known = new Map<string, A>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(key: string, make: () => A): A {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const made = make()
    if (this.#known.size >= this.#capacity) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(key, made)
    return made
  }
}
