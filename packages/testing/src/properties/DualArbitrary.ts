/**
 * One arbitrary for two engines: that of fast-check, and that of Effect, which `it.effect.prop` runs. Effect 4.1 has
 * its own engine, whose arbitraries are made of schemas, so it cannot run an arbitrary of fast-check.
 *
 * @since 0.1.0
 */
import * as Effects from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as fc from "fast-check"

/** The most smaller values that one value offers. Effect tries 100 in all, unless the program sets another number. */
const mostCandidates = 1000

/** A value with fast-check's record of how it was made, by which fast-check can make it smaller. */
class Drawn<A> {
  readonly #arbitrary: fc.Arbitrary<A>
  readonly #drawn: fc.Value<A>

  constructor(arbitrary: fc.Arbitrary<A>, drawn: fc.Value<A>) {
    this.#arbitrary = arbitrary
    this.#drawn = drawn
  }

  get value(): A {
    return this.#drawn.value
  }

  get smaller(): ReadonlyArray<Drawn<A>> {
    const { context, value_ } = this.#drawn
    const candidates = this.#arbitrary.shrink(value_, context).take(mostCandidates)
    return Array.from(candidates, (candidate) => new Drawn(this.#arbitrary, candidate))
  }
}

/** Generates the values of another arbitrary, together with how each was made. */
class Drawing<A> extends fc.Arbitrary<Drawn<A>> {
  readonly #arbitrary: fc.Arbitrary<A>

  constructor(arbitrary: fc.Arbitrary<A>) {
    super()
    this.#arbitrary = arbitrary
  }

  override generate(random: fc.Random, bias: number | undefined): fc.Value<Drawn<A>> {
    return new fc.Value(new Drawn(this.#arbitrary, this.#arbitrary.generate(random, bias)), undefined)
  }

  override canShrinkWithoutContext(_value: unknown): _value is Drawn<A> {
    return false
  }

  override shrink(): fc.Stream<fc.Value<Drawn<A>>> {
    return fc.Stream.nil()
  }
}

/** A seed, which Effect generates bit by bit: of integers it prefers the least and the largest. */
const bits = Schema.Tuple(Array.from({ length: 32 }, () => Schema.Boolean))

const seedOf = (bits: ReadonlyArray<boolean>): number => bits.reduce((seed, bit) => seed << 1 | (bit ? 1 : 0), 0)

const forEffect = <A>(arbitrary: fc.Arbitrary<A>): Effects.Arbitrary<A> => {
  const drawing = new Drawing(arbitrary)
  const draw = (bits: ReadonlyArray<boolean>) => fc.sample(drawing, { seed: seedOf(bits), numRuns: 1 })[0]!
  const drawn = Schema.declare((value): value is Drawn<A> => value instanceof Drawn, {
    toCodecArbitrary: () =>
      Schema.link<Drawn<A>>()(bits, {
        decode: SchemaGetter.transform(draw),
        encode: SchemaGetter.forbidden(() => "values are generated, never encoded")
      })
  })
  return Effects.map(Effects.schema(drawn, { shrink: ({ smaller }) => smaller }), ({ value }) => value)
}

/** A fast-check arbitrary that also has all members of Effect's. */
class DualArbitrary<A> extends fc.Arbitrary<A> {
  readonly #arbitrary: fc.Arbitrary<A>

  constructor(arbitrary: fc.Arbitrary<A>) {
    super()
    this.#arbitrary = arbitrary
    const effects = forEffect(arbitrary)
    for (const part of [Object.getPrototypeOf(effects), effects]) {
      Object.defineProperties(this, Object.getOwnPropertyDescriptors(part))
    }
  }

  override generate(random: fc.Random, bias: number | undefined): fc.Value<A> {
    return this.#arbitrary.generate(random, bias)
  }

  override canShrinkWithoutContext(value: unknown): value is A {
    return this.#arbitrary.canShrinkWithoutContext(value)
  }

  override shrink(value: A, context: unknown): fc.Stream<fc.Value<A>> {
    return this.#arbitrary.shrink(value, context)
  }
}

/**
 * An arbitrary that both engines take.
 *
 * @category models
 * @since 0.1.0
 */
export type Arbitrary<A> = fc.Arbitrary<A> & Effects.Arbitrary<A>

/** @internal */
export const dual = <A>(arbitrary: fc.Arbitrary<A>): Arbitrary<A> =>
  // The constructor copies Effect's members onto it, which the compiler cannot see.
  new DualArbitrary(arbitrary) as unknown as Arbitrary<A>
