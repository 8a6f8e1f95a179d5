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
import { EventChunk, isMemory, numbersPerEvent, wordsPerEvent } from "./EventChunk.ts"
import { type Field, kinds, placeOf } from "./EventShape.ts"
import { columnsOfKinds, factsOf, Header } from "./FactsSchema.ts"
import type { Recording } from "./RecordingModel.ts"

/** Events in one piece of text. */
const eventsPerPiece = 4096

const encodeHeader = Schema.encodeSync(Header)
const decodeHeader = Schema.decodeUnknownResult(Header)

/** Infinity is a text in JSON. */
const written = (value: number): number | string => value === Infinity ? "Infinity" : value

const rowOf = (chunk: EventChunk, at: number): ReadonlyArray<unknown> => {
  const { fields, tag } = kinds[chunk.kind(at)]!
  const row: Array<unknown> = [tag, chunk.number(at, 0), chunk.memory(at)]
  for (const { column, type } of fields) {
    row.push(type === "number" ? written(chunk.number(at, column)) : chunk.word(at, column))
  }
  return row
}

function* piecesOf(recording: Recording): Generator<string, void> {
  const { chunks, length, skipped } = recording
  const header = encodeHeader({
    format: "effect-gpu-pool recording",
    version: 1,
    length,
    columns: columnsOfKinds,
    facts: factsOf(recording)
  })
  yield `${JSON.stringify(header)}\n`
  let from = skipped
  for (const chunk of chunks) {
    yield `${JSON.stringify(["texts", ...chunk.texts.all.slice(1)])}\n`
    while (from < chunk.length) {
      const lines: Array<string> = []
      const to = Math.min(chunk.length, from + eventsPerPiece)
      for (; from < to; from++) lines.push(JSON.stringify(rowOf(chunk, from)))
      yield `${lines.join("\n")}\n`
    }
    from = 0
  }
}

/**
 * A recording as text, in pieces of whole lines: JSON Lines. The first line says the version, the facts, and the columns of each kind of
 * event. An event is an array of its kind, its time, its memory and its columns, where a text is a place in the `"texts"` before it.
 *
 * @category files
 * @since 0.1.0
 */
export const toLines = (recording: Recording): Stream.Stream<string> =>
  Stream.suspend(() => Stream.fromIterable(piecesOf(recording)))

const operation = "Recording.fromLines"
const hint = "Read a file that Recording.save has written, whole and unchanged."

class Reader {
  #header: typeof Header.Type | undefined = undefined
  readonly #fields = new Map<string, { readonly kind: number; readonly fields: ReadonlyArray<Field> }>()
  readonly #chunks: Array<EventChunk> = []
  #chunk: EventChunk | undefined = undefined
  #texts = 0
  #lines = 0
  #length = 0
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
    if (Array.isArray(rows)) return this.#addAll(rows)
    for (const one of text.split("\n")) {
      const problem = this.#addAll([parsed(one)])
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #readHeader(text: string): GpuError | undefined {
    this.#lines = 1
    const header = decodeHeader(parsed(text))
    if (header._tag === "Failure") return this.#wrong(`it is no header of version 1: ${header.failure.message}`)
    this.#header = header.success
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
    if (this.#length === this.#header!.length) return this.#wrong("it is one event more than the first line says")
    const chunk = this.#open()
    const at = chunk.length++
    this.#length++
    const { numbers, words } = chunk
    const [, time, memory] = row
    if (typeof time !== "number" || !isMemory(memory)) return this.#wrong("its time or memory is no number")
    chunk.begin(at, kind, memory, time)
    for (let index = 0; index < fields.length; index++) {
      const value = row[index + 3]
      const { column, name, type } = fields[index]!
      if (type === "number") {
        const number = value === "Infinity" ? Infinity : value
        if (typeof number !== "number") return this.#wrong(`${name} ${shown(value)} is no number`)
        numbers[at * numbersPerEvent + column] = number
      } else {
        const limit = type === "text" ? this.#texts : 2 ** 32
        if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value >= limit) {
          return this.#wrong(`${name} ${shown(value)} is no place of a text or no number`)
        }
        words[at * wordsPerEvent + column] = value
      }
    }
    return undefined
  }

  #addTexts(texts: ReadonlyArray<unknown>): GpuError | undefined {
    const wrong = texts.find((text) => typeof text !== "string")
    if (wrong !== undefined) return this.#wrong(`${shown(wrong)} is no text`)
    this.#close()
    this.#chunk = this.#newChunk()
    this.#chunk.texts.read(texts as ReadonlyArray<string>)
    this.#texts = texts.length + 1
    return undefined
  }

  #open(): EventChunk {
    const chunk = this.#chunk ?? this.#newChunk()
    this.#chunk = chunk
    if (chunk.length < chunk.capacity) return chunk
    this.#close()
    this.#chunk = this.#newChunk()
    this.#chunk.texts = chunk.texts
    return this.#chunk
  }

  #newChunk(): EventChunk {
    return new EventChunk(Math.min(65_536, Math.max(1, this.#header!.length - this.#length)))
  }

  #close(): void {
    const chunk = this.#chunk
    if (chunk === undefined || chunk.length === 0) return
    this.#chunks.push(chunk.length < chunk.capacity / 2 ? chunk.copy() : chunk)
  }

  end(): Recording | GpuError {
    const problem = this.#rest.trim() === "" ? undefined : this.#readLines(this.#rest)
    if (problem !== undefined) return problem
    if (this.#header === undefined) return this.#wrong("the file is empty")
    this.#close()
    const { facts, length } = this.#header
    if (this.#length < length) return this.#wrong(`the file ends after ${this.#length} of ${length} events`)
    return { ...facts, length, chunks: this.#chunks, skipped: 0 }
  }

  #wrong(what: string): GpuError {
    return invalidRequest(operation, `line ${this.#lines}: ${what}`, hint)
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
 * Writes a recording to a file, as {@link toLines} says. The file is there only when it is whole.
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
