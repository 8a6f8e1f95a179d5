/**
 * The bytes that are reserved for one effect: bytes of the pool's limit, and of the budgets around it, that no other request can
 * take. They are no blocks: held blocks may use these bytes until the effect requests them, and are evicted then.
 *
 * Every byte is counted in one place at a time: here, or in a request that was made under the reservation, or in the
 * capacity of that request's lease. When the lease ends while the effect runs, the bytes come back here.
 *
 * Requests to other pools on the same memory draw from it too. A budget that the reservation is charged to, and such a request is
 * not, stays charged with what that request uses.
 *
 * @since 0.1.0
 */
import type { GpuError, LimitOwner } from "../../GpuError.ts"

/**
 * Whether a block was held, of the request's own bin or of a larger one, or came from the driver.
 *
 * @category models
 * @since 0.1.0
 */
export type Origin = "held" | "borrowed" | "driver"

/**
 * The facts of a request that a budget needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Charged {
  readonly size: number
  readonly exactSize: number
  readonly blockSize: number
  readonly inHandler: boolean
  /** The bytes that its lease has of a block. */
  bytesOf(capacity: number): number
}

/**
 * A budget, as what is charged to it knows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChargedBudget {
  /** Unique among the budgets of the program. */
  readonly number: number
  /** Bytes. */
  readonly limit: number
  /** Its name is the budget's label. */
  readonly owner: LimitOwner
  readonly queue: { readonly length: number; serve(): void }
  /** Itself, and then the budgets around it, from the innermost out. */
  readonly chain: ReadonlyArray<ChargedBudget>
  readonly free: number
  /** Bytes charged for reservations that no request or lease uses now. */
  reservedBytes: number
  charge(bytes: number): void
  /** How many leases have ended. */
  readonly gone: number
  /** Counts a lease that is charged to it. */
  granted(request: Charged, capacity: number, from: Origin): void
  /** A lease under it has ended. The caller then serves its queue, and those of the budgets around it. */
  leaseEnded(size: number, capacity: number): void
  /** The policy's block, or the exact size where that would be over a limit. */
  blockSize(blockSize: number, exactSize: number): number
  /** LimitExceeded for a request that can never fit this budget, or one around it. */
  limitProblem(operation: string, bytes: number): GpuError | undefined
}

/**
 * The memory whose bytes are reserved.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReservedMemory {
  /** Counts the reserved bytes. */
  readonly core: { reservedBytes: number }
  /** The reservations whose effects run. */
  readonly reservations: Set<Reservation>
}

/**
 * What a reservation is made with.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReservationOptions {
  /** Who may use it: one pool, given by its source, or all pools of a memory. */
  readonly owner: object
  readonly memory: ReservedMemory
  /** The reservation around it, which it draws from first. */
  readonly parent: Reservation | undefined
  /** The budgets that are charged with it, from the innermost out. */
  readonly budgets: ReadonlyArray<ChargedBudget>
  readonly label: string | undefined
  /** The fiber that asked for it. */
  readonly fiberId: number
  /** How many leases the pool had granted when it was asked for. */
  readonly sequence: number
}

/**
 * Bytes that are kept free for one effect.
 *
 * @category models
 * @since 0.1.0
 */
export class Reservation {
  /** The reserved bytes that no request and no lease uses now. */
  left = 0
  isOpen = false
  /** Whether it is open, or was. */
  hasBegun = false
  /** 0 until an observer asks for it. */
  number = 0
  readonly owner: object
  readonly parent: Reservation | undefined
  readonly budgets: ReadonlyArray<ChargedBudget>
  readonly label: string | undefined
  readonly fiberId: number
  readonly sequence: number
  readonly #memory: ReservedMemory
  /** Bytes that it drew from the reservation around it, and has to return to that. */
  #owed = 0
  /** For each budget of this reservation, the bytes used by requests that are not charged to that budget. It stays charged with them. */
  readonly #elsewhere = new Map<ChargedBudget, number>()

  constructor({ budgets, fiberId, label, memory, owner, parent, sequence }: ReservationOptions) {
    this.#memory = memory
    this.owner = owner
    this.parent = parent
    this.budgets = budgets
    this.label = label
    this.fiberId = fiberId
    this.sequence = sequence
  }

