/**
 * A record of what happened to the memory of a program: the last events of its pools, with what is needed to understand them and
 * to replay them.
 *
 * @since 0.1.0
 */
import { demand, demandMembers } from "effect-gpu-pool/Demand"
import { formatted } from "effect-gpu-pool/Format"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import { EventReader } from "./EventReader.ts"
import { type Field, isInput, kinds, placeOf } from "./EventShape.ts"
import { decodeFacts } from "./FactsSchema.ts"
import { RecordingBuilder } from "./RecordingBuilder.ts"
import type { RecordingFacts } from "./RecordingFacts.ts"
import { namesOf, type Recording, recordingProblem } from "./RecordingModel.ts"

export { layer, Recorder, type RecorderOptions, snapshot } from "./Recorder.ts"
export type { RecordedBlock, RecordedBudget, RecordedFamily, RecordedMemory, RecordingFacts } from "./RecordingFacts.ts"
export { fromLines, load, save, toLines } from "./RecordingFile.ts"
export { type HttpOptions, layerHttp } from "./RecordingHttp.ts"
export type { Recording } from "./RecordingModel.ts"
export { layerSaving, type SavingOptions } from "./SavingRecorder.ts"

/**
 * The events of a recording, from the first to the last, made lazily. Throws a TypeError for a value that is no recording.
 *
 * @category getters
 * @since 0.1.0
 */
export function* events(recording: Recording): Generator<PoolEvent, void> {
  const problem = recordingProblem("Recording.events", recording)
  if (problem !== undefined) throw new TypeError(problem.message)
  const names = namesOf(recording)
  const reader = new EventReader(recording)
  while (reader.next()) yield reader.row.event(names)
}

const operation = "Recording.make"

const demandIterable = (events: unknown): void => {
  if (Array.isArray(events) || (typeof events === "object" && events !== null && Symbol.iterator in events)) return
  throw new TypeError(`${operation}: ${formatted(events)} was given for the events. Pass a list of them.`)
}

const demandFacts = (facts: RecordingFacts): RecordingFacts => {
  const checked = decodeFacts(facts)
  if (checked._tag === "Success") return checked.success
  throw new TypeError(`${operation}: the facts are none of a recording: ${checked.failure.message}`)
}

/** Each member of an event must have its type, or be left out. */
const demandEvent = (event: PoolEvent): void => {
  demandMembers(operation, "an event", event, { _tag: "string", at: "number", memoryNumber: "number" })
  const kind = placeOf(event._tag)
  if (kind === undefined || isInput(kind)) {
    throw new TypeError(`${operation}: ${formatted(event._tag)} is no kind of event. See PoolEvent.`)
  }
  for (const { as, isText, name } of kinds[kind]!.fields) {
    const value: unknown = Reflect.get(event, name)
    if (value === undefined) continue
    demand(operation, `an event's ${name}`, value, as === "list" ? "list" : kindOf(as, isText))
    if (as === "list") demandNames(name, value as ReadonlyArray<unknown>)
  }
}

const kindOf = (as: Field["as"], isText: boolean) => as === "yes or no" ? "boolean" : isText ? "string" : "number"

/** Names are stored as one text, separated by commas. */
const demandNames = (name: string, values: ReadonlyArray<unknown>): void => {
  const wrong = values.findIndex((value) => typeof value !== "string" || value === "" || value.includes(","))
  if (wrong < 0) return
  throw new TypeError(`${operation}: an event's ${name} have ${formatted(values[wrong])}. Pass names without commas.`)
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
  const checked = demandFacts(facts)
  const memories = namesOf(checked)
  const budgets = new Set(checked.budgets.map(({ number }) => number))
  demandIterable(events)
  for (const event of events) {
    demandEvent(event)
    builder.row.set(event)
    const problem = builder.row.problem(memories, budgets)
    if (problem !== undefined) {
      throw new TypeError(`${operation}: event ${builder.length + 1}, ${event._tag}: ${problem}.`)
    }
    builder.addRow()
  }
  return builder.build(checked)
}
