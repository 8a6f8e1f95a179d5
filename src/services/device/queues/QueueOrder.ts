/**
 * The order between the queues of one device. A block that a pool leases again may still be used by commands that its last owner
 * has recorded on another queue: the first command of the new owner waits for them, on the device.
 *
 * Nothing of this costs anything while a device has one queue: {@link DeviceQueues.several} is false then.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import { SpanSet } from "../../../domain/data/MemorySpan.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { BlockCore, PoolBlock } from "../../../domain/pool/PoolCore.ts"
import type { QueueStats } from "../../../domain/pool/PoolStats.ts"
import * as ReusePolicy from "../../../domain/pool/ReusePolicy.ts"
import { QueueDriver } from "../QueueDriver.ts"
import { type CommandMemory, memoryOf, MemoryUses, type UsedMemory } from "./MemoryUses.ts"
import type { OpenQueues, Queue } from "./Queue.ts"

/** What the order needs of a backend's queue. */
export interface OrderedQueue {
  readonly positionUnsafe: () => number
  readonly endedUnsafe: () => number
  readonly flushUnsafe: () => Exit.Exit<void, GpuError>
  /**
   * Records a marker that ends after everything enqueued before, by the library or the program. It does nothing on a
   * lost device.
   */
  readonly markUnsafe: () => void
  /** Makes its later commands wait, on the device, until another queue of the device has passed a position. */
  readonly waitForUnsafe: (other: OrderedQueue, position: number) => Exit.Exit<void, GpuError>
}

/** The queues of one device that are open. */
export class DeviceQueues implements OpenQueues {
  readonly #open = new Set<QueueOrder>()
  readonly #listeners = new Set<(several: boolean) => void>()
  #first: QueueOrder | undefined
  #opened = 0
  #uses = new SpanSet<MemoryUses>()
  /** Memory whose handle the program has, and may use on any queue. */
  readonly #handles = new SpanSet()
  #hasLentHandles = false
  /** Memory on which the commands of all queues run in the order of recording. */
  readonly #serial = new SpanSet()
  /** Whether the device has more than one open queue. */
  several = false

  /** The queue that the device has opened with. */
  get first(): QueueOrder {
    return this.#first!
  }

  get open(): ReadonlySet<QueueOrder> {
    return this.#open
  }

  /**
   * Adds a queue. A further queue must begin with {@link QueueOrder.afterAll}, since earlier uses of memory were not
   * noted.
   */
  add(queue: OrderedQueue, label: string | undefined): QueueOrder {
    this.#opened += 1
    const order = new QueueOrder(this, queue, label ?? `queue ${this.#opened}`)
    this.#first ??= order
    this.#open.add(order)
    this.#publish()
    return order
  }

  /** The queue has ended all of its commands, or the device is lost. */
  remove(order: QueueOrder): void {
    order.closed = true
    this.#open.delete(order)
    this.#publish()
    // With one queue left, its own order is enough; a later queue begins after everything.
    if (!this.several) this.#uses = new SpanSet()
  }

