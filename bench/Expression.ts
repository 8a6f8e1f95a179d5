/** The array expression that the contenders compute: ten operations on arrays of one length. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"

type Operand = DeviceArray.DeviceArray<"f32">

export const operations = 10

/** Cheap operations, so that memory is what counts. */
export const expression = Effect.fnUntraced(function*(x: Operand, y: Operand) {
  const product = yield* DeviceArray.multiply(x, y)
  const above = yield* DeviceArray.add(product, 1)
  const half = yield* DeviceArray.multiply(above, 0.5)
  const difference = yield* DeviceArray.subtract(half, x)
  const distance = yield* DeviceArray.abs(difference)
  const sum = yield* DeviceArray.add(distance, y)
  const scaled = yield* DeviceArray.multiply(sum, x)
  const below = yield* DeviceArray.subtract(scaled, 2)
  const squares = yield* DeviceArray.multiply(below, below)
  return yield* DeviceArray.maximum(squares, y)
})
