/**
 * The bytes that `BufferPool.reserve` has set aside for one effect: bytes of the pool's limit, and of the budgets
 * around it, that no other request can take. They are bytes of the limit and no blocks: held blocks may use them until
 * the effect asks for them, and are evicted then.
 *
 * Every byte is counted in one place at a time: here, or in a request that was made under the reservation, or in the
 * capacity of that request's lease. When the lease ends the bytes come back here, as long as the effect runs.
 *
 * @internal
 */
import type { ChargedBudget } from "./Charge.ts"

export interface SetAsideOptions {
  /** What counts the bytes of the pool that are set aside. */
  readonly core: { setAsideBytes: number }
  /** The reservation around it, which it draws from first. */
  readonly parent: SetAside | undefined
  /** The budgets that are charged with it, from the innermost out. */
  readonly budgets: ReadonlyArray<ChargedBudget>
  readonly label: string | undefined
  /** The fiber that asked for it. */
  readonly fiberId: number
  /** How many leases the pool had granted when it was asked for. */
  readonly sequence: number
  /** The pool's list of open reservations. */
  readonly registry: Set<SetAside>
}

export class SetAside {
  /** Bytes that no request and no lease uses now. */
  left = 0
  isOpen = false
  /** Whether it is open or has been. */
  hasBegun = false
  /** 0 until somebody who listens asks for it. */
  number = 0
  readonly parent: SetAside | undefined
  readonly budgets: ReadonlyArray<ChargedBudget>
  readonly label: string | undefined
  readonly fiberId: number
  readonly sequence: number
  readonly #core: SetAsideOptions["core"]
  readonly #registry: Set<SetAside>
  /** Bytes of the reservation around it, which get back to that one. */
  #owed = 0

  constructor({ budgets, core, fiberId, label, parent, registry, sequence }: SetAsideOptions) {
    this.#core = core
    this.#registry = registry
    this.parent = parent
    this.budgets = budgets
    this.label = label
    this.fiberId = fiberId
    this.sequence = sequence
  }

  /** Whether it is one of a pool, and the effect runs. */
  isOf(core: SetAsideOptions["core"]): boolean {
    return this.isOpen && this.#core === core
  }

  /** From now on so many bytes are set aside, of which the reservation around it gave some; the budgets are charged. */
  open(bytes: number, drawn: number): void {
    this.isOpen = true
    this.hasBegun = true
    this.#registry.add(this)
    this.left = bytes
    this.#owed = drawn
    this.#core.setAsideBytes += bytes - drawn
    for (const budget of this.budgets) {
      budget.setAsideBytes += this.parent?.budgets.includes(budget) ? bytes - drawn : bytes
    }
  }

  /** Draws up to so many bytes for a request. They still count as set aside. */
  draw(bytes: number): number {
    const drawn = Math.min(this.left, bytes)
    this.left -= drawn
    return drawn
  }

  /** What a request has drawn counts as reserved or leased from now on, and as set aside no more; negative: again. */
  use(bytes: number): void {
    this.#core.setAsideBytes -= bytes
    for (const budget of this.budgets) budget.setAsideBytes -= bytes
  }

  /** A request has failed: the bytes that it had drawn come back. */
  undraw(bytes: number): void {
    this.#count(-bytes)
    this.giveBack(bytes)
  }

  /** Bytes that neither the pool nor a budget counts any more, as those of a lease that has ended. */
  giveBack(bytes: number): void {
    if (bytes === 0) return
    if (this.isOpen) {
      this.left += bytes
      this.#count(bytes)
    } else {
      this.#repay(bytes)
    }
  }

  /** The effect has ended: other requests may have the bytes that it does not use. False if it had never begun. */
  close(): boolean {
    if (!this.isOpen) return false
    const { left } = this
    this.isOpen = false
    this.#registry.delete(this)
    this.left = 0
    this.#count(-left)
    this.#repay(left)
    return true
  }

  #repay(bytes: number): void {
    const repaid = Math.min(bytes, this.#owed)
    this.#owed -= repaid
    this.parent?.giveBack(repaid)
  }

  #count(bytes: number): void {
    this.use(-bytes)
    for (const budget of this.budgets) budget.charge(bytes)
  }
}
