/**
 * Random shapes.
 *
 * @internal
 */
import type { Random } from "../Random.ts"

type Shape = ReadonlyArray<number>

/** A shape, mostly of two or three short axes, sometimes without elements or with a long axis. */
export const anyShape = (random: Random): Shape => {
  if (random.integer(0, 7) === 0) {
    const length = random.integer(200, 1200)
    return random.pick([[length], [length, 2], [2, length]])
  }
  const rank = random.pick([0, 1, 1, 2, 2, 2, 3, 3, 4])
  return Array.from({ length: rank }, () => random.pick([1, 2, 2, 3, 3, 4, 5, 7, random.pick([0, 1, 33, 6, 3])]))
}

/** A shape that broadcasts to the given one. */
export const anyNarrower = (random: Random, shape: Shape): Shape => {
  const start = random.integer(0, 3) === 0 ? random.integer(0, shape.length) : 0
  return shape.slice(start).map((length) => random.integer(0, 4) === 0 ? 1 : length)
}

/** A shape of `size` elements. */
export const anyFactors = (random: Random, size: number): Shape => {
  if (size === 0) {
    return shuffled(random, [0, random.integer(1, 3), random.integer(1, 3)].slice(0, random.integer(1, 3)))
  }
  const lengths: Array<number> = []
  let rest = size
  for (let axis = random.integer(0, 2); axis > 0; axis--) {
    const divisors = Array.from({ length: 8 }, (_, at) => at + 1).filter((divisor) => rest % divisor === 0)
    const divisor = random.pick(divisors)
    lengths.push(divisor)
    rest /= divisor
  }
  return random.integer(0, 1) === 0 ? [rest, ...lengths] : [...lengths, rest]
}

/** The same elements in a random order. */
export const shuffled = (random: Random, numbers: ReadonlyArray<number>): ReadonlyArray<number> => {
  const rest = [...numbers]
  return numbers.map(() => rest.splice(random.integer(0, rest.length - 1), 1)[0]!)
}
