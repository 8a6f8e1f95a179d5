/**
 * The files that commands write. A file that somebody else has made is never overwritten unasked: a new one gets the next free name.
 *
 * @internal
 */
import { line } from "effect-gpu-pool/Format"
import type * as CliError from "effect/cli/CliError"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { isPlatformError, type PlatformError } from "effect/PlatformError"
import * as Stream from "effect/Stream"
import { failing } from "./Ending.ts"
import { printAll } from "./Output.ts"
import { reasonOf } from "./recordings/RecordingInput.ts"

/** The flags of commands that write a file. */
export const outputFlags = {
  output: Flag.String("output").pipe(
    Flag.withAlias("o"),
    Flag.optional,
    Flag.withDescription("The file to write, or - for standard output; without it the recording's name, in this folder")
  ),
  overwrite: Flag.Boolean("overwrite").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Write the file also where another program's, or your own, has its name")
  )
}

export interface OutputFile {
  readonly output: Option.Option<string>
  readonly overwrite: boolean
  /** The name without `--output`, and its ending, before which a number makes it another one. */
  readonly name: string
  readonly ending: string
  /** The inputs, which are never overwritten. */
  readonly inputs: ReadonlyArray<string>
  /** Whether a file with this beginning is one that the command wrote, and may write anew. */
  readonly isOwn: (head: string) => boolean
}

/** How many bytes of a file are read to recognize it. */
const headBytes = 4096

/** The name of an output, from the name of a recording: without its ending, and for standard input "recording". */
export const nameOf = (recording: string): Effect.Effect<string, never, Path.Path> =>
  Effect.map(Path.Path, ({ basename }) => {
    const name = recording === "-" ? "" : basename(recording).replace(/\.[a-z]+$/i, "")
    return name === "" ? "recording" : name
  })

const cannotWrite = (file: string) => (cause: PlatformError): Effect.Effect<never, CliError.UserError> =>
  failing(`${line(file)} cannot be written: ${line(reasonOf(cause))}. Name another file with --output.`, cause)

/** Makes an empty file. False where the name is taken. */
const makes = (file: string) =>
  FileSystem.FileSystem.use((files) => Effect.scoped(files.open(file, { flag: "wx" }))).pipe(
    Effect.as(true),
    Effect.catchIf(({ reason }) => reason._tag === "AlreadyExists", () => Effect.succeed(false))
  )

/** Whether a file may be overwritten: one that the command wrote, or no file of bytes at all, such as a pipe. */
const mayOverwrite = Effect.fnUntraced(function*(file: string, { isOwn, overwrite }: OutputFile) {
  if (overwrite) return true
  const files = yield* FileSystem.FileSystem
  if ((yield* files.stat(file)).type !== "File") return true
  return isOwn(yield* Stream.mkString(Stream.decodeText(files.stream(file, { bytesToRead: headBytes }))))
})

interface Place {
  readonly file: string
  /** Whether there was no such file before. */
  readonly isNew: boolean
}

/** The first name that may be written, from that of the recording on. */
const freeName = Effect.fnUntraced(function*(options: OutputFile) {
  const { ending, name } = options
  const wanted = `${name}${ending}`
  for (let number = 1;; number++) {
    const file = number === 1 ? wanted : `${name}-${number}${ending}`
    const isNew = yield* makes(file)
    if (!isNew && !(yield* mayOverwrite(file, options))) continue
    if (number > 1) yield* Console.error(`${line(wanted)} is a file of yours: --overwrite would replace it.`)
    const place: Place = { file, isNew }
    return place
  }
})

const givenName = Effect.fnUntraced(function*(file: string, options: OutputFile) {
  const place: Place = { file, isNew: yield* makes(file) }
  return place.isNew || (yield* mayOverwrite(file, options))
    ? place
    : yield* failing(
      `${line(file)} exists, and this command did not write it. Name another file with --output, or add --overwrite.`
    )
})

/** Writes the text, and prints the path of the file. A new file is removed again where the text ends by an error. */
export const write = Effect.fn("OutputFile.write")(function*<E>(
  options: OutputFile,
  text: Stream.Stream<string, E>
) {
  const files = yield* FileSystem.FileSystem
  const { resolve } = yield* Path.Path
  const wanted = Option.getOrElse(options.output, () => `${options.name}${options.ending}`)
  if (wanted === "-") return yield* printAll(text)
  if (options.inputs.some((input) => input !== "-" && resolve(input) === resolve(wanted))) {
    return yield* failing(`${line(wanted)} is the recording itself. Name another file with --output.`)
  }
  const place = Option.isNone(options.output) ? freeName(options) : givenName(wanted, options)
  const { file, isNew } = yield* Effect.catchIf(place, isPlatformError, cannotWrite(wanted))
  yield* Stream.run(Stream.encodeText(text), files.sink(file)).pipe(
    Effect.onError(() => isNew ? Effect.ignore(files.remove(file)) : Effect.void),
    Effect.catchIf(isPlatformError, cannotWrite(file))
  )
  yield* Console.log(resolve(file))
})
