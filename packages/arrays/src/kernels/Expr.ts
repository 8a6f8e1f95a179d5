/**
 * Expressions over the elements of vectors, for kernels that the library writes in every language.
 *
 * An expression is typed: operands of different element types do not mix without {@link cast}, and a number beside an
 * expression takes its type. A mistake that the types cannot catch, such as a number that the type cannot represent, does
 * not throw: the first use of a kernel made of it fails with InvalidRequest.
 *
 * Results are the same on every backend up to the accuracy of its functions; `docs/expressions.md` says where they differ.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { invalidRequest } from "effect-gpu-pool/GpuError"
import { type ExprType, type Operation, operations } from "effect-gpu-pool/Operation"
import { dual } from "effect/Function"
import { floorDivideOf, remainderOf } from "./expression/Division.ts"
import { above, applyAs, constantOf, type Expr, isExpression, make, wrong } from "./expression/Expression.ts"
import { apply } from "./expression/Operations.ts"

export type { ExprType } from "effect-gpu-pool/Operation"
export type { Expr } from "./expression/Expression.ts"

/**
 * What stands for a value of a type: a number, for integers of 64 bits also a bigint, for `bool` a boolean. A number that
 * the type cannot represent is a mistake.
 *
 * **Example** (Values of three types)
 *
 * ```ts
 * import type { Expr } from "@effect-gpu-pool/arrays"
 *
 * const gain: Expr.Literal<"f32"> = 0.5
 * const seed: Expr.Literal<"u64"> = 2n ** 64n - 1n
 * const isOpen: Expr.Literal<"bool"> = true
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Literal<T extends ExprType> = T extends "bool" ? boolean
  : T extends "i64" | "u64" ? number | bigint
  : number

/**
 * What may stand beside an expression of a type, and takes that type: a number, a bigint beside integers of 64 bits, a
 * boolean beside `bool`. A number that the type cannot represent is a mistake.
 *
 * **Example** (A function of a limit)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const isAbove = <T extends Expr.NumberType>(x: Expr.Expr<T>, limit: Expr.ValueBeside<T>) => Expr.greater(x, limit)
 * isAbove(Expr.constant("u64", 3n), 2n ** 60n).type // => "bool"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ValueBeside<T extends ExprType> =
  | number
  | (T extends "i64" | "u64" ? bigint : T extends "bool" ? boolean : never)

/**
 * An expression, or a value that takes the type of the expression beside it.
 *
 * **Example** (A function that takes either)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const above = (x: Expr.Expr<"f32">, limit: Expr.Operand<"f32">) => Expr.where(Expr.greater(x, limit), x, 0)
 * above(Expr.constant("f32", 3), 2).type // => "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Operand<T extends ExprType> = Expr<T> | ValueBeside<T>

/**
 * The element types of fractions.
 *
 * **Example** (A function for all of them)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const half = <T extends Expr.FloatType>(x: Expr.Expr<T>) => Expr.multiply(x, 0.5)
 * half(Expr.constant("f16", 3)).type // => "f16"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type FloatType = "f32" | "f16" | "f64"

/**
 * The element types of real numbers: all but `bool` and `c64`.
 *
 * **Example** (A function for all of them)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const square = <T extends Expr.NumberType>(x: Expr.Expr<T>) => Expr.multiply(x, x)
 * square(Expr.constant("i64", 3n)).type // => "i64"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type NumberType = Exclude<DType, "bool" | "c64">

/**
 * The element types that have sums and products: those of real and of complex numbers.
 *
 * **Example** (A function for all of them)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const cube = <T extends Expr.ArithmeticType>(x: Expr.Expr<T>) => Expr.multiply(Expr.multiply(x, x), x)
 * cube(Expr.complex(0, 1)).type // => "c64"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ArithmeticType = NumberType | "c64"

/**
 * The element types of whole numbers.
 *
 * **Example** (A function for all of them)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const isOdd = <T extends Expr.IntegerType>(x: Expr.Expr<T>) => Expr.astype(Expr.bitwiseAnd(x, 1), "bool")
 * isOdd(Expr.index).type // => "bool"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type IntegerType = Exclude<NumberType, FloatType>

/**
 * A function of one operand that keeps its type.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const rounding: Expr.Unary<Expr.FloatType> = Expr.floor
 * rounding(Expr.constant("f32", 1.5)).type // => "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Unary<Allowed extends DType> = <T extends Allowed>(self: Expr<T>) => Expr<T>

/**
 * A function of two operands of one type that keeps it, data-first and data-last.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const combine: Expr.Binary<"f32" | "i32"> = Expr.maximum
 * combine(Expr.constant("i32", 1), 2).type // => "i32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Binary<Allowed extends DType> {
  <T extends Allowed>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
  (that: ValueBeside<Allowed>): <T extends Allowed>(self: Expr<T>) => Expr<T>
  <T extends Allowed>(self: Expr<T>, that: Operand<NoInfer<T>>): Expr<T>
  <T extends Allowed>(self: ValueBeside<NoInfer<T>>, that: Expr<T>): Expr<T>
}

/**
 * A function of three operands of one type that keeps it, data-first and data-last.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const limited: Expr.Ternary<"f32"> = Expr.clip
 * limited(Expr.constant("f32", 1.5), 0, 1).type // => "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Ternary<Allowed extends DType> {
  (second: ValueBeside<Allowed>, third: ValueBeside<Allowed>): <T extends Allowed>(self: Expr<T>) => Expr<T>
  <T extends Allowed>(second: Expr<T>, third: Operand<NoInfer<T>>): (self: Operand<NoInfer<T>>) => Expr<T>
  <T extends Allowed>(second: ValueBeside<NoInfer<T>>, third: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
  <T extends Allowed>(self: Expr<T>, second: Operand<NoInfer<T>>, third: Operand<NoInfer<T>>): Expr<T>
  <T extends Allowed>(self: ValueBeside<NoInfer<T>>, second: Expr<T>, third: Operand<NoInfer<T>>): Expr<T>
  <T extends Allowed>(self: ValueBeside<NoInfer<T>>, second: ValueBeside<NoInfer<T>>, third: Expr<T>): Expr<T>
}

/**
 * A function from two operands of one type to a truth value, data-first and data-last.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const comparison: Expr.Comparison = Expr.less
 * comparison(Expr.index, 10).type // => "bool"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Comparison<Allowed extends ExprType = NumberType> {
  <T extends Allowed>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<"bool">
  (that: ValueBeside<Allowed>): <T extends Allowed>(self: Expr<T>) => Expr<"bool">
  <T extends Allowed>(self: Expr<T>, that: Operand<NoInfer<T>>): Expr<"bool">
  <T extends Allowed>(self: ValueBeside<NoInfer<T>>, that: Expr<T>): Expr<"bool">
}

/**
 * A function of two truth values, data-first and data-last.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const either: Expr.Logic = Expr.logicalOr
 * either(Expr.less(Expr.index, 10), Expr.greater(Expr.index, 20)).type // => "bool"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Logic {
  (that: Expr<"bool">): (self: Expr<"bool">) => Expr<"bool">
  (self: Expr<"bool">, that: Expr<"bool">): Expr<"bool">
}

/**
 * A function that moves the bits of an integer by a number of places, data-first and data-last.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const shift: Expr.Shift = Expr.leftShift
 * shift(Expr.constant("i32", 1), Expr.index).type // => "i32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Shift {
  (places: Operand<"u32">): <T extends IntegerType>(self: Expr<T>) => Expr<T>
  <T extends IntegerType>(self: Expr<T>, places: Operand<"u32">): Expr<T>
}

const unary = <Allowed extends DType>(operation: Operation): Unary<Allowed> => (self) =>
  apply(operation, [self]) as typeof self

/** An operation of several operands, data-first and data-last. `F` is the type that users see. */
const operator = <F extends (...operands: ReadonlyArray<never>) => unknown>(operation: Operation): F => {
  const body = (self: Operand<ExprType>, ...others: ReadonlyArray<Operand<ExprType>>): Expr =>
    apply(operation, [self, ...others])
  return dual(operations[operation].arity, body) as (...operands: ReadonlyArray<never>) => unknown as F
}

