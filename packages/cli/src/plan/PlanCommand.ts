/**
 * `effect-gpu-pool plan`: how much memory a program needs, before it runs on a device.
 *
 * @internal
 */
import * as Plan from "@effect-gpu-pool/observability/Plan"
import { line } from "effect-gpu-pool/Format"
import * as Cause from "effect/Cause"
import * as Argument from "effect/cli/Argument"
import type * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import { failing } from "../Ending.ts"
import { jsonFlag, onStderr, width } from "../Output.ts"
import { failureOf, json as asJson } from "../Printable.ts"
import * as PlanText from "./PlanText.ts"
import { load } from "./ProgramFile.ts"

const parameters = {
  program: Argument.String("program").pipe(
    Argument.withDescription("The module to run: its default export, or `program`, is an effect")
  ),
  name: Flag.String("export").pipe(Flag.optional, Flag.withDescription("The name under which it exports the effect")),
  once: Flag.Boolean("once").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Run it once alone, and find the limits by replaying what it did")
  ),
  json: jsonFlag
}

/** If the user interrupts the command, it ends as interrupted, not with a failure of the program. */
const failedIn = (file: string) => (cause: Cause.Cause<unknown>): Effect.Effect<never, CliError.UserError> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt
    : failing(`${line(file)} failed: ${failureOf(Cause.squash(cause))}`, cause)

/** A loaded module has no types, so a service that the plan does not provide is a failure of the program. */
const noMore = Context.empty() as Context.Context<unknown>

const planned = (
  file: string,
  name: string | undefined,
  once: boolean
): Effect.Effect<Plan.Plan<unknown>, CliError.UserError, Path.Path> =>
  onStderr(Effect.flatMap(load(file, name), ({ program }) => {
    const plan = Effect.provideContext(Plan.of(program, { once }), noMore)
    return Effect.catchCause(plan, failedIn(file))
  }))

export const planCommand = Command.make(
  "plan",
  parameters,
  Effect.fnUntraced(function*({ json, name, once, program: file }) {
    const report = PlanText.make(file, yield* planned(file, Option.getOrUndefined(name), once))
    yield* Console.log(
      json ? asJson(report, 2) : PlanText.text(report, yield* width)
    )
  })
).pipe(
  Command.withDescription(
    "Run a program on the host's memory, without a GPU, and tell how much memory it needs: the peak, who had it by label and " +
      "place in the program, and the smallest limits with which it passes, for which it runs several times. The program gets a device and " +
      "a BufferPool, and provides neither."
  ),
  Command.withShortDescription("Run a program without a GPU, and tell how much memory it needs"),
  Command.withExamples([
    { command: "effect-gpu-pool plan program.ts", description: "The peak, who had it, and the smallest limits" },
    { command: "effect-gpu-pool plan jobs.ts --export nightly --json", description: "One of several, for scripts" }
  ])
)
