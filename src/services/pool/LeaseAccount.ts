/**
 * What a lease uses of the budgets and of the reservation that it was acquired under, for as long as it lives, wherever
 * it is transferred to. Leases under neither have no account.
 *
 * @internal
 */
import type * as Lease from "../lease/Lease.ts"
import type { ChargedBudget } from "./waiting/Charge.ts"
import type { SetAside } from "./waiting/SetAside.ts"

/** @internal */
export class LeaseAccount implements Lease.LeaseAccount {
  readonly #budget: ChargedBudget | undefined
  readonly #from: SetAside | undefined
  /** Bytes of the reservation that the lease uses. */
  readonly #drawn: number

  /** The budget is the innermost one. */
  constructor(budget: ChargedBudget | undefined, from: SetAside | undefined, drawn: number) {
    this.#budget = budget
    this.#from = from
    this.#drawn = drawn
  }

  get budgets(): ReadonlyArray<ChargedBudget> {
    return this.#budget?.chain ?? []
  }

  /** The lease is over. What the reservation gets back is its own before the budgets' lines are served. */
  end(size: number, capacity: number): void {
    this.#budget?.leaseEnded(size, capacity)
    this.#from?.giveBack(this.#drawn)
    this.#budget?.serveChain()
  }
}
