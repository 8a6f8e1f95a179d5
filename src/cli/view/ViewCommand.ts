/**
 * `effect-gpu-pool view`: a recording as a page to look at, in one file or from a server that makes it anew for each look.
 *
 * @internal
 */
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { writeFile } from "node:fs/promises"
import { basename, resolve } from "node:path"
import { line, messageOf } from "../../domain/arguments/ShownValue.ts"
import * as Viewer from "../../observability/viewer/Viewer.ts"
import { forUser } from "../Ending.ts"
import { inputs, read } from "../recordings/RecordingInput.ts"
import { type Page, serve } from "./PageServer.ts"

const parameters = {
  recording: Argument.String("recording").pipe(Argument.withDescription(`What to look at: ${inputs}`)),
  other: Argument.String("other").pipe(
    Argument.optional,
    Argument.withDescription("Another recording, drawn over the first one")
  ),
  output: Flag.String("output").pipe(
    Flag.withAlias("o"),
    Flag.optional,
    Flag.withDescription("The file to write; without it the recording's name with .html, in this folder")
  ),
  title: Flag.String("title").pipe(Flag.optional, Flag.withDescription("The heading of the page")),
  serve: Flag.Boolean("serve").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Write no file: serve the page, and read the recordings anew whenever it is loaded")
  ),
  port: Flag.Int("port").pipe(
    Flag.withDefault(0),
    Flag.filter((port) => port >= 0 && port <= 65_535, () => "a port from 1 to 65535, or 0 for any that is free"),
    Flag.withDescription("Where to serve the page; any free port without it")
  ),
  refresh: Flag.Finite("refresh").pipe(
    Flag.filter((seconds) => seconds > 0, () => "seconds above 0, as 5"),
    Flag.optional,
    Flag.withDescription("With --serve, load the page again after so many seconds")
  )
}

interface Looked {
  readonly recording: string
  readonly other: Option.Option<string>
  readonly title: Option.Option<string>
}

const page = ({ other, recording, title }: Looked): Effect.Effect<string, CliError.UserError> =>
  Effect.gen(function*() {
    const first = yield* read(recording)
    const second = Option.isSome(other) ? yield* read(other.value) : undefined
    return yield* Effect.mapError(
      Viewer.html(first, {
        title: Option.getOrElse(title, () => nameOf(recording)),
        compareWith: second,
        compareTitle: Option.isSome(other) ? nameOf(other.value) : undefined
      }),
      forUser
    )
  })

const nameOf = (input: string): string => input === "-" ? "standard input" : basename(input) || input

const outputOf = (recording: string): string => {
  const name = recording === "-" ? "recording" : basename(recording).replace(/\.[a-z]+$/i, "")
  return `${name === "" ? "recording" : name}.html`
}

const cannot = (what: string) => (cause: unknown): CliError.UserError =>
  new CliError.UserError({ cause, userMessage: `${what}: ${line(messageOf(cause))}` })

const toFile = (looked: Looked, file: string): Effect.Effect<void, CliError.UserError> =>
  Effect.gen(function*() {
    const inputs = [looked.recording, ...Option.toArray(looked.other)]
    if (inputs.some((input) => input !== "-" && resolve(input) === resolve(file))) {
      const userMessage = `${line(file)} is the recording itself. Name another file with --output.`
      return yield* new CliError.UserError({ cause: userMessage, userMessage })
    }
    const html = yield* page(looked)
    yield* Effect.tryPromise({ try: () => writeFile(file, html), catch: cannot(`${line(file)} cannot be written`) })
    yield* Console.log(resolve(file))
  })

const toBrowsers = (
  looked: Looked,
  port: number,
  refresh: number | undefined
): Effect.Effect<never, CliError.UserError> =>
  Effect.scoped(Effect.gen(function*() {
    const made: Effect.Effect<Page> = Effect.match(page(looked), {
      onFailure: ({ userMessage = "" }) => ({ problem: userMessage }),
      onSuccess: (html) => ({ html })
    })
    const address = yield* Effect.mapError(
      serve(made, { port, refresh }),
      cannot(`the page cannot be served at port ${port}`)
    )
    yield* Console.log(address)
    return yield* Effect.never
  }))

export const viewCommand = Command.make(
  "view",
  parameters,
  ({ output, port, refresh, serve, ...looked }) =>
    serve
      ? toBrowsers(looked, port, Option.getOrUndefined(refresh))
      : toFile(looked, Option.getOrElse(output, () => outputOf(looked.recording)))
).pipe(
  Command.withDescription(
    "Make a page of a recording, as Recording.layerSaving writes it when a program runs out of memory: memory over time, who " +
      "has it, blocks and the gaps between them. One HTML file that loads nothing."
  ),
  Command.withShortDescription("Make a page of a recording, to look at who has the memory"),
  Command.withExamples([
    { command: "effect-gpu-pool view recording.jsonl", description: "Write recording.html, and say where" },
    {
      command: "effect-gpu-pool view before.jsonl after.jsonl --output both.html",
      description: "Two runs over each other"
    },
    {
      command: "effect-gpu-pool view http://localhost:3000/recording --serve --refresh 5",
      description: "A running program, anew every 5 seconds"
    }
  ])
)
