/** The weights of a block, and the vectors of tokens: numbers around 0, the same in each run. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Record } from "effect"

export interface Sizes {
  readonly tokens: number
  readonly heads: number
  /** How many numbers of a token one head sees. */
  readonly depth: number
}

/** How many numbers a token has. */
export const widthOf = ({ depth, heads }: Sizes): number => heads * depth

/** Elements of an array, row by row. */
interface Drawn {
  readonly shape: ReadonlyArray<number>
  readonly values: Float32Array<ArrayBuffer>
}

/** Numbers that are at most `spread` from `middle`. */
const drawn = (seed: number, shape: ReadonlyArray<number>, spread: number, middle = 0): Drawn => {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return middle + spread * (state / 2 ** 31 - 1)
  }
  return { shape, values: Float32Array.from({ length: shape.reduce((size, length) => size * length, 1) }, next) }
}

/** A product has numbers about as large as those it is made of, as in a trained network. */
const matrix = (seed: number, rows: number, columns: number): Drawn => drawn(seed, [rows, columns], Math.sqrt(3 / rows))

export const draw = (sizes: Sizes) => {
  const width = widthOf(sizes)
  return {
    firstScale: drawn(1, [width], 0.5, 1),
    firstShift: drawn(2, [width], 0.5),
    /** Queries, keys and values beside each other: one product computes all three. */
    attention: matrix(3, width, 3 * width),
    attentionBias: drawn(4, [3 * width], 0.5),
    projection: matrix(5, width, width),
    projectionBias: drawn(6, [width], 0.5),
    secondScale: drawn(7, [width], 0.5, 1),
    secondShift: drawn(8, [width], 0.5),
    hidden: matrix(9, width, 4 * width),
    hiddenBias: drawn(10, [4 * width], 0.5),
    output: matrix(11, 4 * width, width),
    outputBias: drawn(12, [width], 0.5)
  }
}

export type DrawnWeights = ReturnType<typeof draw>
export type Weights = { readonly [name in keyof DrawnWeights]: DeviceArray.DeviceArray<"f32"> }

/** One row for each token. */
export const drawTokens = (sizes: Sizes): Drawn => drawn(13, [sizes.tokens, widthOf(sizes)], 1)

export const toDevice = ({ shape, values }: Drawn) => DeviceArray.fromHost(values, { shape })

export const allToDevice = (weights: DrawnWeights) => Effect.all(Record.map(weights, toDevice))
