/**
 * The bytes that `BufferPool.reserve` has set aside for one effect: bytes of the pool's limit, and of the budgets
 * around it, that no other request can take. They are bytes of the limit and no blocks: held blocks may use them until
 * the effect asks for them, and are evicted then.
 *
 * Every byte is counted in one place at a time: here, or in a request that was made under the reservation, or in the
 * capacity of that request's lease. When the lease ends the bytes come back here, as long as the effect runs.
 *
 * Other pools on the same memory draw from it too. Budgets that it is charged to, and such a request is not, stay
 * charged with what that request uses: the bytes are theirs again when the lease ends.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { ChargedBudget } from "./Charge.ts"

/**
 * In the context of an effect that runs within reservations, the innermost first. Where a pool was asked for one, the
 * effect is given that pool as one that draws from it; the other pools on the memory find it here.
 */
export const CurrentReservations = Context.Reference<Reservations | undefined>("effect-gpu-pool/CurrentReservations", {
  defaultValue: () => undefined
})

/** A reservation, and those around it. */
export interface Reservations {
  readonly inner: SetAside
  readonly outer: Reservations | undefined
}

export interface SetAsideOptions {
  /** Whose bytes they are: a pool, by its source, or a memory, with all its pools. */
  readonly owner: object
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
  readonly owner: object
  readonly parent: SetAside | undefined
  readonly budgets: ReadonlyArray<ChargedBudget>
  readonly label: string | undefined
  readonly fiberId: number
  readonly sequence: number
  readonly #core: SetAsideOptions["core"]
  readonly #registry: Set<SetAside>
  /** Bytes of the reservation around it, which get back to that one. */
  #owed = 0
  /** For each budget of this reservation: the bytes that requests use which do not charge that budget. It stays charged with them. */
  readonly #elsewhere = new Map<ChargedBudget, number>()

  constructor({ budgets, core, fiberId, label, owner, parent, registry, sequence }: SetAsideOptions) {
    this.#core = core
    this.#registry = registry
    this.owner = owner
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
    if (this.parent !== undefined) this.parent.#useElsewhere(drawn, this.budgets)
  }

  /** Draws up to so many bytes for a request. They still count as set aside. */
  draw(bytes: number): number {
    const drawn = Math.min(this.left, bytes)
    this.left -= drawn
    return drawn
  }

  /**
   * What a request under these budgets has drawn counts as reserved or leased from now on, and as set aside no more;
   * negative: again.
   */
  use(bytes: number, chain: ReadonlyArray<ChargedBudget>): void {
    this.#core.setAsideBytes -= bytes
    for (const budget of this.budgets) if (chain.includes(budget)) budget.setAsideBytes -= bytes
    this.#useElsewhere(bytes, chain)
  }

  /** A request has failed: the bytes that it had drawn come back. */
  undraw(bytes: number): void {
    if (this.isOpen) {
      this.left += bytes
      return
    }
    this.#core.setAsideBytes -= bytes
    for (const budget of this.budgets) this.#uncharge(budget, bytes)
    SetAside.#repay(this, bytes)
  }

  /** Bytes that neither the pool nor these budgets count any more, as those of a lease that has ended. */
  giveBack(bytes: number, chain: ReadonlyArray<ChargedBudget>): void {
    if (bytes === 0) return
    if (!this.isOpen) return SetAside.#repay(this, bytes)
    this.left += bytes
    this.use(-bytes, chain)
    for (const budget of this.budgets) if (chain.includes(budget)) budget.charge(bytes)
  }

  /** The effect has ended: other requests may have the bytes that it does not use. False if it had never begun. */
  close(): boolean {
    if (!this.isOpen) return false
    const { left } = this
    this.isOpen = false
    this.#registry.delete(this)
    this.#core.setAsideBytes -= left
    for (const budget of this.budgets) this.#uncharge(budget, left + this.#usedElsewhere(budget))
    this.left = 0
    this.#elsewhere.clear()
    SetAside.#repay(this, left)
    return true
  }

  /** The bytes with which it is charged to a budget, and which come back to that at the latest when the effect ends. */
  setAsideOf(budget: ChargedBudget): number {
    return this.left + this.#usedElsewhere(budget)
  }

  /** Budgets that do not count them stay charged, while the effect runs. */
  #useElsewhere(bytes: number, chain: ReadonlyArray<ChargedBudget>): void {
    for (const budget of this.budgets) {
      if (chain.includes(budget)) continue
      if (this.isOpen) this.#elsewhere.set(budget, this.#usedElsewhere(budget) + bytes)
      else this.#uncharge(budget, bytes)
    }
  }

  #usedElsewhere(budget: ChargedBudget): number {
    return this.#elsewhere.get(budget) ?? 0
  }

  #uncharge(budget: ChargedBudget, bytes: number): void {
    budget.setAsideBytes -= bytes
    budget.charge(-bytes)
  }

  /** To the reservation around it, or to the next one further out whose effect runs: there may be very many of them. */
  static #repay(ended: SetAside, bytes: number): void {
    let repaid = bytes
    let last = ended
    let to: SetAside | undefined = ended
    for (; repaid > 0 && to !== undefined && !to.isOpen; to = to.parent) {
      repaid = Math.min(repaid, to.#owed)
      to.#owed -= repaid
      last = to
    }
    to?.giveBack(repaid, last.budgets)
  }
}
