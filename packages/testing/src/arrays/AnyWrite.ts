/**
 * Random steps that write in place to a copy of an array.
 *
 * @internal
 */
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import * as Effect from "effect/Effect"
import { isFloat } from "../expressions/FloatFormat.ts"
import { read, type Value } from "../expressions/Reference.ts"
import type { Random } from "../Random.ts"
import type { Joined } from "./AnyJoin.ts"
import * as ArrayModel from "./ArrayModel.ts"
import { castValue } from "./ElementOperations.ts"
import { inRange } from "./Positions.ts"

type Model = ArrayModel.ArrayModel

/** A write of an array or a number to a slice of another; `undefined` where none is possible. */
export const anyWrite = (
  random: Random,
  models: ReadonlyArray<Model>,
  array: number,
  rules: FloatRules
): Joined | undefined => {
  const model = models[array]!
  const ranges = model.shape.map(() => ({ start: random.integer(-2, 2), step: random.pick([1, 1, 2, -1]) }))
  const chosen = model.shape.map((length, axis) => inRange(length, ranges[axis]!.start, undefined, ranges[axis]!.step))
  const shape = chosen.map(({ length }) => length)
  const written = (value: (position: ReadonlyArray<number>) => Value): Model =>
    ArrayModel.build(model.dtype, model.shape, (position) => {
      const inside = position.map((index, axis) => chosen[axis]!.indexOf(index))
      return inside.includes(-1) ? ArrayModel.at(model, position) : value(inside)
    })
  const text = (value: unknown) => `setSlice(copy(a${array}), ${JSON.stringify(ranges)}, ${value})`
  const fitting = models.flatMap((other, at) =>
    (isFloat(model.dtype) || !isFloat(other.dtype)) &&
      String(ArrayModel.broadcastShape([shape, other.shape])) === String(shape) && other.shape.length <= shape.length
      ? [at]
      : []
  )
  if (fitting.length === 0 || random.integer(0, 3) === 0) {
    const number = random.integer(0, 9)
    return {
      model: written(() => read(number, model.dtype, rules)),
      text: text(number),
      operands: [array],
      run: ([x]) => Effect.flatMap(DeviceArrays.copy(x!), DeviceArrays.setSlice(ranges, number)),
      isView: false
    }
  }
  const source = random.pick(fitting)
  const value = models[source]!
  return {
    model: written((position) => castValue(ArrayModel.broadcastAt(value, position), value.dtype, model.dtype, rules)),
    text: text(`a${source}`),
    operands: [array, source],
    run: ([x, y]) => Effect.flatMap(DeviceArrays.copy(x!), DeviceArrays.setSlice(ranges, y!)),
    isView: false
  }
}
