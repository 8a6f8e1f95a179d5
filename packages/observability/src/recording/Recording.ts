/**
 * A record of what happened to the memory of a program: the last events of its pools, with what is needed to understand them and
 * to replay them.
 *
 * @since 0.1.0
 */
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Schema from "effect/Schema"
import { EventReader } from "./EventChunk.ts"
import { RecordingBuilder } from "./RecordingBuilder.ts"
import { Facts, type RecordingFacts } from "./RecordingFacts.ts"
import { namesOf, type Recording } from "./RecordingModel.ts"

export { layer, Recorder, type RecorderOptions, snapshot } from "./Recorder.ts"
export type { RecordedBlock, RecordedBudget, RecordedFamily, RecordedMemory, RecordingFacts } from "./RecordingFacts.ts"
export { fromLines, load, save, toLines } from "./RecordingFile.ts"
export { type HttpOptions, layerHttp } from "./RecordingHttp.ts"
export type { Recording } from "./RecordingModel.ts"
export { layerSaving, type SavingOptions } from "./SavingRecorder.ts"

/**
 * The events of a recording, from the first to the last, made lazily.
 *
 * @category getters
 * @since 0.1.0
 */
export function* events(recording: Recording): Generator<PoolEvent, void> {
  const names = namesOf(recording)
  const reader = new EventReader(recording)
  while (reader.next()) yield reader.row.event(names)
}

/**
 * A recording of a program's own events, such as imported ones. Throws a TypeError for invalid facts or events, for an
 * event of a memory or a budget that the facts do not have, and for budgets nested deeper than 256: what it makes can be saved
 * and loaded again.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (facts: RecordingFacts, events: Iterable<PoolEvent>): Recording => {
  const builder = new RecordingBuilder()
  const checked = Schema.decodeUnknownResult(Schema.toType(Facts))(facts)
  if (checked._tag === "Failure") {
    throw new TypeError(`Recording.make: these are not the facts of a recording: ${checked.failure.message}`)
  }
  const memories = namesOf(checked.success)
  const budgets = new Set(checked.success.budgets.map(({ number }) => number))
  for (const event of events) {
    builder.row.set(event)
    const problem = builder.row.problem(memories, budgets)
    if (problem !== undefined) {
      throw new TypeError(`Recording.make: event ${builder.length + 1}, ${event._tag}: ${problem}.`)
    }
    builder.addRow()
  }
  return builder.build(checked.success)
}
