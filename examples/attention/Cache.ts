/** The keys and values of the tokens so far, which later tokens attend to. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

/** Two arrays `[room, heads, depth]`. */
export interface Cache {
  readonly keys: DeviceArray.DeviceArray<"f32">
  readonly values: DeviceArray.DeviceArray<"f32">
}

/** Zeros, because the rows of tokens to come are multiplied by 0, which hides no NaN that memory of the pool may contain. */
export const empty = (room: number, heads: number, depth: number) =>
  Effect.all({ keys: DeviceArray.zeros([room, heads, depth]), values: DeviceArray.zeros([room, heads, depth]) })

/** How many tokens fit. */
export const roomOf = ({ keys }: Cache): number => keys.shape[0]!

export const bytesOf = ({ keys, values }: Cache): number => 4 * (keys.size + values.size)

/** A copy with room for twice as many tokens. */
export const grown = (cache: Cache) => {
  const border = [[0, roomOf(cache)], [0, 0], [0, 0]] as const
  return Effect.all({ keys: DeviceArray.pad(cache.keys, border), values: DeviceArray.pad(cache.values, border) })
}
