/**
 * Series of a registry that are removed together.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** A metric without its attributes. Units are those that `OtlpMetrics` knows, or those of UCUM. */
export interface Described {
  readonly name: string
  readonly unit: string
  readonly description: string
}

type Attributes = Readonly<Record<string, string>>

/** A registry calls neither. */
const unused = { update: () => {}, modify: () => {} }

export class Series {
  readonly #registry: Context.Context<never>
  readonly #attributes: Attributes
  #isRemoved = false
  readonly #registrations = new Set<Metric.Registration>()
  /** The state of histograms: the program's registry only reads it, so that no measurement registers a removed series again. */
  readonly #own = Context.make(Metric.MetricRegistry, new Map())

  /** Adds the attributes of the context. Those in `attributes` win: otherwise two series could become one. */
  constructor(context: Context.Context<never>, attributes: Attributes) {
    this.#registry = Context.make(Metric.MetricRegistry, Context.get(context, Metric.MetricRegistry))
    this.#attributes = { ...Context.get(context, Metric.CurrentMetricAttributes), ...attributes }
  }

  /** Reads `get` whenever metrics are read. Returns a function that removes the gauge. */
  gauge(of: Described, get: () => number): () => void {
    const metric = Metric.gauge(of.name, this.#optionsOf(of))
    return this.#register(metric, () => ({ value: get() }))
  }

  /** The same for a counter that only grows. */
  counter(of: Described, get: () => number, attributes: Attributes = {}): void {
    const metric = Metric.counter(of.name, { ...this.#optionsOf(of, attributes), incremental: true })
    this.#register(metric, () => ({ count: get(), incremental: true }))
  }

  /** Returns the function that records a measurement. */
  histogram(of: Described, boundaries: ReadonlyArray<number>, attributes: Attributes): (value: number) => void {
    const metric = Metric.histogram(of.name, { ...this.#optionsOf(of, attributes), boundaries })
    this.#register(metric, () => metric.valueUnsafe(this.#own))
    return (value) => metric.updateUnsafe(value, this.#own)
  }

  /** Removes all series. A later measurement makes no new one, since nothing would remove that. */
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
