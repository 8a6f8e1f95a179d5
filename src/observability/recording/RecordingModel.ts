/**
 * A recording: events, and what is needed to understand them.
 *
 * @since 0.1.0
 */
import type { EventChunk } from "./EventChunk.ts"
import { EventReader } from "./EventReader.ts"
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
  /** How many events of the first chunk are not part of it. @internal */
  readonly skipped: number
}

/** When it begins: the time of its first event. @internal */
export const startOf = (recording: Recording): number => {
  const reader = new EventReader(recording)
  return reader.next() ? reader.row.at : recording.takenAt
}
