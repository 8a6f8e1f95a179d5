/**
 * `effect-gpu-pool devices`: the devices of this machine, or those of a selection, as a table or as JSON.
 *
 * @internal
 */
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Devices from "../devices/Devices.ts"
import { lines } from "../domain/arguments/ShownValue.ts"
import type { GpuError } from "../domain/GpuError.ts"
import * as DeviceReport from "./DeviceReport.ts"

const flags = {
  json: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("Print JSON instead of a table")),
  select: Flag.String("select").pipe(
    Flag.optional,
    Flag.withDescription(`Only the devices of this selection, as "opencl:nvidia:0;webgpu"; fails when it has none`)
  )
}

/** A machine without devices is no failure unless the user named a selection. */
const selectsSomething = (choice: Devices.Choice): Effect.Effect<unknown, GpuError> =>
  choice.selector === undefined ? Effect.void : Devices.firstUsable(choice)

const forUser = (error: GpuError): CliError.UserError =>
  new CliError.UserError({ cause: error, userMessage: error.message })

export const devicesCommand = Command.make(
  "devices",
  flags,
  Effect.fnUntraced(function*({ json, select }) {
    const devices = yield* Effect.mapError(
      Option.match(select, {
        onNone: (): Effect.Effect<ReadonlyArray<DeviceReport.Device>, GpuError> => Devices.list,
        onSome: Devices.select
      }),
      forUser
    )
    // The command lists all devices even when the selection in the environment is wrong, and reports it after the list.
    const choice = yield* Effect.result(Devices.choice())
    const report = DeviceReport.make(devices, Result.getOrUndefined(choice))
    yield* Console.log(json ? lines(JSON.stringify(report, undefined, 2), Infinity) : DeviceReport.table(report))
    yield* Effect.mapError(Effect.flatMap(Effect.fromResult(choice), selectsSomething), forUser)
  })
).pipe(Command.withDescription("List the devices of this machine, on every backend, and what selects each of them"))
