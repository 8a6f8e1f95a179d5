/** How steep a surface is, by finite differences. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

/** Metres up per metre, to the right and downwards in the picture. */
export interface Slopes {
  readonly right: DeviceArray.DeviceArray<"f32">
  readonly down: DeviceArray.DeviceArray<"f32">
}

/** All points along an axis but the first and the last, and for each of these its neighbours before and after. */
export const inner = { start: 1, stop: -1 }
const before = { stop: -2 }
const after = { start: 2 }

/** The slopes of the inner points of a surface whose points are `spacingMeters` metres apart. */
export const slopes = Effect.fn("Slopes.slopes")(function*(
  heights: DeviceArray.DeviceArray<"f32">,
  spacingMeters: number
) {
  const left = yield* DeviceArray.slice(heights, [inner, before])
  const right = yield* DeviceArray.slice(heights, [inner, after])
  const above = yield* DeviceArray.slice(heights, [before, inner])
  const below = yield* DeviceArray.slice(heights, [after, inner])
  const result: Slopes = {
    right: yield* DeviceArray.divide(yield* DeviceArray.subtract(right, left), 2 * spacingMeters),
    down: yield* DeviceArray.divide(yield* DeviceArray.subtract(below, above), 2 * spacingMeters)
  }
  return result
})

/** The slope in the steepest direction. */
export const steepest = Effect.fn("Slopes.steepest")(function*({ down, right }: Slopes) {
  return yield* DeviceArray.sqrt(
    yield* DeviceArray.add(yield* DeviceArray.multiply(right, right), yield* DeviceArray.multiply(down, down))
  )
})
