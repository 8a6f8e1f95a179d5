/**
 * A lease that is charged to a budget for as long as it lives, wherever it is transferred to.
 *
 * @internal
 */
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { PoolBlock } from "../../domain/PoolCore.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import { PooledBuffer } from "../PooledBuffer.ts"
import type { Budget } from "./Budget.ts"

/** @internal */
export class BudgetLease extends PooledBuffer {
  readonly #budget: Budget

  constructor(
    block: PoolBlock<DeviceBuffer>,
    size: number,
    usage: BufferUsage,
    label: string | undefined,
    sequence: number,
    budget: Budget
  ) {
    super(block, size, usage, label, sequence)
    this.#budget = budget
  }

  override get budget(): Budget {
    return this.#budget
  }
}
