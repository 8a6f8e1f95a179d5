/**
 * `effect-gpu-pool top`: live statistics of the pools of running programs. It is the server to which `DevTools.layer()` of Effect
 * connects, so a program needs only `PoolMetrics.layer()` of this library.
 *
 * @internal
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { line } from "effect-gpu-pool/Format"
import type * as Cause from "effect/Cause"
import type * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as DevToolsSchema from "effect/devtools/DevToolsSchema"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Ndjson from "effect/encoding/Ndjson"
import type { ServeError } from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Latch from "effect/Latch"
import * as NetAddress from "effect/net/NetAddress"
import * as Predicate from "effect/Predicate"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Socket from "effect/socket/Socket"
import type * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import type { Terminal } from "effect/Terminal"
import { failing } from "../Ending.ts"
import { mostBytes, serve } from "../LocalServer.ts"
import { height, print, redraw, style, width } from "../Output.ts"
import { messageOf } from "../Printable.ts"
import * as TopReport from "./TopReport.ts"
import { type Answer, memoriesOf, Watched } from "./Watched.ts"

const flags = {
  json: Flag.Boolean("json").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Print a line of JSON for each time that a program reports its pools")
  ),
  once: Flag.Boolean("once").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Print what the first program reports that has a pool, and end")
  ),
  every: Flag.Finite("every").pipe(
    Flag.withDefault(1),
    Flag.filter((seconds) => seconds > 0, () => "seconds above 0, as 0.5"),
    Flag.withDescription("Ask programs again after so many seconds")
  ),
  port: Flag.Int("port").pipe(
    Flag.withDefault(34437),
    Flag.filter(
      (port) => port >= 0 && port <= 65_535,
      () => "a port from 1 to 65535, or 0 for any that is free"
    ),
    Flag.withDescription(
      "Where to listen; 0 takes any free port. Without it the port that DevTools.layer() connects to"
    )
  ),
  host: Flag.String("host").pipe(
    Flag.withDefault("localhost"),
    // For an empty host, such as a variable that is not set, Node would listen at every address of the machine.
    Flag.filter((host) => host !== "", () => "an address, as localhost, or 0.0.0.0 for every one of this machine"),
    Flag.withDescription("The address to listen at; without it this machine's own programs alone can connect")
  ),
  origins: Flag.String("origin").pipe(
    Flag.filter((origin) => /^https?:\/\/[^/\s]+$/.test(origin), () => "the origin of a page, as https://app.example"),
    // An origin as browsers send it: in lower case, and without the default port.
    Flag.map((origin) => URL.parse(origin)?.origin ?? origin),
    Flag.atLeast(0),
    Flag.withDescription(
      "Pages of this origin can connect, besides those of this machine; it can be given several times"
    )
  )
}

interface Options {
  readonly every: Duration.Duration
  /** Is run for each answer of a program. */
  readonly onAnswer: (answer: Answer) => Effect.Effect<unknown, never, Stdio.Stdio | Terminal>
  /** Is run when a program has disconnected. */
  readonly onGone: Effect.Effect<unknown>
  /** Is called when a program's connection has to be closed. */
  readonly onFault: (what: string) => void
}

/** The protocol of `DevTools.layer()`. Effect's own server accepts lines of any length. */
const protocol = {
  inputSchema: Schema.toCodecJson(DevToolsSchema.Response),
  outputSchema: Schema.toCodecJson(DevToolsSchema.Request),
  maxLineBytes: mostBytes
}

/** Ends the connection of a program that does not read: unsent bytes would fill the memory of this process. */
class TooMuch extends Data.TaggedError("TooMuch") {}

const hasGone = (error: { readonly _tag: string }): error is Socket.SocketError =>
  error instanceof Socket.SocketError && !isTooLong(error.reason)

const isTooLong = (reason: Socket.SocketErrorReason): boolean =>
  reason._tag === "SocketReadError" && Predicate.hasProperty(reason.cause, "error") &&
  Predicate.hasProperty(reason.cause.error, "code") && reason.cause.error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH"

const faultOf = (error: Ndjson.NdjsonError | Schema.SchemaError | Socket.SocketError | TooMuch): string =>
  error._tag === "SchemaError" || (error._tag === "NdjsonError" && error.reason !== "LineTooLarge")
    ? "as it speaks another protocol than DevTools.layer() of Effect 4.1"
    : `as it sent more than ${mostBytes / 2 ** 20} MiB at once, or did not read`

