/**
 * Reuse policies: which held blocks a request may get on a device with several queues, where the commands of the last owner may
 * still run on another queue.
 *
 * Whatever the policy, no owner sees what commands of another write later: the first command on a block that another queue may
 * still use waits for that queue, on the device.
 *
 * @since 0.1.0
 */
/**
 * What a pool does with the blocks of other queues. Blocks of the request's own queue are free at once in every policy, since
 * the queue runs its commands in order.
 *
 * **Example** (A pool whose queues never wait for each other)
 *
 * ```ts
 * import { BufferPool, ReusePolicy } from "effect-gpu-pool"
 *
 * const pool = BufferPool.layer({ maxBytes: "512 MiB", reuse: ReusePolicy.whenEnded })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ReusePolicy {
  /** Says which policy this is, in tables and in the titles of tests. */
  readonly name: string
  /**
   * Which blocks a request on one queue may get of those that other queues have used last: none; all, with a wait where it is
   * needed; or those whose commands are known to have ended.
   */
  readonly ofOtherQueues: "never" | "afterEvents" | "whenEnded"
}

const simple = (ofOtherQueues: ReusePolicy["ofOtherQueues"]): ReusePolicy => ({ name: ofOtherQueues, ofOtherQueues })

/**
 * A block goes back to the queue that used it last, as to the arena of a stream in CuPy's pool. Each queue then needs blocks of its
 * own; the memory of another queue comes free by eviction alone.
 *
 * **Example** (Memory for each queue)
 *
 * ```ts
 * import { BufferPool, ReusePolicy } from "effect-gpu-pool"
 *
 * const pool = BufferPool.layer({ reuse: ReusePolicy.ownQueue })
 * ```
 *
 * @see cupy.cuda.MemoryPool
 * @category policies
 * @since 0.1.0
 */
export const ownQueue: ReusePolicy = simple("never")

/**
 * The pool's default: every block may go to every queue. Blocks without unfinished commands of other queues are preferred, among
 * those that came back last. It needs the least memory.
 *
 * **Example** (The default, said aloud)
 *
 * ```ts
 * import { BufferPool, ReusePolicy } from "effect-gpu-pool"
 *
 * const pool = BufferPool.layer({ reuse: ReusePolicy.afterEvents })
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const afterEvents: ReusePolicy = simple("afterEvents")

/**
 * A block of another queue may be leased once its commands are known to have ended. No queue waits for another.
 *
 * **Example** (Queues that never wait for each other)
 *
 * ```ts
 * import { BufferPool, ReusePolicy } from "effect-gpu-pool"
 *
 * const pool = BufferPool.layer({ reuse: ReusePolicy.whenEnded })
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const whenEnded: ReusePolicy = simple("whenEnded")
