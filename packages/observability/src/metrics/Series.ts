/**
 * Series of a registry that belong together: they are removed together.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** What a metric is, but for whose it is. Units are those that `OtlpMetrics` knows, or as UCUM has them. */
export interface Described {
  readonly name: string
  readonly unit: string
  readonly description: string
}

type Attributes = Readonly<Record<string, string>>

/** Neither is ever called by a registry. */
const unused = { update: () => {}, modify: () => {} }

export class Series {
  readonly #registry: Context.Context<never>
  readonly #attributes: Attributes
  #isRemoved = false
  readonly #registrations = new Set<Metric.Registration>()
  /** Holds what histograms count: the registry of the program only reads it, so that nothing comes back once it is removed. */
  readonly #own = Context.make(Metric.MetricRegistry, new Map())

  /** With the attributes of the context too, but not instead of its own: two series would be one. */
  constructor(context: Context.Context<never>, attributes: Attributes) {
    this.#registry = Context.make(Metric.MetricRegistry, Context.get(context, Metric.MetricRegistry))
    this.#attributes = { ...Context.get(context, Metric.CurrentMetricAttributes), ...attributes }
  }

  /** Reads `get` whenever metrics are read. Returns the way to remove it. */
  gauge(of: Described, get: () => number): () => void {
    const metric = Metric.gauge(of.name, this.#optionsOf(of))
    return this.#register(metric, () => ({ value: get() }))
  }

  /** The same for what only grows. */
  counter(of: Described, get: () => number, attributes: Attributes = {}): void {
    const metric = Metric.counter(of.name, { ...this.#optionsOf(of, attributes), incremental: true })
    this.#register(metric, () => ({ count: get(), incremental: true }))
  }

  /** Returns what takes a measurement. */
  histogram(of: Described, boundaries: ReadonlyArray<number>, attributes: Attributes): (value: number) => void {
    const metric = Metric.histogram(of.name, { ...this.#optionsOf(of, attributes), boundaries })
    this.#register(metric, () => metric.valueUnsafe(this.#own))
    return (value) => metric.updateUnsafe(value, this.#own)
  }

  /** Takes all series away. A later measurement makes no new one, since nothing would remove that. */
  remove(): void {
    this.#isRemoved = true
    for (const registration of this.#registrations) registration.remove()
    this.#registrations.clear()
  }

  #optionsOf({ description, unit }: Described, attributes: Attributes = {}) {
    return { description, attributes: { ...this.#attributes, ...attributes, unit } }
  }

  #register<Input, State>(metric: Metric.Metric<Input, State>, get: () => State): () => void {
    if (this.#isRemoved) return () => {}
    const registration = Metric.registerUnsafe(metric, this.#registry, { get, ...unused })
    this.#registrations.add(registration)
    return () => {
      this.#registrations.delete(registration)
      registration.remove()
    }
  }
}
