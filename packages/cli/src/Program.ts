/**
 * The command `effect-gpu-pool`, as it runs with the services of any platform.
 *
 * @internal
 */
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Logger from "effect/Logger"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { benchCommand } from "./bench/BenchCommand.ts"
import { devicesCommand } from "./devices/DevicesCommand.ts"
import { doctorCommand } from "./doctor/DoctorCommand.ts"
import { exportCommand } from "./export/ExportCommand.ts"
import { fleetCommand } from "./fleet/FleetCommand.ts"
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
    fleetCommand,
    benchCommand,
    viewCommand,
    exportCommand,
    replayCommand,
    planCommand
  ])
)

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

const version = Effect.gen(function*() {
  const path = yield* (yield* Path.Path).fromFileUrl(new URL("../package.json", import.meta.url))
  const { version } = yield* Schema.decodeEffect(Manifest)(yield* (yield* FileSystem.FileSystem).readFileString(path))
  return version
})

/** The wizard would prompt, with control sequences, where no terminal is. */
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

/** Reads its arguments from Stdio. */
export const program = version.pipe(
  Effect.flatMap((version) => Command.run(command, { version })),
  Effect.provide(CliConfig.layer({ builtIns })),
  Effect.provideService(CliOutput.Presenter, presenter),
  Effect.provideService(Logger.LogToStderr, true)
)
