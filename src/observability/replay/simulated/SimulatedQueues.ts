/**
 * The queues of a recorded device. Which commands were under way is not recorded, so a replay knows of a block only which queue it was
 * leased on last.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { PoolBlock, PoolCore } from "../../../domain/pool/PoolCore.ts"
import type { QueueStats } from "../../../domain/pool/QueueStats.ts"
import type { ReusePolicy } from "../../../domain/pool/ReusePolicy.ts"
import * as KnownQueues from "../../../services/device/queues/KnownQueues.ts"
import type { UsedMemory } from "../../../services/device/queues/MemoryUses.ts"
import type { OpenQueues, Queue } from "../../../services/device/queues/Queue.ts"
import { SimulatedBlock } from "./SimulatedSource.ts"

/** What is recorded of the request that a fiber makes: its queue, and the block that it got. */
export const OnQueue = Context.Reference<{ readonly queue: string | undefined; readonly block: number }>(
  "effect-gpu-pool/ReplayedQueue",
  { defaultValue: () => ({ queue: undefined, block: -1 }) }
)

/** What the events of pools call the queue that a device opens with. */
const firstQueue = "queue 1"

class SimulatedReuse implements KnownQueues.Reuse {
  readonly several = true
  readonly #isOwn: boolean
  readonly #isSame: boolean

  constructor(isOwn: boolean, isSame: boolean) {
    this.#isOwn = isOwn
    this.#isSame = isSame
  }

  /** There are several from the beginning. */
  onSeveral(listener: (several: boolean) => void): () => void {
    listener(true)
    return nothing
  }

  acquire<A extends UsedMemory, F>(
    core: PoolCore<A, F>,
    context: Context.Context<never>,
    family: F,
    blockSize: number,
    request: number,
    most: number
  ): PoolBlock<A, F> | undefined {
    const { block: recorded, queue = firstQueue } = Context.get(context, OnQueue)
    const acquire = (accepts: (block: SimulatedBlock) => boolean): PoolBlock<A, F> | undefined =>
      core.acquireAccepted(
        family,
        blockSize,
        request,
        most,
        (value) => value instanceof SimulatedBlock && accepts(value)
      )
    const isOfQueue = (block: SimulatedBlock): boolean => (block.queue ?? firstQueue) === queue
    // What a recorded request got was free for it then, and nothing else was.
    if (this.#isSame) return acquire((block) => block.recorded === recorded)
    return acquire(isOfQueue) ?? (this.#isOwn ? undefined : acquire(() => true))
  }

  handOver(): void {
    // Which commands are under way is not known.
  }

  isOf(memory: UsedMemory, queue: Queue): boolean {
    return memory instanceof SimulatedBlock && (memory.queue ?? firstQueue) === queue.label
  }

  statsOf(_core: unknown, { label }: Queue): QueueStats {
    return { label, heldBlocks: 0, heldBytes: 0, leases: 0, waits: 0 }
  }
}

/** A queue, as what was recorded on it names it. */
export const queueNamed = (label: string, queues: OpenQueues): Queue => ({
  label,
  queues,
  hasEnded: () => true,
  after: () => Exit.void,
  afterAll: () => Exit.void
})

const nothing = (): void => {}

/** From now on pools on this device keep its queues apart. */
export const add = (info: DeviceInfo, isSame: boolean): OpenQueues => {
  const queues: KnownQueues.Queues = {
    several: true,
    get first() {
      return first
    },
    flushUnsafe: () => Exit.void,
    onSeveral: () => nothing,
    usesOf: () => undefined,
    handOver: nothing,
    serialise: nothing,
    reuse: (policy: ReusePolicy | undefined) => new SimulatedReuse(policy?.ofOtherQueues === "never", isSame)
  }
  const first = queueNamed(firstQueue, queues)
  KnownQueues.add(info, queues)
  return queues
}
