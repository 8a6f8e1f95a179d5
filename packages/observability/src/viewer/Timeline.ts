/**
 * What the viewer draws of a recording: its events in time, and its leases, blocks, waits and failures, each with the
 * states between which it lasts. State 0 is before the first event, and state `i + 1` after event `i`; what lasts beyond
 * the last event ends at the state after the last one.
 *
 * @internal
 */
import type { RecordingFacts } from "../recording/Recording.ts"

/** Columns of numbers, one entry for each thing. */
export interface Leases {
  /** The state at which it begins, 0 where that was before the first event; then the state at which it ends. */
  readonly start: Int32Array
  readonly end: Int32Array
  /** Bytes that were requested. */
  readonly size: Float64Array
  /** The index of its block; then its first byte in that, and the bytes that it has of it. */
  readonly block: Int32Array
  readonly offset: Float64Array
  readonly bytes: Float64Array
  /** Indices of texts. */
  readonly label: Int32Array
  readonly site: Int32Array
}

export interface Blocks {
  readonly start: Int32Array
  readonly end: Int32Array
  /** Bytes. */
  readonly capacity: Float64Array
  /** The address at which it is drawn, in its memory. */
  readonly address: Float64Array
  /** The index of its memory. */
  readonly memory: Int32Array
  readonly pool: Int32Array
  readonly family: Int32Array
}

export interface Waits {
  readonly start: Int32Array
  readonly end: Int32Array
  readonly size: Float64Array
  readonly label: Int32Array
  readonly site: Int32Array
  readonly memory: Int32Array
  /** 1 where it got memory. */
  readonly served: Int32Array
}

/** A memory's names, and its limit before the first event; null for none. */
export interface DrawnMemory {
  readonly name: string
  readonly device: string
  readonly maxBytes: number | null
}

/** A request that ran out of memory, or was larger than a limit. */
export interface Failure {
  readonly state: number
  readonly memory: number
  readonly size: number
  readonly label: string
  readonly site: string
  readonly pool: string
  readonly budget: string
  readonly isTooLarge: boolean
  readonly stepsTried: ReadonlyArray<string>
  readonly activeBytes: number
  readonly heldBytes: number
}

/** A change of a limit of a memory, or the end of a device or a memory. */
export interface MemoryChange {
  readonly state: number
  readonly memory: number
  readonly what: "limit" | "lost" | "closed"
  /** The new limit; null for none. */
  readonly bytes: number | null
}

export interface TimelineFacts {
  readonly title: string
  readonly source: string
  readonly reason: RecordingFacts["reason"]
  readonly takenAt: number
  readonly dropped: number
  /** How many events are of blocks that the recording does not know, and so not drawn. */
  readonly strays: number
  readonly memories: ReadonlyArray<DrawnMemory>
  /** Index 0 is for none. */
  readonly texts: ReadonlyArray<string>
  /** The frames of each call site with callers, the innermost first, by the index of its text. */
  readonly callStacks: Readonly<Record<number, ReadonlyArray<string>>>
  readonly failures: ReadonlyArray<Failure>
  readonly memoryChanges: ReadonlyArray<MemoryChange>
  /** The names of kinds of events, by number. */
  readonly kinds: ReadonlyArray<string>
}

export interface Timeline extends TimelineFacts {
  /** For each event, milliseconds since 1970 as it was recorded. */
  readonly times: Float64Array
  readonly kind: Uint8Array
  readonly leases: Leases
  readonly blocks: Blocks
  readonly waits: Waits
}
