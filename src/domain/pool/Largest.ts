/**
 * The largest of many elements, in one pass. The time grows with the number of elements, not with how many are wanted.
 *
 * @internal
 */

export class Largest<A> {
  readonly #count: number
  readonly #sizeOf: (element: A) => number
  /** Sorted when there are twice as many as are wanted; at every element that would cost a sort each. */
  #kept: Array<A> = []
  /** Only an element above this can be among the largest. */
  #least: number

  constructor(count: number, sizeOf: (element: A) => number) {
    this.#count = count
    this.#sizeOf = sizeOf
    this.#least = count > 0 ? 0 : Infinity
  }

  /** Of elements of one size it keeps those that come first. It ignores elements of size 0. */
  add(element: A): void {
    if (this.#sizeOf(element) <= this.#least) return
    if (this.#kept.push(element) < 2 * this.#count) return
    this.#kept = this.sorted()
    this.#least = this.#sizeOf(this.#kept.at(-1)!)
  }

  /** The largest first. */
  sorted(): Array<A> {
    return this.#kept.sort((one, other) => this.#sizeOf(other) - this.#sizeOf(one)).slice(0, this.#count)
  }
}
