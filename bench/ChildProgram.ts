/**
 * Programs that measure in a process of their own, so that nothing that ran before (heap, compiled code, driver state)
 * affects their figures. They print their answer as one marked line on standard output.
 */
import { Data, Effect, Schema, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

const marker = "effect-gpu-pool:bench "

/** This machine lacks what the program needs. */
export class Missing extends Data.TaggedError("Missing")<{ readonly why: string }> {
  override get message(): string {
    return this.why
  }
}

export class ChildFailed extends Data.TaggedError("ChildFailed")<{
  readonly program: string
  readonly how: string
}> {
  override get message(): string {
    return `${this.program} ${this.how}`
  }
}

/** How a child answers: with its figures, or with the reason why there are none. */
export const answerOf = <A extends Schema.Constraint>(figures: A) =>
  Schema.Union([
    Schema.TaggedStruct("Measured", { figures }),
    Schema.TaggedStruct("Missing", { why: Schema.String })
  ])

/** The line of an answer. */
export const line = (json: string): string => `${marker}${json}\n`

const collect = <E>(stream: Stream.Stream<Uint8Array, E>) => Stream.mkString(Stream.decodeText(stream))

const output = Effect.fnUntraced(function*(
  name: string,
  command: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const child = yield* spawner.spawn(ChildProcess.make(command, args, { stdin: "ignore", env, extendEnv: true }))
  const [stdout, stderr, code] = yield* Effect.all(
    [collect(child.stdout), collect(child.stderr), child.exitCode],
    { concurrency: "unbounded" }
  )
  const answer = stdout.split("\n").find((text) => text.startsWith(marker))
  if (code !== 0 || answer === undefined) {
    const said = [stderr, stdout].map((text) => text.trim()).filter((text) => text !== "")
    return yield* new ChildFailed({ program: name, how: [`ended with code ${code}:`, ...said].join("\n") })
  }
  return answer.slice(marker.length)
}, Effect.scoped)

/** Runs a program and reads its answer; `figures` is the schema of what it measures, `env` what its environment has besides this one's. */
export const run = <A, I>(
  name: string,
  command: string,
  args: ReadonlyArray<string>,
  figures: Schema.Codec<A, I>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<A, Missing | ChildFailed, ChildProcessSpawner.ChildProcessSpawner> =>
  output(name, command, args, env).pipe(
    Effect.flatMap(Schema.decodeEffect(Schema.fromJsonString(answerOf(figures)))),
    Effect.catchTag(
      ["PlatformError", "SchemaError"],
      (error) => Effect.fail(new ChildFailed({ program: name, how: `could not be run: ${error.message}` }))
    ),
    Effect.flatMap((answer) =>
      answer._tag === "Missing" ? new Missing({ why: answer.why }) : Effect.succeed(answer.figures)
    )
  )
