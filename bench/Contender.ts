/** A contender: a module of `contenders` that measures one thing when it is run as a program of its own. */
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Schema } from "effect"
import type { GpuError } from "effect-gpu-pool"
import type { ChildProcessSpawner } from "effect/process"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import * as ChildProgram from "./ChildProgram.ts"

export interface Contender<Input, Figures> {
  readonly file: string
  readonly input: Schema.Codec<Input, unknown>
  readonly figures: Schema.Codec<Figures, unknown>
  readonly measure: (input: Input) => Effect.Effect<Figures, GpuError.GpuError>
  /** Options of its process, beside those of every contender's. */
  readonly process?:
    | { readonly args: ReadonlyArray<string>; readonly env: Readonly<Record<string, string>> }
    | undefined
}

export const make = <Input, Figures>(options: {
  /** `import.meta.url` of its module. */
  readonly module: string
  readonly input: Schema.Codec<Input, unknown>
  readonly figures: Schema.Codec<Figures, unknown>
  readonly measure: (input: Input) => Effect.Effect<Figures, GpuError.GpuError>
  readonly process?: Contender<Input, Figures>["process"]
}): Contender<Input, Figures> => ({ ...options, file: fileURLToPath(options.module) })

/** Measures in a fresh process. */
export const run = <Input, Figures>(
  contender: Contender<Input, Figures>,
  input: NoInfer<Input>
): Effect.Effect<
  Figures,
  ChildProgram.Missing | ChildProgram.ChildFailed,
  ChildProcessSpawner.ChildProcessSpawner
> =>
  Effect.flatMap(
    Effect.orDie(Schema.encodeEffect(Schema.fromJsonString(contender.input))(input)),
    (json) =>
      ChildProgram.run(
        `${basename(contender.file)} ${json}`,
        process.execPath,
        [
          "--conditions=effect-gpu-pool:source",
          "--expose-gc",
          ...contender.process?.args ?? [],
          contender.file,
          json
        ],
        contender.figures,
        contender.process?.env
      )
  )

const missing = ({ hint, tried }: GpuError.DeviceUnavailable) => ({
  _tag: "Missing" as const,
  why: `${tried.map(({ backend, device, why }) => `${backend}, ${device}: ${why}`).join("; ")}. ${hint}`
})

/** The child's side: measures what the first argument asks for, and answers. */
export const main = <Input, Figures>(contender: Contender<Input, Figures>): void =>
  NodeRuntime.runMain(
    Effect.gen(function*() {
      const input = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(contender.input))(process.argv[2])
      const answer = yield* contender.measure(input).pipe(
        Effect.map((figures) => ({ _tag: "Measured" as const, figures })),
        Effect.catchReason("GpuError", "DeviceUnavailable", (reason) => Effect.succeed(missing(reason)))
      )
      const schema = ChildProgram.answerOf(contender.figures)
      const json = yield* Schema.encodeEffect(Schema.fromJsonString(schema))(answer)
      yield* Effect.sync(() => process.stdout.write(ChildProgram.line(json)))
    })
  )
