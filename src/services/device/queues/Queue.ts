/**
 * One queue of a device, as seen by what works below the command queue.
 *
 * @since 0.1.0
 */
import type * as Exit from "effect/Exit"
import { type GpuError, released } from "../../../domain/GpuError.ts"

/**
 * A queue among the queues of its device.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queue {
  /** What errors and statistics call it. */
  readonly label: string
  /** The queues of its device: the same object for all of them. */
  readonly queues: OpenQueues
  /** Whether its commands up to a position are known to have ended. */
  hasEnded(position: number): boolean
  /** Its commands recorded from now on run after those of another queue of the device up to a position. */
  after(other: Queue, position: number): Exit.Exit<void, GpuError>
  /** The same for everything recorded so far on the other queues. */
  afterAll(): Exit.Exit<void, GpuError>
}

/**
 * The queues of one device that are open.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenQueues {
  /** Whether there is more than one now. */
  readonly several: boolean
  /** The queue that the device has opened with. */
  readonly first: Queue
  /** Submits what is recorded on any of them: the memory that it names is about to be freed. */
  flushUnsafe(): Exit.Exit<void, GpuError>
}

/** The error of operations on a closed queue. @internal */
export const queueClosed = (label: string): GpuError =>
  released("CommandQueue.make", { label, size: 0, ended: "scopeClosed", what: "queue" })
