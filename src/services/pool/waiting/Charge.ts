/**
 * The bytes that one request charges to its budgets, from the innermost out.
 *
 * @internal
 */
import type { GpuError, LimitOwner } from "../../../domain/GpuError.ts"

/** Whether a block was held, of the request's own bin or of a larger one, or came from the driver. */
export type Origin = "held" | "borrowed" | "driver"

/** The facts of a request that a budget needs. */
export interface Charged {
  readonly size: number
  readonly exactSize: number
  readonly blockSize: number
  readonly inHandler: boolean
}

/** A budget, as what is charged to it knows it. */
export interface ChargedBudget {
  /** Tells it from all other budgets of the program. */
  readonly number: number
  /** Bytes. */
  readonly limit: number
  /** Its name is the budget's label. */
  readonly owner: LimitOwner
  readonly line: { readonly length: number; readonly serve: () => void }
  /** Itself, and then the budgets around it, from the innermost out. */
  readonly chain: ReadonlyArray<ChargedBudget>
  readonly free: number
  /** What reservations are charged with, and do not use at this moment. */
  setAsideBytes: number
  readonly charge: (bytes: number) => void
  /** From now on a lease is charged. */
  readonly granted: (request: Charged, capacity: number, from: Origin) => void
  /** A lease under it has ended; its line, and those around it, are still to be served. */
  readonly leaseEnded: (size: number, capacity: number) => void
  readonly serveChain: () => void
  /** The policy's block, or the exact size where that would be over a limit. */
  readonly blockSize: (blockSize: number, exactSize: number) => number
  /** LimitExceeded for a request that can never fit it, or a budget around it. */
  readonly limitProblem: (operation: string, bytes: number) => GpuError | undefined
}

export class Charge {
  /** Bytes at each budget that is charged. */
  bytes = 0
  readonly #charged: Array<ChargedBudget> = []
  /** The budgets that a reservation is charged to, and how much of it this request has drawn: so much less it pays there. */
  #coveredBudgets: ReadonlyArray<ChargedBudget> = []
  #covered = 0

  /** The block may have so many bytes now. */
  get allowance(): number {
    let allowance = Infinity
    for (const budget of this.#charged) allowance = Math.min(allowance, budget.free)
    return this.bytes + Math.max(allowance, 0)
  }

  has(budget: ChargedBudget): boolean {
    return this.#charged.includes(budget)
  }

  /** What it costs a budget to be charged with so many bytes. */
  #cost(budget: ChargedBudget, bytes: number): number {
    return this.#coveredBudgets.includes(budget) ? bytes - this.#covered : bytes
  }

  /** What it has charged a budget with so far. */
  charged(budget: ChargedBudget): number {
    return this.has(budget) ? this.#cost(budget, this.bytes) : 0
  }

  /** A reservation, which these budgets are charged with, pays for so many more bytes of it. */
  cover(budgets: ReadonlyArray<ChargedBudget>, bytes: number): void {
    this.#coveredBudgets = budgets
    this.#covered += bytes
    for (const budget of this.#charged) if (budgets.includes(budget)) budget.charge(-bytes)
  }

  /** Charges one more budget, if the block fits it, or else the exact size. */
  add(budget: ChargedBudget, { blockSize, exactSize }: Pick<Charged, "blockSize" | "exactSize">): boolean {
    if (this.#charged.length === 0) this.bytes = blockSize
    if (budget.free < this.#cost(budget, this.bytes)) {
      const least = this.#cost(budget, exactSize)
      if (least > 0 && budget.free < least) return false
      this.resize(exactSize)
    }
    this.#charged.push(budget)
    budget.charge(this.#cost(budget, this.bytes))
    return true
  }

  /** The block will have so many bytes. Those that are given back may be what others wait for. */
  resize(bytes: number): void {
    const more = bytes - this.bytes
    this.bytes = bytes
    for (const budget of this.#charged) budget.charge(more)
    if (more >= 0) return
    for (const budget of this.#charged) budget.line.serve()
  }

  /** From now on it is the lease that is charged, with the block that it got. */
  settle(request: Charged, capacity: number, from: Origin): void {
    this.resize(capacity)
    for (const budget of this.#charged) budget.granted(request, capacity, from)
    this.settled()
  }

  /** From now on another object is charged with the same bytes. */
  settled(): void {
    this.#charged.length = 0
    this.#coveredBudgets = []
    this.#covered = 0
  }

  /** The request has failed. */
  refund(): void {
    const charged = this.#charged.slice()
    for (const budget of charged) budget.charge(-this.#cost(budget, this.bytes))
    this.settled()
    for (const budget of charged) budget.line.serve()
  }
}
