/**
 * Reads text that comes in pieces.
 *
 * @internal
 */
import * as Format from "effect-gpu-pool/Format"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import * as Stream from "effect/Stream"

/** All of a text, or a stream of its pieces, which may be cut anywhere. */
type Text<E = never, R = never> = string | Stream.Stream<string, E, R>

/** How many characters are read at a time; other fibers run in between. */
const pieceLength = 1_048_576

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += pieceLength) yield text.slice(at, at + pieceLength)
}

const step = <A>(f: () => A): Effect.Effect<A, GpuError> =>
  Effect.catchDefect(Effect.sync(f), (defect) => isGpuError(defect) ? Effect.fail(defect) : Effect.die(defect))

const streamOf = <E, R>(text: Text<E, R>): Stream.Stream<string, E, R> =>
  typeof text === "string" ? Stream.fromIterable(piecesOf(text), { chunkSize: 1 }) : text

const read = <A, E, R>(
  parts: Stream.Stream<string, E, R>,
  take: (part: string) => void,
  end: () => A
): Effect.Effect<A, E | GpuError, R> =>
  Effect.andThen(
    Stream.runForEachArray(parts, (some) => step(() => some.forEach(take))),
    Effect.suspend(() => step(end))
  )

/** Takes the pieces of a text. It fails by throwing a GpuError. */
export interface TextReader<A> {
  take(piece: string): void
  /** Is called after the last piece. Returns the result. */
  end(): A
}

/** Gives a text to the reader that `begin` makes, and returns the reader's result. */
export const readText = <A, E, R>(text: Text<E, R>, begin: () => TextReader<A>): Effect.Effect<A, E | GpuError, R> =>
  Effect.suspend(() => {
    const reader = begin()
    return read(streamOf(text), (piece) => reader.take(piece), () => reader.end())
  })

/** Takes the lines of a text, from number 1 on. It fails like a {@link TextReader}. */
export interface LineReader<A> {
  line(text: string, number: number): void
  /** Is called after the last line. Returns the result. */
  end(): A
}

/** Gives the lines of a text to the reader that `begin` makes, without blanks around them, empty lines and a byte order mark. */
export const readLines = <A, E, R>(text: Text<E, R>, begin: () => LineReader<A>): Effect.Effect<A, E | GpuError, R> =>
  Effect.suspend(() => {
    const reader = begin()
    let number = 0
    const take = (raw: string): void => {
      number++
      const line = (number === 1 && raw.startsWith("\ufeff") ? raw.slice(1) : raw).trim()
      if (line !== "") reader.line(line, number)
    }
    return read(Stream.splitLines(streamOf(text)), take, () => reader.end())
  })

/** The value of a text in JSON; undefined for invalid JSON. */
export const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller says where it is.
    return undefined
  }
}

/** A value of a file as messages and logs show it. */
export const shown = (value: unknown): string => {
  const text = Format.line(format(value), Infinity)
  return text.length > 60 ? `${text.slice(0, 60)}...` : text
}
