/**
 * The job, written once for every backend: the distance of every airport to every other, tile of rows by tile of rows, and
 * of each row its nearest neighbour and its mean. Which device it runs on, and whether its buffers are pooled, is for the
 * layers to say.
 */
import { Effect } from "effect"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool"
import type { Airport } from "./Airports.ts"
import * as Kernels from "./Kernels.ts"

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
  /** How many rows of the distance matrix are on the device at one time. */
  readonly rowsPerTile: number
  /** Told how many rows have been finished. */
  readonly onRows: (rows: number) => Effect.Effect<void>
}

interface Tile {
  readonly firstRow: number
  readonly rows: number
  readonly columns: number
}

interface Points {
  readonly latitude: PooledBuffer.PooledBuffer
  readonly latitudeCosine: PooledBuffer.PooledBuffer
  readonly longitude: PooledBuffer.PooledBuffer
}

/** All element types of the job have 4 bytes. */
const vector = (elements: number, label: string) => BufferPool.allocate(elements * 4, { label })

/** Runs the job. Everything that it leases is back in the pool when it ends, however it ends. */
export const run = Effect.fn("NearestNeighbours.run")(function*(
  airports: ReadonlyArray<Airport>,
  { onRows, rowsPerTile }: JobOptions
) {
  const columns = airports.length
  const points = yield* upload(airports)
  const nearest = yield* vector(columns, "nearest")
  const nearestMeters = yield* vector(columns, "nearestMeters")
  const meanMeters = yield* vector(columns, "meanMeters")
  for (let firstRow = 0; firstRow < columns; firstRow += rowsPerTile) {
    const tile = { firstRow, rows: Math.min(rowsPerTile, columns - firstRow), columns }
    yield* Effect.scoped(Effect.gen(function*() {
      const meters = yield* distances(points, tile)
      yield* reduce(meters, tile, { nearest, nearestMeters, meanMeters })
    }))
    // Without a wait the program would record tiles faster than the device works them off.
    yield* CommandQueue.finish
    yield* onRows(tile.rows)
  }
  const neighbours: Neighbours = {
    nearest: yield* CommandQueue.read(nearest, Uint32Array),
    nearestMeters: yield* CommandQueue.read(nearestMeters, Float32Array),
    meanMeters: yield* CommandQueue.read(meanMeters, Float32Array)
  }
  return neighbours
}, Effect.scoped)

/** The airports' coordinates in radians. What `extract` returns stays leased; the degrees go back at once. */
const upload = (airports: ReadonlyArray<Airport>) =>
  BufferPool.extract(Effect.gen(function*() {
    const latitude = yield* radians(Float32Array.from(airports, (airport) => airport.latitude), "latitude")
    const longitude = yield* radians(Float32Array.from(airports, (airport) => airport.longitude), "longitude")
    const latitudeCosine = yield* vector(airports.length, "latitudeCosine")
    yield* CommandQueue.dispatch(
      Kernels.cosine,
      { angle: latitude, angleCosine: latitudeCosine },
      airports.length
    )
    const points: Points = { latitude, latitudeCosine, longitude }
    return points
  }))

const radians = Effect.fn("NearestNeighbours.radians")(function*(degrees: Float32Array, label: string) {
  const angleDegrees = yield* vector(degrees.length, `${label} in degrees`)
  const angleRadians = yield* vector(degrees.length, label)
  yield* CommandQueue.write(angleDegrees, degrees)
  yield* CommandQueue.dispatch(Kernels.toRadians, { angleDegrees, angleRadians }, degrees.length)
  return angleRadians
})

/** The distances of one tile, in metres: a chain of steps, each with a buffer of its own for its result. */
const distances = (points: Points, { columns, firstRow, rows }: Tile) =>
  BufferPool.extract(Effect.gen(function*() {
    const pairs = rows * columns
    const latitudeTerm = yield* vector(pairs, "latitudeTerm")
    yield* CommandQueue.dispatch(
      Kernels.latitudeTerm,
      { latitude: points.latitude, term: latitudeTerm, firstRow, columns },
      pairs
    )
    const longitudeTerm = yield* vector(pairs, "longitudeTerm")
    yield* CommandQueue.dispatch(
      Kernels.longitudeTerm,
      {
        latitudeCosine: points.latitudeCosine,
        longitude: points.longitude,
        term: longitudeTerm,
        firstRow,
        columns
      },
      pairs
    )
    const angleHaversine = yield* vector(pairs, "angleHaversine")
    yield* CommandQueue.dispatch(
      Kernels.sumOfTerms,
      { first: latitudeTerm, second: longitudeTerm, total: angleHaversine },
      pairs
    )
    const angle = yield* vector(pairs, "angle")
    yield* CommandQueue.dispatch(Kernels.centralAngle, { angleHaversine, angle }, pairs)
    const meters = yield* vector(pairs, "meters")
    yield* CommandQueue.dispatch(Kernels.arcLength, { angle, meters, radius: earthRadius }, pairs)
    return meters
  }))

/** Reduces each row of a tile, chunk by chunk and then the chunks, into its place in the results. */
const reduce = Effect.fn("NearestNeighbours.reduce")(function*(
  meters: PooledBuffer.PooledBuffer,
  { columns, firstRow, rows }: Tile,
  results: { readonly [Name in keyof Neighbours]: PooledBuffer.PooledBuffer }
) {
  const chunks = Math.ceil(columns / Kernels.chunkSize)
  const chunkNearest = yield* vector(rows * chunks, "chunkNearest")
  const chunkMeters = yield* vector(rows * chunks, "chunkMeters")
  const chunkSum = yield* vector(rows * chunks, "chunkSum")
  const partial = { chunkNearest, chunkMeters, chunkSum, firstRow, columns, chunks }
  yield* CommandQueue.dispatch(Kernels.reduceChunks, { ...partial, meters }, rows * chunks)
  yield* CommandQueue.dispatch(Kernels.reduceRows, { ...partial, ...results }, rows)
})
