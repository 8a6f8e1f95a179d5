/**
 * Reads the recordings that a command line names.
 *
 * @internal
 */
import type * as Recording from "@effect-gpu-pool/observability/Recording"
import { line, messageOf } from "effect-gpu-pool/ShownValue"
import * as CliError from "effect/cli/CliError"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { createReadStream } from "node:fs"
import process from "node:process"
import { onStderr } from "../Stderr.ts"
import { isEnough, kindOf } from "./FileKind.ts"

const failing = (userMessage: string, cause: unknown): CliError.UserError =>
  new CliError.UserError({ cause, userMessage })

/** Bytes that are read at once: lines are read many at a time. */
const highWaterMark = 1 << 20

/** Whether an input is that of a running program. */
export const isAddress = (input: string): boolean => /^https?:\/\//.test(input)

const fetched = async (address: string): Promise<AsyncIterable<Uint8Array>> => {
  const { body, ok, status, statusText } = await fetch(address)
  if (!ok || body === null) throw new Error(`the server answers ${status} ${statusText}`.trim())
  return body
}

/** The network's reason is the cause of what `fetch` throws. */
const reasonOf = (cause: unknown): string =>
  cause instanceof TypeError && cause.cause !== undefined
    ? messageOf(cause.cause) || messageOf(cause)
    : messageOf(cause)

const unreadable = (input: string) => (cause: unknown): CliError.UserError =>
  failing(`${line(input)} cannot be read: ${line(reasonOf(cause))}`, cause)

const bytesOf = (input: string): Stream.Stream<Uint8Array, CliError.UserError> => {
  if (isAddress(input)) {
    return Stream.unwrap(Effect.map(
      Effect.tryPromise({ try: () => fetched(input), catch: unreadable(input) }),
      (bytes) => Stream.fromAsyncIterable(bytes, unreadable(input))
    ))
  }
  return Stream.suspend(() =>
    Stream.fromAsyncIterable<Uint8Array, CliError.UserError>(
      input === "-" ? process.stdin : createReadStream(input, { highWaterMark }),
      unreadable(input)
    )
  )
}

/** What an input of a command line can be. */
export const inputs =
  `a file of this library, RMM, CuPy or PyTorch, - for standard input, or the address of a program with Recording.layerHttp()`

/** The beginning as a text, and all of the bytes. */
const begun = Effect.fnUntraced(function*<E>(bytes: Stream.Stream<Uint8Array, E>) {
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
 * The recording in a file, of a running program at an address, or on standard input where the input is `-`. Where another tool has
 * written it, stderr says which.
 */
export const read = (input: string): Effect.Effect<Recording.Recording, CliError.UserError> =>
  Effect.gen(function*() {
    const { all, head } = yield* begun(bytesOf(input))
    const kind = kindOf(head)
    if (kind.name !== undefined) yield* Console.error(`${line(input)} is read as ${kind.name}.`)
    return yield* kind.read(all)
  }).pipe(
    Effect.scoped,
    onStderr,
    Effect.mapError((error) =>
      error instanceof CliError.UserError ? error : failing(`${line(input)}: ${error.message}`, error)
    )
  )
