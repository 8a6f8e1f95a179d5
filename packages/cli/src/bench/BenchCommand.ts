/**
 * `effect-gpu-pool bench`: what the pool is worth on this machine's devices, in seconds.
 *
 * @internal
 */
import * as Devices from "effect-gpu-pool/Devices"
import type { ListedDevice } from "effect-gpu-pool/ListedDevice"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AnswerIsNo, forUser } from "../Ending.ts"
import { jsonFlag, selectFlag, style } from "../Output.ts"
import { json as asJson } from "../Printable.ts"
import * as BenchReport from "./BenchReport.ts"
import { figuresOf } from "./DeviceFigures.ts"

const flags = { json: jsonFlag, select: selectFlag }

const usable = Effect.map(
  Devices.list,
  (listed) => listed.filter(({ device, unusable }) => device !== undefined && unusable === undefined)
)

const measure = (device: ListedDevice): Effect.Effect<BenchReport.MeasuredDevice> =>
  Effect.match(figuresOf(device), {
    onFailure: ({ message }) => BenchReport.measured(device, message),
    onSuccess: (figures) => BenchReport.measured(device, figures)
  })

export const benchCommand = Command.make(
  "bench",
  flags,
  Effect.fnUntraced(function*({ json, select }) {
    const devices = yield* Option.match(select, {
      onNone: () => usable,
      onSome: (selector) => Effect.mapError(Devices.select(selector), forUser)
    })
    const shownAs = yield* style
    // One after another: devices that are measured at the same time disturb each other.
    const measured = yield* Effect.forEach(
      devices,
      (device) => Effect.tap(measure(device), (one) => json ? Effect.void : Console.log(BenchReport.text(one, shownAs)))
    )
    const report: BenchReport.Report = { version: 1, devices: measured }
    if (json) yield* Console.log(asJson(report, 2))
    if (measured.every(({ figures }) => figures === null)) {
      return yield* Effect.fail(new AnswerIsNo("No device could be measured: effect-gpu-pool doctor says why."))
    }
  })
).pipe(
  Command.withDescription(
    "Measure what the pool is worth on each device: memory from the pool against memory from the driver, and the speed of " +
      "transfers. It takes some seconds. The exit code is 2 when no device can be measured."
  ),
  Command.withShortDescription("Measure what the pool is worth on this machine, in seconds"),
  Command.withExamples([
    { command: "effect-gpu-pool bench", description: "Every device that can be used" },
    { command: "effect-gpu-pool bench --select webgpu --json", description: "WebGPU alone, for scripts" }
  ])
)
