/**
 * The reference for operations on elements: the types that they take and return, and the results.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { DType } from "effect-gpu-pool/DType"
import { type ExprType, isInteger, type Operation } from "effect-gpu-pool/Operation"
import { type FloatType, formatOf, isFloat, unitAt } from "../expressions/FloatFormat.ts"
import { wrapped } from "../expressions/IntegerReference.ts"
import { hasZero, type Interval, isNaN, mayBeInfinite, point, rounded } from "../expressions/Interval.ts"
import { applyTo, type Value } from "../expressions/Reference.ts"

export interface ElementOperation {
  /** Its name in `DeviceArray`. */
  readonly name: string
  readonly arity: number
  /** The types to which operands are cast, and the result's type; `undefined` for types that it does not take. */
  readonly types: (operands: ReadonlyArray<DType>) => ReadonlyArray<DType> | undefined
  readonly result: (types: ReadonlyArray<DType>) => DType
  readonly value: (operands: ReadonlyArray<Value>, types: ReadonlyArray<DType>, rules: FloatRules) => Value
}

/** The common type of two types. */
export const common = (a: DType, b: DType): DType => {
  if (a === b) return a
  if (a === "f64" || b === "f64") return "f64"
  return isInteger(a) && isInteger(b) ? "i32" : "f32"
}

const real = (dtype: DType): DType => isInteger(dtype) ? "f32" : dtype

const meet = (types: ReadonlyArray<DType>): DType => types.reduce(common)

const alike = (types: ReadonlyArray<DType>): ReadonlyArray<DType> => types.map(() => meet(types))
const alikeReal = (types: ReadonlyArray<DType>): ReadonlyArray<DType> => types.map(() => real(meet(types)))
const alikeInteger = (types: ReadonlyArray<DType>) => types.every(isInteger) ? alike(types) : undefined
const themselves = (types: ReadonlyArray<DType>): ReadonlyArray<DType> => types
const first = ([type]: ReadonlyArray<DType>): DType => type!
const truth = (): DType => "u32"

/** An operation that expressions also have, under the same name. */
const plain = (name: string): ElementOperation["value"] => (operands, types, rules) =>
  applyTo(name as Operation, operands, types[0]!, types[0]!, rules)

const of = (
  arity: number,
  types: ElementOperation["types"],
  result: ElementOperation["result"],
  value: (name: string) => ElementOperation["value"]
) =>
(name: string): ElementOperation => ({ name, arity, types, result, value: value(name) })

/** Casts a result to another type. */
export const castValue = (value: Value, from: DType, to: ExprType, rules: FloatRules): Value =>
  from === to ? value : applyTo("astype", [value], from, to, rules)

const isTrue = (value: Value, type: DType, rules: FloatRules): Value => castValue(value, type, "bool", rules)

const asBit = (value: Value): Value => value === undefined ? undefined : Number(value)

const arithmetic = of(2, alike, first, plain)
const rounding = of(
  1,
  themselves,
  first,
  (name) => (operands, types, rules) =>
    isFloat(types[0]!) ? applyTo(name as Operation, operands, types[0]!, types[0]!, rules) : operands[0]
)
const unary = of(1, themselves, first, plain)
const realFunction = of(1, alikeReal, first, plain)
const bits = of(2, alikeInteger, first, plain)
const integerUnary = of(1, (types) => types.every(isInteger) ? types : undefined, first, plain)
const shift = of(2, (types) => types.every(isInteger) ? [types[0]!, "u32"] : undefined, first, plain)
/** Compares integers exactly. */
const comparison = of(
  2,
  (types) => types.every(isInteger) ? types : alike(types),
  truth,
  (name) => (operands, types, rules) => asBit(applyTo(name as Operation, operands, types[0]!, "bool", rules))
)
const logic = (combine: (a: Value, b: Value) => Value) =>
  of(
    2,
    themselves,
    truth,
    () => ([a, b], types, rules) => asBit(combine(isTrue(a, types[0]!, rules), isTrue(b, types[1]!, rules)))
  )
const test = (ask: (a: Interval) => Value, ofIntegers: boolean) =>
  of(
    1,
    themselves,
    truth,
    () => ([a]) => a === undefined ? undefined : asBit(typeof a === "object" ? ask(a) : ofIntegers)
  )

const xor = (a: Value, b: Value): Value => a === undefined || b === undefined ? undefined : a !== b

