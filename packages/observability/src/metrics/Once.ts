/**
 * Metrics that a registry has once, however often their layer is built: the first layer makes them, with its attributes and its clock,
 * and the last one to close removes them.
 *
 * @internal
 */
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import * as DurationBoundaries from "./DurationBoundaries.ts"

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
  readonly use = (options: DurationBoundaries.Options): Effect.Effect<Measuring, GpuError, Scope.Scope> =>
    Effect.contextWith((context: Context.Context<never>) => {
      const { begin, operation, subject } = this.#plan
      const asked = DurationBoundaries.of(operation, options)
      if (isGpuError(asked)) return asked
      const measured = subject(context)
      const uses = this.#usesOf(Context.get(context, Metric.MetricRegistry))
      const join = Effect.suspend(() => {
        const known = uses.get(measured)
        const clash = known && asked && clashOf(operation, asked, known.boundaries)
        if (clash !== undefined) return clash
        const boundaries = asked ?? DurationBoundaries.usual
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
      return Effect.map(Effect.acquireRelease(join, leave), ({ measuring }) => measuring)
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
