/**
 * Text that is written in pieces, so that no file is ever one string.
 *
 * @internal
 */
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { type Recording, recordingProblem } from "../recording/RecordingModel.ts"

/** The least characters of each piece but the last. */
const pieceLength = 65_536

/** Joins short texts to pieces. `join` makes flat strings, while one made by `+` refers to its parts until it is read. */
function* joined(texts: Iterable<string>): Generator<string> {
  let parts: Array<string> = []
  let length = 0
  for (const text of texts) {
    parts.push(text)
    length += text.length
    if (length < pieceLength) continue
    yield parts.join("")
    parts = []
    length = 0
  }
  if (length > 0) yield parts.join("")
}

/** The next piece; an error thrown by `valid` becomes the error of the stream. */
const next = (pieces: Iterator<string>): IteratorResult<string> | GpuError => {
  try {
    return pieces.next()
  } catch (thrown) {
    if (isGpuError(thrown)) return thrown
    throw thrown
  }
}

/** The text that `write` makes of a recording, in pieces. Each run of the stream writes it anew. */
export const textOf = (
  operation: string,
  recording: Recording,
  write: (recording: Recording) => Iterable<string>
): Stream.Stream<string, GpuError> =>
  Stream.fromPull(Effect.suspend(() => {
    const problem = recordingProblem(operation, recording)
    if (problem !== undefined) return Effect.fail(problem)
    const pieces = joined(write(recording))
    return Effect.succeed(Effect.suspend((): Pull.Pull<[string], GpuError> => {
      const result = next(pieces)
      if (isGpuError(result)) return Effect.fail(result)
      return result.done === true ? Cause.done() : Effect.succeed([result.value])
    }))
  }))

/** Collects text until it is taken. */
export class TextBuffer {
  #text = ""

  add(text: string): void {
    this.#text += text
  }

  take(): string {
    const text = this.#text
    this.#text = ""
    return text
  }
}

const loneSurrogates = /[\ud800-\udfff]/gu

/** How many texts are cached as JSON, since most occur many times. */
const mostKnown = 4096

export class JsonTexts {
  readonly #known = new Map<string, string>()

  /** A text as JSON that every reader accepts: a lone surrogate becomes U+FFFD. */
  of(text: string): string {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const json = JSON.stringify(text.replace(loneSurrogates, "\ufffd"))
    if (this.#known.size === mostKnown) this.#known.clear()
    this.#known.set(text, json)
    return json
  }
}
