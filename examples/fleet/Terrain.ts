/** A rectangle of the map: a smooth surface through the heights, tinted by height, shaded by its slopes and by its horizon. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import * as Light from "../relief/Light.ts"
import { slopes } from "../relief/Slopes.ts"
import * as Spline from "../relief/Spline.ts"
import * as Tints from "../relief/Tints.ts"
import * as Earth from "./Earth.ts"
import * as Sky from "./Sky.ts"

/** A square of the map's pixels, and how many of these there are from one height to the next. */
export interface Square {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly scale: number
}

/** A height is about 20 km from the next, so mountains would be flat. */
const exaggeration = 12
const equatorMeters = 40_075_000

/** The highest colour is for this height. */
const highestMeters = 6000
/** At the coast, land takes the place of sea between these heights: the smooth surface is a little above 0 there. */
const coastMeters = [4, 16] as const
const sea = Float32Array.of(0x9c, 0xc3, 0xd6)

/**
 * The most bytes that `paint` has on the device at one time: the surface, and what it needs for the tints of the pixels, which are
 * more than what the surface is made of. The test of this example compares it with what a pool counts.
 */
export const bytesOf = ({ size }: Square): number =>
  4 * (size + 2 * Sky.reach) ** 2 + 64 * size ** 2 + Tints.paletteBytes + sea.byteLength

/** Red, green and blue of the square's pixels, row by row. All its memory is back in the pool when it ends. */
export const paint = Effect.fn("Terrain.paint")(function*(earth: Earth.Earth, square: Square) {
  const heights = yield* DeviceArray.scoped(surface(earth, square))
  const pixels = yield* DeviceArray.lazy(shade(heights, equatorMeters / (Earth.width * square.scale)))
  return Uint8Array.from(yield* DeviceArray.toHost(pixels))
}, Effect.scoped)

/** The heights at the pixels, and at `Sky.reach` more all around. */
const surface = Effect.fn("Terrain.surface")(function*(earth: Earth.Earth, { scale, size, x, y }: Square) {
  const across = samples(x, size, scale)
  const down = samples(y, size, scale)
  const near = yield* DeviceArray.fromHost(cut(earth, across, down), { shape: [down.count, across.count] })
  const rows = yield* DeviceArray.fromHost(Spline.matrix(down.positions, down.count), { shape: [-1, down.count] })
  const columns = yield* DeviceArray.fromHost(Spline.matrix(across.positions, across.count), {
    shape: [-1, across.count]
  })
  const narrow = yield* DeviceArray.matmul(rows, near)
  return yield* DeviceArray.matmul(narrow, yield* DeviceArray.transpose(columns))
})

/** Samples of one axis, and the positions of pixels among them. */
interface Samples {
  readonly first: number
  readonly count: number
  readonly positions: ReadonlyArray<number>
}

/** The samples that the spline needs for some pixels of an axis and `Sky.reach` more on both sides. */
const samples = (start: number, size: number, scale: number): Samples => {
  const places = Array.from({ length: size + 2 * Sky.reach }, (_, pixel) => (start - Sky.reach + pixel) / scale)
  const first = Math.floor(places[0]!) - 1
  const last = Math.floor(places.at(-1)!) + 2
  return { first, count: last - first + 1, positions: places.map((place) => place - first) }
}

/** The heights of a window. The Earth goes on beyond 180 degrees; beyond the poles it is as high as there. */
const cut = ({ meters }: Earth.Earth, across: Samples, down: Samples): Float32Array<ArrayBuffer> =>
  Float32Array.from({ length: down.count * across.count }, (_, at) => {
    const row = Math.min(Math.max(down.first + Math.floor(at / across.count), 0), Earth.height - 1)
    const column = (across.first + at % across.count + Earth.width) % Earth.width
    return meters[row * Earth.width + column]!
  })

/** Red, green and blue of the pixels, 0 to 255. */
const shade = Effect.fn("Terrain.shade")(function*(surface: DeviceArray.DeviceArray<"f32">, pixelMeters: number) {
  const inner = { start: Sky.reach, stop: -Sky.reach }
  const heights = yield* DeviceArray.slice(surface, [inner, inner])
  const near = { start: Sky.reach - 1, stop: 1 - Sky.reach }
  const slope = yield* slopes(yield* DeviceArray.slice(surface, [near, near]), pixelMeters)
  const light = yield* Light.brightness(slope, { azimuth: 315, altitude: 45, exaggeration })
  const sky = yield* Sky.inSight(surface, exaggeration / pixelMeters)
  // The root, because half of the land is below 400 metres.
  const share = yield* DeviceArray.clip(yield* DeviceArray.divide(heights, highestMeters), 0, 1)
  const land = yield* Tints.at(yield* DeviceArray.sqrt(share))
  const tints = yield* mixed(
    yield* DeviceArray.fromHost(sea),
    land,
    yield* DeviceArray.expandDims(yield* shareOfLand(heights), -1)
  )
  const shade = yield* DeviceArray.expandDims(yield* DeviceArray.multiply(light, sky), -1)
  const colors = yield* DeviceArray.multiply(tints, shade)
  return yield* DeviceArray.astype(yield* DeviceArray.round(yield* DeviceArray.clip(colors, 0, 255)), "u32")
})

/** How much of a pixel is land, 0 to 1. */
const shareOfLand = Effect.fn("Terrain.shareOfLand")(function*(heights: DeviceArray.DeviceArray<"f32">) {
  const [sea, land] = coastMeters
  return yield* DeviceArray.clip(yield* DeviceArray.divide(yield* DeviceArray.subtract(heights, sea), land - sea), 0, 1)
})

/** `a` where `share` is 0, `b` where it is 1. */
const mixed = Effect.fn("Terrain.mixed")(function*(
  a: DeviceArray.DeviceArray<"f32">,
  b: DeviceArray.DeviceArray<"f32">,
  share: DeviceArray.DeviceArray<"f32">
) {
  return yield* DeviceArray.add(a, yield* DeviceArray.multiply(yield* DeviceArray.subtract(b, a), share))
})