/** Polls a program until it disconnects, each time after its answer. Unrequested answers are ignored. */
const follow = Effect.fnUntraced(function*(watched: Watched, { every, onFault, onGone, onAnswer }: Options) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { socket: connection } = NodeHttpServerRequest.toIncomingMessage(request)
  const socket = yield* request.upgrade
  const program = watched.connect()
  const responses = yield* Queue.unbounded<DevToolsSchema.Response>()
  const snapshots = yield* Queue.unbounded<DevToolsSchema.MetricsSnapshot, Cause.Done>()
  const answered = Latch.makeUnsafe(false)
  // A program sends one unrequested answer, at its end.
  let due = 1
  const ask = Effect.suspend(() => {
    due++
    answered.closeUnsafe()
    return Queue.offer(responses, { _tag: "MetricsRequest" })
  })
  const asking = ask.pipe(Effect.andThen(answered.await), Effect.andThen(Effect.sleep(every)), Effect.forever)
  const receive = (request: DevToolsSchema.Request): Effect.Effect<unknown, TooMuch> => {
    if (connection.writableLength > mostBytes) return new TooMuch()
    if (request._tag === "Ping") return Queue.offer(responses, { _tag: "Pong" })
    if (request._tag !== "MetricsSnapshot" || due === 0) return Effect.void
    due--
    return Queue.offer(snapshots, request)
  }
  const receiving = Stream.fromQueue(responses).pipe(
    Stream.pipeThroughChannel(Ndjson.duplexSchema(Socket.toChannel(socket), protocol)),
    Stream.runForEach(receive),
    Effect.catchIf(hasGone, () => Effect.void),
    Effect.tapError((error) => Effect.sync(() => onFault(faultOf(error)))),
    Effect.ensuring(Queue.end(snapshots))
  )
  const publishing = Stream.runForEach(
    Stream.fromQueue(snapshots),
    Effect.fnUntraced(function*(snapshot) {
      const answer = { program, time: yield* Clock.currentTimeMillis, memories: memoriesOf(snapshot) }
      watched.add(answer)
      yield* onAnswer(answer)
      yield* answered.open
    })
  )
  yield* Effect.all([receiving, publishing], { concurrency: "unbounded", discard: true }).pipe(
    Effect.raceFirst(asking),
    Effect.ensuring(Effect.andThen(Effect.sync(() => watched.disconnect(program)), onGone))
  )
  return HttpServerResponse.empty()
})

const notListening = ({ cause }: ServeError, place: string): CliError.UserError => {
  const reason = messageOf(cause)
  return failing(
    reason.includes("EADDRINUSE")
      ? `${place} is taken, by another top or by an editor's view of DevTools. End that, or listen elsewhere: --port 34438, ` +
        `and DevTools.layer("ws://localhost:34438") in the program.`
      : `cannot listen at ${place}: ${line(reason)}. Name another place with --host and --port.`,
    cause
  )
}

const draw = Effect.fnUntraced(function*(watched: Watched) {
  yield* redraw(TopReport.text(watched, yield* style, { width: yield* width, height: yield* height }))
})

/** Draws for each request; requests made while it draws are served together. */
const drawing = (watched: Watched, asked: Queue.Dequeue<void>): Effect.Effect<never, never, Stdio.Stdio | Terminal> =>
  Effect.forever(Effect.andThen(Queue.take(asked), draw(watched)))

/** Each refusal is printed once, and this many at most. */
const mostNotes = 16

/** Prints who was refused. A bound is needed, since any page can connect again and again, under any name. */
const refusals = (note: (text: string) => void): (why: string) => void => {
  const printed = new Set<string>()
  return (why) => {
    if (printed.has(why) || printed.size === mostNotes) return
    printed.add(why)
    note(`Refused: ${why}.${why.startsWith("a page") ? " --origin lets pages of another origin connect." : ""}`)
  }
}

export const topCommand = Command.make(
  "top",
  flags,
  Effect.fnUntraced(function*({ every, host, json, once, origins, port }) {
    const place = `${line(host)}:${port}`
    const console = yield* Console.Console
    const onRefused = refusals((text) => console.error(text))
    const watched = new Watched()
    const first = yield* Deferred.make<void>()
    const frames = yield* Queue.sliding<void>(1)
    const drawSoon = Queue.offer(frames, undefined)
    const show = (answer: Answer) => json ? print(TopReport.json(answer)) : once ? draw(watched) : drawSoon
    const poolless = new Set<number>()
    /** Says once for each program that it has no pool, while `--once` waits for one that has. */
    const onPoolless = (answer: Answer) => {
      if (poolless.has(answer.program)) return Effect.void
      poolless.add(answer.program)
      return Console.error(TopReport.poolless([answer]))
    }
    const onAnswer = (answer: Answer) =>
      once && answer.memories.length === 0
        ? onPoolless(answer)
        : Effect.andThen(show(answer), once ? Deferred.succeed(first, undefined) : Effect.void)
    const { canAnimate } = yield* TerminalCapabilities
    // A live screen must not show a program that has disconnected.
    const onGone = canAnimate && !json ? drawSoon : Effect.void
    const onFault = (what: string) => onRefused(`a program, ${what}`)
    const address = yield* Effect.mapError(
      serve(follow(watched, { every: Duration.seconds(every), onGone, onAnswer, onFault }), {
        host,
        port,
        origins,
        onRefused
      }),
      (error) => notListening(error, place)
    )
    yield* Console.error(`Listening at ws://${NetAddress.formatSocketAddress(address)}: ${advice}`)
    yield* Effect.raceFirst(drawing(watched, frames), Deferred.await(first))
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Show the pools of running programs: bytes in use and held, hits, waiting requests. A program that has PoolMetrics.layer() " +
      "and Effect's DevTools.layer() connects by itself, also when it was started first."
  ),
  Command.withShortDescription("Show the pools of running programs, live"),
  Command.withExamples([
    { command: "effect-gpu-pool top", description: "A table that is drawn anew each second" },
    { command: "effect-gpu-pool top --once --json", description: "One answer, for scripts" },
    { command: `effect-gpu-pool top --json --every 10 >> pools.jsonl`, description: "A log of statistics" }
  ])
)

const advice = "programs with PoolMetrics.layer() and DevTools.layer() connect by themselves."
