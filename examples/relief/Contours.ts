/** Contour lines. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

/** From one line to the next. They are half a metre off, because whole plateaus are at whole metres. */
const intervalMeters = 10
const firstMeters = 0.5

/** How much of the brightness a line takes away, and how wide it is on both sides, in pixels. */
const ink = 0.3
const reachPixels = 1.2

/** On ground more level than this, in metres per metre, a line is as wide as here. */
const levelGround = 0.03

/** What the lines leave of the brightness: 1 far from them. */
export const contours = Effect.fn("Contours.contours")(function*(
  heights: DeviceArray.DeviceArray<"f32">,
  steepness: DeviceArray.DeviceArray<"f32">,
  pixelMeters: number
) {
  const lines = yield* DeviceArray.divide(yield* DeviceArray.subtract(heights, firstMeters), intervalMeters)
  const nearest = yield* DeviceArray.round(lines)
  const metersAway = yield* DeviceArray.multiply(
    yield* DeviceArray.abs(yield* DeviceArray.subtract(lines, nearest)),
    intervalMeters
  )
  const metersPerPixel = yield* DeviceArray.multiply(yield* DeviceArray.maximum(steepness, levelGround), pixelMeters)
  const pixelsAway = yield* DeviceArray.divide(metersAway, metersPerPixel)
  const coverage = yield* DeviceArray.clip(yield* DeviceArray.subtract(reachPixels, pixelsAway), 0, 1)
  return yield* DeviceArray.subtract(1, yield* DeviceArray.multiply(coverage, ink))
})
