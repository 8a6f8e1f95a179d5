/**
 * The series of a fleet: those of the last status that was read.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { FleetStatus } from "../protocol/FleetModel.ts"

type Attributes = Readonly<Record<string, string>>

/** A metric without its attributes. */
interface Described {
  readonly name: string
  readonly unit: string
  readonly description: string
  /** Whether it only grows. */
  readonly isCounter?: boolean
}

const hosts: Described = { name: "gpu_fleet_hosts", unit: "{host}", description: "Hosts of the fleet, by their state." }

const capacity: Described = {
  name: "gpu_fleet_capacity_bytes",
  unit: "bytes",
  description: "What the fleet may reserve on a device, in bytes."
}

const reserved: Described = {
  name: "gpu_fleet_reserved_bytes",
  unit: "bytes",
  description: "What reservations have of a device, in bytes."
}

const reservations: Described = {
  name: "gpu_fleet_reservations",
  unit: "{reservation}",
  description: "Reservations on a device, granted or placed."
}

const waiters: Described = {
  name: "gpu_fleet_waiters",
  unit: "{reservation}",
  description: "Reservations that wait for bytes on any host."
}

const total = (name: "ended" | "lost" | "placed", description: string): Described => (
  { name: `gpu_fleet_${name}_total`, unit: "{reservation}", description, isCounter: true }
)

const placed = total("placed", "Reservations that the broker has placed since it began.")
const ended = total("ended", "Reservations that have ended since the broker began.")
const lost = total("lost", "Reservations that were lost with their host since the broker began.")

type Sample = readonly [of: Described, value: number, attributes: Attributes]

const states = ["current", "draining", "lost"] as const

/** Devices of lost hosts have no series: nothing can be reserved there. */
const samplesOf = (status: FleetStatus): ReadonlyArray<Sample> => [
  ...states.map((state): Sample => [hosts, status.hosts.filter((host) => host.state === state).length, { state }]),
  ...status.hosts.filter(({ state }) => state !== "lost").flatMap(({ devices, name: host }) =>
    devices.flatMap((device): ReadonlyArray<Sample> => {
      const attributes = { host, device: device.name, backend: device.backend }
      return [
        [capacity, device.capacity, attributes],
        [reserved, device.reservedBytes, attributes],
        [reservations, device.reservations, attributes]
      ]
    })
  ),
  [waiters, status.waiters, {}],
  [placed, status.placed, {}],
  [ended, status.ended, {}],
  [lost, status.lost, {}]
]

interface Series {
  value: number
  readonly registration: Metric.Registration
}

/** A registry calls neither. */
const unused = { update: () => {}, modify: () => {} }

/** The series of the last status, in one registry. */
class Registered {
  readonly #registry: Context.Context<never>
  readonly #common: Attributes
  #series: ReadonlyMap<string, Series> = new Map()

  constructor(context: Context.Context<never>) {
    this.#registry = Context.make(Metric.MetricRegistry, Context.get(context, Metric.MetricRegistry))
    this.#common = Context.get(context, Metric.CurrentMetricAttributes)
  }

  /** Shows these values, and removes the series that have none. */
  show(samples: ReadonlyArray<Sample>): void {
    const before = this.#series
    const now = new Map<string, Series>()
    for (const [of, value, own] of samples) {
      const key = JSON.stringify([of.name, own["state"], own["host"], own["device"]])
      const series = before.get(key) ?? this.#register(of, { ...this.#common, ...own, unit: of.unit })
      series.value = value
      now.set(key, series)
    }
    for (const [key, { registration }] of before) if (!now.has(key)) registration.remove()
    this.#series = now
  }

  #register({ description, isCounter, name }: Described, attributes: Attributes): Series {
    const options = { description, attributes }
    const registration = isCounter === true
      ? Metric.registerUnsafe(Metric.counter(name, { ...options, incremental: true }), this.#registry, {
        get: () => ({ count: series.value, incremental: true }),
        ...unused
      })
      : Metric.registerUnsafe(Metric.gauge(name, options), this.#registry, {
        get: () => ({ value: series.value }),
        ...unused
      })
    const series: Series = { value: 0, registration }
    return series
  }
}

/** Reads a status again and again, and registers what it says with the metrics of the calling fiber, until the scope closes. */
export const measure = <E, R>(
  status: Effect.Effect<FleetStatus, E, R>,
  refresh: Duration.Input
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function*() {
    const registered = new Registered(yield* Effect.context<never>())
    yield* Effect.addFinalizer(() => Effect.sync(() => registered.show([])))
    let isAnswered = true
    const read = Effect.matchCauseEffect(status, {
      onSuccess: (status) =>
        Effect.sync(() => {
          registered.show(samplesOf(status))
          isAnswered = true
        }),
      onFailure: (cause) => {
        registered.show([])
        const isNew = isAnswered
        isAnswered = false
        return isNew && !Cause.hasInterruptsOnly(cause)
          ? Effect.logWarning("The fleet does not say its status, so there are no metrics of it", cause)
          : Effect.void
      }
    })
    yield* Effect.forkScoped(Effect.repeat(read, Schedule.spaced(refresh)), {
      startImmediately: true
    })
  })
