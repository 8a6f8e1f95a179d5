/**
 * Text that is written in pieces, so that no file is ever one string.
 *
 * @internal
 */
import * as Stream from "effect/Stream"

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

/** What `write` makes, in pieces. Each run of the stream writes it anew. */
export const textOf = (write: () => Iterable<string>): Stream.Stream<string> =>
  Stream.suspend(() => Stream.fromIterable(joined(write()), { chunkSize: 1 }))

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

const readable = (_name: string, value: unknown): unknown =>
  typeof value === "string" ? value.replace(loneSurrogates, "\ufffd") : value

/** JSON that every reader accepts: a lone surrogate, which JSON escapes, becomes U+FFFD. */
export const jsonOf = (value: object): string => {
  const text = JSON.stringify(value)
  return text.includes("\\ud") ? JSON.stringify(value, readable) : text
}
