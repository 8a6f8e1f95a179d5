/**
 * `effect-gpu-pool view`: a recording as a web page, or two runs over each other, or those of several hosts beside each other; in one file or
 * from a server that makes it anew for each request.
 *
 * @internal
 */
import type { Recording } from "@effect-gpu-pool/observability/Recording"
import * as Viewer from "@effect-gpu-pool/observability/Viewer"
import { line } from "effect-gpu-pool/Format"
import type * as Arr from "effect/Array"
import * as Argument from "effect/cli/Argument"
import type * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { failing } from "../Ending.ts"
import { serve } from "../LocalServer.ts"
import * as OutputFile from "../OutputFile.ts"
import { inputs, isAddress, read, reasonOf } from "../recordings/RecordingInput.ts"

const parameters = {
  recording: Argument.String("recording").pipe(Argument.withDescription(`What to look at: ${inputs}`)),
  others: Argument.String("other").pipe(
    Argument.atLeast(0),
    Argument.withDescription(
      "Another recording, drawn over the first one; or those of the other hosts of a fleet, each in a lane of its own"
    )
  ),
  ...OutputFile.outputFlags,
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
  readonly others: ReadonlyArray<string>
  readonly title: Option.Option<string>
}

const inputsOf = ({ others, recording }: Looked): ReadonlyArray<string> => [recording, ...others]

const nameOf = (input: string): Effect.Effect<string, never, Path.Path> =>
  input === "-"
    ? Effect.succeed("standard input")
    : Effect.map(Path.Path, ({ basename }) => basename(input) || input)

/** Which of a page's recordings the page polls: one, or each of several hosts. */
type Live = (areHosts: boolean) => Pick<Viewer.HtmlOptions, "live" | "refresh">

const neverLive: Live = () => ({})

/** Two recordings are two runs over each other, unless they are of different hosts; more are always of hosts. */
const areHosts = ([first, second, third]: ReadonlyArray<Recording>): boolean =>
  third !== undefined ||
  (first?.host !== undefined && second?.host !== undefined && first.host !== second.host)

interface Page {
  readonly html: string
  readonly areHosts: boolean
}

const fleetPage = Effect.fnUntraced(function*(
  [first, ...others]: Arr.NonEmptyReadonlyArray<Recording>,
  looked: Looked,
  live: Live
) {
  const named = Effect.fnUntraced(function*(recording: Recording, input: string) {
    return { ...recording, host: recording.host ?? (yield* nameOf(input)) }
  })
  const hosts: Arr.NonEmptyReadonlyArray<Recording> = [
    yield* named(first, looked.recording),
    ...yield* Effect.forEach(others, (recording, at) => named(recording, looked.others[at]!))
  ]
  return yield* Viewer.fleetHtml(hosts, { title: Option.getOrUndefined(looked.title), ...live(true) })
})

const page = Effect.fn("view.page")(function*(looked: Looked, live: Live) {
  const { others, recording: input, title } = looked
  const all = [yield* read(input), ...yield* Effect.forEach(others, read)] as const
  if (areHosts(all)) return { html: yield* fleetPage(all, looked, live), areHosts: true } satisfies Page
  const [first, compareWith] = all
  const compareTitle = others[0] === undefined ? undefined : yield* nameOf(others[0])
  const html = yield* Viewer.html(first, {
    title: Option.getOrUndefined(title) ?? (yield* nameOf(input)),
    compareWith,
    compareTitle,
    ...live(false)
  })
  return { html, areHosts: false } satisfies Page
})

const cannot = (what: string, nextStep: string) => (cause: unknown): CliError.UserError =>
  failing(`${what}: ${line(reasonOf(cause))}. ${nextStep}`, cause)

/** A page that the command wrote says so in its head. */
const isPage = (head: string): boolean => head.includes(`<meta name="generator" content="effect-gpu-pool">`)

const toFile = Effect.fn("view.toFile")(function*(looked: Looked, options: OutputOptions) {
  // Made before the file is opened: a page of before stays where this one fails.
  const { areHosts, html } = yield* page(looked, neverLive)
  const name = areHosts ? "fleet" : yield* OutputFile.nameOf(looked.recording)
  const file = { ...options, name, ending: ".html", inputs: inputsOf(looked), isOwn: isPage }
  yield* OutputFile.write(file, Stream.make(html))
})

