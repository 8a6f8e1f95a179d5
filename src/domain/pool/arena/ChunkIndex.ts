/**
 * The free chunks of an arena by their sizes: two-level segregated fit. Adding a chunk, taking one out, and finding one that
 * is large enough cost a few steps, however many there are.
 *
 * Sizes are counted in whole units. The first level is the power of two, the second divides it into 32 classes; below 32 units
 * each size is a class of its own. A chunk of a higher class than the request's is always large enough, and one of its own
 * class may be: the first few of these are looked at.
 *
 * @see Masmano et al., TLSF: a new dynamic memory allocator for real-time systems, 2004
 * @internal
 */

/** A free chunk as the index knows it. Only the index changes these fields, and only while the chunk is in it. */
export interface IndexedChunk<C> {
  readonly units: number
  /** The chunks of its class that came into the index after and before it. */
  newer: C | undefined
  older: C | undefined
}

const bits = 5
const classes = 1 << bits
/** The most units of a chunk. */
export const mostUnits = 2 ** 31 - 1
const levels = 32 - bits

/** How many chunks of a request's own class are looked at. */
const ownClass = 8

export class ChunkIndex<C extends IndexedChunk<C>> {
  /** One bit for each power of two with chunks, and for each of them one for each class. */
  #levels = 0
  readonly #classes = new Int32Array(levels)
  readonly #newest: Array<C | undefined> = Array.from({ length: levels * classes })

  add(chunk: C): void {
    const at = classOf(chunk.units)
    const newest = this.#newest[at]
    chunk.older = newest
    if (newest === undefined) {
      this.#classes[at >>> bits]! |= 1 << (at & (classes - 1))
      this.#levels |= 1 << (at >>> bits)
    } else newest.newer = chunk
    this.#newest[at] = chunk
  }

  remove(chunk: C): void {
    const { newer, older } = chunk
    if (older !== undefined) older.newer = newer
    if (newer !== undefined) newer.older = older
    else this.#replace(classOf(chunk.units), older)
    chunk.newer = undefined
    chunk.older = undefined
  }

  #replace(at: number, newest: C | undefined): void {
    this.#newest[at] = newest
    if (newest !== undefined) return
    const level = at >>> bits
    const left = this.#classes[level]! & ~(1 << (at & (classes - 1)))
    this.#classes[level] = left
    if (left === 0) this.#levels &= ~(1 << level)
  }

  /** A chunk of at least so many units: one of the smallest class that has one. */
  find(units: number, among = ownClass): C | undefined {
    if (this.#levels === 0) return undefined
    const own = classOf(units)
    let chunk = this.#newest[own]
    for (let left = among; left > 0 && chunk !== undefined; left--) {
      if (chunk.units >= units) return chunk
      chunk = chunk.older
    }
    const next = this.#next(own)
    // Reading index −1 is slow.
    return next < 0 ? undefined : this.#newest[next]
  }

  /** The same among those that `accepts` returns true for, of which at most `among` of each class are looked at. */
  findAccepted(units: number, accepts: (chunk: C) => boolean, among: number): C | undefined {
    for (let at = classOf(units); at >= 0; at = this.#next(at)) {
      let chunk = this.#newest[at]
      for (let left = among; left > 0 && chunk !== undefined; left--) {
        if (chunk.units >= units && accepts(chunk)) return chunk
        chunk = chunk.older
      }
    }
    return undefined
  }

  /** The chunks of the largest class. */
  *largest(): Generator<C, void> {
    if (this.#levels === 0) return
    const level = 31 - Math.clz32(this.#levels)
    const at = level << bits | (31 - Math.clz32(this.#classes[level]!))
    for (let chunk = this.#newest[at]; chunk !== undefined; chunk = chunk.older) yield chunk
  }

  /** All chunks, those of small classes first. */
  *all(): Generator<C, void> {
    for (let at = 0; at >= 0; at = this.#next(at)) {
      for (let chunk = this.#newest[at]; chunk !== undefined; chunk = chunk.older) yield chunk
    }
  }

  /** The class after `at` that has chunks, or −1. */
  #next(at: number): number {
    const level = at >>> bits
    const larger = this.#classes[level]! & (-2 << (at & (classes - 1)))
    if (larger !== 0) return level << bits | lowest(larger)
    const higher = this.#levels & (-2 << level)
    if (higher === 0) return -1
    const next = lowest(higher)
    return next << bits | lowest(this.#classes[next]!)
  }
}

const lowest = (word: number): number => 31 - Math.clz32(word & -word)

/** Class 0 has the chunks of less than a unit, which no request finds. */
const classOf = (units: number): number => {
  if (units < classes) return units
  const exponent = 31 - Math.clz32(units)
  return (exponent - bits + 1) << bits | (units >>> (exponent - bits)) & (classes - 1)
}