/** A division that takes what `fmod` takes. */
const division = (name: string, build: (a: Expr, b: Expr) => Expr): Binary<NumberType> =>
  dual(
    2,
    (self: Operand<NumberType>, that: Operand<NumberType>) =>
      applyAs(`Expr.${name}`, "fmod", [self, that], undefined, ([a, b]) => build(a!, b!))
  ) as Binary<NumberType>

/**
 * Whether a value is an expression.
 *
 * **Example** (Telling an expression from a number)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.isExpr(Expr.index) // => true
 * Expr.isExpr(1) // => false
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isExpr = (u: unknown): u is Expr => isExpression(u)

/**
 * A value, the same for every item. Floats are rounded to the type, and may be infinite or NaN; a number that an
 * integer type cannot represent is a mistake.
 *
 * **Example** (A number and a truth value)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.constant("f32", 0.1).type // => "f32"
 * Expr.constant("bool", true).type // => "bool"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const constant = <T extends ExprType>(type: T, value: Literal<T>): Expr<T> =>
  constantOf("Expr.constant", type, value)

/**
 * The index of the item, from 0 up to the number of items of the dispatch minus one. It does not include the offsets of
 * views.
 *
 * **Example** (Every other item)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const isEven = Expr.equal(Expr.bitwiseAnd(Expr.index, 1), 0)
 * isEven.type // => "bool"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const index: Expr<"u32"> = make("u32", { _tag: "Index" })

/**
 * The element of the same vector at another index, counted from the view's offset; an index beyond the vector reads
 * its last element. A vector that the same kernel writes is a mistake: another item may have written that element
 * already.
 *
 * **Example** (The difference to the next element)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
 *
 * const differences = ElementwiseKernel.make({
 *   name: "differences",
 *   args: [
 *     KernelArgument.VectorArg("f32", "x", { access: "read" }),
 *     KernelArgument.VectorArg("f32", "y", { access: "write" })
 *   ],
 *   outputs: ({ x }) => ({ y: Expr.subtract(Expr.at(x, Expr.add(Expr.index, 1)), x) })
 * })
 * differences.problem // => undefined
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const at: {
  /**
   * The element of the same vector at another index, counted from the view's offset; an index beyond the vector reads
   * its last element. A vector that the same kernel writes is a mistake: another item may have written that element
   * already.
   */
  (index: Operand<"u32">): <T extends DType>(element: Expr<T>) => Expr<T>
  <T extends DType>(element: Expr<T>, index: Operand<"u32">): Expr<T>
} = dual(2, <T extends DType>(element: Expr<T>, index: Operand<"u32">): Expr<T> => {
  const { node } = element
  if (element.problem !== undefined) return element
  if (node._tag !== "Element" || node.at._tag === "Inside") {
    return wrong(
      element.type,
      invalidRequest("Expr.at", "the first operand is no element of a vector", "Use an argument that is a vector.")
    )
  }
  const position = typeof index === "number" ? constantOf("Expr.at", "u32", index) : index
  if (position.problem !== undefined) return wrong(element.type, position.problem)
  const clamped = { _tag: "Clamped", withOffset: node.at.withOffset, index: position } as const
  return above("Expr.at", element.type, { ...node, at: clamped }, [position])
})

