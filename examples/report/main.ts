/** `npm run report`, with options after `--`: `npm run report -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import CliTable from "cli-table3"
import { Console, Effect } from "effect"
import { Devices } from "effect-gpu-pool/devices"
import { Command, Flag } from "effect/cli"
import * as Report from "./Report.ts"

const flags = {
  devices: Flag.String("devices").pipe(
    Flag.optional,
    Flag.withDescription(`Which devices, as "opencl" or "webgpu;opencl:portable:0" (default: all that there are)`)
  ),
  bytes: Flag.Int("bytes").pipe(
    Flag.filter((bytes) => bytes > 0 && bytes % 4 === 0, () => "a positive multiple of 4"),
    Flag.withDefault(16 * 2 ** 20),
    Flag.withDescription("Bytes of a transfer that is measured (default 16 MiB)")
  ),
  millis: Flag.Int("millis").pipe(
    Flag.filter((millis) => millis > 0, () => "a positive number"),
    Flag.withDefault(100),
    Flag.withDescription("How long each transfer is measured at least (default 100)")
  )
}

const table = ({ lines, title }: Report.DeviceReport): string => {
  const table = new CliTable({ style: { border: [], head: [] }, wordWrap: true, colWidths: [30, 80] })
  table.push([{ colSpan: 2, content: title }], ...lines.map(({ name, value }) => [name, value]))
  return table.toString()
}

const command = Command.make("report", flags, ({ bytes, devices, millis }) =>
  Effect.gen(function*() {
    const listed = yield* devices._tag === "None" ? Devices.list : Devices.select(devices.value)
    yield* Effect.forEach(
      listed,
      (device) => Effect.flatMap(Report.of(device, { bytes, atLeast: millis }), (report) => Console.log(table(report))),
      { discard: true }
    )
  })).pipe(Command.withDescription("Tells what the devices of this machine are like, and how fast transfers are"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
