/**
 * The commands of `effect-gpu-pool`, and how the process ends.
 *
 * @internal
 */
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { createRequire } from "node:module"
import process from "node:process"
import { benchCommand } from "./bench/BenchCommand.ts"
import { devicesCommand } from "./devices/DevicesCommand.ts"
import { doctorCommand } from "./doctor/DoctorCommand.ts"
import { planCommand } from "./plan/PlanCommand.ts"
import { replayCommand } from "./replay/ReplayCommand.ts"
import { topCommand } from "./top/TopCommand.ts"
import { viewCommand } from "./view/ViewCommand.ts"

const command = Command.make("effect-gpu-pool").pipe(
  Command.withDescription(
    "Scoped, pooled GPU memory for Effect: what this machine offers, and what programs do with it"
  ),
  Command.withExamples([
    { command: "effect-gpu-pool doctor", description: "What works here, and how to install the rest" },
    { command: "effect-gpu-pool devices", description: "What there is, and who chooses" },
    { command: "effect-gpu-pool top", description: "The pools of running programs" }
  ]),
  Command.withSubcommands([
    devicesCommand,
    doctorCommand,
    topCommand,
    benchCommand,
    viewCommand,
    replayCommand,
    planCommand
  ])
)

const { version } = createRequire(import.meta.url)("../package.json") as { readonly version: string }

/**
 * Services without an implementation, so that the command needs no package for a platform. `effect/cli` requires files,
 * processes and a terminal for parameters that name files and for prompts. No parameter here is such a one, and
 * `--wizard`, which prompts, is left out.
 */
const platform = Context.empty() as Context.Context<never> as Context.Context<Command.Environment>

const builtIns = GlobalFlag.BuiltIns.filter((flag) => flag !== GlobalFlag.Wizard)

/** What is wrong stands on stderr alone: stdout may be a file or a program's, and no page of help is an answer. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag !== "InvalidInvocation"
      ? CliOutput.defaultPresenter.present(event)
      : Effect.flatMap(TerminalCapabilities, ({ canColor }) => {
        const errors = CliOutput.defaultFormatter({ colors: canColor }).formatErrors(event.errors)
        return Console.error(`${errors}\n\n${event.commandPath.join(" ")} --help says what it takes.`)
      })
}

/** As the shell has it for a program that a signal has ended: here SIGPIPE, which Node turns into an error. */
const unread = 141

const runMain = Runtime.makeRunMain(({ fiber, teardown }) => {
  let failed: number | undefined
  const interrupt = () => fiber.interruptUnsafe(fiber.id)
  process.on("SIGINT", interrupt)
  process.on("SIGTERM", interrupt)
  // The reader of a pipe may close it, as `head` does, and a disk may be full.
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code !== "EPIPE") process.stderr.write(`effect-gpu-pool: cannot write the output: ${message}\n`)
    failed = code === "EPIPE" ? unread : 1
    interrupt()
  })
  process.stderr.on("error", () => {})
  // Threads of drivers would keep the process alive, so this ends it, after all output has reached its pipe.
  const end = (code: number): void => {
    process.stderr.write("", () => process.stdout.write("", () => process.exit(failed ?? code)))
  }
  fiber.addObserver((exit) => teardown(exit, end))
})

/** Runs the command with these arguments and ends the process. */
export const run = (args: ReadonlyArray<string>): void =>
  Command.runWith(command, { version })(args).pipe(
    Effect.provide(CliConfig.layer({ builtIns })),
    Effect.provideService(CliOutput.Presenter, presenter),
    Effect.provideContext(platform),
    runMain()
  )