/**
 * Converts to another type. Floats go to integers without their fraction, to the nearest number that the type can represent, NaN to 0;
 * integers go to floats rounded to the nearest, ties to even, and to integers by their low bits; a truth value is 0 or 1;
 * a number is true unless it is 0 (so NaN is true). A real number is the real part of a complex one, and what remains of it.
 *
 * **Example** (Counting truths)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.astype(Expr.less(Expr.index, 10), "f32").type // => "f32"
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const astype: {
  /**
   * Converts to another type. Floats go to integers without their fraction, to the nearest number that the type can represent, NaN to 0;
   * integers go to floats rounded to the nearest, ties to even, and to integers by their low bits; a truth value is 0 or 1;
   * a number is true unless it is 0 (so NaN is true). A real number is the real part of a complex one, and what remains of it.
   */
  <T extends ExprType>(type: T): (self: Expr) => Expr<T>
  <T extends ExprType>(self: Expr, type: T): Expr<T>
} = dual(
  2,
  <T extends ExprType>(self: Expr, type: T): Expr<T> => apply("astype", [self], type) as Expr<T>
)

/**
 * A complex number of its real and its imaginary part. Sums, products, quotients, powers, roots and trigonometric functions
 * take complex numbers; a number beside one is a real number.
 *
 * **Example** (A turn by a right angle)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const turned = (z: Expr.Expr<"c64">) => Expr.multiply(z, Expr.complex(0, 1))
 * turned(Expr.complex(2, 3)).type // => "c64"
 * ```
 *
 * @category complex
 * @since 0.1.0
 */
export const complex: {
  /**
   * A complex number of its real and its imaginary part. Sums, products, quotients, powers, roots and trigonometric functions
   * take complex numbers; a number beside one is a real number.
   */
  (imaginary: Operand<"f32">): (real: Operand<"f32">) => Expr<"c64">
  (real: Operand<"f32">, imaginary: Operand<"f32">): Expr<"c64">
} = operator("complex")

