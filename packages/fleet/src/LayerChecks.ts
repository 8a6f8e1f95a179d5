/**
 * Checks of the options of a fleet's layers, before anything of a layer is built.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { DeviceOptions, HostOptions } from "./host/HostOptions.ts"
import * as Checked from "./protocol/Checked.ts"
import type { Address } from "./protocol/FleetModel.ts"

const handler = Checked.is(
  "handler of a job",
  "Pass what FleetJob.handler returned.",
  (value) =>
    Predicate.hasProperty(value, "job") && Predicate.isObject(value.job) &&
    Predicate.hasProperty(value, "run") && typeof value.run === "function"
)

const nameOf = (handler: unknown): unknown => Reflect.get(Reflect.get(Object(handler), "job"), "name")

/** Handlers of jobs that have names, each another one. */
const jobs: Checked.Check = (operation, name, value) => {
  const problem = Checked.array((operation, name, value) =>
    handler(operation, name, value) ?? Checked.nonEmptyText(operation, `${name}.job.name`, nameOf(value))
  )(operation, name, value)
  if (problem !== undefined || !Array.isArray(value)) return problem
  const names = value.map(nameOf)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined
    ? undefined
    : invalidRequest(operation, `two of the jobs have the name "${String(twice)}"`, "Give each job a name of its own.")
}

const someDevices = Checked.record(
  Checked.options<DeviceOptions>({
    maxBytes: Checked.optional(Checked.bytes),
    labels: Checked.optional(Checked.record(Checked.text))
  }),
  Checked.nonEmptyText
)

const devices: Checked.Check = (operation, name, value) =>
  someDevices(operation, name, value) ??
    (Object.keys(Object(value)).length > 0
      ? undefined
      : invalidRequest(operation, `${name} has no device`, "Name one device of BufferPools or more."))

const ofHost: { readonly [K in keyof HostOptions]-?: Checked.Check } = {
  host: Checked.nonEmptyText,
  devices,
  jobs: Checked.optional(jobs),
  maxInputBytes: Checked.optional(Checked.bytes)
}

// `Timing.make` checks the times.
const ofClient = {
  secret: Checked.secret,
  timing: Checked.any
}

const address = Checked.options<Address>({
  host: Checked.nonEmptyText,
  port: Checked.is(
    "port",
    "Pass a whole number from 0 to 65535; 0 is any free one.",
    (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535
  )
})

const localOptions = Checked.options({ ...ofHost, timing: Checked.any })
const clientOptions = Checked.options(ofClient)
const hostOptions = Checked.options({
  ...ofHost,
  ...ofClient,
  address,
  listen: Checked.optional(address)
})

const checking = (operation: string, check: Checked.Check) => (options: unknown): Effect.Effect<void, GpuError> =>
  Checked.checked(operation, ["options", check, options])

/** Those of `Fleet.layerLocal`. */
export const local = checking("Fleet.layerLocal", localOptions)

/** Those of `Fleet.layerClient`. */
export const client = checking("Fleet.layerClient", clientOptions)

/** Those of `Fleet.layerHost`. */
export const host = checking("Fleet.layerHost", hostOptions)