  /** Calls `listener` when `several` changes. Returns a function that removes it. */
  onSeveral(listener: (several: boolean) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  usesOf({ wholeMemory }: UsedMemory): ReadonlyArray<MemoryUses> {
    return this.#uses.overlapping(wholeMemory)
  }

  note(memory: UsedMemory, order: QueueOrder, position: number): void {
    const { begin, end } = memory.wholeMemory
    let uses = this.usesOf(memory).find((other) => other.begin === begin && other.end === end)
    if (uses === undefined) {
      for (const other of this.usesOf(memory)) if (other.hasEnded()) this.#uses.delete(other)
      uses = new MemoryUses(memory.wholeMemory)
      this.#uses.add(uses)
    }
    uses.note(order, position)
  }

  handedOut(command: CommandMemory): void {
    for (const { wholeMemory } of memoryOf(command)) this.#handles.add(wholeMemory)
    this.#hasLentHandles = true
  }

  /** From now on commands on the memory run in the order in which they are recorded, whichever queues record them. */
  serialise({ wholeMemory }: UsedMemory): void {
    this.#serial.add(wholeMemory)
  }

  /** The uses that a command on some memory must come after. */
  earlierUses(memory: UsedMemory): Iterable<readonly [queue: Queue, position: number]> {
    const isSerial = this.#serial.has(memory.wholeMemory)
    return this.usesOf(memory).flatMap(({ former, present }) => isSerial ? [...former, ...present] : [...former])
  }

  /** The memory gets another owner: all commands on it so far become those of earlier owners. */
  handOver(memory: UsedMemory): void {
    const handles = this.#handles.overlapping(memory.wholeMemory)
    for (const handle of handles) this.#handles.delete(handle)
    if (handles.length > 0) {
      for (const order of this.#open) this.note(memory, order, this.endOf(order))
    }
    for (const uses of this.usesOf(memory)) uses.handOver()
  }

  /** The position at which everything on the queue now will have ended, also what the program itself has enqueued. */
  endOf({ queue }: QueueOrder): number {
    if (this.#hasLentHandles) queue.markUnsafe()
    return queue.positionUnsafe()
  }

  /** How one pool reuses blocks among the queues. */
  reuse(policy: ReusePolicy.ReusePolicy | undefined): QueueReuse {
    return new QueueReuse(this, policy)
  }

  /** Submits what is recorded on any queue: the memory that it names is about to be freed. */
  flushUnsafe(): Exit.Exit<void, GpuError> {
    let flushed: Exit.Exit<void, GpuError> = Exit.void
    for (const { queue } of this.#open) {
      const exit = queue.flushUnsafe()
      if (Exit.isFailure(exit)) flushed = exit
    }
    return flushed
  }

  #publish(): void {
    this.several = this.#open.size > 1
    for (const listener of this.#listeners) listener(this.several)
  }
}

/** One queue among those of its device. */
export class QueueOrder implements Queue {
  readonly queues: DeviceQueues
  readonly queue: OrderedQueue
  readonly label: string
  /** The position in each other queue that its commands wait for, or have waited for. */
  readonly #passed = new WeakMap<Queue, number>()
  /** Whether the queue has ended, with all of its commands. */
  closed = false

  constructor(queues: DeviceQueues, queue: OrderedQueue, label: string) {
    this.queues = queues
    this.queue = queue
    this.label = label
  }

  hasEnded(position: number): boolean {
    return this.closed || this.queue.endedUnsafe() >= position
  }

  /** The commands recorded from now on run after those of another queue up to a position. */
  after(other: Queue, position: number): Exit.Exit<void, GpuError> {
    if (other === this || (this.#passed.get(other) ?? 0) >= position || other.hasEnded(position)) return Exit.void
    const waiting = this.queue.waitForUnsafe((other as QueueOrder).queue, position)
    if (Exit.isSuccess(waiting)) this.#passed.set(other, position)
    return waiting
  }

  /** The same for everything recorded so far on the other queues. */
  afterAll(): Exit.Exit<void, GpuError> {
    for (const other of this.queues.open) {
      if (other === this) continue
      const waiting = this.after(other, this.queues.endOf(other))
      if (Exit.isFailure(waiting)) return waiting
    }
    return Exit.void
  }

  /** Call it before recording a command, which then runs after the commands of earlier owners of its memory. */
  before(command: CommandMemory): Exit.Exit<void, GpuError> {
    for (const memory of memoryOf(command)) {
      for (const [order, position] of this.queues.earlierUses(memory)) {
        const waiting = this.after(order, position)
        if (Exit.isFailure(waiting)) return waiting
      }
    }
    return Exit.void
  }

  /** Call it after recording a command, with the position that the queue then has. */
  recorded(command: CommandMemory, position: number): void {
    for (const memory of memoryOf(command)) this.queues.note(memory, this, position)
  }
}

/** How many of the last released blocks are searched for one that needs no wait. */
const preferredAmong = 8

/** How one pool reuses its held blocks among the queues of a device. */
export class QueueReuse {
  readonly #queues: DeviceQueues
  readonly #policy: ReusePolicy.ReusePolicy["ofOtherQueues"]
  readonly #served = new WeakMap<Queue, { leases: number; waits: number }>()
  /** The queues whose requests have got driver allocations first: what no command has used yet of one counts for it. */
  readonly #leasedFor = new WeakMap<object, Queue>()

  constructor(queues: DeviceQueues, policy: ReusePolicy.ReusePolicy = ReusePolicy.afterEvents) {
    this.#queues = queues
    this.#policy = policy.ofOtherQueues
  }

  get several(): boolean {
    return this.#queues.several
  }

  onSeveral(listener: (several: boolean) => void): () => void {
    return this.#queues.onSeveral(listener)
  }

  /** A held block for the queue of the program with this context, as `PoolCore.acquire`. */
  acquire<A extends UsedMemory, F>(
    core: BlockCore<A, F>,
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

  handOver(memory: UsedMemory, context: Context.Context<never>): void {
    if (!this.#queues.several) return
    this.#queues.handOver(memory)
    const { allocation } = memory.wholeMemory
    if (this.#policy === "never" && !this.#leasedFor.has(allocation)) {
      this.#leasedFor.set(allocation, this.#queueOf(context))
    }
  }

  /** Whether a held block counts as one of a queue. */
  isOf(memory: UsedMemory, queue: Queue): boolean {
    return this.#lastOf(memory) === queue
  }

  statsOf<A extends UsedMemory, F>(core: BlockCore<A, F>, queue: Queue): QueueStats {
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
   * The queue that used the memory last. Memory that was not used since there are several queues counts for the one whose request got
   * its allocation, or for the first.
   */
  #lastOf(memory: UsedMemory): Queue {
    return this.#queues.usesOf(memory).at(-1)?.last ?? this.#leasedFor.get(memory.wholeMemory.allocation) ??
      this.#queues.first
  }
}
