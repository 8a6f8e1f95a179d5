/** The job once more in float64 on the CPU, and how far another result is from it. */
import { Effect } from "effect"
import type { Airport } from "./Airports.ts"
import { earthRadius, type JobOptions, type Neighbours } from "./NearestNeighbours.ts"

/** Airports in radians. */
interface Points {
  readonly latitude: Float64Array
  readonly latitudeCosine: Float64Array
  readonly longitude: Float64Array
}

export interface Reference extends Neighbours {
  readonly points: Points
}

const radians = (degrees: number): number => degrees * (Math.PI / 180)

const pointsOf = (airports: ReadonlyArray<Airport>): Points => {
  const latitude = Float64Array.from(airports, (airport) => radians(airport.latitude))
  const longitude = Float64Array.from(airports, (airport) => radians(airport.longitude))
  return { latitude, latitudeCosine: latitude.map(Math.cos), longitude }
}

/** The distance of two airports, in metres. */
const distance = ({ latitude, latitudeCosine, longitude }: Points, a: number, b: number): number => {
  const haversine = Math.sin((latitude[a]! - latitude[b]!) / 2) ** 2 +
    latitudeCosine[a]! * latitudeCosine[b]! * Math.sin((longitude[a]! - longitude[b]!) / 2) ** 2
  return 2 * earthRadius * Math.asin(Math.sqrt(Math.min(haversine, 1)))
}

const fillRow = (row: number, { meanMeters, nearest, nearestMeters, points }: Reference): void => {
  const columns = nearest.length
  let sum = 0
  let least = Infinity
  for (let column = 0; column < columns; column++) {
    if (column === row) continue
    const candidate = distance(points, row, column)
    sum += candidate
    if (candidate < least) {
      least = candidate
      nearest[row] = column
    }
  }
  nearestMeters[row] = least
  meanMeters[row] = sum / (columns - 1)
}

/** Computes it on this thread, with other work in between. */
export const run = Effect.fn("Reference.run")(function*(
  airports: ReadonlyArray<Airport>,
  { onRows, rowsPerTile }: Omit<JobOptions, "form">
) {
  const count = airports.length
  const reference: Reference = {
    nearest: new Uint32Array(count),
    nearestMeters: new Float64Array(count),
    meanMeters: new Float64Array(count),
    points: pointsOf(airports)
  }
  for (let row = 0; row < count; row++) {
    fillRow(row, reference)
    if (row % rowsPerTile !== 0) continue
    yield* onRows(Math.min(rowsPerTile, count - row))
    yield* Effect.yieldNow
  }
  return reference
})

/**
 * The tolerance, in metres. A coordinate of 32 bits is right to 0.2 m, so a pair of airports may be off by 0.7 m before
 * anything is computed. The arithmetic adds about 10 roundings of 6e-8 each, relative to distances of up to 16,500 km, the
 * longest in the data: 10 m.
 */
export const toleranceMeters = 15

/**
 * The largest error in metres: of the distances to the nearest airports, of the mean distances, and of the distance by
 * which a chosen neighbour is farther away than the nearest one. Two airports may be equally near, so the choice itself
 * is not compared.
 */
export const largestError = (reference: Reference, found: Neighbours): number => {
  let largest = 0
  for (let row = 0; row < reference.nearest.length; row++) {
    const nearest = found.nearest[row]!
    if (nearest === row || nearest >= reference.nearest.length) return Infinity
    const detour = distance(reference.points, row, nearest) - reference.nearestMeters[row]!
    const nearestError = Math.abs(found.nearestMeters[row]! - reference.nearestMeters[row]!)
    const meanError = Math.abs(found.meanMeters[row]! - reference.meanMeters[row]!)
    largest = Math.max(largest, detour, nearestError, meanError)
  }
  return largest
}
