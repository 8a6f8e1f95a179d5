/**
 * `effect-gpu-pool view`: a recording as a page to look at, in one file or from a server that makes it anew for each look.
 *
 * @internal
 */
import * as Viewer from "@effect-gpu-pool/observability/Viewer"
import { line, messageOf } from "effect-gpu-pool/ShownValue"
import * as Argument from "effect/cli/Argument"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { writeFile } from "node:fs/promises"
import { basename, resolve } from "node:path"
import { forUser } from "../Ending.ts"
import { inputs, isAddress, read } from "../recordings/RecordingInput.ts"
import { type Answer, serve } from "../serving/PageServer.ts"

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
    Flag.withDescription("Write no file: serve the page, which shows what a program at an address does as it runs")
  ),
  port: Flag.Int("port").pipe(
    Flag.filter((port) => port >= 0 && port <= 65_535, () => "a port from 1 to 65535, or 0 for any that is free"),
    Flag.optional,
    Flag.withDescription("With --serve, where to serve the page; any free port without it")
  ),
  refresh: Flag.Finite("refresh").pipe(
    Flag.filter((seconds) => seconds > 0 && seconds <= 86_400, () => "seconds above 0, up to 86400, as 5"),
    Flag.optional,
    Flag.withDescription(
      "With --serve, read the recording again after so many seconds; 1 for an address, never for a file"
    )
  )
}

interface Looked {
  readonly recording: string
  readonly other: Option.Option<string>
  readonly title: Option.Option<string>
}

const page = (
  { other, recording, title }: Looked,
  live: Pick<Viewer.HtmlOptions, "live" | "refresh">
): Effect.Effect<string, CliError.UserError> =>
  Effect.gen(function*() {
    const first = yield* read(recording)
    const second = Option.isSome(other) ? yield* read(other.value) : undefined
    return yield* Effect.mapError(
      Viewer.html(first, {
        title: Option.getOrElse(title, () => nameOf(recording)),
        compareWith: second,
        compareTitle: Option.isSome(other) ? nameOf(other.value) : undefined,
        ...live
      }),
      forUser
    )
  })

const nameOf = (input: string): string => input === "-" ? "standard input" : basename(input) || input

const outputOf = (recording: string): string => {
  const name = recording === "-" ? "recording" : basename(recording).replace(/\.[a-z]+$/i, "")
  return `${name === "" ? "recording" : name}.html`
}

const failing = (userMessage: string): CliError.UserError => new CliError.UserError({ cause: userMessage, userMessage })

const cannot = (what: string) => (cause: unknown): CliError.UserError =>
  new CliError.UserError({ cause, userMessage: `${what}: ${line(messageOf(cause))}` })

const toFile = (looked: Looked, file: string): Effect.Effect<void, CliError.UserError> =>
  Effect.gen(function*() {
    const inputs = [looked.recording, ...Option.toArray(looked.other)]
    if (inputs.some((input) => input !== "-" && resolve(input) === resolve(file))) {
      return yield* failing(`${line(file)} is the recording itself. Name another file with --output.`)
    }
    const html = yield* page(looked, {})
    yield* Effect.tryPromise({ try: () => writeFile(file, html), catch: cannot(`${line(file)} cannot be written`) })
    yield* Console.log(resolve(file))
  })

const answer = (
  type: string,
  making: Effect.Effect<string | Uint8Array, CliError.UserError>
): Effect.Effect<Answer> =>
  Effect.match(making, {
    onFailure: ({ userMessage = "" }) => ({ problem: userMessage }),
    onSuccess: (body) => ({ type, body })
  })

/** A program at an address goes on, and a file does so where its user says it. */
const liveOf = (recording: string, refresh: Option.Option<number>): Pick<Viewer.HtmlOptions, "live" | "refresh"> =>
  Option.isSome(refresh) || isAddress(recording)
    ? { live: "data", refresh: Option.getOrUndefined(Option.map(refresh, Duration.seconds)) }
    : {}

const toBrowsers = (
  looked: Looked,
  port: number,
  refresh: Option.Option<number>
): Effect.Effect<never, CliError.UserError> =>
  Effect.scoped(Effect.gen(function*() {
    if ([looked.recording, ...Option.toArray(looked.other)].includes("-")) {
      return yield* failing("Standard input can be read once, and --serve reads again. Give it a file or an address.")
    }
    const newest = Effect.flatMap(
      read(looked.recording),
      (recording) => Effect.mapError(Viewer.data(recording), forUser)
    )
    const answers = {
      "/": answer("text/html; charset=utf-8", page(looked, liveOf(looked.recording, refresh))),
      "/data": answer("application/octet-stream", newest)
    }
    const address = yield* Effect.mapError(serve(answers, port), cannot(`the page cannot be served at port ${port}`))
    yield* Console.log(address)
    return yield* Effect.never
  }))

/** A flag that would do nothing is a mistake. */
const misplaced = (flags: { readonly [name: string]: Option.Option<unknown> }, why: string): string | undefined => {
  const given = Object.keys(flags).filter((name) => Option.isSome(flags[name]!))
  return given.length === 0 ? undefined : `--${given.join(", --")}: ${why}`
}

const view = (
  { output, port, refresh, serve, ...looked }: Looked & {
    readonly output: Option.Option<string>
    readonly port: Option.Option<number>
    readonly refresh: Option.Option<number>
    readonly serve: boolean
  }
): Effect.Effect<void, CliError.UserError> => {
  const mistake = serve
    ? misplaced({ output }, "--serve writes no file. Leave one of them out.")
    : misplaced({ port, refresh }, "this is for a page that is served. Add --serve, or leave it out.")
  if (mistake !== undefined) return failing(mistake)
  return serve
    ? toBrowsers(looked, Option.getOrElse(port, () => 0), refresh)
    : toFile(looked, Option.getOrElse(output, () => outputOf(looked.recording)))
}

export const viewCommand = Command.make(
  "view",
  parameters,
  view
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
      command: "effect-gpu-pool view http://localhost:3000/recording --serve",
      description: "A running program, as it runs"
    }
  ])
)