/** The page, made anew for each request, or why it cannot be made now. */
const answer = <R>(contentType: string, making: Effect.Effect<string | Uint8Array, CliError.UserError, R>) =>
  Effect.match(making, {
    onFailure: ({ userMessage = "" }) => HttpServerResponse.text(`${userMessage}\n`, { status: 502 }),
    onSuccess: (body) =>
      HttpServerResponse.setBody(
        HttpServerResponse.empty({ status: 200, headers: { "cache-control": "no-store" } }),
        typeof body === "string" ? HttpBody.text(body, contentType) : HttpBody.uint8Array(body, contentType)
      )
  })

/** Whether the page polls: for running programs, and for files with `--refresh`. */
const liveOf = (looked: Looked, refresh: Option.Option<number>): Live => (areHosts) => {
  const polled = areHosts ? inputsOf(looked) : [looked.recording]
  return Option.isSome(refresh) || polled.some(isAddress)
    ? { live: "data", refresh: Option.getOrUndefined(Option.map(refresh, Duration.seconds)) }
    : {}
}

const newest = (input: string) => Effect.flatMap(read(input), Viewer.data)

const toBrowsers = Effect.fn("view.toBrowsers")(
  function*(looked: Looked, port: number, refresh: Option.Option<number>) {
    const inputs = inputsOf(looked)
    if (inputs.includes("-")) {
      return yield* failing("Standard input can be read once, and --serve reads again. Give it a file or an address.")
    }
    // One page at a time, since each needs whole recordings in memory.
    const { withPermit } = yield* Semaphore.make(1)
    const data = (path: HttpRouter.PathInput, input: string) =>
      HttpRouter.add("GET", path, withPermit(answer("application/octet-stream", newest(input))))
    const html = Effect.map(page(looked, liveOf(looked, refresh)), ({ html }) => html)
    const app = yield* HttpRouter.toHttpEffect(Layer.mergeAll(
      HttpRouter.add("GET", "/", withPermit(answer("text/html; charset=utf-8", html))),
      data("/data", looked.recording),
      ...inputs.map((input, host) => data(`/data/${host}`, input))
    ))
    const address = yield* Effect.mapError(
      serve(app, { host: "localhost", port }),
      cannot(`the page cannot be served at port ${port}`, "Name another with --port.")
    )
    yield* Console.log(`${HttpServer.formatAddress(address)}/`)
    return yield* Effect.never
  },
  Effect.scoped
)

/** A flag that would have no effect is an error. */
const misplaced = (flags: { readonly [name: string]: Option.Option<unknown> }, why: string): string | undefined => {
  const given = Object.keys(flags).filter((name) => Option.isSome(flags[name]!))
  return given.length === 0 ? undefined : `--${given.join(", --")}: ${why}`
}

type OutputOptions = Pick<OutputFile.OutputFile, "output" | "overwrite">

const view = Effect.fnUntraced(
  function*({ output, overwrite, port, refresh, serve, ...looked }: Looked & OutputOptions & {
    readonly port: Option.Option<number>
    readonly refresh: Option.Option<number>
    readonly serve: boolean
  }) {
    const mistake = serve
      ? misplaced(
        { output, overwrite: overwrite ? Option.some(overwrite) : Option.none() },
        "--serve writes no file. Leave one of them out."
      )
      : misplaced({ port, refresh }, "this is for a page that is served. Add --serve, or leave it out.")
    if (mistake !== undefined) return yield* failing(mistake)
    yield* serve ? toBrowsers(looked, Option.getOrElse(port, () => 0), refresh) : toFile(looked, { output, overwrite })
  }
)

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
      command: "effect-gpu-pool view a.jsonl b.jsonl c.jsonl",
      description: "Three hosts of a fleet, each in a lane, as fleet.html"
    },
    {
      command: "effect-gpu-pool view http://localhost:3000/recording --serve",
      description: "A running program, as it runs"
    }
  ])
)