const both = (operation: "logicalAnd" | "logicalOr") => (a: Value, b: Value): Value =>
  applyTo(operation, [a, b], "bool", "bool", { flushes: false, reorders: false, assumesFinite: false })

const isFiniteFloat = (a: Interval): Value =>
  isNaN(a) ? false : !mayBeInfinite(a) ? true : a.lo === a.hi ? false : undefined
const isInfiniteFloat = (a: Interval): Value =>
  isNaN(a) ? false : !mayBeInfinite(a) ? false : a.lo === a.hi ? true : undefined

/** The floored quotient, where it is certain between which whole numbers the quotient is. */
const floorDivide = ([a, b]: ReadonlyArray<Value>, [type]: ReadonlyArray<DType>, rules: FloatRules): Value => {
  if (a === undefined || b === undefined) return undefined
  if (!isFloat(type!)) return floorDivideIntegers(a as number, b as number, type as "i32" | "u32")
  const quotient = flooredQuotient(a as Interval, b as Interval, type)
  return quotient === undefined ? undefined : rounded(quotient, quotient, formatOf(type), rules)
}

const floorDivideIntegers = (a: number, b: number, type: "i32" | "u32"): number =>
  wrapped(b === 0 ? 0n : BigInt(Math.floor(a / b)), type) as number

/** Whether a quotient is farther from whole numbers than the error of a device's division. */
const flooredQuotient = (a: Interval, b: Interval, type: FloatType): number | undefined => {
  if (isNaN(a) || isNaN(b) || mayBeInfinite(a) || mayBeInfinite(b) || hasZero(b)) return undefined
  const quotients = [a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi]
  const lo = Math.min(...quotients)
  const hi = Math.max(...quotients)
  const { leastNormal, precision } = formatOf(type)
  const largest = Math.max(Math.abs(lo), Math.abs(hi))
  const least = Math.min(Math.abs(a.lo), Math.abs(b.lo), Math.abs(lo), Math.abs(hi))
  if (largest > 2 ** (precision - 4) || least < leastNormal * 2 ** precision) return undefined
  const slack = 16 * largest * 2 ** -precision
  const floor = Math.floor(lo - slack)
  return floor === Math.floor(hi + slack) ? floor : undefined
}

/** The remainder of the floored quotient. */
const remainder = ([a, b]: ReadonlyArray<Value>, [type]: ReadonlyArray<DType>, rules: FloatRules): Value => {
  if (a === undefined || b === undefined) return undefined
  if (!isFloat(type!)) return remainderOfIntegers(a as number, b as number, type as "i32" | "u32")
  const [x, y] = [a as Interval, b as Interval]
  const quotient = flooredQuotient(x, y, type)
  if (quotient === undefined) return undefined
  const format = formatOf(type)
  const rests = [x.lo - y.lo * quotient, x.lo - y.hi * quotient, x.hi - y.lo * quotient, x.hi - y.hi * quotient]
  const error = 4 * unitAt(Math.max(Math.abs(x.lo), Math.abs(x.hi), Math.abs(y.lo), Math.abs(y.hi)), format)
  return rounded(Math.min(...rests) - error, Math.max(...rests) + error, format, rules)
}

const remainderOfIntegers = (a: number, b: number, type: "i32" | "u32"): number =>
  wrapped(b === 0 ? 0n : BigInt(a - b * Math.floor(a / b)), type) as number

/** The integer's power modulo 2^32, by repeated products. A negative power of any base but 1 and -1 is 0. */
const power = ([a, b]: ReadonlyArray<Value>, types: ReadonlyArray<DType>, rules: FloatRules): Value => {
  const [type] = types
  if (isFloat(type!)) return applyTo("power", [a, b], type, type, rules)
  if (a === undefined || b === undefined) return undefined
  const [base, exponent] = [a as number, b as number]
  if (exponent < 0 && Math.abs(base) !== 1) return 0
  let result = 1n
  let square = BigInt(base)
  for (let rest = BigInt.asUintN(32, BigInt(exponent)); rest > 0n; rest /= 2n) {
    if (rest % 2n === 1n) result = BigInt.asUintN(32, result * square)
    square = BigInt.asUintN(32, square * square)
  }
  return wrapped(result, type as "i32" | "u32")
}

const square = ([a]: ReadonlyArray<Value>, [type]: ReadonlyArray<DType>, rules: FloatRules): Value =>
  applyTo("multiply", [a, a], type!, type!, rules)

