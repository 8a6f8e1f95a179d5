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
import { type Field, isInput, kinds, placeOf } from "./EventShape.ts"
import { columnsOfKinds, factsOf, Header, isHeader } from "./FactsSchema.ts"
import { bytesOf, LinePieces, type LineScanner } from "./LineScanner.ts"
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
  const reader = new EventReader(recording, true)
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

/** What the lines of a kind of event have. */
interface Shape {
  readonly tag: string
  readonly kind: number
  /** How such a line begins. */
  readonly head: Uint8Array
  /** What follows its time and its memory. */
  readonly fields: ReadonlyArray<Field>
  /** The columns that a file of an earlier version does not have. */
  readonly missing: ReadonlyArray<number>
}

class Reader {
  #header: typeof Header.Type | undefined = undefined
  readonly #shapes: Array<Shape> = []
  #memories: ReadonlySet<number> = new Set()
  #budgets: ReadonlySet<number> = new Set()
  readonly #builder = new RecordingBuilder()
  #lines = 0
  readonly #pieces = new LinePieces()

  /** Reads the whole lines of a piece; the rest waits for the next one. */
  read(piece: Uint8Array): GpuError | undefined {
    for (const lines of this.#pieces.add(piece)) {
      const problem = this.#readLines(lines)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #readLines(lines: LineScanner): GpuError | undefined {
    let problem: GpuError | undefined
    while (lines.hasMore && problem === undefined) {
      this.#lines++
      problem = this.#header !== undefined && this.#scan(lines) ? this.#addRow() : this.#readLine(lines.take())
    }
    return problem
  }

  #readHeader(text: string): GpuError | undefined {
    const line = parsed(text.replace(/^\ufeff/, ""))
    const header = decodeHeader(line)
    if (header._tag === "Failure") {
      if (isHeader(line) && line.version !== 1) {
        return this.#wrong(
          `the file is of version ${line.version}, and not of version 1`,
          "Read it with the release that wrote it."
        )
      }
      return this.#wrong(`it is no header of version 1: ${header.failure.message.replaceAll(/\s*\n\s*/g, " ")}`)
    }
    this.#header = header.success
    this.#builder.readTexts([])
    const { budgets, memories } = header.success.facts
    this.#memories = new Set(memories.map(({ number }) => number))
    this.#budgets = new Set(budgets.map(({ number }) => number))
    for (const [tag, names] of Object.entries(header.success.columns)) {
      const kind = placeOf(tag)
      const known = kind === undefined ? [] : kinds[kind]!.fields
      const fields = names.flatMap((name) => known.find((field) => field.name === name) ?? [])
      const unknown = kind === undefined ? tag : names.find((name) => known.every((field) => field.name !== name))
      if (unknown !== undefined) return this.#wrong(`${shown(unknown)} is unknown to this version`)
      const missing = known.filter(({ name }) => !names.includes(name)).map(({ column }) => column)
      this.#shapes.push({ tag, kind: kind!, head: bytesOf(`["${tag}"`), fields, missing })
    }
    return undefined
  }

  /** Reads a line of numbers alone, as an event mostly is. False for any other. */
  #scan(lines: LineScanner): boolean {
    const shape = this.#shapes.find(({ head }) => lines.begins(head))
    if (shape === undefined) return false
    const row = this.#rowOf(shape)
    row.at = lines.number()
    row.memory = lines.number()
    for (const { column } of shape.fields) row.values[column] = lines.number()
    return lines.ends()
  }

  #rowOf({ kind, missing }: Shape): EventRow {
    const { row } = this.#builder
    row.kind = kind
    for (const column of missing) row.values[column] = 0
    return row
  }

  #readLine(text: string): GpuError | undefined {
    if (this.#header === undefined) return this.#readHeader(text)
    const line = parsed(text)
    if (!Array.isArray(line)) return this.#wrong("it is no array in JSON")
    const [tag, ...values]: ReadonlyArray<unknown> = line
    if (tag === "texts") return this.#addTexts(values)
    const shape = this.#shapes.find((shape) => shape.tag === tag)
    if (shape === undefined) return this.#wrong(`${shown(tag)} is no kind of event`)
    const { fields } = shape
    if (values.length !== fields.length + 2) {
      return this.#wrong(`it has ${values.length} values in place of ${fields.length + 2}`)
    }
    const row = this.#rowOf(shape)
    for (let index = 0; index < values.length; index++) {
      const given = values[index]
      const value = given === "Infinity" ? Infinity : given
      const field = fields[index - 2]
      if (typeof value !== "number") {
        return this.#wrong(`${field?.name ?? ["time", "memory"][index]} ${shown(value)} is no number`)
      }
      if (field !== undefined) row.values[field.column] = value
      else if (index === 0) row.at = value
      else row.memory = value
    }
    return this.#addRow()
  }

  #addRow(): GpuError | undefined {
    const { length, row } = this.#builder
    if (length === this.#header!.length && !isInput(row.kind)) {
      return this.#wrong("it is one event more than the first line says")
    }
    const problem = row.problem(this.#memories, this.#budgets)
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
    const { rest } = this.#pieces
    const problem = rest.trim() === "" ? undefined : this.read(bytesOf("\n"))
    if (problem !== undefined) return problem
    if (this.#header === undefined) return this.#wrong("the file is empty")
    const { facts, length } = this.#header
    const read = this.#builder.length
    return read < length ? this.#wrong(`the file ends after ${read} of ${length} events`) : this.#builder.build(facts)
  }

  #wrong(what: string, nextStep = hint): GpuError {
    return invalidRequest(operation, `line ${this.#lines}: ${what}`, nextStep)
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller says at which line.
    return undefined
  }
}

/** Reads the bytes of a file. @internal */
export const fromBytes = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>
): Effect.Effect<Recording, E | GpuError, R> =>
  Effect.suspend(() => {
    const reader = new Reader()
    const read = Stream.runForEach(bytes, (piece) => reader.read(piece) ?? Effect.void)
    return Effect.andThen(
      read,
      Effect.suspend(() => {
        const recording = reader.end()
        return isGpuError(recording) ? recording : Effect.succeed(recording)
      })
    )
  })

/** Characters of two halves may be cut between pieces. */
const isFirstHalf = (code: number): boolean => (code & 0xfc00) === 0xd800

const encoded = <E, R>(text: Stream.Stream<string, E, R>): Stream.Stream<Uint8Array, E, R> =>
  Stream.suspend(() => {
    let rest = ""
    const pieces = Stream.map(text, (piece) => {
      const all = rest + piece
      const end = isFirstHalf(all.charCodeAt(all.length - 1)) ? all.length - 1 : all.length
      rest = all.slice(end)
      return bytesOf(all.slice(0, end))
    })
    return Stream.concat(pieces, Stream.sync(() => bytesOf(rest)))
  })

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
  satisfies(text, Stream.isStream)
    ? fromBytes(encoded(text))
    : invalidRequest(operation, `${shown(text)} was given for the text`, "Pass a stream of text.")

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
    (files) => fromBytes(files.stream(path, { chunkSize: 1 << 20 }))
  )
