/**
 * A transformer block that normalises before each of its two parts: attention to the tokens so far, and a network of two layers for each
 * token.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import type { Cache } from "./Cache.ts"
import type { Weights } from "./Weights.ts"

type Floats = DeviceArray.DeviceArray<"f32">
type Computed = DeviceArray.Computed<"f32">

const ofRows = { axis: -1, keepDims: true }

/** Each row with mean 0 and variance 1, then scaled and shifted. */
const normalised = (x: Floats, scale: Floats, shift: Floats): Computed =>
  DeviceArray.subtract(x, DeviceArray.mean(x, ofRows)).pipe(
    DeviceArray.multiply(DeviceArray.inverseSqrt(DeviceArray.add(DeviceArray.variance(x, ofRows), 1e-5))),
    DeviceArray.multiply(scale),
    DeviceArray.add(shift)
  )

/** Rows of positive numbers whose sum is 1. Without the maximum, `exp` could overflow. */
const softmax = (scores: Floats): Computed =>
  DeviceArray.lazy(Effect.gen(function*() {
    const powers = yield* DeviceArray.exp(DeviceArray.subtract(scores, DeviceArray.max(scores, ofRows)))
    return yield* DeviceArray.divide(powers, DeviceArray.sum(powers, ofRows))
  }))

/** GELU, in its usual approximation by `tanh`. */
const gelu = (x: Floats): Computed =>
  DeviceArray.multiply(DeviceArray.square(x), 0.044715).pipe(
    DeviceArray.add(1),
    DeviceArray.multiply(x),
    DeviceArray.multiply(Math.sqrt(2 / Math.PI)),
    DeviceArray.tanh,
    DeviceArray.add(1),
    DeviceArray.multiply(x),
    DeviceArray.multiply(0.5)
  )

const linear = (x: DeviceArray.ArrayOperand<"f32">, weights: Floats, bias: Floats): Computed =>
  DeviceArray.add(DeviceArray.matmul(x, weights), bias)

/**
 * What the tokens `[count, width]` become. Writes their keys and values to the cache at their positions, and lets each token attend to
 * itself and to those before it.
 */
const block = Effect.fnUntraced(function*(
  weights: Weights,
  cache: Cache,
  tokens: Floats,
  positions: DeviceArray.DeviceArray<"u32">
) {
  const [room, heads, depth] = cache.keys.shape as readonly [number, number, number]
  const [count, width] = tokens.shape as readonly [number, number]
  yield* Effect.logDebug(`traced with a cache for ${room} tokens`)

  const attention = yield* linear(
    normalised(tokens, weights.firstScale, weights.firstShift),
    weights.attention,
    weights.attentionBias
  )
  const rows = DeviceArray.reshape(attention, [count, 3 * heads, depth])
  const [queries, keys, values] = yield* DeviceArray.split(rows, 3, { axis: 1 })
  yield* DeviceArray.put(cache.keys, positions, keys!, { axis: 0 })
  yield* DeviceArray.put(cache.values, positions, values!, { axis: 0 })

  const products = DeviceArray.matmul(
    DeviceArray.transpose(queries!, [1, 0, 2]),
    DeviceArray.transpose(cache.keys, [1, 2, 0])
  )
  // The whole cache is computed with, however much of it is used: so the shapes stay the same from token to token.
  const isSeen = DeviceArray.lessEqual(
    DeviceArray.arange(room, { dtype: "u32" }),
    DeviceArray.reshape(positions, [count, 1])
  )
  const scores = yield* DeviceArray.where(isSeen, DeviceArray.divide(products, Math.sqrt(depth)), -1e30)
  const seen = DeviceArray.matmul(softmax(scores), DeviceArray.transpose(cache.values, [1, 0, 2]))
  const attended = yield* Effect.flatMap(
    DeviceArray.add(
      linear(
        DeviceArray.reshape(DeviceArray.transpose(seen, [1, 0, 2]), [count, width]),
        weights.projection,
        weights.projectionBias
      ),
      tokens
    ),
    DeviceArray.evaluate
  )

  const hidden = yield* linear(
    normalised(attended, weights.secondScale, weights.secondShift),
    weights.hidden,
    weights.hiddenBias
  )
  return yield* DeviceArray.add(linear(gelu(hidden), weights.output, weights.outputBias), attended)
})

/** Traced once for each size of the cache and each number of tokens at once. */
export const step = DeviceArray.compile(block)
