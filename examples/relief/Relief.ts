/** The picture: a smooth surface through the heights, tinted by height and shaded by its slopes. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import { contours } from "./Contours.ts"
import { brightness, type LightOptions } from "./Light.ts"
import type { Picture } from "./Picture.ts"
import { inner, slopes, steepest } from "./Slopes.ts"
import * as Spline from "./Spline.ts"
import { tints } from "./Tints.ts"
import { type Grid, spacingMeters } from "./Volcano.ts"

export interface ReliefOptions extends LightOptions {
  /** Pixels from one height of the grid to the next. */
  readonly scale: number
}

/** Draws the picture. All its memory is back in the pool when it ends. */
export const draw = Effect.fn("Relief.draw")(function*(grid: Grid, options: ReliefOptions) {
  const heights = yield* DeviceArray.scoped(surface(grid, options.scale))
  const pixels = yield* DeviceArray.lazy(paint(heights, options))
  const [height = 0, width = 0] = pixels.shape
  const picture: Picture = { width, height, rgb: Uint8Array.from(yield* DeviceArray.toHost(pixels)) }
  return picture
}, Effect.scoped)

/** The heights at the pixels, and at one more all around: the slopes at the border of the picture need them. */
const surface = Effect.fn("Relief.surface")(function*({ height, values, width }: Grid, scale: number) {
  const heights = yield* DeviceArray.fromHost(values, { shape: [height, width] })
  const rows = yield* DeviceArray.fromHost(Spline.matrix(positions(height, scale), height), { shape: [-1, height] })
  const columns = yield* DeviceArray.fromHost(Spline.matrix(positions(width, scale), width), { shape: [-1, width] })
  const narrow = yield* DeviceArray.matmul(rows, heights)
  return yield* DeviceArray.matmul(narrow, yield* DeviceArray.transpose(columns))
})

/** Where the pixels are, counted in samples. */
const positions = (samples: number, scale: number): ReadonlyArray<number> =>
  Array.from({ length: (samples - 1) * scale + 3 }, (_, pixel) => (pixel - 1) / scale)

/** Red, green and blue of the pixels, 0 to 255. */
const paint = Effect.fn("Relief.paint")(function*(
  surface: DeviceArray.DeviceArray<"f32">,
  options: ReliefOptions
) {
  const pixelMeters = spacingMeters / options.scale
  const heights = yield* DeviceArray.slice(surface, [inner, inner])
  const slope = yield* slopes(surface, pixelMeters)
  const light = yield* brightness(slope, options)
  const lines = yield* contours(heights, yield* steepest(slope), pixelMeters)
  const shade = yield* DeviceArray.expandDims(yield* DeviceArray.multiply(light, lines), -1)
  const colors = yield* DeviceArray.multiply(yield* tints(heights), shade)
  return yield* DeviceArray.astype(yield* DeviceArray.round(yield* DeviceArray.clip(colors, 0, 255)), "u32")
})
