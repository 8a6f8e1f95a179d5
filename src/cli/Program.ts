/**
 * The commands of `effect-gpu-pool` and their end as a process.
 *
 * @internal
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { createRequire } from "node:module"
import process from "node:process"
import { devicesCommand } from "./DevicesCommand.ts"

const command = Command.make("effect-gpu-pool").pipe(
  Command.withDescription("Scoped, pooled GPU buffers for Effect: what this machine offers"),
  Command.withSubcommands([devicesCommand])
)

const { version } = createRequire(import.meta.url)("../../package.json") as { readonly version: string }

/**
 * Runs the command with these arguments and ends the process: drivers keep threads that would keep it alive. What is
 * printed reaches a pipe first.
 *
 * @internal
 */
export const run = (args: ReadonlyArray<string>): void =>
  Command.runWith(command, { version })(args).pipe(
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain({
      teardown: (exit) =>
        Runtime.defaultTeardown(exit, (code) => {
          process.stderr.write("", () => process.stdout.write("", () => process.exit(code)))
        })
    })
  )
