/**
 * Reductions of the reference.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { DType } from "effect-gpu-pool/DType"
import { type FloatType, isFloat } from "../expressions/FloatFormat.ts"
import { hull, type Interval, isNaN } from "../expressions/Interval.ts"
import { applyTo, type Value } from "../expressions/Reference.ts"
import { castValue } from "./ElementOperations.ts"
import { carrierOf, product, sum } from "./Sums.ts"

export interface ArrayReduction {
  /** As `DeviceArray` has it. */
  readonly name: string
  readonly result: (dtype: DType) => DType
  /** It has no result where there are no elements. */
  readonly needsElements: boolean
  /** It can begin with a number, as if that were one more element. */
  readonly initial?: true | undefined
  /** It counts along one axis. */
  readonly oneAxis?: boolean | undefined
  readonly value: (elements: ReadonlyArray<Value>, dtype: DType, rules: FloatRules) => Value
}

const extreme = (name: "min" | "max", operation: "minimum" | "maximum"): ArrayReduction => ({
  name,
  result: (dtype) => dtype,
  needsElements: true,
  initial: true,
  value: (elements, dtype, rules) => elements.reduce((a, b) => applyTo(operation, [a, b], dtype, dtype, rules))
})

/** The type of intermediate results. */
const carried = (combine: typeof sum): typeof sum => (elements, dtype, rules) => {
  const carrier = carrierOf(dtype)
  const values = elements.map((element) => castValue(element, dtype, carrier, rules))
  return castValue(combine(values, carrier, rules), carrier, dtype, rules)
}

const mean = (elements: ReadonlyArray<Value>, dtype: DType, rules: FloatRules): Value => {
  const type: FloatType = dtype === "f64" ? "f64" : "f32"
  const total = sum(elements.map((element) => castValue(element, dtype, type, rules)), type, rules)
  const count = castValue(elements.length, "u32", type, rules)
  const result = total === undefined ? undefined : applyTo("divide", [total, count], type, type, rules)
  return castValue(result, type, isFloat(dtype) ? dtype : "f32", rules)
}

/** The mean of the squares of the distances from the mean, with `ddof` of 0. */
const variance = (elements: ReadonlyArray<Value>, dtype: DType, rules: FloatRules): Value => {
  const type: FloatType = dtype === "f64" ? "f64" : "f32"
  const values = elements.map((element) => castValue(element, dtype, type, rules))
  const count = castValue(elements.length, "u32", type, rules)
  const divided = (total: Value): Value =>
    total === undefined ? undefined : applyTo("divide", [total, count], type, type, rules)
  const average = divided(sum(values, type, rules))
  const squares = values.map((value) => {
    if (value === undefined || average === undefined) return undefined
    const distance = applyTo("subtract", [value, average], type, type, rules)
    return distance === undefined ? undefined : applyTo("multiply", [distance, distance], type, type, rules)
  })
  return divided(sum(squares, type, rules))
}

const spread =
  (finish: (variance: Value, type: FloatType, rules: FloatRules) => Value): ArrayReduction["value"] =>
  (elements, dtype, rules) => {
    const type: FloatType = dtype === "f64" ? "f64" : "f32"
    return castValue(finish(variance(elements, dtype, rules), type, rules), type, isFloat(dtype) ? dtype : "f32", rules)
  }

/** The first position that can be the result, if it is certain that it is the only one or that the others are equal. */
const argument = (operation: "argmin" | "argmax"): ArrayReduction => ({
  name: operation,
  result: () => "u32",
  needsElements: true,
  oneAxis: true,
  value: (elements) => {
    if (elements.includes(undefined)) return undefined
    const notANumber = elements.findIndex((element) => typeof element === "object" && isNaN(element))
    if (notANumber !== -1) return notANumber
    const bounds = elements.map((element): Interval =>
      typeof element === "object" ? element : { lo: Number(element), hi: Number(element) }
    )
    const directed = operation === "argmin" ? bounds : bounds.map(({ hi, lo }) => ({ lo: -hi, hi: -lo }))
    const most = Math.min(...directed.map(({ hi }) => hi))
    const first = directed.findIndex(({ lo }) => lo <= most)
    const candidates = directed.filter(({ lo }) => lo <= most)
    const together = candidates.reduce((a, b) => hull(a, b)!)
    return candidates.length === 1 || together.lo === together.hi ? first : undefined
  }
})

const truth = (name: "any" | "all"): ArrayReduction => ({
  name,
  result: () => "u32",
  needsElements: false,
  value: (elements, dtype, rules) => {
    const truths = elements.map((element) => castValue(element, dtype, "bool", rules))
    const decisive = name === "any"
    if (truths.includes(decisive)) return Number(decisive)
    return truths.includes(undefined) ? undefined : Number(!decisive)
  }
})

const floating = (dtype: DType): DType => isFloat(dtype) ? dtype : "f32"

export const reductions: ReadonlyArray<ArrayReduction> = [
  { name: "sum", result: (dtype) => dtype, needsElements: false, initial: true, value: carried(sum) },
  { name: "prod", result: (dtype) => dtype, needsElements: false, initial: true, value: carried(product) },
  { name: "mean", result: floating, needsElements: false, value: mean },
  { name: "variance", result: floating, needsElements: false, value: spread((value) => value) },
  {
    name: "std",
    result: floating,
    needsElements: false,
    value: spread((value, type, rules) => value === undefined ? undefined : applyTo("sqrt", [value], type, type, rules))
  },
  extreme("min", "minimum"),
  extreme("max", "maximum"),
  argument("argmin"),
  argument("argmax"),
  truth("any"),
  truth("all")
]
