/**
 * `effect-gpu-pool fleet`: the hosts of a fleet, their devices and what is reserved there, and the reservations that wait.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import type * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { failing, forUser } from "../Ending.ts"
import { height, jsonFlag, print, redraw, style, width } from "../Output.ts"
import { connect, connectionFlags } from "./FleetConnection.ts"
import * as FleetReport from "./FleetReport.ts"

const flags = {
  ...connectionFlags,
  json: jsonFlag,
  watch: Flag.Boolean("watch").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Ask again and again; with --json, print a line for each answer")
  ),
  every: Flag.Finite("every").pipe(
    Flag.filter((seconds) => seconds > 0 && seconds <= 86_400, () => "seconds above 0, up to 86400, as 0.5"),
    Flag.optional,
    Flag.withDescription("With --watch, ask again after so many seconds; 1 without it")
  )
}

/** Hosts refuse a wrong secret without a word, as if there were none. */
const silent = (error: GpuError): CliError.UserError =>
  error.reason._tag === "DeviceUnavailable"
    ? failing(
      "No broker of this fleet answers. Start a host, or check that storage and secret are those of its hosts.",
      error
    )
    : forUser(error)

/** What is shown of a status: a screen is drawn over the one before. */
const show = Effect.fnUntraced(function*(seen: FleetReport.Seen, json: boolean, watch: boolean) {
  if (json) return yield* print(FleetReport.json(seen, watch ? undefined : 2))
  const room = { width: yield* width, height: watch ? yield* height : Infinity }
  const text = FleetReport.text(seen, yield* style, room)
  return yield* watch ? redraw(text) : print(text)
})

export const fleetCommand = Command.make(
  "fleet",
  flags,
  Effect.fnUntraced(function*({ every, json, watch, ...connection }) {
    if (!watch && Option.isSome(every)) {
      return yield* failing("--every: this is for a fleet that is watched. Add --watch, or leave it out.")
    }
    const fleet = yield* connect(connection)
    const look = Effect.flatMap(
      Effect.mapError(fleet.status, silent),
      (status) => Effect.flatMap(Clock.currentTimeMillis, (time) => show({ time, status }, json, watch))
    )
    if (!watch) return yield* look
    const seconds = Option.getOrElse(every, () => 1)
    // A broker that moves to another host does not answer for some seconds.
    const patient = Effect.catch(look, (error) => Console.error(error.userMessage ?? error.message))
    return yield* Effect.asVoid(Effect.repeat(patient, Schedule.spaced(Duration.seconds(seconds))))
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Show a fleet, as its broker knows it: its hosts, their devices and what is reserved there, and the reservations that wait"
  ),
  Command.withExamples([
    { command: "effect-gpu-pool fleet --storage fleet.db", description: "The fleet of this machine" },
    {
      command: "effect-gpu-pool fleet --storage postgres://gpu@db/fleet --secret-file secret --watch",
      description: "A fleet of several machines, live"
    },
    { command: "effect-gpu-pool fleet --storage fleet.db --json", description: "The same for scripts" }
  ])
)
