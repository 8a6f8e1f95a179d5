/** Random arrays of any layout, beside their models. */
import * as DType from "effect-gpu-pool/DType"
import * as Effect from "effect/Effect"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import * as Model from "./ArrayModel.ts"

/** A shape, which of some elements come one after the other, and what views are made of the array. */
export interface LaidOut {
  readonly shape: ReadonlyArray<number>
  readonly picks: ReadonlyArray<number>
  readonly strided: boolean
  readonly turned: boolean
}

export const upload = (dtype: DType.DType, { data, shape }: Model.Model): DeviceArray.Computed => {
  const bytes = new ArrayBuffer(data.length * DType.byteSize(dtype))
  const view: DType.TypedArrayOf[DType.DType] = DType.viewUnsafe(dtype, bytes, 0, data.length)
  for (const [at, value] of data.entries()) view[at] = view instanceof BigInt64Array ? BigInt(value) : value
  return DeviceArray.fromHost(view as Uint8Array<ArrayBuffer>, { dtype: dtype as "bool", shape })
}

/** An array with some of these elements, and the same as a model. */
export const laidOut = ({ picks, shape, strided, turned }: LaidOut, dtype: DType.DType, some: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    let at = 0
    const stored = strided ? shape.map((length) => 2 * length) : shape
    let model = Model.build(stored, () => some[picks[at++ % picks.length]! % some.length]!)
    let array = yield* upload(dtype, model)
    if (strided) {
      array = yield* DeviceArray.slice(array, shape.map(() => ({ step: -2 })))
      const kept = shape.map((length) => Array.from({ length }, (_, index) => 2 * (length - index) - 1))
      model = Model.select(model, kept.map((positions) => ({ keeps: true, at: positions })))
    }
    if (turned) {
      array = yield* DeviceArray.transpose(array)
      model = Model.transpose(model, shape.map((_, of) => shape.length - 1 - of))
    }
    return { array, model }
  })
