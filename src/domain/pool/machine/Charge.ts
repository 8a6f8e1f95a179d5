/**
 * The bytes that one request charges to its budgets, from the innermost out, and what its lease is charged to afterwards.
 *
 * @since 0.1.0
 */
import type { Charged, ChargedBudget, Origin, Reservation } from "./Reservation.ts"

/**
 * What one request charges to its budgets while it is served.
 *
 * @category models
 * @since 0.1.0
 */
export class Charge {
  /** The bytes of the block, which each budget is charged with. */
  bytes = 0
  readonly #charged: Array<ChargedBudget> = []
  /**
   * The budgets that the reservation is charged to, and how many bytes this request has drawn from it. It is charged so much less
   * there.
   */
  #coveredBudgets: ReadonlyArray<ChargedBudget> = []
  #covered = 0

  /** How many bytes the block may have now. */
  get allowance(): number {
    let allowance = Infinity
    for (const budget of this.#charged) allowance = Math.min(allowance, budget.free)
    return this.bytes + Math.max(allowance, 0)
  }

  has(budget: ChargedBudget): boolean {
    return this.#charged.includes(budget)
  }

  /** By how much a block of so many bytes charges a budget. */
  #cost(budget: ChargedBudget, bytes: number): number {
    return this.#coveredBudgets.includes(budget) ? bytes - this.#covered : bytes
  }

  /** How much it has charged a budget so far. */
  charged(budget: ChargedBudget): number {
    return this.has(budget) ? this.#cost(budget, this.bytes) : 0
  }

  /** The request has drawn so many more bytes from a reservation that is charged to these budgets: they are not charged twice. */
  cover(budgets: ReadonlyArray<ChargedBudget>, bytes: number): void {
    this.#coveredBudgets = budgets
    this.#covered += bytes
    for (const budget of this.#charged) if (budgets.includes(budget)) budget.charge(-bytes)
  }

  /** Charges one more budget, if the block fits it, or else the exact size. */
  add(budget: ChargedBudget, request: Pick<Charged, "blockSize" | "bytesOf" | "exactSize">): boolean {
    const { exactSize } = request
    if (this.#charged.length === 0) this.bytes = request.bytesOf(request.blockSize)
    if (budget.free < this.#cost(budget, this.bytes)) {
      const least = this.#cost(budget, exactSize)
      if (least > 0 && budget.free < least) return false
      this.resize(exactSize)
    }
    this.#charged.push(budget)
    budget.charge(this.#cost(budget, this.bytes))
    return true
  }

  /** Changes the bytes of the block. If they shrink, serves the budgets' queues. */
  resize(bytes: number): void {
    const more = bytes - this.bytes
    this.bytes = bytes
    for (const budget of this.#charged) budget.charge(more)
    if (more >= 0) return
    for (const budget of this.#charged) budget.queue.serve()
  }

  /** The request got a lease, which is charged from now on, with the capacity of its block. */
  settle(request: Charged, capacity: number, from: Origin): void {
    this.resize(capacity)
    for (const budget of this.#charged) budget.granted(request, capacity, from)
    this.settled()
  }

  /** Forgets the charges without releasing them: another object is charged with the same bytes from now on. */
  settled(): void {
    this.#charged.length = 0
    this.#coveredBudgets = []
    this.#covered = 0
  }

  /** The request has failed: releases its charges. */
  release(): void {
    const charged = this.#charged.slice()
    for (const budget of charged) budget.charge(-this.#cost(budget, this.bytes))
    this.settled()
    for (const budget of charged) budget.queue.serve()
  }
}

/**
 * What a lease is charged to until it ends, also when it is transferred. A lease under neither a budget nor a
 * reservation has none.
 *
 * @category models
 * @since 0.1.0
 */
export class LeaseCharge {
  readonly #budget: ChargedBudget | undefined
  readonly #from: Reservation | undefined
  /** Bytes of the reservation that the lease uses. */
  readonly #drawn: number

  /** The budget is the innermost one. */
  constructor(budget: ChargedBudget | undefined, from: Reservation | undefined, drawn: number) {
    this.#budget = budget
    this.#from = from
    this.#drawn = drawn
  }

  get budgets(): ReadonlyArray<ChargedBudget> {
    return this.#budget?.chain ?? []
  }

  /** The lease has ended. The reservation gets its bytes back before the budgets' queues are served. */
  end(size: number, capacity: number): void {
    this.#budget?.leaseEnded(size, capacity)
    this.#from?.release(this.#drawn, this.budgets)
    for (const { queue } of this.budgets) queue.serve()
  }
}
