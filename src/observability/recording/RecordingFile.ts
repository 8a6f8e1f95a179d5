/**
 * Recordings as files: JSON Lines. The first line has the facts and names the columns; then each event is an array, whose texts are
 * places in the last list of texts before it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { satisfies } from "../../domain/arguments/ArgumentProblem.ts"
import { shown } from "../../domain/arguments/ShownValue.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import { EventReader } from "./EventReader.ts"
import type { EventRow } from "./EventRow.ts"
import { type Field, kinds, placeOf } from "./EventShape.ts"
import { columnsOfKinds, factsOf, Header } from "./FactsSchema.ts"
import { RecordingBuilder } from "./RecordingBuilder.ts"
import { type Recording, recordingProblem } from "./RecordingModel.ts"
import type { Texts } from "./Texts.ts"

const linesPerPiece = 4096

const encodeHeader = Schema.encodeSync(Header)
const decodeHeader = Schema.decodeUnknownResult(Header)

/** Infinity is a text in JSON. */
const written = (value: number): number | string => value === Infinity ? "Infinity" : value

const lineOf = ({ at, kind, memory, values }: EventRow): string => {
  const { fields, tag } = kinds[kind]!
  const line: Array<unknown> = [tag, at, memory]
  for (const { column } of fields) line.push(written(values[column]!))
  return JSON.stringify(line)
}

function* linesOf(recording: Recording): Generator<string, void> {
  const { length } = recording
  const facts = factsOf(recording)
  const header = { format: "effect-gpu-pool recording", version: 1, length, columns: columnsOfKinds, facts } as const
  yield JSON.stringify(encodeHeader(header))
  const reader = new EventReader(recording)
  let texts: Texts | undefined
  while (reader.next()) {
    const { row } = reader
    if (row.texts !== texts) {
      texts = row.texts
      yield JSON.stringify(["texts", ...texts.all.slice(1)])
    }
    yield lineOf(row)
  }
}

function* piecesOf(recording: Recording): Generator<string, void> {
  let lines: Array<string> = []
  for (const line of linesOf(recording)) {
    lines.push(line)
    if (lines.length < linesPerPiece) continue
    yield `${lines.join("\n")}\n`
    lines = []
  }
  if (lines.length > 0) yield `${lines.join("\n")}\n`
}

/**
 * A recording as text, in pieces of whole lines: JSON Lines. The first line says the version, the facts, and the columns of each kind of
 * event. An event is an array of its kind, its time, its memory and its columns, where a text is a place in the `"texts"` before it. Fails
 * with InvalidRequest for what is no recording.
 *
 * @category files
 * @since 0.1.0
 */
export const toLines = (recording: Recording): Stream.Stream<string, GpuError> =>
  Stream.suspend(() => {
    const problem = recordingProblem("Recording.toLines", recording)
    return problem === undefined ? Stream.fromIterable(piecesOf(recording)) : Stream.fail(problem)
  })

const operation = "Recording.fromLines"
const hint = "Read a file that Recording.save has written, whole and unchanged."

class Reader {
  #header: typeof Header.Type | undefined = undefined
  readonly #fields = new Map<string, { readonly kind: number; readonly fields: ReadonlyArray<Field> }>()
  #memories: ReadonlySet<number> = new Set()
  #budgets: ReadonlySet<number> = new Set()
  readonly #builder = new RecordingBuilder()
  #lines = 0
  #rest = ""

  /** Reads the whole lines of a piece; the rest waits for the next one. */
  read(piece: string): GpuError | undefined {
    const end = piece.lastIndexOf("\n")
    if (end < 0) {
      this.#rest += piece
      return undefined
    }
    const text = this.#rest + piece.slice(0, end)
    this.#rest = piece.slice(end + 1)
    return this.#readLines(text)
  }

