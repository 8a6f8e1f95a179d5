/**
 * How the reference joins arrays, and makes larger ones of one.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Value } from "../expressions/Reference.ts"
import * as ArrayModel from "./ArrayModel.ts"

type Model = ArrayModel.ArrayModel

/** The position with another index on one axis. */
const moved = (position: ReadonlyArray<number>, axis: number, index: number): ReadonlyArray<number> =>
  position.map((own, at) => at === axis ? index : own)

/** Arrays of one type, one after the other along an axis. */
export const concatenate = (dtype: DType, models: ReadonlyArray<Model>, axis: number): Model => {
  const shape = models[0]!.shape.map((length, at) =>
    at === axis ? models.reduce((sum, model) => sum + model.shape[axis]!, 0) : length
  )
  return ArrayModel.build(dtype, shape, (position) => {
    let index = position[axis]!
    for (const model of models) {
      if (index < model.shape[axis]!) return ArrayModel.at(model, moved(position, axis, index))
      index -= model.shape[axis]!
    }
    return undefined
  })
}

/** The array with a new axis of length 1. */
export const expanded = (model: Model, axis: number): Model =>
  ArrayModel.reshape(model, [...model.shape.slice(0, axis), 1, ...model.shape.slice(axis)])

/** Copies side by side, one count for each axis. */
export const tile = (model: Model, counts: ReadonlyArray<number>): Model =>
  ArrayModel.build(
    model.dtype,
    model.shape.map((length, axis) => length * counts[axis]!),
    (position) => ArrayModel.at(model, position.map((index, axis) => index % model.shape[axis]!))
  )

/** Each position of an axis so many times in a row. */
export const repeat = (model: Model, count: number, axis: number): Model =>
  ArrayModel.build(
    model.dtype,
    model.shape.map((length, at) => at === axis ? length * count : length),
    (position) => ArrayModel.at(model, moved(position, axis, Math.floor(position[axis]! / count)))
  )

/** The elements at some positions of an axis. */
export const pickAlong = (model: Model, positions: ReadonlyArray<number>, axis: number): Model =>
  ArrayModel.take(model, [positions.length], ([at]) => positions[at!], axis)

/** The positions of an axis, and those that a border on both sides repeats. */
export const origins = (
  length: number,
  [before, after]: readonly [number, number],
  mode: "edge" | "reflect" | "symmetric" | "wrap"
): ReadonlyArray<number> => {
  const up = Array.from({ length }, (_, index) => index)
  const down = up.map((index) => length - 1 - index)
  const pattern = mode === "wrap" ? up : mode === "symmetric" ? [...up, ...down] : [...up, ...down.slice(1, -1)]
  return Array.from({ length: before + length + after }, (_, index) => {
    const at = index - before
    if (mode === "edge") return Math.min(Math.max(at, 0), length - 1)
    return pattern[((at % pattern.length) + pattern.length) % pattern.length]!
  })
}

/** A border of one value: widths before and after, for each axis. */
export const pad = (model: Model, widths: ReadonlyArray<readonly [number, number]>, value: Value): Model =>
  ArrayModel.build(
    model.dtype,
    model.shape.map((length, axis) => widths[axis]![0] + length + widths[axis]![1]),
    (position) => {
      const inner = position.map((index, axis) => index - widths[axis]![0])
      return inner.every((index, axis) => index >= 0 && index < model.shape[axis]!)
        ? ArrayModel.at(model, inner)
        : value
    }
  )
