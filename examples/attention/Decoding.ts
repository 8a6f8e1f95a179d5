/** Tokens one after the other, as a language model has them. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import * as Cache from "./Cache.ts"
import * as Transformer from "./Transformer.ts"
import type { Weights } from "./Weights.ts"

export interface Options {
  readonly heads: number
  readonly depth: number
  /** For how many tokens the first cache has room. */
  readonly room: number
}

/** A token and its position, both on the device: of a number, or of a slice with another offset, each step would be traced anew. */
export const tokenAt = Effect.fnUntraced(function*(tokens: DeviceArray.DeviceArray<"f32">, at: number) {
  const position = yield* DeviceArray.full([1], at, { dtype: "u32" })
  return [yield* DeviceArray.take(tokens, position, { axis: 0 }), position] as const
})

/**
 * What each of the tokens `[count, width]` becomes, and the cache after the last of them. When the cache is full, one of twice the room
 * takes its place, and the loop releases the leases of the old one.
 */
export const decode = Effect.fnUntraced(function*(
  weights: Weights,
  tokens: DeviceArray.DeviceArray<"f32">,
  { depth, heads, room }: Options
) {
  const outputs = yield* DeviceArray.zerosLike(tokens)
  const cache = yield* DeviceArray.iterate(Cache.empty(room, heads, depth), {
    times: tokens.shape[0]!,
    body: Effect.fnUntraced(function*(last, at) {
      const cache = at < Cache.roomOf(last) ? last : yield* Cache.grown(last)
      const [token, position] = yield* tokenAt(tokens, at)
      yield* DeviceArray.put(outputs, position, Transformer.step(weights, cache, token, position), { axis: 0 })
      return cache
    })
  })
  return { outputs, cache }
})
