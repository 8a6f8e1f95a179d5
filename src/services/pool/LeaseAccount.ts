/**
 * The budgets and the reservation that a lease is charged to, until it ends, also when it is transferred. Leases under
 * neither have no account.
 *
 * @internal
 */
import type * as Lease from "../lease/Lease.ts"
import type { ChargedBudget } from "./waiting/Charge.ts"
import type { SetAside } from "./waiting/SetAside.ts"

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

  /** The lease has ended. The reservation gets its bytes back before the budgets' lines are served. */
  end(size: number, capacity: number): void {
    this.#budget?.leaseEnded(size, capacity)
    this.#from?.giveBack(this.#drawn, this.budgets)
    this.#budget?.serveChain()
  }
}
