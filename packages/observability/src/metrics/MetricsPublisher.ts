/**
 * The metrics of one memory. Counters of the pool are read when metrics are read; misses, waits, evictions and failures are counted here.
 *
 * @internal
 */
import type { ObservedMemory, Publisher } from "effect-gpu-pool/EventHub"
import type { Block } from "effect-gpu-pool/Lease"
import type { LeaseRequest } from "effect-gpu-pool/LeaseRequest"
import type { GaveUp } from "effect-gpu-pool/PoolEvent"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import type { Origin } from "effect-gpu-pool/Reservation"
import type * as Clock from "effect/Clock"
import * as MetricNames from "./MetricNames.ts"
import type { Described, Series } from "./Series.ts"

/** Measures the time between two events of a request. */
class Stopwatch {
  readonly #begun = new WeakMap<LeaseRequest, bigint>()
  readonly #clock: Clock.Clock

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  start(request: LeaseRequest): void {
    if (!this.#begun.has(request)) this.#begun.set(request, this.#clock.currentTimeNanosUnsafe())
  }

  /** In seconds, once. */
  stop(request: LeaseRequest): number | undefined {
    const begun = this.#begun.get(request)
    if (begun === undefined) return undefined
    this.#begun.delete(request)
    return Math.max(0, Number(this.#clock.currentTimeNanosUnsafe() - begun)) / 1e9
  }
}

export class MetricsPublisher implements Partial<Publisher> {
  readonly #series: Series
  readonly #boundaries: ReadonlyArray<number>
  readonly #onClosed: () => void
  readonly #waits: Stopwatch
  readonly #misses: Stopwatch
  readonly #refusals = new Map<string, number>()
  readonly #histograms = new Map<string, (seconds: number) => void>()
  #evictions = 0
  #outOfMemory = 0
  #limitExceeded = 0
  #removeLimit: (() => void) | undefined = undefined
  readonly #core: ObservedMemory["core"]

  constructor(
    { core }: ObservedMemory,
    series: Series,
    boundaries: ReadonlyArray<number>,
    clock: Clock.Clock,
    onClosed: () => void
  ) {
    this.#core = core
    this.#series = series
    this.#boundaries = boundaries
    this.#onClosed = onClosed
    this.#waits = new Stopwatch(clock)
    this.#misses = new Stopwatch(clock)
    for (const [counter, of] of entries(MetricNames.gauges)) series.gauge(of, () => core[counter])
    for (const [counter, of] of entries(MetricNames.counters)) series.counter(of, () => core[counter])
    series.counter(MetricNames.evictions, () => this.#evictions)
    series.counter(MetricNames.outOfMemory, () => this.#outOfMemory)
    series.counter(MetricNames.limitExceeded, () => this.#limitExceeded)
    this.#showLimit(core.maxBytes)
  }

  driverAsked(request: LeaseRequest): void {
    this.#misses.start(request)
  }

  leased(request: LeaseRequest, _: Block, from: Origin): void {
    if (from === "driver") this.#answered(request, "made")
  }

  kept(request: LeaseRequest): void {
    this.#answered(request, "kept")
  }

  refused(request: LeaseRequest, _: number, why: string): void {
    this.#answered(request, "refused")
    this.#refusals.set(why, (this.#refusals.get(why) ?? 0) + 1)
    if (this.#refusals.get(why)! > 1) return
    this.#series.counter(MetricNames.refusals, () => this.#refusals.get(why)!, { reason: why })
  }

  freed(_: Block, why: string): void {
    if (why === "evicted") this.#evictions += 1
  }

  waiting(request: LeaseRequest): void {
    this.#waits.start(request)
  }

  waited(request: LeaseRequest, served: boolean): void {
    this.#measure(MetricNames.waitTime, request, served ? "served" : "ended", this.#waits.stop(request))
  }

  ranOut(request: LeaseRequest): void {
    // An `allocateAll` makes the requests for its parts again.
    if (request.waitPolicy.isPart !== true) this.#outOfMemory += 1
  }

  gaveUp(_: LeaseRequest, why: GaveUp["why"]): void {
    if (why === "limitExceeded") this.#limitExceeded += 1
  }

  limitChanged(budget: object | undefined, _: number, to: number): void {
    if (budget === undefined) this.#showLimit(to)
  }

  closed(): void {
    this.#onClosed()
  }

  #answered(request: LeaseRequest, outcome: string): void {
    this.#measure(MetricNames.missTime, request, outcome, this.#misses.stop(request))
  }

  #measure(of: Described, { source }: LeaseRequest, outcome: string, seconds: number | undefined): void {
    if (seconds === undefined) return
    const key = `${of.name} ${source.service} ${outcome}`
    const attributes = { pool: source.service, outcome }
    const histogram = this.#histograms.get(key) ?? this.#series.histogram(of, this.#boundaries, attributes)
    this.#histograms.set(key, histogram)
    histogram(seconds)
  }

  /** Without a limit there is no such series: no number for infinity suits every reader of metrics. */
  #showLimit(bytes: number): void {
    this.#removeLimit?.()
    const isLimited = bytes !== Infinity
    this.#removeLimit = isLimited ? this.#series.gauge(MetricNames.limit, () => this.#core.maxBytes) : undefined
  }
}

const entries = <K extends keyof PoolStats>(described: { readonly [counter in K]: Described }) =>
  Object.entries(described) as unknown as ReadonlyArray<readonly [K, Described]>
