/**
 * The driver's calls of one kind in the model of a pool: how many there were, and which of the next ones fail.
 *
 * @internal
 */
export class ModelCalls<Fault> {
  count = 0
  readonly #planned: Array<{ readonly first: number; readonly last: number; readonly fault: Fault }> = []

  /** Makes calls fail: from the `nth` on, 1 for the next, `times` in a row. */
  fail({ nth, times }: { readonly nth: number; readonly times: number }, fault: Fault): void {
    const first = this.count + nth
    this.#planned.push({ first, last: first + times - 1, fault })
  }

  /** Counts a call, and returns its fault; of several the one that was planned first. */
  next(): Fault | undefined {
    const call = ++this.count
    return this.#planned.find(({ first, last }) => first <= call && call <= last)?.fault
  }
}
