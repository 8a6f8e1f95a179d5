/**
 * Checks of what programs pass to the methods of a fleet.
 *
 * @internal
 */
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Checked from "../protocol/Checked.ts"
import { FleetBuffer, Placement } from "../protocol/FleetModel.ts"
import type { MapOptions, ReserveOptions, RunOptions } from "./FleetMethods.ts"

/** What `FleetJob.make` returned, with a name. */
export const job: Checked.Check = (operation, name, value) =>
  isJob(operation, name, value) ??
    Checked.nonEmptyText(operation, `the name of ${name}`, Reflect.get(Object(value), "name"))

const isJob = Checked.is(
  "job",
  "Pass what FleetJob.make returned.",
  (value) =>
    Predicate.hasProperty(value, "name") &&
    Predicate.hasProperty(value, "input") && Schema.isSchema(value.input) &&
    Predicate.hasProperty(value, "output") && Schema.isSchema(value.output) &&
    Predicate.hasProperty(value, "error") && Schema.isSchema(value.error) &&
    Predicate.hasProperty(value, "bytes") && typeof value.bytes === "function" &&
    Predicate.hasProperty(value, "where") && typeof value.where === "function"
)

/** What `Fleet.reserve` returned. */
export const reservation = Checked.is("reservation", "Pass what Fleet.reserve returned.", Schema.is(Placement))

/** What `Fleet.allocate` returned. */
export const buffer = Checked.is("buffer of a fleet", "Pass what Fleet.allocate returned.", Schema.is(FleetBuffer))

const reserving = {
  where: Checked.optional(Checked.where),
  label: Checked.optional(Checked.text),
  onExhausted: Checked.optional(Checked.oneOf("fail", "wait")),
  waitAtMost: Checked.optional(Checked.duration("duration of 0 or more", (millis) => millis >= 0))
}

const running = {
  ...reserving,
  bytes: Checked.optional(Checked.bytes),
  within: Checked.optional(reservation),
  retry: Checked.optional(
    Checked.is("schedule", "Pass a Schedule, as Schedule.recurs(3), or leave it out.", Schedule.isSchedule)
  )
}

export const reserveOptions = Checked.options<ReserveOptions>({ ...reserving, bytes: Checked.bytes })

export const runOptions = Checked.optional(Checked.options<RunOptions>(running))

export const mapOptions = Checked.options<MapOptions>({
  ...running,
  ordered: Checked.optional(Checked.boolean),
  concurrency: Checked.is(
    "number of jobs",
    "Pass a whole number of at least 1, or \"unbounded\".",
    (value) => value === "unbounded" || (Number.isSafeInteger(value) && Number(value) >= 1)
  )
})

/** The inputs of many jobs. */
export const inputs = Checked.is(
  "iterable and no Stream",
  "Pass the inputs of the jobs, as an array or a Stream.",
  (value) => Predicate.isIterable(value) || Stream.isStream(value)
)

export const allocateOptions = Checked.optional(
  Checked.options<{ readonly label?: string | undefined }>({ label: Checked.optional(Checked.text) })
)

/** Bytes, or a stream of them. */
export const data = Checked.is(
  "Uint8Array and no Stream",
  "Pass bytes as a Uint8Array, or a Stream of these.",
  (value) => value instanceof Uint8Array || Stream.isStream(value)
)

/** What a stream of bytes gives. */
export const chunk = Checked.is(
  "Uint8Array",
  "Pass a Stream whose elements are Uint8Arrays.",
  (value) => value instanceof Uint8Array
)

/** The range that a call reads of a buffer of so many bytes. */
export const readOptions = (size: number) =>
  Checked.optional(
    Checked.options<{ readonly offset?: number | undefined; readonly length?: number | undefined }>({
      offset: Checked.optional(Checked.count("bytes", 0, size)),
      length: Checked.optional(Checked.count("bytes", 0, size))
    })
  )

/** Where in a buffer of so many bytes a call begins to write. */
export const writeOptions = (size: number) =>
  Checked.optional(
    Checked.options<{ readonly offset?: number | undefined }>({
      offset: Checked.optional(Checked.count("bytes", 0, size))
    })
  )
