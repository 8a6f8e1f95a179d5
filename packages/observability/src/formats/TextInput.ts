/**
 * Reads text that comes in pieces, and cuts it into lines.
 *
 * @internal
 */
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

/** Takes the pieces of a text. It fails by throwing a GpuError. */
export interface TextReader<A> {
  take(piece: string): void
  /** Is called after the last piece. Returns the result. */
  end(): A
}

const step = <A>(f: () => A): Effect.Effect<A, GpuError> =>
  Effect.catchDefect(Effect.sync(f), (defect) => isGpuError(defect) ? Effect.fail(defect) : Effect.die(defect))

/** Gives a text to the reader that `begin` makes, and returns the reader's result. */
export const readText = <A, E, R>(input: Text<E, R>, begin: () => TextReader<A>): Effect.Effect<A, E | GpuError, R> =>
  Effect.suspend(() => {
    const reader = begin()
    const pieces = typeof input === "string" ? Stream.fromIterable(piecesOf(input), { chunkSize: 1 }) : input
    return Effect.andThen(
      Stream.runForEach(pieces, (piece) => step(() => reader.take(piece))),
      Effect.suspend(() => step(() => reader.end()))
    )
  })

/** Cuts pieces into lines, without line ends, empty lines and a byte order mark. */
export class Lines {
  readonly #each: (line: string, number: number) => void
  #rest = ""
  #number = 0

  constructor(each: (line: string, number: number) => void) {
    this.#each = each
  }

  take(piece: string): void {
    let from = 0
    for (let to = piece.indexOf("\n"); to >= 0; to = piece.indexOf("\n", from)) {
      this.#line(from === 0 ? this.#rest + piece.slice(0, to) : piece.slice(from, to))
      if (from === 0) this.#rest = ""
      from = to + 1
    }
    this.#rest += from === 0 ? piece : piece.slice(from)
  }

  end(): void {
    this.#line(this.#rest)
    this.#rest = ""
  }

  #line(raw: string): void {
    this.#number++
    const line = (this.#number === 1 && raw.startsWith("\ufeff") ? raw.slice(1) : raw).trim()
    if (line !== "") this.#each(line, this.#number)
  }
}

/** The value of a text in JSON; undefined for invalid JSON. */
export const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller says where it is.
    return undefined
  }
}

/** A value of a file as messages show it. */
export const shown = (value: unknown): string => {
  const text = format(value)
  return text.length > 60 ? `${text.slice(0, 60)}...` : text
}
