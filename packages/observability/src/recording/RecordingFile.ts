/**
 * Recordings as files: JSON Lines. The first line has the facts and names the columns; then each event is an array, whose texts are
 * indices into the last list of texts before it.
 *
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { problemIn } from "../Checked.ts"
import { type LineReader, parsedJson, readLines, shown } from "../formats/TextInput.ts"
import { textOf } from "../formats/TextOutput.ts"
import { EventReader } from "./EventChunk.ts"
import type { EventRow } from "./EventRow.ts"
import { type Field, isInput, kinds, placeOf } from "./EventShape.ts"
import { RecordingBuilder } from "./RecordingBuilder.ts"
import { Facts, RecordingFacts } from "./RecordingFacts.ts"
import type { Recording } from "./RecordingModel.ts"
import type { Texts } from "./Texts.ts"

const format = Schema.Literal("effect-gpu-pool recording")

/** Whether a value is the first line of a file, of this version or of another one. */
const isHeader = Schema.is(Schema.Struct({ format, version: Schema.Number }))

/** The first line. Infinite numbers are texts in it. */
const Header = Schema.toCodecJson(Schema.Struct({
  format,
  version: Schema.Literal(1),
  length: RecordingFacts.fields.dropped,
  /** For each kind of event, what follows the kind, the time and the number of the memory in its lines. */
  columns: Schema.Record(Schema.String, Schema.Array(Schema.String)),
  facts: Facts
}))

/** The columns as this version writes them. */
const columnsOfKinds = Object.fromEntries(kinds.map(({ fields, tag }) => [tag, fields.map(({ name }) => name)]))

const encodeHeader = Schema.encodeSync(Header)
const decodeHeader = Schema.decodeUnknownResult(Header)

/** Infinity is a text in JSON. */
const written = (value: number): number | string => value === Infinity ? "Infinity" : value

const lineOf = ({ at, kind, memory, values }: EventRow): string => {
  const { fields, tag } = kinds[kind]!
  const line: Array<unknown> = [tag, at, memory]
  for (const { column } of fields) line.push(written(values[column]!))
  return `${JSON.stringify(line)}\n`
}

function* linesOf(recording: Recording): Generator<string, void> {
  const { length } = recording
  const header = {
    format: "effect-gpu-pool recording",
    version: 1,
    length,
    columns: columnsOfKinds,
    facts: recording
  } as const
  yield `${JSON.stringify(encodeHeader(header))}\n`
  const reader = new EventReader(recording, true)
  let texts: Texts | undefined
  while (reader.next()) {
    const { row } = reader
    if (row.texts !== texts) {
      texts = row.texts
      yield `${JSON.stringify(["texts", ...texts.all.slice(1)])}\n`
    }
    yield lineOf(row)
  }
}

/**
 * A recording as text, in pieces of whole lines: JSON Lines. The first line has the version, the facts, and the columns of each kind of
 * event. An event is an array of its kind, its time, its memory and its columns, where a text is an index into the `"texts"` before it.
 *
 * @category files
 * @since 0.1.0
 */
export const toLines = (recording: Recording): Stream.Stream<string> => textOf(() => linesOf(recording))

const operation = "Recording.fromLines"
const hint = "Read a file that Recording.save has written, whole and unchanged."

/** The layout of the lines of a kind of event. */
interface Shape {
  readonly kind: number
  /** The fields after its kind, its time and its memory. */
  readonly fields: ReadonlyArray<Field>
  /** The columns that files of an earlier version lack. */
  readonly missing: ReadonlyArray<number>
}

class Reader implements LineReader<Recording> {
  #header: typeof Header.Type | undefined = undefined
  readonly #shapes = new Map<unknown, Shape>()
  #memories: ReadonlySet<number> = new Set()
  #budgets: ReadonlySet<number> = new Set()
  readonly #builder = new RecordingBuilder()
  #line = 0

