/**
 * What happened to the memory of a program, kept: the last events of its pools, with what is needed to understand them and
 * to replay them.
 *
 * @since 0.1.0
 */
import { demand, demandMembers } from "../../domain/arguments/Demand.ts"
import { shown } from "../../domain/arguments/ShownValue.ts"
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"
import { EventReader } from "./EventReader.ts"
import type { MemoryNames } from "./EventRow.ts"
import { kinds, placeOf } from "./EventShape.ts"
import { decodeFacts } from "./FactsSchema.ts"
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
  const reader = new EventReader(recording)
  while (reader.next()) yield reader.row.event(names)
}

const operation = "Recording.make"

const demandIterable = (events: unknown): void => {
  if (Array.isArray(events) || (typeof events === "object" && events !== null && Symbol.iterator in events)) return
  throw new TypeError(`${operation}: ${shown(events)} was given for the events. Pass a list of them.`)
}

const demandFacts = (facts: RecordingFacts): RecordingFacts => {
  const checked = decodeFacts(facts)
  if (checked._tag === "Success") return checked.success
  throw new TypeError(`${operation}: the facts are none of a recording: ${checked.failure.message}`)
}

/** Each member of an event must be of its kind, or left out, and its memory one of the facts. */
const demandEvent = (event: PoolEvent, memories: ReadonlyMap<number, MemoryNames>): void => {
  demandMembers(operation, "an event", event, { _tag: "string", at: "number", memoryNumber: "number" })
  if (!Number.isFinite(event.at)) {
    throw new TypeError(`${operation}: an event's time is ${event.at}. Pass milliseconds.`)
  }
  if (!memories.has(event.memoryNumber)) {
    throw new TypeError(`${operation}: the facts have no memory ${event.memoryNumber}, which an event names. Add it.`)
  }
  const kind = placeOf(event._tag)
  if (kind === undefined) throw new TypeError(`${operation}: ${shown(event._tag)} is no kind of event. See PoolEvent.`)
  for (const { as, isText, name } of kinds[kind]!.fields) {
    const value: unknown = Reflect.get(event, name)
    const expected = as === "list" ? "list" : as === "yes or no" ? "boolean" : isText ? "string" : "number"
    if (value !== undefined) demand(operation, `an event's ${name}`, value, expected)
    if (Number.isNaN(value)) {
      throw new TypeError(`${operation}: an event's ${name} is no number. Leave it out, or pass one.`)
    }
  }
}

/**
 * A recording of events that a program has, such as one that was imported. Throws a TypeError for facts or events that are none, and
 * for an event of a memory that the facts do not have.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (facts: RecordingFacts, events: Iterable<PoolEvent>): Recording => {
  const builder = new RecordingBuilder()
  const checked = demandFacts(facts)
  const memories = namesOf(checked)
  demandIterable(events)
  for (const event of events) {
    demandEvent(event, memories)
    builder.add(event)
  }
  return builder.build(checked)
}
