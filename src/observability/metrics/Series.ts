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
  readonly #context: Context.Context<never>
  readonly #attributes: Attributes
  readonly #registrations = new Set<Metric.Registration>()
  /** Holds what histograms count: the registry of the program only reads it, so that nothing comes back once it is removed. */
  readonly #own = Context.make(Metric.MetricRegistry, new Map())

  constructor(context: Context.Context<never>, attributes: Attributes) {
    this.#context = context
    this.#attributes = attributes
  }

  /** Reads `get` whenever metrics are read. Returns the way to remove it. */
  gauge(of: Described, get: () => number): () => void {
    const metric = Metric.gauge(of.name, this.#optionsOf(of))
    return this.#keep(Metric.registerUnsafe(metric, this.#context, { get: () => ({ value: get() }), ...unused }))
  }

  /** The same for what only grows. */
  counter(of: Described, get: () => number, attributes: Attributes = {}): void {
    const metric = Metric.counter(of.name, { ...this.#optionsOf(of, attributes), incremental: true })
    const state = () => ({ count: get(), incremental: true })
    this.#keep(Metric.registerUnsafe(metric, this.#context, { get: state, ...unused }))
  }

  /** Returns what takes a measurement. */
  histogram(of: Described, boundaries: ReadonlyArray<number>, attributes: Attributes): (value: number) => void {
    const metric = Metric.histogram(of.name, { ...this.#optionsOf(of, attributes), boundaries })
    this.#keep(Metric.registerUnsafe(metric, this.#context, { get: () => metric.valueUnsafe(this.#own), ...unused }))
    return (value) => metric.updateUnsafe(value, this.#own)
  }

  remove(): void {
    for (const registration of this.#registrations) registration.remove()
    this.#registrations.clear()
  }

  #optionsOf({ description, unit }: Described, attributes: Attributes = {}) {
    return { description, attributes: { ...this.#attributes, ...attributes, unit } }
  }

  #keep(registration: Metric.Registration): () => void {
    this.#registrations.add(registration)
    return () => {
      this.#registrations.delete(registration)
      registration.remove()
    }
  }
}
