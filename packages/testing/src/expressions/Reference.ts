/**
 * The reference: the result of an expression at one item, as far as it is certain on every backend.
 *
 * @internal
 */
import type { Expr, ExprType } from "@effect-gpu-pool/arrays/Expr"
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { Operation } from "effect-gpu-pool/Operation"
import { type FloatType, formatOf, isFloat } from "./FloatFormat.ts"
import { applyToFloats, floatContext } from "./FloatReference.ts"
import { applyToIntegers, type Integer, type IntegerType, rangeOf, wrapped } from "./IntegerReference.ts"
import { contains, hasZero, hull, type Interval, isNaN, isPoint, loaded, point, rounded } from "./Interval.ts"

/** An interval for a float, an exact integer or truth value, or `undefined` where nothing is certain. */
export type Value = Interval | Integer | boolean | undefined

/** The arguments of a kernel as the reference reads them. */
export interface Arguments {
  readonly vectors: { readonly [name: string]: ArrayLike<Integer> }
  /** Where the view of a vector starts, in elements. */
  readonly offsets: { readonly [name: string]: number }
  readonly scalars: { readonly [name: string]: Integer | boolean }
}

/** The result of an expression at an item. */
export const evaluate = (expr: Expr, item: number, args: Arguments, rules: FloatRules): Value => {
  const known = new Map<Expr, Value>()
  const valueOf = (expr: Expr): Value => {
    if (known.has(expr)) return known.get(expr)
    const value = compute(expr)
    known.set(expr, value)
    return value
  }
  const compute = ({ node, type }: Expr): Value => {
    switch (node._tag) {
      case "Index":
        return item
      case "Constant":
        return read(node.value, type, rules)
      case "Scalar":
        return read(args.scalars[node.name]!, type, rules)
      case "Element": {
        const vector = args.vectors[node.vector]!
        const offset = args.offsets[node.vector] ?? 0
        if (node.at._tag === "Own") return read(vector[offset + item]!, type, rules)
        const index = valueOf(node.at.index)
        return typeof index === "number"
          ? read(vector[Math.min(offset + index, vector.length - 1)]!, type, rules)
          : undefined
      }
      case "Apply":
        return applyTo(
          node.operation,
          node.operands.map(valueOf),
          node.operands[node.operation === "where" ? 1 : 0]!.type,
          type,
          rules
        )
      default:
        throw new Error(`the reference knows no ${node._tag}`)
    }
  }
  return valueOf(expr)
}

/** An element as a kernel reads it from memory. */
export const read = (value: Integer | boolean, type: ExprType, rules: FloatRules): Value => {
  if (type === "bool") return Boolean(value)
  if (typeof value === "boolean" || !isFloat(type)) return value
  const format = formatOf(type)
  return loaded(format.round(Number(value)), format, rules)
}

/** The result of an operation. `type` is that of the operand that decides (of `select`, the second). */
export const applyTo = (
  operation: Operation,
  operands: ReadonlyArray<Value>,
  type: ExprType,
  result: ExprType,
  rules: FloatRules
): Value => {
  if (operation === "where") return select(operands)
  if (operation === "logicalAnd" || operation === "logicalOr") return logic(operation, operands)
  if (operands.some((operand) => operand === undefined)) return undefined
  const [a, b] = operands
  switch (operation) {
    case "logicalNot":
      return !a
    case "astype":
      return cast(a!, result, rules)
    case "isNaN":
      return isNaN(a as Interval)
    case "isFinite":
      return isFinite(a as Interval)
    case "equal":
    case "notEqual":
    case "less":
    case "lessEqual":
    case "greater":
    case "greaterEqual":
      return typeof a === "bigint"
        ? compareExactly(operation, a, b as bigint)
        : compare(operation, asInterval(a!), asInterval(b!))
  }
  return isFloat(type)
    ? applyToFloats(operation, operands as ReadonlyArray<Interval>, floatContext(type, rules))
    : applyToIntegers(operation, operands as ReadonlyArray<Integer>, type as IntegerType)
}