/**
 * The real part of a complex number.
 *
 * **Example** (The part of a sum)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.real(Expr.add(Expr.complex(1, 2), 3)).type // => "f32"
 * ```
 *
 * @category complex
 * @since 0.1.0
 */
export const real = (self: Expr<"c64">): Expr<"f32"> => apply("real", [self]) as Expr<"f32">

/**
 * The imaginary part of a complex number.
 *
 * **Example** (A height in the complex plane)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.imag(Expr.exp(Expr.complex(0, 1))).type // => "f32"
 * ```
 *
 * @category complex
 * @since 0.1.0
 */
export const imag = (self: Expr<"c64">): Expr<"f32"> => apply("imag", [self]) as Expr<"f32">

/**
 * The complex number with the other sign of its imaginary part.
 *
 * **Example** (The square of a magnitude)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const power = (z: Expr.Expr<"c64">) => Expr.real(Expr.multiply(z, Expr.conj(z)))
 * power(Expr.complex(3, 4)).type // => "f32"
 * ```
 *
 * @see numpy.conj
 * @category complex
 * @since 0.1.0
 */
export const conj = (self: Expr<"c64">): Expr<"c64"> => complex(real(self), negative(imag(self)))

/**
 * One of two values: `yes` where the condition is true, else `no`. Both are computed.
 *
 * **Example** (No negative numbers)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const positive = (x: Expr.Expr<"f32">) => Expr.where(Expr.greater(x, 0), x, 0)
 * positive(Expr.constant("f32", -1)).type // => "f32"
 * ```
 *
 * @category logic
 * @since 0.1.0
 */
export const where: {
  /** One of two values: `yes` where the condition is true, else `no`. Both are computed. */
  <T extends DType>(yes: Expr<T>, no: Operand<NoInfer<T>>): (condition: Expr<"bool">) => Expr<T>
  <T extends DType>(yes: ValueBeside<NoInfer<T>>, no: Expr<T>): (condition: Expr<"bool">) => Expr<T>
  <T extends DType>(condition: Expr<"bool">, yes: Expr<T>, no: Operand<NoInfer<T>>): Expr<T>
  <T extends DType>(condition: Expr<"bool">, yes: ValueBeside<NoInfer<T>>, no: Expr<T>): Expr<T>
} = operator("where")

/**
 * The sum. Integers wrap around.
 *
 * **Example** (The next index)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.add(Expr.index, 1).type // => "u32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const add: {
  /** The sum. Integers wrap around. */
  <T extends ArithmeticType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<ArithmeticType> = operator("add")

/**
 * The difference. Integers wrap around.
 *
 * **Example** (From a number)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.subtract(1, Expr.constant("f32", 0.25)).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const subtract: {
  /** The difference. Integers wrap around. */
  <T extends ArithmeticType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<ArithmeticType> = operator("subtract")

/**
 * The product. Integers wrap around.
 *
 * **Example** (In a pipe)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.constant("f32", 3).pipe(Expr.multiply(2)).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const multiply: {
  /** The product. Integers wrap around. */
  <T extends ArithmeticType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<ArithmeticType> = operator("multiply")

