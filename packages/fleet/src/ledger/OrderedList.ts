/**
 * A sorted list whose cost does not grow with its length, but for the logarithm: chunks of at most 512 elements.
 *
 * @internal
 */

const mostOfChunk = 512

/** No two elements may be equal in the order. */
export class OrderedList<A> {
  length = 0
  readonly #isBefore: (a: A, b: A) => boolean
  /** None is empty. */
  readonly #chunks: Array<Array<A>> = []

  constructor(isBefore: (a: A, b: A) => boolean) {
    this.#isBefore = isBefore
  }

  get first(): A | undefined {
    return this.#chunks[0]?.[0]
  }

  /** The element at an index. Fast near the head. */
  at(index: number): A | undefined {
    let left = index
    for (const chunk of this.#chunks) {
      if (left < chunk.length) return chunk[left]
      left -= chunk.length
    }
    return undefined
  }

  add(element: A): void {
    const { at, chunk, index } = this.#find(element)
    this.length++
    if (chunk === undefined) {
      this.#chunks.push([element])
      return
    }
    chunk.splice(index, 0, element)
    if (chunk.length > mostOfChunk) this.#chunks.splice(at + 1, 0, chunk.splice(mostOfChunk / 2))
  }

  /** Removes an element. Returns false if it is not in the list. */
  remove(element: A): boolean {
    const { at, chunk, index } = this.#find(element)
    if (chunk?.[index] !== element) return false
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
    this.length--
    return true
  }

  /** The elements before and after one that need not be in the list. */
  around(element: A): { readonly before: A | undefined; readonly after: A | undefined } {
    const { at, chunk, index } = this.#find(element)
    const next = chunk?.[index] === element ? index + 1 : index
    return {
      before: chunk?.[index - 1] ?? this.#chunks[at - 1]?.at(-1),
      after: chunk?.[next] ?? this.#chunks[at + 1]?.[0]
    }
  }

  *[Symbol.iterator](): Generator<A, void> {
    for (const chunk of this.#chunks) yield* chunk
  }

  /** The chunk of an element, and the index in it: its own, or where it belongs. */
  #find(element: A): { readonly at: number; readonly chunk: Array<A> | undefined; readonly index: number } {
    const chunks = this.#chunks
    const at = Math.max(0, count(chunks, ([first]) => !this.#isBefore(element, first!)) - 1)
    const chunk = chunks[at]
    return { at, chunk, index: chunk === undefined ? 0 : count(chunk, (one) => this.#isBefore(one, element)) }
  }
}

/** How many elements at the head have a property that none behind them has. */
const count = <A>(list: ReadonlyArray<A>, has: (element: A) => boolean): number => {
  let from = 0
  let to = list.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if (has(list[middle]!)) from = middle + 1
    else to = middle
  }
  return from
}
