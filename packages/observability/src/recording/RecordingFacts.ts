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
  /** `"pool"` for a pool's own memory, `"memory"` for a `DeviceMemory` that several share. */
  readonly kind: "pool" | "memory"
  /** Its limit before the first event; `Infinity` for none. */
  readonly maxBytes: number
  readonly maxHeldBytes: number
  /** The options for outgrown blocks, where the pool frees those. */
  readonly outgrown?: OutgrownOptions | undefined
  /** The bytes of the device's memory, where it reports them. */
  readonly deviceBytes?: number | undefined
  /** The bytes of the largest buffer that the device can make, where that is known. */
  readonly maxBufferSize?: number | undefined
  readonly eviction?: EvictionPolicy | undefined
  readonly reuse?: ReusePolicy | undefined
  /** Idle blocks beyond `keepBytes` are freed after `steps` steps, 1 to 1000, of `stepMillis` milliseconds each, at least 0.001. */
  readonly idle?: { readonly steps: number; readonly keepBytes: number; readonly stepMillis: number } | undefined
  readonly maxBypasses: number
  readonly deadlockTimeoutMillis: number
}

/**
 * The blocks of one pool that can stand for each other, and the sizes that were requested of them.
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
  /** Whether blocks are cleared before each lease. */
  readonly clears: boolean
  /**
   * For each requested size, as the pool's size policy has it: the size rounded up to the granularity of the device, the block
   * size, and the largest block that such a request may borrow.
   */
  readonly sizes: ReadonlyArray<readonly [size: number, exactSize: number, blockSize: number, mostBorrowed: number]>
}

/** The key that identifies a family. @internal */
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
  /** Its limit in bytes when its first event was recorded. */
  readonly maxBytes: number
  /** The number of the budget around it. Budgets are nested at most 256 deep. */
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
  /** Undefined where no event names it. */
  readonly family?: string | undefined
  /** Its lease before the first event; undefined for a held block. */
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
  /** How many events before the first one the recorder has dropped. */
  readonly dropped: number
  readonly memories: ReadonlyArray<RecordedMemory>
  readonly families: ReadonlyArray<RecordedFamily>
  readonly budgets: ReadonlyArray<RecordedBudget>
  /** The blocks before the first event. */
  readonly blocks: ReadonlyArray<RecordedBlock>
}
