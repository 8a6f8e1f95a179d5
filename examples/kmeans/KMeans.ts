/** Lloyd's k-means on arrays. A row of `points` has one coordinate of all points, so that kernels read neighbours in memory. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

type Floats = DeviceArray.DeviceArray<"f32">

/**
 * The number of the nearest centre of each point: `points` are `[dimensions, count]`, `centres` `[clusters, dimensions]`. It is one
 * elementwise operation for all centres, so no array of distances is written.
 */
export const nearest = (points: Floats, centres: Floats) =>
  DeviceArray.lazy(Effect.gen(function*() {
    const [clusters, dimensions] = centres.shape as readonly [number, number]
    let least: Floats | undefined
    let labels: DeviceArray.DeviceArray<"u32"> = yield* DeviceArray.zeros([points.shape[1]!], { dtype: "u32" })
    for (let cluster = 0; cluster < clusters; cluster++) {
      const parts = Array.from({ length: dimensions }, (_, axis) =>
        DeviceArray.square(DeviceArray.subtract(
          DeviceArray.slice(points, [axis]),
          DeviceArray.slice(centres, [cluster, axis])
        )))
      const distance: Floats = yield* parts.slice(1).reduce((sum, part) => DeviceArray.add(sum, part), parts[0]!)
      if (least !== undefined) {
        labels = yield* DeviceArray.where(DeviceArray.less(distance, least), cluster, labels)
        least = yield* DeviceArray.minimum(distance, least)
      } else least = distance
    }
    return labels
  }))

/** The mean of the points of each cluster; a cluster without points keeps its centre. */
export const means = (points: Floats, labels: DeviceArray.DeviceArray<"u32">, centres: Floats) =>
  DeviceArray.lazy(Effect.gen(function*() {
    const [clusters] = centres.shape as readonly [number]
    const numbers = yield* DeviceArray.arange(clusters, { dtype: "u32" })
    const isIn = DeviceArray.equal(DeviceArray.reshape(numbers, [clusters, 1]), labels)
    const counts = DeviceArray.countNonzero(isIn, { axis: 1, keepDims: true })
    const sums = DeviceArray.sum(DeviceArray.where(DeviceArray.expandDims(isIn, 1), points, 0), { axis: 2 })
    const counted = yield* DeviceArray.evaluate(yield* counts)
    return yield* DeviceArray.where(DeviceArray.greater(counted, 0), DeviceArray.divide(sums, counted), centres)
  }))

/**
 * One round: each point goes to its nearest centre, and each centre to the mean of its points. The labels are computed once, not by each
 * of the sums that read them.
 */
export const round = DeviceArray.compile(Effect.fnUntraced(function*(points: Floats, centres: Floats) {
  const labels = yield* Effect.flatMap(nearest(points, centres), DeviceArray.evaluate)
  return yield* means(points, labels, centres)
}))

/** So many rounds from the given centres. */
export const cluster = (points: Floats, centres: Floats, rounds: number) =>
  DeviceArray.iterate(centres, { times: rounds, body: (current) => round(points, current) })
