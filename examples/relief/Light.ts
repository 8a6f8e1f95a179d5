/** Light on slopes. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import { type Slopes, steepest } from "./Slopes.ts"

export interface LightOptions {
  /** Where the light comes from: degrees clockwise from the top of the picture. */
  readonly azimuth: number
  /** How high the light stands: degrees above the horizon. */
  readonly altitude: number
  /** From above, slopes look gentler than they are. So they are lit as if they were this much steeper: 2 without this. */
  readonly exaggeration?: number
}

/** The brightness without any light, and that of a slope which faces the light. */
const darkest = 0.35
const brightest = 1.15

const radians = (degrees: number): number => degrees * (Math.PI / 180)

/** The brightness of slopes: the cosine of the angle between the light and the slope's normal. */
export const brightness = Effect.fn("Light.brightness")(function*(
  slopes: Slopes,
  { altitude, azimuth, exaggeration = 2 }: LightOptions
) {
  const right = yield* DeviceArray.multiply(slopes.right, exaggeration)
  const down = yield* DeviceArray.multiply(slopes.down, exaggeration)
  const steepness = yield* steepest({ right, down })
  const length = yield* DeviceArray.sqrt(
    yield* DeviceArray.add(yield* DeviceArray.multiply(steepness, steepness), 1)
  )
  const sideways = Math.cos(radians(altitude))
  const towards = yield* DeviceArray.subtract(
    yield* DeviceArray.multiply(down, sideways * Math.cos(radians(azimuth))),
    yield* DeviceArray.multiply(right, sideways * Math.sin(radians(azimuth)))
  )
  const cosine = yield* DeviceArray.divide(
    yield* DeviceArray.add(towards, Math.sin(radians(altitude))),
    length
  )
  const lit = yield* DeviceArray.maximum(cosine, 0)
  return yield* DeviceArray.add(yield* DeviceArray.multiply(lit, brightest - darkest), darkest)
})
