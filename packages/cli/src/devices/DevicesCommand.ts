/**
 * `effect-gpu-pool devices`: the devices of this machine, or those of a selection, as a table or as JSON; with `--verbose` with all
 * that is known of each.
 *
 * @internal
 */
import { detailsOf } from "effect-gpu-pool/DeviceDetails"
import * as Devices from "effect-gpu-pool/Devices"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { forUser } from "../Ending.ts"
import { jsonFlag, selectFlag, width } from "../Output.ts"
import { json as asJson } from "../Printable.ts"
import * as DeviceReport from "./DeviceReport.ts"

const flags = {
  json: jsonFlag,
  select: selectFlag,
  verbose: Flag.Boolean("verbose").pipe(
    Flag.withDefault(false),
    Flag.withDescription(
      "Open each device, and tell all that is known of it: limits, types, images, queues, extensions"
    )
  )
}

/** A machine without devices is only a failure if the user named a selection. */
const selectsSomething = (choice: Devices.Choice): Effect.Effect<unknown, GpuError> =>
  choice.selector === undefined ? Effect.void : Devices.firstUsable(choice)

/** A device that does not open is no failure either: the list says why. */
const opened = (device: DeviceReport.Device): Effect.Effect<DeviceReport.OpenedDevice> =>
  device.device === undefined || device.unusable !== undefined
    ? Effect.succeed({ device, details: undefined })
    : Effect.match(detailsOf(device), {
      onFailure: ({ message }) => ({ device: { ...device, unusable: message }, details: undefined }),
      onSuccess: (details) => ({ device, details })
    })

export const devicesCommand = Command.make(
  "devices",
  flags,
  Effect.fnUntraced(function*({ json, select, verbose }) {
    const devices = yield* Effect.mapError(
      Option.match(select, {
        onNone: (): Effect.Effect<ReadonlyArray<DeviceReport.Device>, GpuError> => Devices.list,
        onSome: Devices.select
      }),
      forUser
    )
    // The command lists all devices even when the selection in the environment is wrong, and reports it after the list.
    const choice = yield* Effect.result(Devices.choice())
    const report = verbose
      ? DeviceReport.verbose(yield* Effect.forEach(devices, opened), Result.getOrUndefined(choice))
      : DeviceReport.make(devices, Result.getOrUndefined(choice))
    yield* Console.log(
      json
        ? asJson(report, 2)
        : `${DeviceReport.table(report, yield* width)}${DeviceReport.sections(report)}`
    )
    yield* Effect.mapError(Effect.flatMap(Effect.fromResult(choice), selectsSomething), forUser)
  })
).pipe(
  Command.withDescription("List the devices of this machine, on every backend, and what selects each of them"),
  Command.withExamples([
    { command: "effect-gpu-pool devices", description: "What there is, and who chooses" },
    { command: `effect-gpu-pool devices --select "opencl:nvidia;webgpu"`, description: "Try a selection" },
    {
      command: "effect-gpu-pool devices --select opencl --verbose",
      description: "All that is known of OpenCL's devices"
    },
    { command: "effect-gpu-pool devices --json --verbose", description: "The same of all devices, for scripts" }
  ])
)
