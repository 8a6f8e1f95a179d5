/**
 * The rules by which arrays are reduced.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { bitsOf, isFloat, isInteger, isUnsigned } from "effect-gpu-pool/Operation"
import { rangeOf } from "effect-gpu-pool/ValueType"
import type * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import * as Operations from "../../kernels/expression/Operations.ts"
import type { StateExprs } from "../../kernels/reduction/State.ts"
import * as Promotion from "../layout/Promotion.ts"
import type { Rule } from "./ArrayReduction.ts"

type Value = Expr.Expr<DType>

/** f16 is summed in f32, since sums soon exceed its range. */
const wide = (dtype: DType): DType => dtype === "f16" ? "f32" : asNumber(dtype)

/** Truth values are combined as numbers, whose results are 0 exactly where those of truth values are false. */
const asNumber = (dtype: DType): DType => dtype === "bool" ? "u32" : dtype

/** A sum of fewer bits is that of 32, cut. */
const atLeast32 = (dtype: DType): DType =>
  isInteger(dtype) && bitsOf(dtype) < 32 ? isUnsigned(dtype) ? "u32" : "i32" : wide(dtype)

const cast = (value: Expr.Expr, dtype: DType): Value =>
  (value.type === dtype ? value : Operations.apply("astype", [value], dtype)) as Value

const apply = (operation: Parameters<typeof Operations.apply>[0], ...operands: ReadonlyArray<Expr.Expr>): Value =>
  Operations.apply(operation, operands) as Value

/** A rule whose state is only its result. */
const single = (
  name: string,
  carried: (dtype: DType) => DType,
  neutral: (dtype: DType) => number | bigint,
  operation: Parameters<typeof Operations.apply>[0]
): Rule => ({
  name,
  state: (
    dtype
  ) => [{ name: "value", dtype: carried(dtype), neutral: Expression.held(carried(dtype), neutral(carried(dtype))) }],
  map: (element) => [cast(element, carried(element.type))],
  combine: ([a], [b]) => [apply(operation, a!, b!)]
})

const largest = (dtype: DType): number | bigint => isInteger(dtype) ? rangeOf(dtype)[1] : Infinity

const smallest = (dtype: DType): number | bigint => isInteger(dtype) ? rangeOf(dtype)[0] : -Infinity

export const sum = single("sum", wide, () => 0, "add")

/** The same of segments, whose sums in memory never have less than 32 bits: items may have neighbouring ones. */
export const segmentSum = single("segmentSum", atLeast32, () => 0, "add")

export const product = single("prod", wide, () => 1, "multiply")

/** The sum in the type of the mean. */
export const total = single("total", (dtype) => wide(Promotion.floating(dtype)), () => 0, "add")

export const min: Rule = { ...single("min", asNumber, largest, "minimum"), needsOrder: true }

export const max: Rule = { ...single("max", asNumber, smallest, "maximum"), needsOrder: true }

const truth = (name: string, neutral: boolean, operation: "logicalAnd" | "logicalOr"): Rule => ({
  name,
  state: () => [{ name: "value", dtype: "bool", neutral }],
  map: (element) => [cast(element, "bool")],
  combine: ([a], [b]) => [apply(operation, a!, b!)]
})

export const any = truth("any", false, "logicalOr")

export const all = truth("all", true, "logicalAnd")

/** How many elements are true. */
export const count: Rule = {
  name: "countNonzero",
  state: () => [{ name: "value", dtype: "u32", neutral: 0 }],
  map: (element) => [cast(cast(element, "bool"), "u32")],
  combine: ([a], [b]) => [apply("add", a!, b!)]
}

/** A position that no element has: every element comes before it. */
const noPosition = 0xffffffff

/** The position of the first of the elements that come before all others; NaN comes before every number. */
const argument = (name: string, before: "less" | "greater", neutral: (dtype: DType) => number | bigint): Rule => ({
  name,
  needsOrder: true,
  state: (dtype) => [
    { name: "index", dtype: "u32", neutral: noPosition },
    { name: "value", dtype: asNumber(dtype), neutral: neutral(asNumber(dtype)) }
  ],
  map: (element, position) => [position, cast(element, asNumber(element.type))],
  combine: (a, b) => {
    const takes = isBefore(b, a, before)
    return a.map((value, component) => apply("where", takes, b[component]!, value))
  }
})

const isBefore = (
  [aIndex, aValue]: StateExprs,
  [bIndex, bValue]: StateExprs,
  before: "less" | "greater"
): Expr.Expr => {
  const earlier = Operations.apply("less", [aIndex!, bIndex!])
  const wins = Operations.apply(before, [aValue!, bValue!])
  const ties = Operations.apply("logicalAnd", [Operations.apply("equal", [aValue!, bValue!]), earlier])
  const amongNumbers = Operations.apply("logicalOr", [wins, ties])
  if (!isFloat(aValue!.type)) return amongNumbers
  const [aIsNaN, bIsNaN] = [Operations.apply("isNaN", [aValue!]), Operations.apply("isNaN", [bValue!])]
  const nanWins = Operations.apply("logicalAnd", [
    aIsNaN,
    Operations.apply("logicalOr", [Operations.apply("logicalNot", [bIsNaN]), earlier])
  ])
  return Operations.apply("logicalOr", [nanWins, amongNumbers])
}

export const argmin = argument("argmin", "less", largest)

export const argmax = argument("argmax", "greater", smallest)
