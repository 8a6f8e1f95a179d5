/**
 * Spans around what takes long: misses, waits for memory, compilations and reads. A hit has none.
 *
 * @internal
 */
import * as Effect from "effect/Effect"

type Attributes = Readonly<Record<string, unknown>>

/** What is unknown is left out: a tracer would write it as text. */
const known = (attributes: Attributes): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))

/**
 * An effect in a span, where its fiber has a tracer: programs without one pay for no span that nobody sees. `ended` adds
 * attributes of what came of the effect.
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