  #readLines(text: string): GpuError | undefined {
    if (this.#header === undefined) {
      const end = text.indexOf("\n")
      const problem = this.#readHeader(end < 0 ? text : text.slice(0, end))
      return problem ?? (end < 0 ? undefined : this.#readLines(text.slice(end + 1)))
    }
    // One call for many lines is faster; where one of them is wrong, they are read one by one to find it.
    const rows = parsed(`[${text.replaceAll("\n", ",")}]`)
    if (Array.isArray(rows) && rows.length === countLines(text)) return this.#addAll(rows)
    for (const one of text.split("\n")) {
      const problem = this.#addAll([parsed(one)])
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #readHeader(text: string): GpuError | undefined {
    this.#lines = 1
    const header = decodeHeader(parsed(text.replace(/^\ufeff/, "")))
    if (header._tag === "Failure") return this.#wrong(`it is no header of version 1: ${header.failure.message}`)
    this.#header = header.success
    this.#builder.readTexts([])
    const { budgets, memories } = header.success.facts
    this.#memories = new Set(memories.map(({ number }) => number))
    this.#budgets = new Set(budgets.map(({ number }) => number))
    for (const [tag, names] of Object.entries(header.success.columns)) {
      const kind = placeOf(tag)
      const known = kind === undefined ? [] : kinds[kind]!.fields
      const fields = names.map((name) => known.find((field) => field.name === name))
      const unknown = kind === undefined ? tag : names.find((_, at) => fields[at] === undefined)
      if (unknown !== undefined) return this.#wrong(`${shown(unknown)} is unknown to this version`)
      this.#fields.set(tag, { kind: kind!, fields: fields.filter((field) => field !== undefined) })
    }
    return undefined
  }

  #addAll(rows: ReadonlyArray<unknown>): GpuError | undefined {
    for (const row of rows) {
      this.#lines++
      const problem = Array.isArray(row) ? this.#add(row) : this.#wrong("it is no array in JSON")
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #add(row: ReadonlyArray<unknown>): GpuError | undefined {
    const tag = row[0]
    if (tag === "texts") return this.#addTexts(row.slice(1))
    const known = this.#fields.get(tag as string)
    if (known === undefined) return this.#wrong(`${shown(tag)} is no kind of event`)
    const { fields, kind } = known
    if (row.length !== fields.length + 3) {
      return this.#wrong(`it has ${row.length - 1} values in place of ${fields.length + 2}`)
    }
    const { length, row: event } = this.#builder
    if (length === this.#header!.length) return this.#wrong("it is one event more than the first line says")
    const [, time, memory] = row
    // A file of an earlier version may not have all columns.
    event.values.fill(0)
    event.kind = kind
    event.at = time as number
    event.memory = memory as number
    for (let index = 0; index < fields.length; index++) {
      const given = row[index + 3]
      const value = given === "Infinity" ? Infinity : given
      const { column, name } = fields[index]!
      if (typeof value !== "number") return this.#wrong(`${name} ${shown(value)} is no number`)
      event.values[column] = value
    }
    const problem = event.problem(this.#memories, this.#budgets)
    if (problem !== undefined) return this.#wrong(problem)
    this.#builder.addRow()
    return undefined
  }

  #addTexts(texts: ReadonlyArray<unknown>): GpuError | undefined {
    const wrong = texts.find((text) => typeof text !== "string")
    if (wrong !== undefined) return this.#wrong(`${shown(wrong)} is no text`)
    this.#builder.readTexts(texts as ReadonlyArray<string>)
    return undefined
  }

  end(): Recording | GpuError {
    const problem = this.#rest.trim() === "" ? undefined : this.#readLines(this.#rest)
    if (problem !== undefined) return problem
    if (this.#header === undefined) return this.#wrong("the file is empty")
    const { facts, length } = this.#header
    const read = this.#builder.length
    return read < length ? this.#wrong(`the file ends after ${read} of ${length} events`) : this.#builder.build(facts)
  }

  #wrong(what: string): GpuError {
    return invalidRequest(operation, `line ${this.#lines}: ${what}`, hint)
  }
}

const countLines = (text: string): number => {
  let lines = 1
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) lines++
  return lines
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller says at which line.
    return undefined
  }
}

/**
 * Reads the text that {@link toLines} writes, in pieces of any length. Fails with InvalidRequest, which names the line, for a text that
 * is no whole recording of this version.
 *
 * @category files
 * @since 0.1.0
 */
export const fromLines = <E, R>(
  text: Stream.Stream<string, E, R>
): Effect.Effect<Recording, E | GpuError, R> =>
  Effect.suspend((): Effect.Effect<Recording, E | GpuError, R> => {
    if (!satisfies(text, Stream.isStream)) {
      return invalidRequest(operation, `${shown(text)} was given for the text`, "Pass a stream of text.")
    }
    const reader = new Reader()
    const read = Stream.runForEach(text, (piece) => reader.read(piece) ?? Effect.void)
    return Effect.andThen(
      read,
      Effect.suspend(() => {
        const recording = reader.end()
        return isGpuError(recording) ? recording : Effect.succeed(recording)
      })
    )
  })

let parts = 0

/**
 * Writes a recording to a file, as {@link toLines} says. The file is there only when it is whole. Fails
 * with InvalidRequest for what is no recording.
 *
 * @category files
 * @since 0.1.0
 */
export const save = (
  recording: Recording,
  path: string
): Effect.Effect<void, GpuError | PlatformError, FileSystem.FileSystem> =>
  Effect.gen(function*() {
    const problem = recordingProblem("Recording.save", recording)
    if (problem !== undefined) return yield* problem
    const files = yield* FileSystem.FileSystem
    // Several may be written to one path at a time: the last one stays, and each is whole.
    const part = `${path}.${++parts}.part`
    yield* Stream.run(Stream.encodeText(toLines(recording)), files.sink(part)).pipe(
      Effect.andThen(files.rename(part, path)),
      Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Effect.ignore(files.remove(part, { force: true })))
    )
  })

/**
 * Reads a recording from a file. Fails with InvalidRequest for a file that is none.
 *
 * @category files
 * @since 0.1.0
 */
export const load = (path: string): Effect.Effect<Recording, GpuError | PlatformError, FileSystem.FileSystem> =>
  Effect.flatMap(
    FileSystem.FileSystem,
    (files) => fromLines(Stream.decodeText(files.stream(path, { chunkSize: 1 << 20 })))
  )
