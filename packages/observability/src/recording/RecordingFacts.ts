/**
 * What a recording says besides its events.
 *
 * @since 0.1.0
 */
import type { EvictionPolicy } from "effect-gpu-pool/EvictionPolicy"
import type { OutgrownOptions } from "effect-gpu-pool/Outgrown"
import type { ReusePolicy } from "effect-gpu-pool/ReusePolicy"

/**
 * The memory of a pool, or of several that share it, as it was before the first event. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedMemory {
  /** The number that events name it by. */
  readonly number: number
  readonly label?: string | undefined
  /** The device, as errors name it. */
  readonly device: string
  /** One pool's own, or a `DeviceMemory` that several share. */
  readonly kind: "pool" | "memory"
  /** Its limit then; `Infinity` for none. */
  readonly maxBytes: number
  readonly maxHeldBytes: number
  /** What its pool knew of the program, where it frees what that has outgrown. */
  readonly outgrown?: OutgrownOptions | undefined
  /** The bytes of the device, where it tells them. */
  readonly deviceBytes?: number | undefined
  /** The bytes of the largest buffer that the device makes, where that is known. */
  readonly maxBufferSize?: number | undefined
  readonly eviction?: EvictionPolicy | undefined
  readonly reuse?: ReusePolicy | undefined
  /** After how many steps, from 1 to 1000, of how many milliseconds, from 0.001, idle blocks beyond so many bytes go. */
  readonly idle?: { readonly steps: number; readonly keepBytes: number; readonly stepMillis: number } | undefined
  readonly maxBypasses: number
  readonly deadlockTimeoutMillis: number
}

/**
 * The blocks that can stand for each other, of one pool, and the sizes that were requested of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedFamily {
  /** The number of the memory. */
  readonly memory: number
  /** The service: `"BufferPool"`, `"ImagePool"` or `"StagingPool"`. */
  readonly pool: string
  /** The name that events have for it. */
  readonly family: string
  /** Whether a block is cleared for each lease. */
  readonly clears: boolean
  /**
   * For each requested size, as the pool's size policy has it: the size rounded up to the granularity of the device, the block
   * size, and the largest block that such a request may borrow.
   */
  readonly sizes: ReadonlyArray<readonly [size: number, exactSize: number, blockSize: number, mostBorrowed: number]>
}

/** What tells a family from others. @internal */
export const keyOfFamily = (
  { family, memory, pool }: {
    readonly memory: number
    readonly pool: string | undefined
    readonly family: string | undefined
  }
): string => `${memory} ${pool} ${family}`

/**
 * A budget, or the limit of one of several pools that share a memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedBudget {
  /** The number that events name it by. */
  readonly number: number
  readonly memory: number
  readonly kind: "budget" | "pool"
  readonly label?: string | undefined
  /** Bytes, when its first event was recorded. */
  readonly maxBytes: number
  /** The number of the budget around it. Up to 256 are within each other. */
  readonly parent?: number | undefined
}

/**
 * A block that existed before the first event.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedBlock {
  readonly memory: number
  /** The number that events name it by. */
  readonly block: number
  /** Bytes. */
  readonly capacity: number
  readonly pool: string
  /** Undefined where no event tells it. */
  readonly family?: string | undefined
  /** Its lease then; it was held when there is none. */
  readonly lease?: {
    /** Bytes that were requested. */
    readonly size: number
    readonly label?: string | undefined
    readonly callSite?: string | undefined
  } | undefined
}

/**
 * What a recording says besides its events.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordingFacts {
  /** What made it: this package, or the program whose file was imported. */
  readonly source: string
  /** Why it was taken. */
  readonly reason: "asked" | "outOfMemory" | "signal" | "imported" | "planned"
  /** When it was taken, in milliseconds since 1970. */
  readonly takenAt: number
  /** How many events before the first one the recorder no longer had. */
  readonly dropped: number
  readonly memories: ReadonlyArray<RecordedMemory>
  readonly families: ReadonlyArray<RecordedFamily>
  readonly budgets: ReadonlyArray<RecordedBudget>
  /** The blocks before the first event. */
  readonly blocks: ReadonlyArray<RecordedBlock>
}
