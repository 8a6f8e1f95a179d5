/**
 * The operations that expressions are made of, and the types that each takes and gives. How a language writes them is
 * the language's own affair.
 *
 * @since 0.1.0
 */
import type { DType } from "../data/DType.ts"

/**
 * The type of an expression: an element type.
 *
 * **Example** (A function for expressions of any type)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const counted = <T extends Expr.ExprType>(value: Expr.Expr<T>) => Expr.astype(value, "u32")
 * counted(Expr.less(Expr.index, 10)).type // => "u32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ExprType = DType

/**
 * How an operation is typed. `T` stands for one type, the same wherever it occurs in the rule.
 *
 * - `numeric`: numbers T to T; `float` and `integer`: the same for those types only
 * - `equality`: T to bool
 * - `ordering`: numbers T to bool
 * - `logic`: bool to bool
 * - `test`: floats T to bool
 * - `shift`: an integer T and a u32 to T
 * - `where`: a bool and two values T to T
 * - `astype`: anything to the type asked for
 * - `pair`: two f32 to c64; `part`: c64 to f32
 *
 * Some operations of numbers have complex ones, too: {@link resultType}.
 *
 * @category models
 * @since 0.1.0
 */
export type TypingRule =
  | "numeric"
  | "float"
  | "integer"
  | "equality"
  | "ordering"
  | "logic"
  | "test"
  | "shift"
  | "where"
  | "astype"
  | "pair"
  | "part"

interface Signature<Rule extends TypingRule = TypingRule> {
  readonly arity: number
  readonly rule: Rule
}

const of = <Rule extends TypingRule>(arity: number, rule: Rule) => ({ arity, rule }) satisfies Signature

/**
 * Every operation.
 *
 * @category constants
 * @since 0.1.0
 */
export const operations = {
  add: of(2, "numeric"),
  subtract: of(2, "numeric"),
  multiply: of(2, "numeric"),
  divide: of(2, "float"),
  truncDivide: of(2, "integer"),
  fmod: of(2, "numeric"),
  negative: of(1, "numeric"),
  abs: of(1, "numeric"),
  sign: of(1, "numeric"),
  minimum: of(2, "numeric"),
  maximum: of(2, "numeric"),
  clip: of(3, "numeric"),

  bitwiseAnd: of(2, "integer"),
  bitwiseOr: of(2, "integer"),
  bitwiseXor: of(2, "integer"),
  bitwiseNot: of(1, "integer"),
  countOneBits: of(1, "integer"),
  countLeadingZeros: of(1, "integer"),
  leftShift: of(2, "shift"),
  rightShift: of(2, "shift"),

  equal: of(2, "equality"),
  notEqual: of(2, "equality"),
  less: of(2, "ordering"),
  lessEqual: of(2, "ordering"),
  greater: of(2, "ordering"),
  greaterEqual: of(2, "ordering"),

  logicalAnd: of(2, "logic"),
  logicalOr: of(2, "logic"),
  logicalNot: of(1, "logic"),
  isNaN: of(1, "test"),
  isFinite: of(1, "test"),

  where: of(3, "where"),
  astype: of(1, "astype"),

  complex: of(2, "pair"),
  real: of(1, "part"),
  imag: of(1, "part"),

  sqrt: of(1, "float"),
  inverseSqrt: of(1, "float"),
  exp: of(1, "float"),
  exp2: of(1, "float"),
  log: of(1, "float"),
  log2: of(1, "float"),
  power: of(2, "float"),
  sin: of(1, "float"),
  cos: of(1, "float"),
  tan: of(1, "float"),
  asin: of(1, "float"),
  acos: of(1, "float"),
  atan: of(1, "float"),
  atan2: of(2, "float"),
  sinh: of(1, "float"),
  cosh: of(1, "float"),
  tanh: of(1, "float"),
  asinh: of(1, "float"),
  acosh: of(1, "float"),
  atanh: of(1, "float"),
  floor: of(1, "float"),
  ceil: of(1, "float"),
  trunc: of(1, "float"),
  round: of(1, "float"),
  fract: of(1, "float"),
  degrees: of(1, "float"),
  radians: of(1, "float"),
  mix: of(3, "float"),
  fma: of(3, "float")
} satisfies { readonly [name: string]: Signature }

/**
 * The name of an operation.
 *
 * @category models
 * @since 0.1.0
 */