/**
 * The quotient of floats, by IEEE 754, or of complex numbers: infinite or NaN where the divisor is 0. Integers have
 * {@link floorDivide} and {@link truncDivide}.
 *
 * **Example** (A half)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.divide(Expr.constant("f32", 5), 2).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const divide: {
  /**
   * The quotient of floats, by IEEE 754, or of complex numbers: infinite or NaN where the divisor is 0. Integers have
   * {@link floorDivide} and {@link truncDivide}.
   */
  <T extends FloatType | "c64">(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<FloatType | "c64"> = operator("divide")

/**
 * The quotient, rounded down. That of integers is 0 where the divisor is 0, and wraps around for the least number by
 * -1; that of floats is infinite or NaN there.
 *
 * **Example** (The row of an item, in rows of ten)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.floorDivide(Expr.index, 10).type // => "u32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const floorDivide: {
  /**
   * The quotient, rounded down. That of integers is 0 where the divisor is 0, and wraps around for the least number by
   * -1; that of floats is infinite or NaN there.
   */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<NumberType> = division("floorDivide", floorDivideOf)

/**
 * What {@link floorDivide} leaves over, with the sign of the divisor. That of integers is 0 where the divisor is 0;
 * that of floats is NaN there, and off by as much as rounding the dividend is.
 *
 * **Example** (Angles from 0 to 360)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.remainder(Expr.constant("f32", -90), 360).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const remainder: {
  /**
   * What {@link floorDivide} leaves over, with the sign of the divisor. That of integers is 0 where the divisor is 0;
   * that of floats is NaN there, and off by as much as rounding the dividend is.
   */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<NumberType> = division("remainder", remainderOf)

/**
 * The quotient of integers without its fraction: 0 where the divisor is 0, and the least number by -1 wraps around.
 *
 * **Example** (Towards zero)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.truncDivide(Expr.constant("i32", -7), 2).type // => "i32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const truncDivide: {
  /** The quotient of integers without its fraction: 0 where the divisor is 0, and the least number by -1 wraps around. */
  <T extends IntegerType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<IntegerType> = operator("truncDivide")

/**
 * What truncating division leaves over, with the sign of the dividend. That of integers is 0 where the divisor is 0.
 * That of floats is `a - b * trunc(a / b)` with every step rounded, so it is inexact for large quotients.
 *
 * **Example** (What is beyond whole tens)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.fmod(Expr.constant("f32", -25), 10).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const fmod: {
  /**
   * What truncating division leaves over, with the sign of the dividend. That of integers is 0 where the divisor is 0.
   * That of floats is `a - b * trunc(a / b)` with every step rounded, so it is inexact for large quotients.
   */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<NumberType> = operator("fmod")

/**
 * The number with the other sign. Integers wrap around: the least one stays as it is.
 *
 * **Example** (The other sign)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.negative(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const negative = unary<ArithmeticType>("negative")

/**
 * The number without its sign; of a complex number its distance from 0, an f32. The least integer has no positive counterpart
 * and stays as it is.
 *
 * **Example** (A distance)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.abs(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const abs = <T extends ArithmeticType>(self: Expr<T>): Expr<T extends "c64" ? "f32" : T> =>
  apply("abs", [self]) as Expr<T extends "c64" ? "f32" : T>

/**
 * -1, 0 or 1; of a complex number the one of magnitude 1 at its angle. That of NaN is NaN, and that of a zero is the zero itself.
 *
 * **Example** (Which side of zero)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.sign(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const sign = unary<ArithmeticType>("sign")

/**
 * The lesser number; NaN where either is NaN. Of zeros with different signs it may give either.
 *
 * **Example** (No more than two)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.minimum(Expr.constant("f32", 5), 2).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const minimum: {
  /** The lesser number; NaN where either is NaN. Of zeros with different signs it may give either. */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<NumberType> = operator("minimum")

/**
 * The greater number; NaN where either is NaN. Of zeros with different signs it may give either.
 *
 * **Example** (No less than two)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.maximum(Expr.constant("f32", 5), 2).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const maximum: {
  /** The greater number; NaN where either is NaN. Of zeros with different signs it may give either. */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<NumberType> = operator("maximum")

/**
 * The number moved between two limits: `min(max(x, low), high)`, so the upper limit wins where the limits cross, and
 * NaN in any operand gives NaN.
 *
 * **Example** (Into a range)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.clip(Expr.constant("f32", 1.5), 0, 1).type // => "f32"
 * ```
 *
 * @category arithmetic
 * @since 0.1.0
 */
export const clip: {
  /**
   * The number moved between two limits: `min(max(x, low), high)`, so the upper limit wins where the limits cross, and
   * NaN in any operand gives NaN.
   */
  (second: ValueBeside<NumberType>, third: ValueBeside<NumberType>): <T extends NumberType>(self: Expr<T>) => Expr<T>
} & Ternary<NumberType> = operator("clip")

/**
 * The bits that both have.
 *
 * **Example** (The lowest bits)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.bitwiseAnd(Expr.constant("i32", 5), 3).type // => "i32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const bitwiseAnd: {
  /** The bits that both have. */
  <T extends IntegerType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<IntegerType> = operator("bitwiseAnd")

/**
 * The bits that either has.
 *
 * **Example** (Setting a bit)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.bitwiseOr(Expr.constant("i32", 5), 8).type // => "i32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const bitwiseOr: {
  /** The bits that either has. */
  <T extends IntegerType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<IntegerType> = operator("bitwiseOr")

/**
 * The bits that exactly one of the two has.
 *
 * **Example** (Turning a bit)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.bitwiseXor(Expr.constant("i32", 5), 1).type // => "i32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const bitwiseXor: {
  /** The bits that exactly one of the two has. */
  <T extends IntegerType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<IntegerType> = operator("bitwiseXor")

/**
 * Every bit inverted.
 *
 * **Example** (All other bits)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.bitwiseNot(Expr.constant("i32", 2)).type // => "i32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const bitwiseNot = unary<IntegerType>("bitwiseNot")

/**
 * How many bits are set.
 *
 * **Example** (The size of a set)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.countOneBits(Expr.constant("i32", 2)).type // => "i32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const countOneBits = unary<IntegerType>("countOneBits")

/**
 * How many bits are above the highest one that is set; 32 for 0.
 *
 * **Example** (The size of a number)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.countLeadingZeros(Expr.constant("i32", 2)).type // => "i32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const countLeadingZeros = unary<IntegerType>("countLeadingZeros")

/**
 * The bits shifted up, filled with zeros. The distance is taken modulo the bits of the type.
 *
 * **Example** (A power of two)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.leftShift(Expr.constant("u32", 1), Expr.index).type // => "u32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const leftShift: {
  /** The bits shifted up, filled with zeros. The distance is taken modulo the bits of the type. */
  (places: Operand<"u32">): <T extends IntegerType>(self: Expr<T>) => Expr<T>
} & Shift = operator("leftShift")

