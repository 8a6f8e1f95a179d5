/**
 * A recording: events, and what is needed to understand them.
 *
 * @since 0.1.0
 */
import { type EventChunk, EventReader } from "./EventChunk.ts"
import type { MemoryNames } from "./EventRow.ts"
import type { RecordingFacts } from "./RecordingFacts.ts"

/**
 * Events, and what is needed to understand them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recording extends RecordingFacts {
  /** How many events it has. */
  readonly length: number
  /** @internal */
  readonly chunks: ReadonlyArray<EventChunk>
}

/** The names that its events have for memories, by number. @internal */
export const namesOf = ({ memories }: RecordingFacts): ReadonlyMap<number, MemoryNames> =>
  new Map(memories.map((memory) => [memory.number, memory]))

/** The time of its first event. @internal */
export const startOf = (recording: Recording): number => {
  const reader = new EventReader(recording)
  return reader.next() ? reader.row.at : recording.takenAt
}
