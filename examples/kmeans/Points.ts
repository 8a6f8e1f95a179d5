/** Points around as many places as there are clusters. */

export interface Shape {
  readonly points: number
  readonly clusters: number
  readonly dimensions: number
}

/** Numbers between 0 and 1, the same in each run. */
const numbers = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

const placesOf = ({ clusters, dimensions }: Shape): ReadonlyArray<number> => {
  const next = numbers(7)
  return Array.from({ length: clusters * dimensions }, () => 10 * next())
}

/** The coordinates, one row for each dimension. */
export const around = (shape: Shape): Float32Array<ArrayBuffer> => {
  const next = numbers(11)
  const places = placesOf(shape)
  const all = new Float32Array(shape.dimensions * shape.points)
  for (let point = 0; point < shape.points; point++) {
    const cluster = point % shape.clusters
    for (let axis = 0; axis < shape.dimensions; axis++) {
      all[axis * shape.points + point] = places[cluster * shape.dimensions + axis]! + next() + next() - 1
    }
  }
  return all
}

/** Where the centres begin: beside the places. */
export const first = (shape: Shape): Float32Array<ArrayBuffer> => {
  const next = numbers(13)
  return Float32Array.from(placesOf(shape), (place) => place + next() - 0.5)
}