/**
 * The bits shifted down, filled with the sign, or with zeros for types without. The distance is taken modulo the bits of the type.
 *
 * **Example** (Half of it)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.rightShift(Expr.constant("i32", -8), 1).type // => "i32"
 * ```
 *
 * @category bits
 * @since 0.1.0
 */
export const rightShift: {
  /** The bits shifted down, filled with the sign, or with zeros for types without. The distance is taken modulo the bits of the type. */
  (places: Operand<"u32">): <T extends IntegerType>(self: Expr<T>) => Expr<T>
} & Shift = operator("rightShift")

/**
 * Whether the numbers are equal. NaN is equal to nothing.
 *
 * **Example** (One item)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.equal(Expr.index, 10).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const equal: {
  /** Whether the numbers are equal. NaN is equal to nothing. */
  <T extends DType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<"bool">
} & Comparison<ExprType> = operator("equal")

/**
 * Whether the numbers differ. NaN differs from everything, itself included.
 *
 * **Example** (All but one)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.notEqual(Expr.index, 10).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const notEqual: {
  /** Whether the numbers differ. NaN differs from everything, itself included. */
  <T extends DType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<"bool">
} & Comparison<ExprType> = operator("notEqual")

/**
 * Whether the first number is the lesser; false where either is NaN.
 *
 * **Example** (The first ten)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.less(Expr.index, 10).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const less: {
  /** Whether the first number is the lesser; false where either is NaN. */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<"bool">
} & Comparison = operator("less")

/**
 * Whether the first number is the lesser or equal; false where either is NaN.
 *
 * **Example** (Up to ten)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.lessEqual(Expr.index, 10).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const lessEqual: {
  /** Whether the first number is the lesser or equal; false where either is NaN. */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<"bool">
} & Comparison = operator("lessEqual")

/**
 * Whether the first number is the greater; false where either is NaN.
 *
 * **Example** (Beyond ten)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.greater(Expr.index, 10).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const greater: {
  /** Whether the first number is the greater; false where either is NaN. */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<"bool">
} & Comparison = operator("greater")

/**
 * Whether the first number is the greater or equal; false where either is NaN.
 *
 * **Example** (From ten on)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.greaterEqual(Expr.index, 10).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const greaterEqual: {
  /** Whether the first number is the greater or equal; false where either is NaN. */
  <T extends NumberType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<"bool">
} & Comparison = operator("greaterEqual")

/**
 * Whether a float is no number, or a part of a complex number is none. It tests the bits, so compilers that assume that there is no NaN do not affect it.
 *
 * **Example** (Finding gaps)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.isNaN(Expr.constant("f32", 1)).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const isNaN = <T extends FloatType | "c64">(self: Expr<T>): Expr<"bool"> =>
  apply("isNaN", [self]) as Expr<"bool">

/**
 * Whether a float, or each part of a complex number, is neither infinite nor NaN. It tests the bits.
 *
 * **Example** (Finding overflows)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.isFinite(Expr.constant("f32", 1)).type // => "bool"
 * ```
 *
 * @category comparisons
 * @since 0.1.0
 */
export const isFinite = <T extends FloatType | "c64">(self: Expr<T>): Expr<"bool"> =>
  apply("isFinite", [self]) as Expr<"bool">

