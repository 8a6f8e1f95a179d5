/**
 * The job, written once for every backend: the distance of every airport to every other, tile of rows by tile of rows,
 * and of each row its nearest neighbour and its mean. The layers decide which device it runs on, and whether its memory
 * is pooled; the caller, in which form its expressions run.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import type { Airport } from "./Airports.ts"
import type { Form } from "./Form.ts"

/** The mean radius of the earth, in metres. */
export const earthRadius = 6_371_008.8

/** One entry for each airport. */
export interface Neighbours {
  /** The index of the nearest other airport. */
  readonly nearest: Uint32Array
  readonly nearestMeters: Float32Array | Float64Array
  readonly meanMeters: Float32Array | Float64Array
}

export interface JobOptions {
  readonly form: Form
  /** How many rows of the distance matrix are on the device at one time. */
  readonly rowsPerTile: number
  /** Called with the number of rows that were finished. */
  readonly onRows: (rows: number) => Effect.Effect<void>
}

/** The airports on a globe of diameter 1, in three vectors. */
interface Points {
  readonly x: DeviceArray.DeviceArray<"f32">
  readonly y: DeviceArray.DeviceArray<"f32">
  readonly z: DeviceArray.DeviceArray<"f32">
}

/** Some rows of the distance matrix. */
interface Tile {
  readonly start: number
  readonly stop: number
}

/** Runs the job. All its memory is back in the pool when it ends, however it ends. */
export const run = Effect.fn("NearestNeighbours.run")(function*(
  airports: ReadonlyArray<Airport>,
  { form, onRows, rowsPerTile }: JobOptions
) {
  const count = airports.length
  const points = yield* upload(airports)
  const neighbours = {
    nearest: new Uint32Array(count),
    nearestMeters: new Float32Array(count),
    meanMeters: new Float32Array(count)
  }
  for (let start = 0; start < count; start += rowsPerTile) {
    const tile = { start, stop: Math.min(start + rowsPerTile, count) }
    const found = yield* Effect.scoped(neighboursOf(points, tile, form))
    neighbours.nearest.set(found.nearest, start)
    neighbours.nearestMeters.set(found.nearestMeters, start)
    neighbours.meanMeters.set(found.meanMeters, start)
    yield* onRows(tile.stop - tile.start)
  }
  const result: Neighbours = neighbours
  return result
}, Effect.scoped)

const upload = Effect.fn("NearestNeighbours.upload")(function*(airports: ReadonlyArray<Airport>) {
  const onGlobe = airports.map(({ latitude, longitude }) => pointOnGlobe(radians(latitude), radians(longitude)))
  const points: Points = {
    x: yield* DeviceArray.fromHost(Float32Array.from(onGlobe, ({ x }) => x)),
    y: yield* DeviceArray.fromHost(Float32Array.from(onGlobe, ({ y }) => y)),
    z: yield* DeviceArray.fromHost(Float32Array.from(onGlobe, ({ z }) => z))
  }
  return points
})

const radians = (degrees: number): number => degrees * (Math.PI / 180)

const pointOnGlobe = (latitude: number, longitude: number) => ({
  x: 0.5 * Math.cos(latitude) * Math.cos(longitude),
  y: 0.5 * Math.cos(latitude) * Math.sin(longitude),
  z: 0.5 * Math.sin(latitude)
})

/** The results of one tile, in the program's memory. */
const neighboursOf = Effect.fn("NearestNeighbours.neighboursOf")(function*(points: Points, tile: Tile, form: Form) {
  const meters = yield* form(distances(points, tile, form))
  const { mean, nearest, nearestMeters } = yield* form(reduce(meters, tile))
  return {
    nearest: yield* DeviceArray.toHost(nearest),
    nearestMeters: yield* DeviceArray.toHost(nearestMeters),
    meanMeters: yield* DeviceArray.toHost(mean)
  }
})

/** The distances of a tile's airports to all airports, in metres along the ground: 2 asin √hav. */
const distances = Effect.fn("NearestNeighbours.distances")(function*(points: Points, tile: Tile, form: Form) {
  const haversine = yield* form(haversines(points, tile))
  const halfAngle = yield* DeviceArray.asin(yield* DeviceArray.sqrt(haversine))
  return yield* DeviceArray.multiply(halfAngle, 2 * earthRadius)
})

/**
 * The haversines of the angles between airports. On a globe of diameter 1 they are the squares of the straight distances
 * through the globe: a formula without cosines, which would round to 1 for airports close to each other.
 */
const haversines = Effect.fn("NearestNeighbours.haversines")(function*({ x, y, z }: Points, tile: Tile) {
  const east = yield* squaredDifferences(x, tile)
  const north = yield* squaredDifferences(y, tile)
  const up = yield* squaredDifferences(z, tile)
  const sum = yield* DeviceArray.add(yield* DeviceArray.add(east, north), up)
  // Rounding may have pushed a square of a sine over 1.
  return yield* DeviceArray.minimum(sum, 1)
})

/** A column of the tile's airports minus a row of all airports is a matrix. */
const squaredDifferences = Effect.fn("NearestNeighbours.squaredDifferences")(function*(
  coordinate: DeviceArray.DeviceArray<"f32">,
  tile: Tile
) {
  const column = yield* DeviceArray.expandDims(yield* DeviceArray.slice(coordinate, [tile]), 1)
  const difference = yield* DeviceArray.subtract(column, coordinate)
  return yield* DeviceArray.multiply(difference, difference)
})

/** The nearest other airport of each row, its distance, and the mean distance to all others. */
const reduce = Effect.fn("NearestNeighbours.reduce")(function*(
  meters: DeviceArray.DeviceArray<"f32">,
  { start, stop }: Tile
) {
  const [, count = 0] = meters.shape
  const self = yield* DeviceArray.expandDims(yield* DeviceArray.arange(start, stop), 1)
  const isSelf = yield* DeviceArray.equal(self, yield* DeviceArray.arange(count))
  const others = yield* DeviceArray.where(isSelf, Infinity, meters)
  const sum = yield* DeviceArray.sum(meters, { axis: 1 })
  return {
    nearest: yield* DeviceArray.argmin(others, { axis: 1 }),
    nearestMeters: yield* DeviceArray.min(others, { axis: 1 }),
    mean: yield* DeviceArray.divide(sum, count - 1)
  }
})