  line(text: string, number: number): void {
    this.#line = number
    const line = parsedJson(text)
    if (this.#header === undefined) this.#readHeader(line)
    else this.#readLine(line)
  }

  #readHeader(line: unknown): void {
    const header = decodeHeader(line)
    if (header._tag === "Failure") {
      if (isHeader(line) && line.version !== 1) {
        return this.#refuse(
          `the file is of version ${line.version}, and not of version 1`,
          "Read it with the release that wrote it."
        )
      }
      return this.#refuse(`it is no header of version 1: ${problemIn(header.failure)}`)
    }
    this.#header = header.success
    this.#builder.readTexts([])
    const { columns, facts: { budgets, memories } } = header.success
    this.#memories = new Set(memories.map(({ number }) => number))
    this.#budgets = new Set(budgets.map(({ number }) => number))
    for (const [tag, names] of Object.entries(columns)) this.#addShape(tag, names)
  }

  #addShape(tag: string, names: ReadonlyArray<string>): void {
    const kind = placeOf(tag)
    const known = kind === undefined ? [] : kinds[kind]!.fields
    const fields = names.flatMap((name) => known.find((field) => field.name === name) ?? [])
    const unknown = kind === undefined ? tag : names.find((name) => known.every((field) => field.name !== name))
    if (unknown !== undefined) this.#refuse(`${shown(unknown)} is unknown to this version`)
    const missing = known.filter(({ name }) => !names.includes(name)).map(({ column }) => column)
    this.#shapes.set(tag, { kind: kind!, fields, missing })
  }

  #readLine(line: unknown): void {
    if (!Array.isArray(line)) return this.#refuse("it is no array in JSON")
    const values: ReadonlyArray<unknown> = line
    const [tag] = values
    if (tag === "texts") return this.#readTexts(values.slice(1))
    const shape = this.#shapes.get(tag)
    if (shape === undefined) return this.#refuse(`${shown(tag)} is no kind of event`)
    const { fields, kind, missing } = shape
    if (values.length !== fields.length + 3) {
      return this.#refuse(`it has ${values.length - 1} values in place of ${fields.length + 2}`)
    }
    const { row } = this.#builder
    row.kind = kind
    row.at = this.#number("time", values[1])
    row.memory = this.#number("memory", values[2])
    for (const column of missing) row.values[column] = 0
    for (let index = 0; index < fields.length; index++) {
      const { column, name } = fields[index]!
      row.values[column] = this.#number(name, values[index + 3])
    }
    this.#addRow()
  }

  /** Infinity is a text in JSON. */
  #number(name: string, given: unknown): number {
    if (typeof given === "number") return given
    if (given !== "Infinity") this.#refuse(`${name} ${shown(given)} is no number`)
    return Infinity
  }

  #addRow(): void {
    const { length, row } = this.#builder
    if (length === this.#header!.length && !isInput(row.kind)) {
      this.#refuse("it is one event more than the first line says")
    }
    const problem = row.problem(this.#memories, this.#budgets)
    if (problem !== undefined) this.#refuse(problem)
    this.#builder.addRow()
  }

  #readTexts(texts: ReadonlyArray<unknown>): void {
    const wrong = texts.find((text) => typeof text !== "string")
    if (wrong !== undefined) this.#refuse(`${shown(wrong)} is no text`)
    this.#builder.readTexts(texts as ReadonlyArray<string>)
  }

  end(): Recording {
    if (this.#header === undefined) this.#refuse("the file is empty")
    const { facts, length } = this.#header!
    const read = this.#builder.length
    if (read < length) this.#refuse(`the file ends after ${read} of ${length} events`)
    return this.#builder.build(facts)
  }

  #refuse(what: string, nextStep = hint): void {
    throw invalidRequest(operation, `line ${this.#line}: ${what}`, nextStep)
  }
}

/**
 * Reads the text that {@link toLines} writes, whole or in pieces of any length. Fails with InvalidRequest, which names the line, for a
 * text that is no complete recording of this version.
 *
 * @category files
 * @since 0.1.0
 */
export const fromLines = <E = never, R = never>(
  text: string | Stream.Stream<string, E, R>
): Effect.Effect<Recording, E | GpuError, R> => readLines(text, () => new Reader())

let parts = 0

/**
 * Writes a recording to a file, in the format of {@link toLines}. The file appears only when it is complete.
 *
 * @category files
 * @since 0.1.0
 */
export const save = (
  recording: Recording,
  path: string
): Effect.Effect<void, PlatformError, FileSystem.FileSystem> =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    // Several may be written to one path at a time: the last one wins, and each is complete.
    const part = `${path}.${++parts}.part`
    yield* Stream.run(Stream.encodeText(toLines(recording)), files.sink(part)).pipe(
      Effect.andThen(files.rename(part, path)),
      Effect.onError(() => Effect.ignore(files.remove(part, { force: true })))
    )
  }).pipe(Effect.withSpan("Recording.save", { attributes: { "file.path": path } }))

/**
 * Reads a recording from a file. Fails with InvalidRequest for a file that is no recording.
 *
 * @category files
 * @since 0.1.0
 */
export const load = (path: string): Effect.Effect<Recording, GpuError | PlatformError, FileSystem.FileSystem> =>
  Effect.flatMap(
    FileSystem.FileSystem,
    (files) => fromLines(Stream.decodeText(files.stream(path, { chunkSize: 1 << 20 })))
  ).pipe(Effect.withSpan("Recording.load", { attributes: { "file.path": path } }))