const select = ([condition, yes, no]: ReadonlyArray<Value>): Value => {
  if (typeof condition === "boolean") return condition ? yes : no
  if (typeof yes === "object" && typeof no === "object") return hull(yes, no)
  return yes === no ? yes : undefined
}

/** One operand can decide the result. */
const logic = (operation: "logicalAnd" | "logicalOr", [a, b]: ReadonlyArray<Value>): Value => {
  const decisive = operation === "logicalOr"
  if (a === decisive || b === decisive) return decisive
  return a === undefined || b === undefined ? undefined : !decisive
}

const isFinite = (a: Interval): boolean | undefined => {
  if (isNaN(a)) return false
  if (Number.isFinite(a.lo) && Number.isFinite(a.hi)) return true
  return isPoint(a) ? false : undefined
}

/** JavaScript has the integers as doubles too. */
const asInterval = (value: NonNullable<Value>): Interval => typeof value === "object" ? value : point(Number(value))

type Comparison = "equal" | "notEqual" | "less" | "lessEqual" | "greater" | "greaterEqual"

const compare = (comparison: Comparison, a: Interval, b: Interval): boolean | undefined => {
  if (isNaN(a) || isNaN(b)) return comparison === "notEqual"
  switch (comparison) {
    case "equal":
      return a.hi < b.lo || b.hi < a.lo ? false : a.lo === b.hi && b.lo === a.hi ? true : undefined
    case "notEqual": {
      const equal = compare("equal", a, b)
      return equal === undefined ? undefined : !equal
    }
    case "less":
      return a.hi < b.lo ? true : a.lo >= b.hi ? false : undefined
    case "lessEqual":
      return a.hi <= b.lo ? true : a.lo > b.hi ? false : undefined
    case "greater":
      return compare("less", b, a)
    case "greaterEqual":
      return compare("lessEqual", b, a)
  }
}

const compareExactly = (comparison: Comparison, a: bigint, b: bigint): boolean => {
  const order = a < b ? -1 : a > b ? 1 : 0
  return compare(comparison, point(order), point(0)) === true
}

const cast = (value: NonNullable<Value>, result: ExprType, rules: FloatRules): Value => {
  if (typeof value === "object") return castFloat(value, result, rules)
  if (result === "bool") return Boolean(value)
  if (isFloat(result)) return castToFloat(around(BigInt(value)), result, rules)
  return wrapped(BigInt(value), result)
}

/** The doubles around an integer, or itself. */
const around = (value: bigint): Interval => {
  const magnitude = value < 0n ? -value : value
  const unit = 2n ** BigInt(Math.max(0, magnitude.toString(2).length - 53))
  const [lo, hi] = [magnitude / unit * unit, (magnitude + unit - 1n) / unit * unit].map(Number) as [number, number]
  return value < 0n ? { lo: -hi, hi: -lo } : { lo, hi }
}

const castFloat = (value: Interval, result: ExprType, rules: FloatRules): Value => {
  if (isFloat(result)) return castToFloat(value, result, rules)
  if (result === "bool") return isNaN(value) || !hasZero(value) ? true : value.lo === value.hi ? false : undefined
  const least = saturated(value.lo, result)
  return least === saturated(value.hi, result) ? least : undefined
}

const castToFloat = (value: Interval, result: FloatType, rules: FloatRules): Interval =>
  isNaN(value) ? value : rounded(value.lo, value.hi, formatOf(result), rules)

const saturated = (value: number, type: IntegerType): Integer => {
  const [least, most] = rangeOf(type)
  if (Number.isNaN(value)) return wrapped(0n, type)
  if (value >= Number(most)) return wrapped(most, type)
  return wrapped(value <= Number(least) ? least : BigInt(Math.trunc(value)), type)
}

/** Whether a backend may return this element where something is known of the result. */
export const allows = (value: NonNullable<Value>, found: Integer): boolean =>
  typeof value === "object"
    ? contains(value, Number(found))
    : Object.is(typeof value === "boolean" ? Number(value) : value, found)