  get hasEnded(): boolean {
    return !this.isOpen
  }

  /** Whether it belongs to a memory, and its effect runs. */
  isOf(memory: ReservedMemory): boolean {
    return this.isOpen && this.#memory === memory
  }

  /** Reserves so many bytes, of which `drawn` come from the reservation around it, and charges the budgets. */
  open(bytes: number, drawn: number): void {
    this.isOpen = true
    this.hasBegun = true
    this.#memory.reservations.add(this)
    this.left = bytes
    this.#owed = drawn
    this.#memory.core.reservedBytes += bytes - drawn
    for (const budget of this.budgets) {
      budget.reservedBytes += this.parent?.budgets.includes(budget) ? bytes - drawn : bytes
    }
    this.parent?.useElsewhere(drawn, this.budgets)
  }

  /** Draws up to so many bytes for a request. They still count as reserved. */
  draw(bytes: number): number {
    const drawn = Math.min(this.left, bytes)
    this.left -= drawn
    return drawn
  }

  /**
   * Bytes that a request under these budgets has drawn count as pending or leased from now on, no longer as reserved. A negative
   * number undoes that.
   */
  use(bytes: number, chain: ReadonlyArray<ChargedBudget>): void {
    this.#memory.core.reservedBytes -= bytes
    for (const budget of this.budgets) if (chain.includes(budget)) budget.reservedBytes -= bytes
    this.useElsewhere(bytes, chain)
  }

  /** Takes back bytes that a request has drawn and not used. */
  releaseDrawn(bytes: number): void {
    if (this.isOpen) {
      this.left += bytes
      return
    }
    this.#memory.core.reservedBytes -= bytes
    for (const budget of this.budgets) this.#uncharge(budget, bytes)
    Reservation.#releaseOutwards(this, bytes)
  }

  /** Takes back bytes that neither the pool nor these budgets count any more: those of a lease that has ended. */
  release(bytes: number, chain: ReadonlyArray<ChargedBudget>): void {
    if (bytes === 0) return
    if (!this.isOpen) return Reservation.#releaseOutwards(this, bytes)
    this.left += bytes
    this.use(-bytes, chain)
    for (const budget of this.budgets) if (chain.includes(budget)) budget.charge(bytes)
  }

  /** The effect has ended: other requests may have the bytes that it does not use. Returns false if it was not open. */
  close(): boolean {
    if (!this.isOpen) return false
    const { left } = this
    this.isOpen = false
    this.#memory.reservations.delete(this)
    this.#memory.core.reservedBytes -= left
    for (const budget of this.budgets) this.#uncharge(budget, left + this.#usedElsewhere(budget))
    this.left = 0
    this.#elsewhere.clear()
    Reservation.#releaseOutwards(this, left)
    return true
  }

  /** The bytes that a budget is charged for it, and gets back when the effect ends, or before. */
  chargedTo(budget: ChargedBudget): number {
    return this.left + this.#usedElsewhere(budget)
  }

  /** Notes, for budgets of the reservation outside of `chain`, bytes with which they stay charged while the effect runs. */
  private useElsewhere(bytes: number, chain: ReadonlyArray<ChargedBudget>): void {
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
    budget.reservedBytes -= bytes
    budget.charge(-bytes)
  }

  /** Returns bytes to the next reservation outwards whose effect still runs. A loop, since very many may be within each other. */
  static #releaseOutwards(ended: Reservation, bytes: number): void {
    let repaid = bytes
    let last = ended
    let to: Reservation | undefined = ended
    for (; repaid > 0 && to !== undefined && !to.isOpen; to = to.parent) {
      repaid = Math.min(repaid, to.#owed)
      to.#owed -= repaid
      last = to
    }
    to?.release(repaid, last.budgets)
  }
}

/**
 * The bytes left in a reservation and in those around it.
 *
 * @category functions
 * @since 0.1.0
 */
export const leftOfAll = (innermost: Reservation | undefined): number => {
  let left = 0
  for (let next = innermost; next !== undefined; next = next.parent) left += next.left
  return left
}
