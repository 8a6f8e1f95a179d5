/**
 * Which held blocks of a pool go to which queue.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { PoolBlock, PoolCore } from "../../../domain/pool/PoolCore.ts"
import type { QueueStats } from "../../../domain/pool/PoolStats.ts"
import * as ReusePolicy from "../../../domain/pool/ReusePolicy.ts"
import { QueueDriver } from "../QueueDriver.ts"
import type { Queues, Reuse } from "./KnownQueues.ts"
import type { UsedMemory } from "./MemoryUses.ts"
import type { Queue } from "./Queue.ts"

/** How many of the last released blocks are searched for one that needs no wait. */
const preferredAmong = 8

/** How one pool reuses its held blocks among the queues of a device. */
export class QueueReuse implements Reuse {
  readonly #queues: Queues
  readonly #policy: ReusePolicy.ReusePolicy["ofOtherQueues"]
  readonly #served = new WeakMap<Queue, { leases: number; waits: number }>()

  constructor(queues: Queues, policy: ReusePolicy.ReusePolicy = ReusePolicy.afterEvents) {
    this.#queues = queues
    this.#policy = policy.ofOtherQueues
  }

  get several(): boolean {
    return this.#queues.several
  }

  onSeveral(listener: (several: boolean) => void): () => void {
    return this.#queues.onSeveral(listener)
  }

  acquire<A extends UsedMemory, F>(
    core: PoolCore<A, F>,
    context: Context.Context<never>,
    family: F,
    blockSize: number,
    request: number,
    most: number
  ): PoolBlock<A, F> | undefined {
    const queue = this.#queueOf(context)
    const acquire = (accepts: (memory: A) => boolean, among?: number): PoolBlock<A, F> | undefined =>
      core.acquireAccepted(family, blockSize, request, most, accepts, among)
    const isFree = (memory: A): boolean => !this.#isUsedBeside(memory, queue)
    if (this.#policy === "never") return this.#counted(queue, acquire((memory) => this.isOf(memory, queue)))
    const free = acquire(isFree, this.#policy === "whenEnded" ? Infinity : preferredAmong)
    return this.#counted(queue, free ?? (this.#policy === "whenEnded" ? undefined : acquire(() => true)))
  }

  handOver(memory: UsedMemory): void {
    if (this.#queues.several) this.#queues.handOver(memory)
  }

  isOf(memory: UsedMemory, queue: Queue): boolean {
    return this.#lastOf(memory) === queue
  }

  statsOf<A extends UsedMemory, F>(core: PoolCore<A, F>, queue: Queue): QueueStats {
    const { leases, waits } = this.#served.get(queue) ?? { leases: 0, waits: 0 }
    let heldBlocks = 0
    let heldBytes = 0
    for (const { capacity, value } of core.held()) {
      if (this.#lastOf(value) !== queue) continue
      heldBlocks += 1
      heldBytes += capacity
    }
    return { label: queue.label, heldBlocks, heldBytes, leases, waits }
  }

  #counted<B extends PoolBlock<UsedMemory, unknown>>(queue: Queue, block: B | undefined): B | undefined {
    if (block === undefined) return undefined
    const served = this.#served.get(queue) ?? { leases: 0, waits: 0 }
    served.leases += 1
    if (this.#isUsedBeside(block.value, queue)) served.waits += 1
    this.#served.set(queue, served)
    return block
  }

  /** The queue in context, if it is one of this device; else the first one. */
  #queueOf(context: Context.Context<never>): Queue {
    const order = Context.getOrUndefined(context, QueueDriver)?.order
    return order?.queues === this.#queues ? order : this.#queues.first
  }

  #isUsedBeside(memory: UsedMemory, queue: Queue): boolean {
    return this.#queues.usesOf(memory).some((uses) => uses.isUsedBeside(queue))
  }

  /**
   * The queue that used the memory last. Memory that was not used since there are several queues counts for the first.
   */
  #lastOf(memory: UsedMemory): Queue {
    return this.#queues.usesOf(memory).at(-1)?.last ?? this.#queues.first
  }
}
