/**
 * Random steps that write in place to a copy of an array.
 *
 * @internal
 */
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { DType } from "effect-gpu-pool/DType"
import * as Effect from "effect/Effect"
import { isFloat } from "../expressions/FloatFormat.ts"
import { read, type Value } from "../expressions/Reference.ts"
import type { Random } from "../Random.ts"
import type { Joined } from "./AnyJoin.ts"
import { shuffled } from "./AnyShape.ts"
import * as ArrayModel from "./ArrayModel.ts"
import { castValue } from "./ElementOperations.ts"
import { inRange } from "./Positions.ts"

type Model = ArrayModel.ArrayModel

/** A write of an array or a number to a slice of another, or to positions of it. */
export const anyWrite = (random: Random, models: ReadonlyArray<Model>, array: number, rules: FloatRules): Joined =>
  random.integer(0, 2) === 0 ? anyPut(random, models, array, rules) : anySlice(random, models, array, rules)

/** The arrays that can be written to elements of a type and shape. */
const fittingOf = (models: ReadonlyArray<Model>, dtype: DType, shape: ReadonlyArray<number>): ReadonlyArray<number> =>
  models.flatMap((other, at) =>
    (isFloat(dtype) || !isFloat(other.dtype)) &&
      String(ArrayModel.broadcastShape([shape, other.shape])) === String(shape) && other.shape.length <= shape.length
      ? [at]
      : []
  )

const anyPut = (random: Random, models: ReadonlyArray<Model>, array: number, rules: FloatRules): Joined => {
  const model = models[array]!
  const axis = model.shape.length === 0 || random.integer(0, 2) === 0
    ? undefined
    : random.integer(0, model.shape.length - 1)
  const source = axis === undefined ? ArrayModel.reshape(model, [model.elements.length]) : model
  const along = axis ?? 0
  const length = source.shape[along]!
  // Each position once, since any of several values may be written to one.
  const places = shuffled(random, [...Array(Math.min(length, 8)).keys()]).slice(0, random.integer(0, 8))
  const indices = places.map((place) => random.integer(0, 1) === 0 ? place : place - length)
  const shape = source.shape.map((own, of) => of === along ? places.length : own)
  const fitting = fittingOf(models, model.dtype, shape)
  const number = fitting.length === 0 || random.integer(0, 2) === 0 ? random.integer(0, 9) : undefined
  const other = number === undefined ? random.pick(fitting) : array
  const value = (position: ReadonlyArray<number>): Value =>
    number === undefined
      ? castValue(ArrayModel.broadcastAt(models[other]!, position), models[other]!.dtype, model.dtype, rules)
      : read(number, model.dtype, rules)
  const written = ArrayModel.build(model.dtype, source.shape, (position) => {
    const place = places.indexOf(position[along]!)
    return place === -1
      ? ArrayModel.at(source, position)
      : value(position.map((own, of) => of === along ? place : own))
  })
  return {
    model: ArrayModel.reshape(written, model.shape),
    text: `put(copy(a${array}), ${JSON.stringify(indices)}, ${number ?? `a${other}`}, ${JSON.stringify({ axis })})`,
    operands: [array, other],
    run: ([x, y]) => Effect.flatMap(DeviceArrays.copy(x!), DeviceArrays.put(indices, number ?? y!, { axis })),
    isView: false
  }
}

const anySlice = (random: Random, models: ReadonlyArray<Model>, array: number, rules: FloatRules): Joined => {
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
  const fitting = fittingOf(models, model.dtype, shape)
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
