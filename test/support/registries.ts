/** Registries of metrics for one test each, and their series. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

/** Runs an effect with a registry of metrics of its own. */
export const inOwnRegistry = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map()))

export interface Found {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  /** Of a counter or a gauge. */
  readonly value: number
  /** Of a histogram. */
  readonly count: number
  readonly sum: number
}

const foundOf = (snapshot: Metric.Metric.Snapshot): Found => {
  const { attributes = {}, id: name } = snapshot
  const none = { name, attributes, value: Number.NaN, count: Number.NaN, sum: Number.NaN }
  switch (snapshot.type) {
    case "Counter":
      return { ...none, value: Number(snapshot.state.count) }
    case "Gauge":
      return { ...none, value: Number(snapshot.state.value) }
    case "Histogram":
      return { ...none, count: snapshot.state.count, sum: snapshot.state.sum }
    default:
      return none
  }
}

/** All series of the library, now. */
export const series: Effect.Effect<ReadonlyArray<Found>> = Effect.map(
  Metric.snapshot,
  (snapshots) => snapshots.map(foundOf).filter(({ name }) => name.startsWith("gpu_"))
)

/** The series of one name that have at least these attributes. */
export const named = (
  name: string,
  attributes: Readonly<Record<string, string>> = {}
): Effect.Effect<ReadonlyArray<Found>> =>
  Effect.map(
    series,
    (all) =>
      all.filter((one) =>
        one.name === name && Object.entries(attributes).every(([key, value]) => one.attributes[key] === value)
      )
  )

/** The value of the only series with this name and these attributes. */
export const valueOf = (name: string, attributes: Readonly<Record<string, string>> = {}): Effect.Effect<number> =>
  Effect.map(named(name, attributes), (found) => found.length === 1 ? found[0]!.value : Number.NaN)

/** The sum of the counts of all histograms of one name. */
export const countOf = (name: string, attributes: Readonly<Record<string, string>> = {}): Effect.Effect<number> =>
  Effect.map(named(name, attributes), (found) => found.reduce((sum, { count }) => sum + count, 0))
