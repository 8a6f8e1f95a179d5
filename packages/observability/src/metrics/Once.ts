/**
 * Metrics that a registry has once, however often their layer is built: the first layer makes them, with its attributes and its clock,
 * and the last one to close removes them.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { checked } from "../Checked.ts"

const areAscending = (boundaries: ReadonlyArray<number>): boolean =>
  boundaries.every((boundary, at) => boundary > (boundaries[at - 1] ?? 0))

const MetricsOptions = Schema.Struct({
  durationBoundaries: Schema.optional(
    Schema.Array(Schema.Finite).check(
      Schema.isMinLength(1),
      Schema.makeFilter(areAscending, { expected: "ascending times above 0, as [0.001, 0.01, 0.1]" })
    )
  )
})

const usual = [1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60]

export interface Plan<Measuring> {
  readonly operation: string
  /** What is measured: each subject has metrics of its own. */
  readonly subject: (context: Context.Context<never>) => object
  readonly begin: (context: Context.Context<never>, boundaries: ReadonlyArray<number>) => Measuring
}

interface Use<Measuring> {
  readonly measuring: Measuring
  readonly boundaries: ReadonlyArray<number>
  layers: number
}

export class Once<Measuring extends { close(): void }> {
  readonly #plan: Plan<Measuring>
  readonly #uses = new WeakMap<Metric.MetricRegistry, WeakMap<object, Use<Measuring>>>()

  constructor(plan: Plan<Measuring>) {
    this.#plan = plan
  }

  /** Measures until the scope closes. */
  readonly use = (options: typeof MetricsOptions.Type): Effect.Effect<Measuring, GpuError, Scope.Scope> =>
    Effect.gen({ self: this }, function*() {
      const { begin, operation, subject } = this.#plan
      const { durationBoundaries: asked } = yield* checked(operation, MetricsOptions, options)
      const context = yield* Effect.context<never>()
      const measured = subject(context)
      const uses = this.#usesOf(Context.get(context, Metric.MetricRegistry))
      const join = Effect.suspend(() => {
        const known = uses.get(measured)
        const clash = known && asked && clashOf(operation, asked, known.boundaries)
        if (clash !== undefined) return clash
        const boundaries = asked ?? usual
        const use = known ?? { measuring: begin(context, boundaries), boundaries, layers: 0 }
        use.layers += 1
        uses.set(measured, use)
        return Effect.succeed(use)
      })
      const leave = (use: Use<Measuring>) =>
        Effect.sync(() => {
          use.layers -= 1
          if (use.layers > 0) return
          uses.delete(measured)
          use.measuring.close()
        })
      const { measuring } = yield* Effect.acquireRelease(join, leave)
      return measuring
    })

  #usesOf(registry: Metric.MetricRegistry): WeakMap<object, Use<Measuring>> {
    const uses = this.#uses.get(registry) ?? new WeakMap<object, Use<Measuring>>()
    this.#uses.set(registry, uses)
    return uses
  }
}

const clashOf = (
  operation: string,
  asked: ReadonlyArray<number>,
  known: ReadonlyArray<number>
): GpuError | undefined =>
  asked.length === known.length && asked.every((boundary, at) => boundary === known[at])
    ? undefined
    : invalidRequest(
      operation,
      `durationBoundaries is [${asked.join(", ")}], and a layer that is open has [${known.join(", ")}]`,
      "Pass the same to every layer, or to none but the first: a layer without them takes those that there are."
    )