const reciprocal = ([a]: ReadonlyArray<Value>, [type]: ReadonlyArray<DType>, rules: FloatRules): Value =>
  applyTo("divide", [point(1), a], type!, type!, rules)

/** Widened by a few units in the last place. */
const within = (units: number, lo: number, hi: number, type: FloatType, rules: FloatRules): Interval => {
  const format = formatOf(type)
  return rounded(lo - units * unitAt(lo, format), hi + units * unitAt(hi, format), format, rules)
}

const log10 = ([a]: ReadonlyArray<Value>, [type]: ReadonlyArray<DType>, rules: FloatRules): Value => {
  const binary = applyTo("log2", [a], type!, type!, rules) as Interval | undefined
  if (binary === undefined || isNaN(binary)) return binary
  return within(2, binary.lo * Math.log10(2), binary.hi * Math.log10(2), type as FloatType, rules)
}

const hypot = ([a, b]: ReadonlyArray<Value>, [type]: ReadonlyArray<DType>, rules: FloatRules): Value => {
  if (a === undefined || b === undefined) return undefined
  const [x, y] = [a as Interval, b as Interval]
  if (isNaN(x) || isNaN(y) || mayBeInfinite(x) || mayBeInfinite(y)) return undefined
  const [least, most] = [magnitudes(x), magnitudes(y)]
  return within(
    type === "f64" ? 4 : 12,
    Math.hypot(least[0], most[0]),
    Math.hypot(least[1], most[1]),
    type as FloatType,
    rules
  )
}

/** The least and the greatest magnitude. */
const magnitudes = (a: Interval): readonly [number, number] => {
  const [lo, hi] = [Math.abs(a.lo), Math.abs(a.hi)]
  return hasZero(a) ? [0, Math.max(lo, hi)] : [Math.min(lo, hi), Math.max(lo, hi)]
}

const select = (
  [condition, x, y]: ReadonlyArray<Value>,
  [type, common]: ReadonlyArray<DType>,
  rules: FloatRules
): Value => applyTo("where", [isTrue(condition, type!, rules), x, y], common!, common!, rules)

const named = (
  names: ReadonlyArray<string>,
  make: (name: string) => ElementOperation
): ReadonlyArray<ElementOperation> => names.map(make)

export const elementOperations: ReadonlyArray<ElementOperation> = [
  ...named(["add", "subtract", "multiply", "minimum", "maximum"], arithmetic),
  ...named(["divide", "atan2"], of(2, alikeReal, first, plain)),
  of(2, alikeReal, first, () => hypot)("hypot"),
  of(2, alike, first, () => floorDivide)("floorDivide"),
  of(2, alike, first, () => remainder)("remainder"),
  of(2, alike, first, () => power)("power"),
  ...named(["negative", "abs", "sign"], unary),
  of(1, themselves, first, () => square)("square"),
  of(1, themselves, first, () => ([a]) => a)("copy"),
  ...named(["floor", "ceil", "trunc", "round"], rounding),
  ...named(["bitwiseAnd", "bitwiseOr", "bitwiseXor"], bits),
  ...named(["bitwiseNot", "countOneBits"], integerUnary),
  ...named(["leftShift", "rightShift"], shift),
  ...named(["equal", "notEqual", "less", "lessEqual", "greater", "greaterEqual"], comparison),
  logic(both("logicalAnd"))("logicalAnd"),
  logic(both("logicalOr"))("logicalOr"),
  logic(xor)("logicalXor"),
  of(1, themselves, truth, () => ([a], types, rules) => asBit(xor(isTrue(a, types[0]!, rules), true)))("logicalNot"),
  test(isNaN, false)("isNaN"),
  test(isFiniteFloat, true)("isFinite"),
  test(isInfiniteFloat, false)("isInf"),
  of(1, alikeReal, first, () => reciprocal)("reciprocal"),
  of(1, alikeReal, first, () => log10)("log10"),
  ...named(
    ["sqrt", "inverseSqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"],
    realFunction
  ),
  ...named(["tanh", "asinh", "acosh", "atanh", "degrees", "radians"], realFunction),
  of(3, alike, first, plain)("clip"),
  of(3, ([condition, x, y]) => [condition!, common(x!, y!), common(x!, y!)], (types) => types[1]!, () => select)(
    "where"
  )
]
