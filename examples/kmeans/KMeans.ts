/** Lloyd's k-means on arrays. A row of `points` has one coordinate of all points, so that kernels read neighbours in memory. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

type Floats = DeviceArray.DeviceArray<"f32">

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

/**
 * The number of the nearest centre of each point: `points` are `[dimensions, count]`, `centres` `[clusters, dimensions]`. It is one
 * elementwise operation for all centres, so no array of distances is written.
 */
export const nearest = (points: Floats, centres: Floats) =>
  DeviceArray.lazy(Effect.gen(function*() {
    const [clusters, dimensions] = centres.shape as readonly [number, number]
    const coordinates = yield* Effect.forEach(upTo(dimensions), (axis) => DeviceArray.slice(points, [axis]))
    const distanceTo = (cluster: number) =>
      coordinates.map((coordinate, axis): DeviceArray.Computed<"f32"> =>
        DeviceArray.square(DeviceArray.subtract(coordinate, DeviceArray.slice(centres, [cluster, axis])))
      ).reduce((sum, part) => DeviceArray.add(sum, part))
    let labels = yield* DeviceArray.zeros([points.shape[1]!], { dtype: "u32" })
    let least = yield* distanceTo(0)
    for (let cluster = 1; cluster < clusters; cluster++) {
      const distance = yield* distanceTo(cluster)
      const closer = yield* DeviceArray.less(distance, least)
      labels = yield* DeviceArray.where(closer, cluster, labels)
      least = yield* DeviceArray.where(closer, distance, least)
    }
    return labels
  }))

/** The mean of the points of each cluster; a cluster without points keeps its centre. */
export const means = (points: Floats, labels: DeviceArray.DeviceArray<"u32">, centres: Floats) =>
  DeviceArray.lazy(Effect.gen(function*() {
    const [clusters] = centres.shape as readonly [number]
    const sums = DeviceArray.segmentSum(points, labels, clusters, { axis: 1 })
    const counts = yield* DeviceArray.reshape(DeviceArray.bincount(labels, clusters), [clusters, 1])
    return yield* DeviceArray.where(
      DeviceArray.greater(counts, 0),
      DeviceArray.divide(DeviceArray.transpose(sums), counts),
      centres
    )
  }))

/** One round: each point goes to its nearest centre, and each centre to the mean of its points. */
export const round = DeviceArray.compile((points: Floats, centres: Floats) =>
  Effect.flatMap(nearest(points, centres), (labels) => means(points, labels, centres))
)

/** So many rounds from the given centres. */
export const cluster = (points: Floats, centres: Floats, rounds: number) =>
  DeviceArray.iterate(centres, { times: rounds, body: (current) => round(points, current) })
