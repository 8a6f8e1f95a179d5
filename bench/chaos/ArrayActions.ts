/** Device arrays, whose results are compared with numbers of the program. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import { BufferPool } from "effect-gpu-pool"
import * as Random from "../Random.ts"
import type { Watch } from "../soak/Watch.ts"
import type { Action } from "./World.ts"

const elements = 256

/** The most bytes of an expression at one time: inputs, intermediate arrays, results. */
export const arrayBytes = 12 * 4 * elements

const numbers = (next: () => number): Float32Array<ArrayBuffer> =>
  Float32Array.from({ length: elements }, () => Random.integer(next, -50, 50))

/** Small whole numbers, so that sums are exact in any order. */
export const compute = (watch: Watch, next: () => number): Action => {
  const [x, y] = [numbers(next), numbers(next)]
  const factor = Random.integer(next, -3, 3)
  const expected = x.map((value, index) => factor * value + y[index]!)
  const total = expected.reduce((sum, value) => sum + value, 0)
  const program = Effect.gen(function*() {
    const scaled = yield* DeviceArray.multiply(yield* DeviceArray.fromHost(x), factor)
    const z = yield* DeviceArray.add(scaled, yield* DeviceArray.fromHost(y))
    const found = yield* DeviceArray.toHost(z)
    if (expected.some((value, index) => value !== found[index])) watch.problem("arrays: a wrong element")
    const sum = yield* DeviceArray.toNumber(yield* DeviceArray.sum(z))
    if (sum !== total) watch.problem(`arrays: a sum of ${sum} instead of ${total}`)
    watch.count("compared")
  })
  return Effect.scoped(Random.pick(next, [
    DeviceArray.scoped(program),
    DeviceArray.lazy(program),
    DeviceArray.scoped(program, { reserve: arrayBytes }),
    BufferPool.reserve(program, arrayBytes)
  ]))
}
