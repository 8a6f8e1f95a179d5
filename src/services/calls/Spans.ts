/**
 * Spans around what takes long: misses, waits for memory, compilations and reads. A hit has none.
 *
 * @internal
 */
import * as Effect from "effect/Effect"

type Attributes = Readonly<Record<string, unknown>>

/** Leaves out undefined attributes, which a tracer would write as text. */
const known = (attributes: Attributes): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))

/**
 * Runs an effect in a span if its fiber has a tracer; else there is no span to pay for. `ended` adds attributes of the
 * result.
 */
export const inSpan = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  name: string,
  attributes: () => Attributes,
  ended?: (value: A) => Attributes
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ cache: { tracer, tracerEnabled } }) =>
    tracer === undefined || !tracerEnabled
      ? effect
      : Effect.useSpan(name, { attributes: known(attributes()) }, (span) =>
        ended === undefined ? effect : Effect.map(effect, (value) => {
          for (const [name, attribute] of Object.entries(ended(value))) {
            span.attribute(name, attribute)
          }
          return value
        }))
  )
