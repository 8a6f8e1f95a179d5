/**
 * Elements of one array or another.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import * as Expr from "../kernels/Expr.ts"
import { ofArray } from "./ArrayProblem.ts"
import type { ArrayOperation } from "./elementwise/ArrayOperation.ts"
import { operandProblem } from "./elementwise/OperandProblem.ts"
import { combine, noSuchTypes, type Operand } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import * as Promotion from "./layout/Promotion.ts"
import { type Scalar, type TypeOfScalar, typeOfScalar } from "./layout/Scalar.ts"

/**
 * The element type of an array, `D` for a number beside an array of that type.
 *
 * **Example** (A number takes the type beside it)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const dtype: DeviceArray.TypeBeside<number, "i32"> = "i32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type TypeBeside<T extends ArrayOperand | Scalar, D extends DType> = T extends ArrayOperand<infer A> ? A : D

/**
 * The element type that two operands have together, that of values alone if neither is an array: f32 of numbers.
 *
 * **Example** (Of an array and a number)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const dtype: DeviceArray.TypeOfBoth<DeviceArray.DeviceArray<"u32">, number> = "u32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type TypeOfBoth<X extends ArrayOperand | Scalar, Y extends ArrayOperand | Scalar> = X extends
  ArrayOperand<infer A> ? Promotion.Promote<A, TypeBeside<Y, A>>
  : Y extends ArrayOperand<infer B> ? B
  : X extends Scalar ? Y extends Scalar ? Promotion.Promote<TypeOfScalar<X>, TypeOfScalar<Y>> : never
  : never

const clipOperation: ArrayOperation = {
  name: "clip",
  build: ([x, low, high]) => Expr.clip(x!, low!, high!)
}

/**
 * The numbers moved into the range from `low` to `high`, which are numbers or arrays; all of them broadcast, and
 * are promoted to their common type. Where the limits cross, `high` wins; NaN in any of the three gives NaN.
 *
 * **Example** (Into the range of bytes)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-5, 100, 300)).pipe(
 *   DeviceArray.clip(0, 255),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(0, 100, 255)
 * ```
 *
 * @see numpy.clip
 * @category selection
 * @since 0.1.0
 */
export const clip: {
  /**
   * The numbers moved into the range from `low` to `high`, which are numbers or arrays; all of them broadcast, and
   * are promoted to their common type. Where the limits cross, `high` wins; NaN in any of the three gives NaN.
   */
  <L extends ArrayOperand | Scalar, H extends ArrayOperand | Scalar>(low: L, high: H): <A extends DType>(
    self: ArrayOperand<A>
  ) => Computed<Promotion.Promote<Promotion.Promote<A, TypeBeside<L, A>>, TypeBeside<H, A>>>
  <A extends DType, L extends ArrayOperand | Scalar, H extends ArrayOperand | Scalar>(
    self: ArrayOperand<A>,
    low: L,
    high: H
  ): Computed<Promotion.Promote<Promotion.Promote<A, TypeBeside<L, A>>, TypeBeside<H, A>>>
} = ofArray("clip", (name, self, low: Operand, high: Operand) => {
  const problem = operandProblem(name, low) ?? operandProblem(name, high)
  if (problem !== undefined) return problem
  const type = self.dtype
  const lowType = typeBeside(low, type)
  const highType = typeBeside(high, type)
  const common = Promotion.promote(Promotion.promote(type, lowType), highType)
  if (Signature.orderedNumber[common] === undefined) return noSuchTypes(name, type, lowType, highType)
  return combine(name, clipOperation, [self, low, high], { operands: [common, common, common], result: common })
}, 3)

const typeBeside = (operand: Operand, type: DType): DType => typeof operand === "object" ? operand.dtype : type

const whereOperation: ArrayOperation = {
  name: "where",
  build: ([condition, x, y]) => Expr.where(Expr.astype(condition!, "bool"), x!, y!)
}

/**
 * Elements of `x` where the condition is true, that is: not 0, and elements of `y` elsewhere. All three broadcast;
 * `x` and `y` are arrays or numbers and are promoted to their common type, f32 if both are numbers, bool if both are truth values.
 *
 * **Example** (Only what is positive)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost(Float32Array.of(-1, 2))
 *   const positive = yield* DeviceArray.greater(x, 0)
 *   return yield* DeviceArray.toHost(yield* DeviceArray.where(positive, x, 0))
 * }) // => Float32Array.of(0, 2)
 * ```
 *
 * @see numpy.where
 * @category selection
 * @since 0.1.0
 */
export const where: {
  /**
   * Elements of `x` where the condition is true, that is: not 0, and elements of `y` elsewhere. All three broadcast;
   * `x` and `y` are arrays or numbers and are promoted to their common type, f32 if both are numbers, bool if both are truth values.
   */
  <X extends ArrayOperand | Scalar, Y extends ArrayOperand | Scalar>(
    x: X,
    y: Y
  ): (condition: ArrayOperand) => Computed<TypeOfBoth<X, Y>>
  <X extends ArrayOperand | Scalar, Y extends ArrayOperand | Scalar>(
    condition: ArrayOperand,
    x: X,
    y: Y
  ): Computed<TypeOfBoth<X, Y>>
} = ofArray("where", (name, condition, x: Operand, y: Operand) => {
  const problem = operandProblem(name, x) ?? operandProblem(name, y)
  if (problem !== undefined) return problem
  const xType = typeBeside(x, typeBeside(y, typeOfScalar(x)))
  const yType = typeBeside(y, typeBeside(x, typeOfScalar(y)))
  const common = Promotion.promote(xType, yType)
  return combine(name, whereOperation, [condition, x, y], {
    operands: [condition.dtype, common, common],
    result: common
  })
}, 3)