/**
 * Whether both are true.
 *
 * **Example** (Between limits)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.logicalAnd(Expr.greater(Expr.index, 2), Expr.less(Expr.index, 9)).type // => "bool"
 * ```
 *
 * @category logic
 * @since 0.1.0
 */
export const logicalAnd: {
  /** Whether both are true. */
  (that: Expr<"bool">): (self: Expr<"bool">) => Expr<"bool">
} & Logic = operator("logicalAnd")

/**
 * Whether one of them is true, or both.
 *
 * **Example** (Outside limits)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.logicalOr(Expr.less(Expr.index, 2), Expr.greater(Expr.index, 9)).type // => "bool"
 * ```
 *
 * @category logic
 * @since 0.1.0
 */
export const logicalOr: {
  /** Whether one of them is true, or both. */
  (that: Expr<"bool">): (self: Expr<"bool">) => Expr<"bool">
} & Logic = operator("logicalOr")

/**
 * Whether it is false.
 *
 * **Example** (The opposite)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.logicalNot(Expr.less(Expr.index, 2)).type // => "bool"
 * ```
 *
 * @category logic
 * @since 0.1.0
 */
export const logicalNot = (self: Expr<"bool">): Expr<"bool"> => apply("logicalNot", [self]) as Expr<"bool">

/**
 * The square root; NaN for negative numbers. That of a complex number has a real part that is not negative.
 *
 * **Example** (A length)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.sqrt(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category powers
 * @since 0.1.0
 */
export const sqrt = unary<FloatType | "c64">("sqrt")

/**
 * 1 divided by the square root; infinite for 0, NaN for negative numbers.
 *
 * **Example** (A factor that makes a length 1)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.inverseSqrt(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category powers
 * @since 0.1.0
 */
export const inverseSqrt = unary<FloatType>("inverseSqrt")

/**
 * e to the power of the number.
 *
 * **Example** (Growth)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.exp(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category powers
 * @since 0.1.0
 */
export const exp = unary<FloatType | "c64">("exp")

/**
 * 2 to the power of the number.
 *
 * **Example** (Doublings)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.exp2(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category powers
 * @since 0.1.0
 */
export const exp2 = unary<FloatType>("exp2")

/**
 * The logarithm to base e; minus infinity for 0, NaN for negative numbers.
 *
 * **Example** (The opposite of exp)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.log(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category powers
 * @since 0.1.0
 */
export const log = unary<FloatType | "c64">("log")

/**
 * The logarithm to base 2; minus infinity for 0, NaN for negative numbers.
 *
 * **Example** (The opposite of exp2)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.log2(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category powers
 * @since 0.1.0
 */
export const log2 = unary<FloatType>("log2")

/**
 * The first number to the power of the second. Negative numbers need whole exponents, else it is NaN;
 * anything to the power of 0 is 1, and 1 to any power.
 *
 * **Example** (A cube)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.power(Expr.constant("f32", 5), 3).type // => "f32"
 * ```
 *
 * @category powers
 * @since 0.1.0
 */
