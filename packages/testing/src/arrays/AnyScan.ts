/**
 * Random steps that combine each element of an array with those before it.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { Random } from "../Random.ts"
import type { Joined } from "./AnyJoin.ts"
import { call } from "./ArrayFunctions.ts"
import * as ArrayModel from "./ArrayModel.ts"
import { reductions } from "./Reductions.ts"

/** The reduction that gives the last element of a row. */
const scans = [
  ["cumsum", "sum"],
  ["cumprod", "prod"],
  ["cummax", "max"],
  ["cummin", "min"]
] as const

/** The reference combines the elements before each element anew, so its cost grows with the square of a row. */
const longest = 120

/** A step along an axis or over all elements; `undefined` where rows are too long. */
export const anyScan = (
  random: Random,
  models: ReadonlyArray<ArrayModel.ArrayModel>,
  array: number,
  rules: FloatRules
): Joined | undefined => {
  const model = models[array]!
  const { dtype, elements, shape } = model
  const [name, rule] = random.pick(scans)
  const { value } = reductions.find((reduction) => reduction.name === rule)!
  const axis = shape.length === 0 || random.integer(0, 3) === 0 ? undefined : random.integer(0, shape.length - 1)
  const along = axis ?? 0
  const source = axis === undefined ? ArrayModel.reshape(model, [elements.length]) : model
  if (source.shape[along]! > longest) return undefined
  return {
    model: ArrayModel.build(dtype, source.shape, (position) => {
      const before = Array.from(
        { length: position[along]! + 1 },
        (_, index) => ArrayModel.at(source, position.map((own, of) => of === along ? index : own))
      )
      return value(before, dtype, rules)
    }),
    text: `${name}(a${array}, ${JSON.stringify({ axis })})`,
    operands: [array],
    run: ([x]) => call(name, [x, { axis }]),
    isView: false
  }
}
