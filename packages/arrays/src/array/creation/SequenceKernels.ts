/**
 * Kernels for arrays whose elements follow from their positions. A position is the item's index, which is only true in the
 * fresh array itself, so these are never recorded with other operations.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Expr from "../../kernels/Expr.ts"
import { scalar } from "../../kernels/expression/Expression.ts"
import * as GeneratedElementwise from "../../kernels/GeneratedElementwise.ts"
import { Memo } from "../Memo.ts"

/** A few kernels for each element type. */
const kernels = new Memo<Kernel>(64)

const memoized = (name: string, generate: (dtype: DType) => Kernel) => (dtype: DType): Kernel =>
  kernels.get(`${name} ${dtype}`, () => generate(dtype))

/**
 * f16 cannot represent every integer above 2,048, so its sequences are computed in f32, like the real parts of complex numbers;
 * those of truth values as numbers.
 */
export const computedIn = (dtype: DType): Expr.NumberType =>
  dtype === "f16" || dtype === "c64" ? "f32" : dtype === "bool" ? "u8" : dtype

const output = (dtype: DType) => VectorArg(dtype, "y", { access: "write" })

const cast = <D extends DType>(value: Expr.Expr, dtype: D): Expr.Expr<D> =>
  (value.type === dtype ? value : Expr.astype(value, dtype)) as Expr.Expr<D>

/** `start + index * step`, for integers modulo 2^32. */
export const arithmetic = memoized("arithmetic", (dtype) => {
  const type = computedIn(dtype)
  const distance = Expr.multiply(cast(Expr.index, type), scalar(type, "step"))
  return GeneratedElementwise.generate({
    name: "array_arange",
    args: [output(dtype), ScalarArg(type, "start"), ScalarArg(type, "step")],
    outputs: { y: cast(Expr.add(scalar(type, "start"), distance), dtype) }
  })
})

/**
 * `start + index * step` for the first `middle` elements, and `stop - (last - index) * step` for the others: so both
 * ends are exact, and a rounded step causes half the error.
 */
export const between = memoized("between", (dtype) => {
  const type = computedIn(dtype)
  const steps = (count: Expr.Expr<"u32">) => Expr.multiply(cast(count, type), scalar(type, "step"))
  const last = scalar("u32", "last")
  const middle = scalar("u32", "middle")
  const value = Expr.where(
    Expr.less(Expr.index, middle),
    Expr.add(scalar(type, "start"), steps(Expr.index)),
    Expr.subtract(scalar(type, "stop"), steps(Expr.subtract(last, Expr.index)))
  )
  return GeneratedElementwise.generate({
    name: "array_linspace",
    args: [
      output(dtype),
      ScalarArg(type, "start"),
      ScalarArg(type, "stop"),
      ScalarArg(type, "step"),
      ScalarArg("u32", "last"),
      ScalarArg("u32", "middle")
    ],
    outputs: { y: cast(value, dtype) }
  })
})

/** 1 where the column is the row plus `diagonal` modulo 2^32, else 0. */
export const diagonal = memoized("diagonal", (dtype) => {
  const columns = scalar("u32", "columns")
  const shift = scalar("u32", "diagonal")
  const row = Expr.floorDivide(Expr.index, columns)
  const column = Expr.subtract(Expr.index, Expr.multiply(row, columns))
  return GeneratedElementwise.generate({
    name: "array_eye",
    args: [output(dtype), ScalarArg("u32", "columns"), ScalarArg("u32", "diagonal")],
    outputs: { y: Expr.astype(Expr.equal(column, Expr.add(row, shift)), dtype) }
  })
})
