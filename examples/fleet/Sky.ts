/** How much of the sky is in sight: valleys are darker than ridges, wherever the light comes from. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

/** The directions in which the horizon is looked for: pixels to the right and down. */
const directions = [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]] as const

/** How far away, in steps of a direction. */
const steps = [1, 2, 3, 5, 8, 12]

/** How many pixels of the surface are needed on each side of those whose sky is computed. */
export const reach = Math.max(...steps)

/**
 * The share of the sky in sight, 0 to 1, of all points of a surface but the outer `reach`. `steepness` is how many pixels high a metre
 * counts.
 */
export const inSight = Effect.fn("Sky.inSight")(function*(
  surface: DeviceArray.DeviceArray<"f32">,
  steepness: number
) {
  const moved = (right: number, down: number) => DeviceArray.slice(surface, [within(down), within(right)])
  const here = yield* moved(0, 0)
  let sum: DeviceArray.DeviceArray<"f32"> | undefined
  for (const [right, down] of directions) {
    let horizon: DeviceArray.DeviceArray<"f32"> | undefined
    for (const step of steps) {
      const rise = yield* DeviceArray.subtract(yield* moved(step * right, step * down), here)
      const slope = yield* DeviceArray.multiply(rise, steepness / (step * Math.hypot(right, down)))
      horizon = horizon === undefined
        ? yield* DeviceArray.maximum(slope, 0)
        : yield* DeviceArray.maximum(horizon, slope)
    }
    // The sine of the horizon's angle.
    const squared = yield* DeviceArray.multiply(horizon!, horizon!)
    const hidden = yield* DeviceArray.divide(horizon!, yield* DeviceArray.sqrt(yield* DeviceArray.add(squared, 1)))
    sum = sum === undefined ? hidden : yield* DeviceArray.add(sum, hidden)
  }
  return yield* DeviceArray.subtract(1, yield* DeviceArray.divide(sum!, directions.length))
})

/** The points of an axis that are `by` further than those which have `reach` neighbours on both sides. */
const within = (by: number) => ({ start: reach + by, ...(by === reach ? {} : { stop: by - reach }) })