export type Operation = keyof typeof operations

/**
 * Whether a type is one of floats.
 *
 * @category functions
 * @since 0.1.0
 */
export const isFloat = (type: ExprType): type is "f32" | "f16" | "f64" =>
  type === "f32" || type === "f16" || type === "f64"

type IntegerType = Exclude<ExprType, "f32" | "f16" | "f64" | "c64" | "bool">

/**
 * Whether a type is one of integers.
 *
 * @category functions
 * @since 0.1.0
 */
export const isInteger = (type: ExprType): type is IntegerType => Object.hasOwn(bits, type)

const bits: { readonly [T in ExprType]?: number } = {
  i8: 8,
  u8: 8,
  i16: 16,
  u16: 16,
  i32: 32,
  u32: 32,
  i64: 64,
  u64: 64
}

/**
 * How many bits an integer type has; 0 for others.
 *
 * @category getters
 * @since 0.1.0
 */
export const bitsOf = (type: ExprType): number => bits[type] ?? 0

/**
 * Whether a type is one of integers without a sign.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isUnsigned = (type: ExprType): boolean => type.startsWith("u")

/**
 * Whether a type is one of 64-bit integers, whose numbers are bigints in JavaScript.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isLong = (type: ExprType): type is "i64" | "u64" => bits[type] === 64

/** The operations that complex numbers have, with the types of their results. */
const ofComplex: { readonly [name in Operation]?: ExprType } = {
  add: "c64",
  subtract: "c64",
  multiply: "c64",
  divide: "c64",
  negative: "c64",
  abs: "f32",
  sign: "c64",
  sqrt: "c64",
  exp: "c64",
  log: "c64",
  power: "c64",
  sin: "c64",
  cos: "c64",
  tan: "c64",
  sinh: "c64",
  cosh: "c64",
  tanh: "c64",
  equal: "bool",
  notEqual: "bool",
  isNaN: "bool",
  isFinite: "bool",
  real: "f32",
  imag: "f32"
}

/**
 * The type that an operation gives for operands of these types, or `undefined` where it has no meaning for them.
 * `target` is the type that `astype` asks for.
 *
 * @category functions
 * @since 0.1.0
 */
export const resultType = (
  operation: Operation,
  operands: ReadonlyArray<ExprType>,
  target: ExprType | undefined
): ExprType | undefined => {
  const { arity, rule }: Signature = operations[operation]
  const [first, second, third] = operands
  if (operands.length !== arity || first === undefined) return undefined
  const alike = operands.every((type) => type === first)
  if (first === "c64" && rule !== "astype") return alike ? ofComplex[operation] : undefined
  switch (rule) {
    case "numeric":
      return alike && first !== "bool" ? first : undefined
    case "float":
      return alike && isFloat(first) ? first : undefined
    case "integer":
      return alike && isInteger(first) ? first : undefined
    case "equality":
      return alike ? "bool" : undefined
    case "ordering":
      return alike && first !== "bool" ? "bool" : undefined
    case "logic":
      return alike && first === "bool" ? "bool" : undefined
    case "test":
      return alike && isFloat(first) ? "bool" : undefined
    case "shift":
      return isInteger(first) && second === "u32" ? first : undefined
    case "where":
      return first === "bool" && second === third ? second : undefined
    case "astype":
      return target
    case "pair":
      return alike && first === "f32" ? "c64" : undefined
    case "part":
      return undefined
  }
}

/**
 * What the operands of an operation must be, in words.
 *
 * @category functions
 * @since 0.1.0
 */
export const requirement = (operation: Operation): string => {
  const { arity, rule }: Signature = operations[operation]
  const count = arity === 1 ? "one operand" : `${arity} operands`
  const orComplex = ofComplex[operation] === undefined ? "" : " or of c64"
  switch (rule) {
    case "equality":
      return `${count} of one type`
    case "numeric":
    case "ordering":
      return `${count} of one type of real numbers${orComplex}`
    case "float":
    case "test":
      return `${count} of one float type${orComplex}`
    case "integer":
      return `${count} of one integer type`
    case "logic":
      return `${count} of type bool`
    case "shift":
      return "an integer, and a u32 for the number of bits"
    case "where":
      return "a bool and two operands of one type"
    case "astype":
      return count
    case "pair":
      return `${count} of f32`
    case "part":
      return `${count} of c64`
  }
}
