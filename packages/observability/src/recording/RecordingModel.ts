/**
 * A recording: events, and what is needed to understand them.
 *
 * @since 0.1.0
 */
import { satisfies } from "effect-gpu-pool/ArgumentProblem"
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { EventChunk } from "./EventChunk.ts"
import { EventReader } from "./EventReader.ts"
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

const isRecording = (value: unknown): value is Recording =>
  typeof value === "object" && value !== null &&
  ["chunks", "memories", "families", "budgets", "blocks"].every((name) => Array.isArray(Reflect.get(value, name))) &&
  (Reflect.get(value, "chunks") as ReadonlyArray<unknown>).every((chunk) => chunk instanceof EventChunk)

/** Why a value is no recording, or `undefined`. @internal */
export const recordingProblem = (
  operation: string,
  value: unknown,
  name: string = "the recording"
): GpuError | undefined =>
  satisfies(value, isRecording)
    ? undefined
    : invalidRequest(
      operation,
      `${formatted(value)} was given for ${name}`,
      "Pass a recording, such as one of Recording.make."
    )
