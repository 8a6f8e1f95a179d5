/**
 * Reads the recordings that a command line names.
 *
 * @internal
 */
import { CupyLog, RmmLog, TorchSnapshot } from "@effect-gpu-pool/observability"
import { fromLines, type Recording } from "@effect-gpu-pool/observability/Recording"
import { line } from "effect-gpu-pool/Format"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as CliError from "effect/cli/CliError"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type { PlatformError } from "effect/PlatformError"
import * as Sink from "effect/Sink"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { failing } from "../Ending.ts"
import { messageOf } from "../Printable.ts"

/** Whether an input is the address of a running program. */
export const isAddress = (input: string): boolean => /^https?:\/\//.test(input)

/** The innermost cause of an error of a service: the system's own reason. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined && reasonOf(error.cause) !== ""
    ? reasonOf(error.cause)
    : messageOf(error)

const bytesOf = (
  input: string
): Stream.Stream<Uint8Array, HttpClientError.HttpClientError | PlatformError, FileSystem.FileSystem | Stdio.Stdio> =>
  isAddress(input)
    ? Stream.provide(
      HttpClientResponse.stream(Effect.flatMap(HttpClient.get(input), HttpClientResponse.filterStatusOk)),
      FetchHttpClient.layer
    )
    : input === "-"
    ? Stream.unwrap(Stdio.Stdio.useSync(({ stdin }) => stdin))
    // Many lines are read at a time.
    : Stream.unwrap(FileSystem.FileSystem.useSync((files) => files.stream(input, { chunkSize: 1 << 20 })))

/** The description of an input in the help. */
export const inputs =
  `a file of this library, RMM, CuPy or PyTorch, - for standard input, or the address of a program with Recording.layerHttp()`

/** Which tool wrote a file. Its first characters say so: names such as `log.txt` say little, and standard input has none. */
interface FileKind {
  /** The name of the kind in messages; undefined for recordings of this library, which need no message. */
  readonly name: string | undefined
  readonly read: <E, R>(bytes: Stream.Stream<Uint8Array, E, R>) => Effect.Effect<Recording, E | GpuError, R>
}

const own: FileKind = { name: undefined, read: (bytes) => fromLines(Stream.decodeText(bytes)) }
const rmm: FileKind = { name: "a CSV log of RMM", read: (bytes) => RmmLog.fromText(Stream.decodeText(bytes)) }
const cupy: FileKind = {
  name: "lines of CuPy's DebugPrintHook or MemoryHook.debugPrint",
  read: (bytes) => CupyLog.fromText(Stream.decodeText(bytes))
}
const torch: FileKind = {
  name: "a snapshot of PyTorch's memory",
  read: (bytes) => TorchSnapshot.fromText(Stream.decodeText(bytes))
}

/** How many characters are read: more than any header of a CSV file, and than what precedes a snapshot's first list. */
const mostCharacters = 65_536

/** The first member of a JSON object, by which each tool is recognized. */
const firstMember = (head: string): string | undefined => /^\{\s*"([^"]*)"/.exec(head)?.[1]

const isCsv = (line: string): boolean => {
  const cells = line.split(",").map((cell) => cell.trim())
  return cells.includes("Action") && cells.includes("Pointer")
}

/** A pickle begins with 0x80, which no UTF-8 text does: the reader of snapshots says how to convert it. */
const isPickle = (text: string): boolean => text.startsWith("\ufffd")

const jsonKindOf = (text: string): FileKind | undefined => {
  const member = firstMember(text)
  if (member === "format") return own
  if (member === "hook") return cupy
  return /"(segments|device_traces)"\s*:/.test(text) ? torch : undefined
}

/** The kind; undefined while more characters could decide it. */
const recognized = (head: string): FileKind | undefined => {
  const text = head.replace(/^\ufeff/, "").trimStart()
  if (text.startsWith("{")) return jsonKindOf(text)
  if (isPickle(text)) return torch
  const [line = "", ...others] = text.split("\n", 2)
  return isCsv(line) ? rmm : others.length > 0 ? own : undefined
}

/** Whether a beginning is long enough for {@link kindOf}. */
const isEnough = (head: string): boolean => head.length >= mostCharacters || recognized(head) !== undefined

/** The kind of the text with this beginning; unrecognized text counts as a recording of this library. */
const kindOf = (head: string): FileKind => recognized(head) ?? own

/** The beginning of the input as text, and all of its bytes. */
const begun = Effect.fnUntraced(function*<E, R>(bytes: Stream.Stream<Uint8Array, E, R>) {
  const decoder = new TextDecoder()
  const [{ head, pieces }, rest] = yield* Stream.peel(
    bytes,
    Sink.fold(
      () => ({ head: "", pieces: Array<Uint8Array>() }),
      ({ head }) => !isEnough(head),
      ({ head, pieces }, piece: Uint8Array) =>
        Effect.sync(() => {
          pieces.push(piece)
          return { head: head + decoder.decode(piece, { stream: true }), pieces }
        })
    )
  )
  return { head, all: Stream.concat(Stream.fromIterable(pieces), rest) }
})

/**
 * Reads the recording in a file, of a running program at an address, or on standard input if the input is `-`. If another tool wrote
 * it, stderr says which.
 */
export const read = Effect.fn("RecordingInput.read")(
  function*(input: string) {
    const bytes = Stream.mapError(
      bytesOf(input),
      (error) => failing(`${line(input)} cannot be read: ${line(reasonOf(error))}. Give ${inputs}.`, error)
    )
    const { all, head } = yield* begun(bytes)
    const kind = kindOf(head)
    if (kind.name !== undefined) yield* Console.error(`${line(input)} is read as ${kind.name}.`)
    return yield* kind.read(all)
  },
  Effect.scoped,
  (reading, input) =>
    Effect.mapError(
      reading,
      (error) => error instanceof CliError.UserError ? error : failing(`${line(input)}: ${error.message}`, error)
    )
)
