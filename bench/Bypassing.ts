/** How often a wait queue bypassed its requests, from the orders of arrival and of service. */

/** Counts by index, with the sum of the counts before an index: a Fenwick tree. */
class Counts {
  readonly #sums: Int32Array

  constructor(places: number) {
    this.#sums = new Int32Array(places + 1)
  }

  add(place: number): void {
    for (let index = place + 1; index < this.#sums.length; index += index & -index) this.#sums[index]!++
  }

  /** The sum of the counts below this index. */
  below(place: number): number {
    let sum = 0
    for (let index = place; index > 0; index -= index & -index) sum += this.#sums[index]!
    return sum
  }
}

/**
 * The most times that later requests bypassed a request in the wait queue. `served` has the requests, numbered from 0
 * in order of arrival, in the order in which they ran. A pool grants memory in one step and resumes the fiber in
 * another, so a request that runs later need not have been bypassed. So `certain` has the counts of served requests,
 * ascending from 0, at which all other arrived requests were in the wait queue.
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
