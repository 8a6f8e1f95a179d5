/** Hypsometric tints: a colour for every height. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

/** From the lowest height to the highest, evenly spaced. */
const colors = ["#4f8a63", "#86b06f", "#b7c983", "#e3d6a0", "#d6b07a", "#b98a64", "#99705a", "#f4efe9"]

/** The bytes of the colours on the device. */
export const paletteBytes = colors.length * 3 * Float32Array.BYTES_PER_ELEMENT

const channels = (color: string): ReadonlyArray<number> => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16))

/** The tints of heights, of which the lowest and the highest have the first colour and the last one. */
export const tints = Effect.fn("Tints.tints")(function*(heights: DeviceArray.DeviceArray<"f32">) {
  const lowest = yield* DeviceArray.min(heights)
  const range = yield* DeviceArray.subtract(yield* DeviceArray.max(heights), lowest)
  return yield* at(yield* DeviceArray.divide(yield* DeviceArray.subtract(heights, lowest), range))
})

/** Red, green and blue, 0 to 255, of each place among the colours, 0 to 1: one more axis, of length 3. */
export const at = Effect.fn("Tints.at")(function*(places: DeviceArray.DeviceArray<"f32">) {
  const palette = yield* DeviceArray.fromHost(colors.map(channels))
  const place = yield* DeviceArray.multiply(places, colors.length - 1)
  const below = yield* DeviceArray.clip(yield* DeviceArray.floor(place), 0, colors.length - 2)
  const index = yield* DeviceArray.astype(below, "u32")
  const lower = yield* DeviceArray.take(palette, index, { axis: 0 })
  const upper = yield* DeviceArray.take(palette, yield* DeviceArray.add(index, 1), { axis: 0 })
  const share = yield* DeviceArray.expandDims(yield* DeviceArray.subtract(place, below), -1)
  const step = yield* DeviceArray.subtract(upper, lower)
  return yield* DeviceArray.add(lower, yield* DeviceArray.multiply(step, share))
})
