/**
 * Computes products: by a kernel into memory of their own, those of complex numbers by four kernels.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import type * as Expr from "../../kernels/Expr.ts"
import * as Operations from "../../kernels/expression/Operations.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import type { ArrayOperation } from "../elementwise/ArrayOperation.ts"
import * as FreshArray from "../FreshArray.ts"
import { apply, applyProduct, type ArrayServices, type Computed, evaluateAll } from "../fusion/Evaluation.ts"
import * as Promotion from "../layout/Promotion.ts"
import * as Shape from "../layout/Shape.ts"
import { scoped } from "../Regions.ts"
import type { MatrixProduct, Operand } from "./MatrixProduct.ts"

/** A pattern of one byte fits buffers of every size, also those of an odd number of 2-byte elements. */
const zero = Uint8Array.of(0)

/** The result of a product: recorded inside `DeviceArray.lazy`, else in memory. Recorded operands are computed first. */
export const compute = (name: string, product: MatrixProduct): Computed => {
  const { a, b, depth, dtype, shape } = product
  if (dtype === "c64") return complexProduct(name, product)
  return Effect.andThen(
    evaluateAll([a.array, b.array]),
    Shape.size(depth) === 0
      ? FreshArray.make(`DeviceArray.${name}`, dtype, shape, (y, queue) => queue.fill(y, zero))
      : applyProduct(operationOf(name), product)
  )
}

const operations = new Map<string, ArrayOperation>()

/** A product among operations on elements: one object for each name. */
const operationOf = (name: string): ArrayOperation => {
  let operation = operations.get(name)
  if (operation === undefined) operations.set(name, operation = { name, build: ([element]) => element! })
  return operation
}

/** Four products of real matrices: the parts of complex ones are views of their memory. */
const complexProduct = (name: string, product: MatrixProduct): Computed =>
  scoped(Effect.flatMap(
    Effect.andThen(evaluateAll([product.a.array, product.b.array]), () => {
      const [a, b] = [partsOf(product.a), partsOf(product.b)]
      const ofParts = (
        x: Operand | undefined,
        y: Operand | undefined
      ): Effect.Effect<DeviceArray | number, GpuError, ArrayServices> =>
        x === undefined || y === undefined
          ? Effect.succeed(0)
          : compute(name, { ...product, dtype: Promotion.promote(x.dtype, y.dtype), a: x, b: y })
      return Effect.all([
        ofParts(a.real, b.real),
        ofParts(a.imaginary, b.imaginary),
        ofParts(a.real, b.imaginary),
        ofParts(a.imaginary, b.real)
      ])
    }),
    (products) => apply(combination, products, parts, "c64", product.shape)
  ))

const twice = (strides: ReadonlyArray<number>): ReadonlyArray<number> => strides.map((stride) => 2 * stride)

/** The parts of an operand; real numbers have no imaginary one. */
const partsOf = (operand: Operand): { readonly real: Operand; readonly imaginary?: Operand } => {
  if (operand.dtype !== "c64") return { real: operand }
  const real: Operand = {
    ...operand,
    dtype: "f32",
    offset: 2 * operand.offset,
    lines: twice(operand.lines),
    depth: twice(operand.depth),
    batch: twice(operand.batch)
  }
  return { real, imaginary: { ...real, offset: real.offset + 1 } }
}

const parts = ["f32", "f32", "f32", "f32"] as const

const combination: ArrayOperation = {
  name: "complexProduct",
  build: ([reals, imaginaries, upper, lower]) =>
    Operations.apply("complex", [
      Operations.apply("subtract", [reals!, imaginaries!]),
      Operations.apply("add", [upper!, lower!])
    ]) as Expr.Expr<DType>
}
