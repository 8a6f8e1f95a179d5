/**
 * Which queues use a piece of memory, and up to which of their positions.
 *
 * @internal
 */
import type { MemorySpan } from "../../../domain/data/MemorySpan.ts"
import type { Queue } from "./Queue.ts"

export interface UsedMemory {
  /** The span that commands treat as one with it. */
  readonly wholeMemory: MemorySpan
}

/** The memory that a command names. */
export interface CommandMemory {
  readonly buffers?: ReadonlyArray<UsedMemory> | undefined
  readonly images?: ReadonlyArray<UsedMemory> | undefined
}

/** Most commands name buffers alone. */
export const memoryOf = ({ buffers = [], images = [] }: CommandMemory): ReadonlyArray<UsedMemory> =>
  images.length === 0 ? buffers : [...buffers, ...images]

/** The last use by each queue. */
export class MemoryUses implements MemorySpan {
  readonly allocation: object
  readonly begin: number
  readonly end: number
  /** The last uses by earlier owners. */
  readonly former = new Map<Queue, number>()
  /** The last uses by the present owner. */
  readonly present = new Map<Queue, number>()
  /** The queue of the last command. */
  last: Queue | undefined = undefined

  constructor({ allocation, begin, end }: MemorySpan) {
    this.allocation = allocation
    this.begin = begin
    this.end = end
  }

  note(queue: Queue, position: number): void {
    // Else memory with one long-lived owner would remember every queue that ever used it.
    if (!this.present.has(queue)) this.#forgetEnded()
    this.present.set(queue, position)
    this.last = queue
  }

  handOver(): void {
    for (const [queue, position] of this.present) this.former.set(queue, position)
    this.present.clear()
    this.#forgetEnded()
  }

  /** Whether all of its commands have ended. */
  hasEnded(): boolean {
    this.#forgetEnded()
    return this.former.size === 0 && this.present.size === 0
  }

  #forgetEnded(): void {
    for (const uses of [this.former, this.present]) {
      for (const [queue, position] of uses) if (queue.hasEnded(position)) uses.delete(queue)
    }
  }

  /** Whether other queues may still run commands of earlier owners. */
  isFormerlyUsedBeside(queue: Queue): boolean {
    return isUnderWay(this.former, queue)
  }

  /** Whether other queues may still run commands on the memory. */
  isUsedBeside(queue: Queue): boolean {
    return isUnderWay(this.former, queue) || isUnderWay(this.present, queue)
  }
}

const isUnderWay = (uses: ReadonlyMap<Queue, number>, beside: Queue): boolean => {
  for (const [queue, position] of uses) {
    if (queue !== beside && !queue.hasEnded(position)) return true
  }
  return false
}
