/**
 * Which calls of a driver fail, and how.
 *
 * @since 0.1.0
 */

/**
 * Calls of one kind, with a plan which of them fail.
 *
 * **Example** (The second call from now)
 *
 * ```ts
 * import { PoolModel } from "effect-gpu-pool/testing/properties"
 *
 * const frees = new PoolModel.Plan<"refused">()
 * frees.fail(2, 1, "refused")
 * const calls = [frees.next(), frees.next(), frees.next()]
 * console.log(calls) // => [undefined, "refused", undefined]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class Plan<A> {
  count = 0
  readonly #windows: Array<{ readonly first: number; readonly last: number; readonly fault: A }> = []

  fail(nth: number, times: number, fault: A): void {
    this.#windows.push({ first: this.count + nth, last: this.count + nth + times - 1, fault })
  }

  next(): A | undefined {
    const call = ++this.count
    return this.#windows.find(({ first, last }) => first <= call && call <= last)?.fault
  }
}
