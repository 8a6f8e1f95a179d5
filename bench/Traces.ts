/** The requests of programs, as steps in one or two phases: the same for every policy, and others for each seed. */
import * as Random from "./Random.ts"
import * as Workload from "./Workload.ts"

/** Replaces the buffer in a slot by one of `size` bytes, or by none when the size is 0. */
export type Step = Workload.Step

export interface Trace {
  readonly name: string
  /** The phases in order; each begins with empty slots. */
  readonly phases: (seed: number) => ReadonlyArray<ReadonlyArray<Step>>
}

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

const iterations = 300
const buffers = 32

/**
 * Like a network's forward and backward pass: buffers are allocated one after the other, and freed in the reverse
 * order.
 */
export const pass = (sizes: ReadonlyArray<number>): ReadonlyArray<Step> => [
  ...sizes.map((size, slot) => ({ slot, size })),
  ...sizes.map((_, index) => ({ slot: sizes.length - 1 - index, size: 0 }))
]

const passes = (sizes: () => ReadonlyArray<number>): ReadonlyArray<Step> =>
  Array.from({ length: iterations }, () => pass(sizes())).flat()

const sizesBetween = (next: () => number, least: number, most: number): ReadonlyArray<number> =>
  Array.from({ length: buffers }, () => Random.logUniform(next, least, most))

/** The same sizes in each iteration. */
const repeated = (next: () => number): ReadonlyArray<Step> => {
  const sizes = sizesBetween(next, 256, 4 * mebibyte)
  return passes(() => sizes)
}

/** The same sizes in each iteration, and after them a few that are never used again. */
const mixed = (next: () => number): ReadonlyArray<Step> => {
  const again = sizesBetween(next, mebibyte, 4 * mebibyte).slice(0, buffers / 2)
  return Array.from({ length: iterations }, () => [
    ...pass(again),
    ...pass(sizesBetween(next, 64 * kibibyte, 4 * mebibyte).slice(0, buffers / 8))
  ]).flat()
}

/** Rows of a length that each iteration draws anew, as sentences have: all sizes change, and in proportion. */
const lengths = (next: () => number): ReadonlyArray<Step> => {
  const widths = sizesBetween(next, 64, 8 * kibibyte)
  return passes(() => {
    const length = 16 + Math.floor(next() * 1009)
    return widths.map((width) => width * length)
  })
}

/** A slot at random gets a buffer of another size. */
export const replaced = (
  next: () => number,
  least: number,
  most: number,
  steps = Workload.steps / 2
): ReadonlyArray<Step> =>
  Array.from({ length: steps }, () => ({
    slot: Math.floor(next() * Workload.slots),
    size: Random.logUniform(next, least, most)
  }))

/** The touched workload's own. */
export const varied: Trace = { name: "varied", phases: (seed) => [Workload.plan(seed)] }

/** The same with more buffers at a time. */
export const variedMany: Trace = { name: "varied, 256 live", phases: (seed) => [Workload.plan(seed, 256)] }

const seeded = (
  name: string,
  phases: (next: () => number) => ReadonlyArray<ReadonlyArray<Step>>
): Trace => ({ name, phases: (seed) => phases(Random.make(seed)) })

/**
 * Tensors of a cache, each of which grows by `bytes` bytes in each step: the new one is allocated, and filled from the
 * old one, before the old one is freed.
 */
export const grown = (tensors: number, bytes: number, steps: number): ReadonlyArray<Step> =>
  Array.from({ length: steps }, (_, step) =>
    Array.from({ length: tensors }, (_, tensor): ReadonlyArray<Step> => [
      { slot: 2 * tensor + step % 2, size: (step + 1) * bytes },
      { slot: 2 * tensor + (step + 1) % 2, size: 0 }
    ]).flat()).flat()

/** Sizes that are never used again. A higher seed ends earlier. */
export const growing: Trace = {
  name: "a cache of 48 tensors that grow",
  phases: (seed) => [grown(48, 8 * kibibyte, 256 - 20 * seed)]
}

export const twoPhases: ReadonlyArray<Trace> = [
  seeded("large, then small", (next) => [
    replaced(next, mebibyte, 16 * mebibyte),
    replaced(next, 256, 64 * kibibyte)
  ]),
  seeded("one set of sizes, then another", (next) => [repeated(next), repeated(next)])
]

/** A network whose inputs have another length each time. */
export const changingShapes: Trace = seeded("lengths", (next) => [lengths(next)])

export const all: ReadonlyArray<Trace> = [
  seeded("static", (next) => [repeated(next)]),
  varied,
  changingShapes,
  ...twoPhases
]

/** All of those, and one in which the choice of evicted blocks matters. */
export const underLimits: ReadonlyArray<Trace> = [...all, seeded("some again, others once", (next) => [mixed(next)])]
