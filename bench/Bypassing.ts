/** Who was passed in a waiting line, told from the order of arrival and the order of service. */

/** Counts of things at places, with sums of what stands before a place: a Fenwick tree. */
class Counts {
  readonly #sums: Int32Array

  constructor(places: number) {
    this.#sums = new Int32Array(places + 1)
  }

  add(place: number): void {
    for (let index = place + 1; index < this.#sums.length; index += index & -index) this.#sums[index]!++
  }

  /** How many stand at places below this one. */
  below(place: number): number {
    let sum = 0
    for (let index = place; index > 0; index -= index & -index) sum += this.#sums[index]!
    return sum
  }
}

/**
 * The most that any request was passed by later ones while it was in the wait queue. `served` names the requests, numbered from 0 in
 * order of arrival, in the order in which they ran. Memory is given in one step and the fiber resumed in another, so one that
 * runs later need not have been passed: `certain` are the counts of served requests, ascending from 0, at which everybody
 * else that had come was in the wait queue.
 */
export const most = (served: ReadonlyArray<number>, certain: ReadonlyArray<number>): number => {
  const before = new Counts(served.length)
  let worst = 0
  for (const [index, from] of certain.entries()) {
    const next = served.slice(from, certain[index + 1] ?? served.length)
    for (const request of next) worst = Math.max(worst, from - before.below(request))
    for (const request of next) before.add(request)
  }
  return worst
}
