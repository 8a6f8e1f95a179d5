/**
 * What a lease uses of the budgets and of the reservation that it was acquired under, for as long as it lives, wherever
 * it is transferred to. Leases under neither have no account.
 *
 * @internal
 */
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { PoolBlock } from "../../domain/PoolCore.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import { PooledBuffer } from "../PooledBuffer.ts"
import type { Budget } from "./Budget.ts"
import type { SetAside } from "./SetAside.ts"

/** @internal */
export class LeaseAccount {
  /** The innermost budget. */
  readonly budget: Budget | undefined
  readonly from: SetAside | undefined
  /** Bytes of the reservation that the lease uses. */
  readonly drawn: number

  constructor(budget: Budget | undefined, from: SetAside | undefined, drawn: number) {
    this.budget = budget
    this.from = from
    this.drawn = drawn
  }

  /** The lease is over. What the reservation gets back is its own before the budgets' lines are served. */
  end(size: number, capacity: number): void {
    this.budget?.leaseEnded(size, capacity)
    this.from?.giveBack(this.drawn)
    this.budget?.serveChain()
  }
}

/** @internal */
export class AccountedLease extends PooledBuffer {
  readonly #account: LeaseAccount

  constructor(
    block: PoolBlock<DeviceBuffer>,
    size: number,
    usage: BufferUsage,
    label: string | undefined,
    sequence: number,
    account: LeaseAccount
  ) {
    super(block, size, usage, label, sequence)
    this.#account = account
  }

  override get account(): LeaseAccount {
    return this.#account
  }
}