export const power: {
  /**
   * The first number to the power of the second. Negative numbers need whole exponents, else it is NaN;
   * anything to the power of 0 is 1, and 1 to any power.
   */
  <T extends FloatType | "c64">(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<FloatType | "c64"> = operator("power")

/**
 * The sine of an angle in radians. Far from 0 it loses accuracy on devices.
 *
 * **Example** (A wave)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.sin(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const sin = unary<FloatType | "c64">("sin")

/**
 * The cosine of an angle in radians. Far from 0 it loses accuracy on devices.
 *
 * **Example** (A shifted wave)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.cos(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const cos = unary<FloatType | "c64">("cos")

/**
 * The tangent of an angle in radians. Far from 0 it loses accuracy on devices.
 *
 * **Example** (A slope)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.tan(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const tan = unary<FloatType | "c64">("tan")

/**
 * The angle in radians, from -π/2 to π/2, with that sine; NaN outside -1 to 1.
 *
 * **Example** (An angle)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.asin(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const asin = unary<FloatType>("asin")

/**
 * The angle in radians, from 0 to π, with that cosine; NaN outside -1 to 1.
 *
 * **Example** (An angle)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.acos(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const acos = unary<FloatType>("acos")

/**
 * The angle in radians, from -π/2 to π/2, with that tangent.
 *
 * **Example** (An angle)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.atan(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const atan = unary<FloatType>("atan")

/**
 * The angle in radians, from -π to π, of the point whose y is the first operand and whose x is the second, signs of
 * zeros included.
 *
 * **Example** (The direction of a vector)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.atan2(Expr.constant("f32", 1), Expr.constant("f32", -1)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const atan2: {
  /**
   * The angle in radians, from -π to π, of the point whose y is the first operand and whose x is the second, signs of
   * zeros included.
   */
  <T extends FloatType>(that: Expr<T>): (self: Operand<NoInfer<T>>) => Expr<T>
} & Binary<FloatType> = operator("atan2")

/**
 * Radians as degrees.
 *
 * **Example** (A quarter of a turn)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.degrees(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const degrees = unary<FloatType>("degrees")

/**
 * Degrees as radians.
 *
 * **Example** (A quarter of a turn)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.radians(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category trigonometry
 * @since 0.1.0
 */
export const radians = unary<FloatType>("radians")

/**
 * The hyperbolic sine.
 *
 * **Example** (A hyperbola's height)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.sinh(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category hyperbolic functions
 * @since 0.1.0
 */
export const sinh = unary<FloatType | "c64">("sinh")

/**
 * The hyperbolic cosine.
 *
 * **Example** (A hanging chain)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.cosh(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category hyperbolic functions
 * @since 0.1.0
 */
export const cosh = unary<FloatType | "c64">("cosh")

/**
 * The hyperbolic tangent, from -1 to 1.
 *
 * **Example** (An activation)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.tanh(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category hyperbolic functions
 * @since 0.1.0
 */
export const tanh = unary<FloatType | "c64">("tanh")

/**
 * The number with that hyperbolic sine.
 *
 * **Example** (A logarithm for both signs)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.asinh(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category hyperbolic functions
 * @since 0.1.0
 */
export const asinh = unary<FloatType>("asinh")

/**
 * The number from 0 on with that hyperbolic cosine; NaN below 1.
 *
 * **Example** (The opposite of cosh)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.acosh(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category hyperbolic functions
 * @since 0.1.0
 */
export const acosh = unary<FloatType>("acosh")

/**
 * The number with that hyperbolic tangent; infinite for -1 and 1, NaN beyond them.
 *
 * **Example** (The opposite of tanh)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.atanh(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category hyperbolic functions
 * @since 0.1.0
 */
export const atanh = unary<FloatType>("atanh")

/**
 * The greatest whole number that is not above.
 *
 * **Example** (Down)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.floor(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category rounding
 * @since 0.1.0
 */
export const floor = unary<FloatType>("floor")

/**
 * The least whole number that is not below.
 *
 * **Example** (Up)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.ceil(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category rounding
 * @since 0.1.0
 */
export const ceil = unary<FloatType>("ceil")

/**
 * The number without its fraction.
 *
 * **Example** (Towards zero)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.trunc(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category rounding
 * @since 0.1.0
 */
export const trunc = unary<FloatType>("trunc")

/**
 * The nearest whole number; the even one of two that are equally near.
 *
 * **Example** (To the nearest)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.round(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category rounding
 * @since 0.1.0
 */
export const round = unary<FloatType>("round")

/**
 * The fraction above the greatest whole number that is not above `x`: `x - floor(x)`.
 *
 * **Example** (The place in a period)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.fract(Expr.constant("f32", 0.5)).type // => "f32"
 * ```
 *
 * @category rounding
 * @since 0.1.0
 */
export const fract = unary<FloatType>("fract")

/**
 * A number between two, at a ratio from 0 to 1: `a * (1 - ratio) + b * ratio`, every step rounded.
 *
 * **Example** (Halfway)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.mix(Expr.constant("f32", 2), 4, 0.5).type // => "f32"
 * ```
 *
 * @category combinations
 * @since 0.1.0
 */
export const mix: {
  /** A number between two, at a ratio from 0 to 1: `a * (1 - ratio) + b * ratio`, every step rounded. */
  (second: number, third: number): <T extends FloatType>(self: Expr<T>) => Expr<T>
} & Ternary<FloatType> = operator("mix")

/**
 * A product and a sum: `a * b + c`, rounded once or twice, depending on the device.
 *
 * **Example** (A line)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * Expr.fma(Expr.constant("f32", 2), 4, 0.5).type // => "f32"
 * ```
 *
 * @category combinations
 * @since 0.1.0
 */
export const fma: {
  /** A product and a sum: `a * b + c`, rounded once or twice, depending on the device. */
  (second: number, third: number): <T extends FloatType>(self: Expr<T>) => Expr<T>
} & Ternary<FloatType> = operator("fma")
