/**
 * How pools find the queues of their device. A device with a single queue has no entry, so its programs never load the
 * code that orders queues.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { PoolBlock, PoolCore } from "../../../domain/pool/PoolCore.ts"
import type { QueueStats } from "../../../domain/pool/PoolStats.ts"
import type { ReusePolicy } from "../../../domain/pool/ReusePolicy.ts"
import type { MemoryUses, UsedMemory } from "./MemoryUses.ts"
import type { OpenQueues, Queue } from "./Queue.ts"

/** The queues of one device, as pools see them. */
export interface Queues extends OpenQueues {
  /** Calls `listener` when `several` changes. Returns a function that removes it. */
  onSeveral(listener: (several: boolean) => void): () => void
  usesOf(memory: UsedMemory): ReadonlyArray<MemoryUses>
  /** The memory gets another owner. */
  handOver(memory: UsedMemory): void
  /** From now on commands on the memory run in the order in which they are recorded, whichever queues record them. */
  serialise(memory: UsedMemory): void
  /** How one pool reuses blocks among the queues. */
  reuse(policy: ReusePolicy | undefined): Reuse
}

/** Which held blocks of one pool go to which queue. */
export interface Reuse extends Pick<Queues, "several" | "onSeveral"> {
  /** A held block for the queue of the program with this context, as `PoolCore.acquire`. */
  acquire<A extends UsedMemory, F>(
    core: PoolCore<A, F>,
    context: Context.Context<never>,
    family: F,
    blockSize: number,
    request: number,
    most: number
  ): PoolBlock<A, F> | undefined
  handOver(memory: UsedMemory): void
  /** Whether a held block counts as one of a queue. */
  isOf(memory: UsedMemory, queue: Queue): boolean
  statsOf<A extends UsedMemory, F>(core: PoolCore<A, F>, queue: Queue): QueueStats
}

const known = new WeakMap<DeviceInfo, Queues>()

export const add = (info: DeviceInfo, queues: Queues): void => {
  known.set(info, queues)
}

export const of = (info: DeviceInfo): Queues | undefined => known.get(info)
