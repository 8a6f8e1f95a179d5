/**
 * The lease on a buffer: a program's right to use a pooled buffer.
 *
 * @since 0.1.0
 */
import { inOneLine, showing, state } from "../../domain/arguments/Showing.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { type Block, Lease } from "../lease/Lease.ts"
import { LeaseHolder } from "../lease/LeaseHolder.ts"

/**
 * A lease on a buffer of a pool: see `Lease` for how long it is valid, and for the operations on every lease.
 *
 * **Example** (Size and capacity)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * BufferPool.use(1000, (lease) => Effect.succeed([lease.size, lease.capacity])) // => [1000, 1024]
 * ```
 *
 * @see pyopencl.tools.PooledBuffer, whose `size` is the block's instead of the request's
 * @category models
 * @since 0.1.0
 */
export class PooledBuffer extends Lease<DeviceBuffer> implements LeaseHolder {
  declare readonly usage: BufferUsage.BufferUsage

  /** @internal */
  constructor(
    block: Block<DeviceBuffer> | undefined,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    sequence: number
  ) {
    super(block, size, label, sequence)
    this.usage = usage
  }

  override get what(): undefined {
    return undefined
  }

  [LeaseHolder](): Iterable<PooledBuffer> {
    return [this]
  }
}

showing<PooledBuffer>(({ capacity, ended, label, list, size, usage }) =>
  inOneLine("PooledBuffer", label, [
    `${size} of ${capacity} B`,
    BufferUsage.format(usage),
    state(ended, list?.owner.deviceInfo)
  ])
)(PooledBuffer.prototype)
