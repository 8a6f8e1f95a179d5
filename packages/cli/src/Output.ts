/**
 * What the command prints: where, how wide, in which colours.
 *
 * @internal
 */
import * as Flag from "effect/cli/Flag"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { Terminal } from "effect/Terminal"

const variable = Effect.map(Effect.orDie(Config.withDefault(Config.String("COLUMNS"), "")), Number)

/** The columns of the terminal, or elsewhere of `COLUMNS`; without either a line has no end. */
export const width: Effect.Effect<number, never, Terminal> = Effect.gen(function*() {
  const { columns } = yield* Terminal
  return [yield* columns, yield* variable].find((count) => count > 0) ?? Infinity
})

/** The lines of the terminal; elsewhere there is no end of them. */
export const height: Effect.Effect<number, never, Terminal> = Effect.map(
  Effect.flatMap(Terminal, ({ rows }) => rows),
  (rows) => rows > 0 ? rows : Infinity
)

export interface Style {
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly strong: (text: string) => string
}

const ansi = (code: number, end: number) => (text: string): string => `\u001b[${code}m${text}\u001b[${end}m`
const plain = (text: string): string => text

const colours: Style = { good: ansi(32, 39), bad: ansi(31, 39), strong: ansi(1, 22) }
export const none: Style = { good: plain, bad: plain, strong: plain }

/** Colours, where Effect has them for help and errors: on a terminal, unless `NO_COLOR` is set. */
export const style: Effect.Effect<Style> = Effect.map(TerminalCapabilities, ({ canColor }) => canColor ? colours : none)

/** Of commands that print a report. */
export const jsonFlag = Flag.Boolean("json").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Print JSON, for scripts")
)

/** Prints a line when the reader of the output has taken what was printed before: who reads slowly is asked for less. */
export const print = (text: string): Effect.Effect<void, never, Stdio.Stdio> =>
  Effect.flatMap(Stdio.Stdio, ({ stdout }) => Stream.run(Stream.make(`${text}\n`), stdout())).pipe(
    // The command ends by `whileWritable` then.
    Effect.catch(() => Effect.never)
  )

/** The reader of a pipe may close it, as `head` does, and a disk may be full. */
class Unwritable extends Error {
  override readonly name = "Unwritable"
  /** As the shell has it for a program that a signal has ended: SIGPIPE, which Node turns into an error. */
  override readonly [Runtime.errorExitCode]: number
  override readonly [Runtime.errorReported] = false

  constructor({ code, message }: NodeJS.ErrnoException) {
    super(code === "EPIPE" ? "" : `effect-gpu-pool: cannot write the output: ${message}`)
    this[Runtime.errorExitCode] = code === "EPIPE" ? 141 : 1
  }
}

/** Node tells by an event alone that what any code has printed cannot be written. */
const unwritable: Effect.Effect<never, Unwritable> = Effect.callback((resume) => {
  process.stderr.on("error", () => {})
  process.stdout.on("error", (error) => resume(Effect.fail(new Unwritable(error))))
})

const flushed: Effect.Effect<void, Unwritable> = Effect.callback((resume) => {
  process.stdout.write("", (error) => resume(error ? Effect.fail(new Unwritable(error)) : Effect.void))
})

/** Ends when nobody can read the output any more; else when all of it is written. */
export const whileWritable = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unwritable, R> =>
  Effect.exit(command).pipe(
    Effect.flatMap((exit) => Effect.andThen(flushed, exit)),
    Effect.raceFirst(unwritable),
    Effect.tapError((error) =>
      error instanceof Unwritable && error.message !== "" ? Console.error(error.message) : Effect.void
    )
  )

const redirect = Effect.sync(() => {
  const { stdout } = process
  const { write } = stdout
  stdout.write = process.stderr.write.bind(process.stderr)
  return () => {
    stdout.write = write
  }
})

/**
 * The output of a command is its answer: what is printed while the effect runs goes to stderr, by Effect's Console and loggers and by
 * any other code in the process, which no service of Effect reaches.
 */
export const onStderr = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(redirect, () => effect, (restore) => Effect.sync(restore))
