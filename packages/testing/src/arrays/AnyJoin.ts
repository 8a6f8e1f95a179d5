/**
 * Random steps that join arrays, repeat the elements of one, or cut it in parts.
 *
 * @internal
 */
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { DType } from "effect-gpu-pool/DType"
import * as Effect from "effect/Effect"
import { read } from "../expressions/Reference.ts"
import type { Random } from "../Random.ts"
import { call } from "./ArrayFunctions.ts"
import * as ArrayModel from "./ArrayModel.ts"
import { castValue, common } from "./ElementOperations.ts"
import * as Joins from "./Joins.ts"
import type { Step } from "./Program.ts"

type Model = ArrayModel.ArrayModel

/** A step that makes an array of earlier ones, and the reference's array. */
export type Joined = Step & { readonly model: Model }

const cast = (model: Model, dtype: DType, rules: FloatRules): Model => ({
  dtype,
  shape: model.shape,
  elements: model.elements.map((value) => castValue(value, model.dtype, dtype, rules))
})

const nameOf = (array: number): string => `a${array}`

/** A step on an array and random others that fit it; `undefined` where none is possible. */
export const anyJoin = (
  random: Random,
  models: ReadonlyArray<Model>,
  array: number,
  rules: FloatRules,
  maxSize: number
): Joined | undefined => {
  const model = models[array]!
  const { shape } = model
  const rank = shape.length
  const axis = rank === 0 ? 0 : random.integer(0, rank - 1)
  const one = (name: string, parameters: ReadonlyArray<unknown>, made: Model): Joined => ({
    model: made,
    text: `${[`${name}(${nameOf(array)}`, ...parameters.map((parameter) => JSON.stringify(parameter))].join(", ")})`,
    operands: [array],
    run: ([x]) => call(name, [x, ...parameters]),
    isView: false
  })
  switch (random.pick(["concatenate", "concatenate", "stack", "split", "tile", "repeat", "pad"] as const)) {
    case "concatenate": {
      if (rank === 0) return undefined
      const fitting = models.flatMap(({ shape: other }, at) =>
        other.length === rank && other.every((length, of) => of === axis || length === shape[of]) ? [at] : []
      )
      return joined(random, models, array, fitting, "concatenate", axis, rules, (model) => model)
    }
    case "stack": {
      const fitting = models.flatMap(({ shape: other }, at) => String(other) === String(shape) ? [at] : [])
      const place = random.integer(0, rank)
      return joined(
        random,
        models,
        array,
        fitting.filter((at) => models[at]!.shape.length === rank),
        "stack",
        place,
        rules,
        (model) => Joins.expanded(model, place)
      )
    }
    case "split": {
      if (rank === 0) return undefined
      const length = shape[axis]!
      const cut = random.integer(0, length)
      const part = random.integer(0, 1)
      const indices = shape.map((own) => Array.from({ length: own }, (_, index) => index))
      indices[axis] = part === 0 ? indices[axis]!.slice(0, cut) : indices[axis]!.slice(cut)
      return {
        model: ArrayModel.pick(model, indices),
        text: `split(${nameOf(array)}, [${cut}], { axis: ${axis} })[${part}]`,
        operands: [array],
        run: ([x]) => Effect.map(DeviceArrays.split(x!, [cut], { axis }), (parts) => parts[part]!),
        isView: true
      }
    }
    case "tile": {
      const counts = shape.map(() => random.integer(0, 9) === 0 ? 0 : random.integer(1, 3))
      if (ArrayModel.sizeOf(shape.map((length, of) => length * counts[of]!)) > maxSize) return undefined
      return one("tile", [counts], Joins.tile(model, counts))
    }
    case "repeat": {
      if (rank > 0 && random.integer(0, 2) === 0) {
        const counts = Array.from({ length: shape[axis]! }, () => random.integer(0, 3))
        const origins = counts.flatMap((count, index) => Array.from({ length: count }, () => index))
        return one("repeat", [counts, { axis }], Joins.pickAlong(model, origins, axis))
      }
      const count = random.integer(0, 3)
      return rank === 0 || random.integer(0, 3) === 0
        ? one("repeat", [count], Joins.repeat(ArrayModel.reshape(model, [model.elements.length]), count, 0))
        : one("repeat", [count, { axis }], Joins.repeat(model, count, axis))
    }
    case "pad": {
      const widths = shape.map((): readonly [number, number] => [random.integer(0, 2), random.integer(0, 2)])
      if (ArrayModel.sizeOf(shape.map((length, of) => length + widths[of]![0] + widths[of]![1])) > maxSize) {
        return undefined
      }
      if (random.integer(0, 1) === 0 && !shape.includes(0)) {
        const mode = random.pick(["edge", "reflect", "symmetric", "wrap"] as const)
        const extended = shape.reduce(
          (padded, length, of) => Joins.pickAlong(padded, Joins.origins(length, widths[of]!, mode), of),
          model
        )
        return one("pad", [widths, { mode }], extended)
      }
      const value = random.integer(0, 9)
      return one("pad", [widths, { value }], Joins.pad(model, widths, read(value, model.dtype, rules)))
    }
  }
}

const joined = (
  random: Random,
  models: ReadonlyArray<Model>,
  array: number,
  fitting: ReadonlyArray<number>,
  name: "concatenate" | "stack",
  axis: number,
  rules: FloatRules,
  expand: (model: Model) => Model
): Joined => {
  const others = Array.from({ length: random.integer(0, 2) }, () => random.pick(fitting))
  const operands = random.integer(0, 1) === 0 ? [array, ...others] : [...others, array]
  const dtype = operands.map((operand) => models[operand]!.dtype).reduce(common)
  return {
    model: Joins.concatenate(dtype, operands.map((operand) => expand(cast(models[operand]!, dtype, rules))), axis),
    text: `${name}([${operands.map(nameOf).join(", ")}], { axis: ${axis} })`,
    operands,
    run: (arrays) => call(name, [arrays, { axis }]),
    isView: false
  }
}
