/**
 * What happened to the memory of a program, kept: the last events of its pools, with what is needed to understand them and
 * to replay them.
 *
 * @since 0.1.0
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"
import type { MemoryNames } from "./EventChunk.ts"
import { RecordingBuilder } from "./RecordingBuilder.ts"
import type { RecordingFacts } from "./RecordingFacts.ts"
import type { Recording } from "./RecordingModel.ts"

export { layer, Recorder, type RecorderOptions, snapshot } from "./Recorder.ts"
export type { RecordedBlock, RecordedBudget, RecordedFamily, RecordedMemory, RecordingFacts } from "./RecordingFacts.ts"
export { fromLines, load, save, toLines } from "./RecordingFile.ts"
export { type HttpOptions, layerHttp } from "./RecordingHttp.ts"
export type { Recording } from "./RecordingModel.ts"
export { layerSaving, type SavingOptions } from "./SavingRecorder.ts"

const namesOf = ({ memories }: RecordingFacts): ReadonlyMap<number, MemoryNames> =>
  new Map(memories.map((memory) => [memory.number, memory]))

/**
 * The events of a recording, from the first to the last. Each is made when it is asked for.
 *
 * @category getters
 * @since 0.1.0
 */
export function* events(recording: Recording): Generator<PoolEvent, void> {
  const names = namesOf(recording)
  let from = recording.skipped
  for (const chunk of recording.chunks) {
    for (let at = from; at < chunk.length; at++) yield chunk.at(at, names)
    from = 0
  }
}

/**
 * A recording of events that a program has, such as one that was imported.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (facts: RecordingFacts, events: Iterable<PoolEvent>): Recording => {
  const builder = new RecordingBuilder()
  for (const event of events) builder.add(event)
  return builder.build(facts)
}
