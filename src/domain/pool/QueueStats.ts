/**
 * What a pool has for one queue of its device.
 *
 * @since 0.1.0
 */

/**
 * The held blocks of one queue, and the leases that it got. They are counted while the device has several queues.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueueStats {
  /** What the queue is called: the label that it was opened with, or "queue 2" and so on. */
  readonly label: string
  /** Held blocks that the queue used last; those that no queue has used count for the first one. */
  readonly heldBlocks: number
  /** Their capacity in bytes. */
  readonly heldBytes: number
  /** Leases of held blocks by programs on the queue. */
  readonly leases: number
  /** Of them those of blocks that another queue may still use, so that the first command waits for it on the device. */
  readonly waits: number
}
