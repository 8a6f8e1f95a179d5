/**
 * The output of the command: where it goes, its width, its colours.
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

/** The columns of the terminal, or else of `COLUMNS`; infinite without either. */
export const width: Effect.Effect<number, never, Terminal> = Effect.gen(function*() {
  const { columns } = yield* Terminal
  return [yield* columns, yield* variable].find((count) => count > 0) ?? Infinity
})

/** The lines of the terminal; infinite without one. */
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

/** Colours, under Effect's conditions for help and errors: on a terminal, unless `NO_COLOR` is set. */
export const style: Effect.Effect<Style> = Effect.map(TerminalCapabilities, ({ canColor }) => canColor ? colours : none)

/** The `--json` flag of commands that print a report. */
export const jsonFlag = Flag.Boolean("json").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Print JSON, for scripts")
)

/** The `--select` flag of commands that take devices. */
export const selectFlag = Flag.String("select").pipe(
  Flag.optional,
  Flag.withDescription(`Only the devices of this selection, as "opencl:nvidia:0;webgpu"; fails when it has none`)
)

/** Prints a text in pieces, each once earlier output was read: backpressure for slow readers. Fails with the errors of the text. */
export const printAll = <E>(text: Stream.Stream<string, E>): Effect.Effect<void, E, Stdio.Stdio> =>
  Effect.flatMap(Stdio.Stdio, ({ stdout }) =>
    Stream.runForEach(text, (piece) =>
      // `whileWritable` ends the command where the output fails.
      Effect.catch(Stream.run(Stream.make(piece), stdout()), () => Effect.never)))

/** Prints a line. */
export const print = (text: string): Effect.Effect<void, never, Stdio.Stdio> => printAll(Stream.make(`${text}\n`))

const clear = "\u001b[H\u001b[J"

/** Prints a text over the whole screen of a terminal, and after the one before elsewhere. */
export const redraw = (text: string): Effect.Effect<void, never, Stdio.Stdio> =>
  Effect.flatMap(TerminalCapabilities, ({ canAnimate }) => print(canAnimate ? `${clear}${text}` : text))

/** Output can fail: the reader of a pipe may close it, as `head` does, and a disk may be full. */
class Unwritable extends Error {
  override readonly name = "Unwritable"
  /** The shell's exit code for a program that SIGPIPE ended, which Node turns into an error. */
  override readonly [Runtime.errorExitCode]: number
  override readonly [Runtime.errorReported] = false

  constructor({ code, message }: NodeJS.ErrnoException) {
    super(code === "EPIPE" ? "" : `effect-gpu-pool: cannot write the output: ${message}`)
    this[Runtime.errorExitCode] = code === "EPIPE" ? 141 : 1
  }
}

/** Node reports by an event alone that output of any code cannot be written. */
const unwritable: Effect.Effect<never, Unwritable> = Effect.callback((resume) => {
  process.stderr.on("error", () => {})
  process.stdout.on("error", (error) => resume(Effect.fail(new Unwritable(error))))
})

const flushed: Effect.Effect<void, Unwritable> = Effect.callback((resume) => {
  process.stdout.write("", (error) => resume(error ? Effect.fail(new Unwritable(error)) : Effect.void))
})

/** Runs an effect until output fails, or else until all of its output is written. */
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
 * Sends what is printed while the effect runs to stderr, since stdout is for the command's own answer: output of Effect's Console and
 * loggers, and of any other code in the process, which no service of Effect reaches.
 */
export const onStderr = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(redirect, () => effect, (restore) => Effect.sync(restore))
