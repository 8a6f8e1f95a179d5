/**
 * `effect-gpu-pool top`: live statistics of the pools of running programs. It is the server to which `DevTools.layer()` of Effect
 * connects, so a program needs nothing of this library's besides `PoolMetrics.layer()`.
 *
 * @internal
 */
import { line, messageOf } from "effect-gpu-pool/ShownValue"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import type * as DevToolsSchema from "effect/devtools/DevToolsSchema"
import * as DevToolsServer from "effect/devtools/DevToolsServer"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as NetAddress from "effect/net/NetAddress"
import * as Queue from "effect/Queue"
import * as SocketServer from "effect/socket/SocketServer"
import process from "node:process"
import { height, width } from "../Room.ts"
import * as WebSocketServer from "../serving/WebSocketServer.ts"
import { style } from "../Style.ts"
import { memoriesOf } from "./Memories.ts"
import * as TopReport from "./TopReport.ts"
import { type Told, Watched } from "./Watched.ts"

const flags = {
  json: Flag.Boolean("json").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Print a line of JSON for each time that a program tells of its pools")
  ),
  once: Flag.Boolean("once").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Print what the first program tells that has a pool, and end")
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
    // Node listens at every address of the machine for an empty one, as a variable is that is not set.
    Flag.filter((host) => host !== "", () => "an address, as localhost, or 0.0.0.0 for every one of this machine"),
    Flag.withDescription("The address to listen at; without it this machine's own programs alone can connect")
  ),
  origins: Flag.String("origin").pipe(
    Flag.filter((origin) => /^https?:\/\/[^/\s]+$/.test(origin), () => "the origin of a page, as https://app.example"),
    // As browsers write it: in small letters, and without the usual port.
    Flag.map((origin) => URL.parse(origin)?.origin ?? origin),
    Flag.atLeast(0),
    Flag.withDescription(
      "Pages of this origin can connect, besides those of this machine; it can be given several times"
    )
  )
}

interface Options {
  readonly every: Duration.Duration
  /** What is done with each thing that a program tells. */
  readonly onTold: (told: Told) => Effect.Effect<unknown>
  /** What is done when one has gone. */
  readonly onGone: Effect.Effect<unknown>
}

/** Asks a program again and again, until it goes: each time when it has answered. What it tells more often is not heard. */
const follow = (
  client: DevToolsServer.Client,
  watched: Watched,
  { every, onGone, onTold }: Options
): Effect.Effect<never> =>
  Effect.suspend(() => {
    const program = watched.come()
    const answered = Latch.makeUnsafe(false)
    // A program tells once unasked, at its end.
    let due = 1
    const ask = Effect.suspend(() => {
      due++
      answered.closeUnsafe()
      return client.send({ _tag: "MetricsRequest" })
    })
    const asking = written.pipe(
      Effect.andThen(ask),
      Effect.andThen(answered.await),
      Effect.andThen(Effect.sleep(every)),
      Effect.forever
    )
    const hear = (snapshot: DevToolsSchema.MetricsSnapshot) => {
      if (due === 0) return Effect.void
      due--
      answered.openUnsafe()
      return Effect.flatMap(Clock.currentTimeMillis, (time) => {
        const told = { program, time, memories: memoriesOf(snapshot) }
        watched.tell(told)
        return onTold(told)
      })
    }
    const listening = Queue.take(client.queue).pipe(
      Effect.flatMap((request) => request._tag === "MetricsSnapshot" ? hear(request) : Effect.void),
      Effect.forever
    )
    return Effect.andThen(Effect.forkChild(asking), listening).pipe(
      Effect.ensuring(Effect.andThen(Effect.sync(() => watched.go(program)), onGone))
    )
  })

/** Waits until the reader of the output has taken what was written: who reads slowly is asked for less. */
const written: Effect.Effect<void> = Effect.callback((resume) => {
  const { stdout } = process
  if (!stdout.writableNeedDrain) return resume(Effect.void)
  const onDrain = () => resume(Effect.void)
  stdout.once("drain", onDrain)
  return Effect.sync(() => stdout.off("drain", onDrain))
})

const notListening = ({ reason }: SocketServer.SocketServerError, place: string): CliError.UserError => {
  const cause = messageOf(reason.cause)
  return new CliError.UserError({
    cause: reason,
    userMessage: cause.includes("EADDRINUSE")
      ? `${place} is taken, by another top or by an editor's view of DevTools. End that, or listen elsewhere: --port 34438, ` +
        `and DevTools.layer("ws://localhost:34438") in the program.`
      : `cannot listen at ${place}: ${line(cause)}`
  })
}

const clear = "\u001b[H\u001b[J"

/** The whole screen on a terminal, and one table after another elsewhere. */
const draw = Effect.fnUntraced(function*(watched: Watched) {
  const { canAnimate } = yield* TerminalCapabilities
  const text = TopReport.text(watched, yield* style, { width: yield* width, height: yield* height })
  yield* Console.log(canAnimate ? `${clear}${text}` : text)
})

/** Draws when it is asked, and what is asked for meanwhile once. */
const drawing = (watched: Watched, asked: Queue.Dequeue<void>): Effect.Effect<never> =>
  Queue.take(asked).pipe(Effect.andThen(written), Effect.andThen(draw(watched)), Effect.forever)

/** Of one kind is told once, and of many kinds no more. */
const mostNotes = 16

/** Tells who was refused. Any page can ask again and again, by any name. */
const refusals = (note: (text: string) => void): (why: string) => void => {
  const told = new Set<string>()
  return (why) => {
    if (told.has(why) || told.size === mostNotes) return
    told.add(why)
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
    const server = yield* Effect.mapError(
      WebSocketServer.make({ host, port, origins, onRefused }),
      (error) => notListening(error, place)
    )
    yield* Console.error(`Listening at ws://${NetAddress.formatSocketAddress(server.address)}: ${advice}`)
    const watched = new Watched()
    const first = yield* Deferred.make<void>()
    const frames = yield* Queue.sliding<void>(1)
    const drawSoon = Queue.offer(frames, undefined)
    const print = (told: Told) => json ? Console.log(TopReport.json(told)) : once ? draw(watched) : drawSoon
    const poolless = new Set<number>()
    /** Who waits for a pool is told once that this program has none. */
    const onPoolless = (told: Told) => {
      if (poolless.has(told.program)) return Effect.void
      poolless.add(told.program)
      return Console.error(TopReport.poolless([told]))
    }
    const onTold = (told: Told) =>
      once && told.memories.length === 0
        ? onPoolless(told)
        : Effect.andThen(print(told), once ? Deferred.succeed(first, undefined) : Effect.void)
    const { canAnimate } = yield* TerminalCapabilities
    // What is gone may not stand on a screen that shows what is there now.
    const onGone = canAnimate && !json ? drawSoon : Effect.void
    const serving = DevToolsServer.run((client) =>
      follow(client, watched, { every: Duration.seconds(every), onGone, onTold })
    )
      .pipe(
        Effect.provideService(SocketServer.SocketServer, server),
        Effect.mapError((error) => notListening(error, place))
      )
    yield* Effect.raceAllFirst([serving, drawing(watched, frames), Deferred.await(first)])
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
