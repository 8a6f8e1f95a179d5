/**
 * Recognizes by its first characters which tool wrote a file: names such as `log.txt` say little, and standard input has none.
 *
 * @internal
 */
import { CupyLog, RmmLog, TorchSnapshot } from "@effect-gpu-pool/observability"
import type { Recording } from "@effect-gpu-pool/observability/Recording"
import { fromLines } from "@effect-gpu-pool/observability/Recording"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export interface FileKind {
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
const toldBy = (head: string): FileKind | undefined => {
  const text = head.replace(/^\ufeff/, "").trimStart()
  if (text.startsWith("{")) return jsonKindOf(text)
  if (isPickle(text)) return torch
  const [line = "", ...others] = text.split("\n", 2)
  return isCsv(line) ? rmm : others.length > 0 ? own : undefined
}

/** Whether a beginning is long enough for {@link kindOf}. */
export const isEnough = (head: string): boolean => head.length >= mostCharacters || toldBy(head) !== undefined

/** The kind of the text with this beginning; unrecognized text counts as a recording of this library. */
export const kindOf = (head: string): FileKind => toldBy(head) ?? own
