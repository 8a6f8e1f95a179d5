/**
 * Columns of numbers that grow.
 *
 * @internal
 */

class Growing<A extends Float64Array | Int32Array | Uint8Array> {
  #values: A
  readonly #make: (length: number) => A
  length = 0

  constructor(make: (length: number) => A) {
    this.#make = make
    this.#values = make(256)
  }

  push(value: number): number {
    if (this.length === this.#values.length) {
      const more = this.#make(2 * this.length)
      more.set(this.#values)
      this.#values = more
    }
    this.#values[this.length] = value
    return this.length++
  }

  get(at: number): number {
    return this.#values[at]!
  }

  set(at: number, value: number): void {
    this.#values[at] = value
  }

  /** The values so far. */
  all(): A {
    return this.#values.slice(0, this.length) as A
  }
}

export const floats = () => new Growing((length) => new Float64Array(length))
export const integers = () => new Growing((length) => new Int32Array(length))
export const bytes = () => new Growing((length) => new Uint8Array(length))
