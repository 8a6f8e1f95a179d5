/**
 * Kernels that gather elements by an array of positions: one for each structure, whatever the lengths, offsets and strides.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { DType } from "effect-gpu-pool/DType"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import * as GeneratedElementwise from "../../kernels/GeneratedElementwise.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import * as Indexing from "../fusion/Indexing.ts"
import * as Layout from "../layout/Layout.ts"
import type { Shape } from "../layout/Shape.ts"
import { Memo } from "../Memo.ts"
import { shapeAt } from "./Extent.ts"
import type { Mode } from "./HostIndices.ts"

/** Arrays with memory, and the axis of the first that the positions are on. */
export interface Taking {
  readonly array: DeviceArray
  readonly indices: DeviceArray<"i32" | "u32">
  readonly axis: number
  readonly mode: Mode
}

/** How the kernel goes through both arrays: over as few axes as possible. */
interface Walk {
  readonly lengths: Shape
  readonly array: ReadonlyArray<number>
  readonly indices: ReadonlyArray<number>
}

/** Zero strides, for axes along which an array does not move. */
const still = (axes: number): ReadonlyArray<number> => Array.from({ length: axes }, () => 0)

const walkOf = ({ array, axis, indices }: Taking): Walk => {
  const shape = shapeAt(array, axis, indices.shape)
  const outer = array.strides.slice(0, axis)
  const inner = array.strides.slice(axis + 1)
  const { shape: lengths, strides } = Layout.collapse(shape, [
    [...outer, ...still(indices.shape.length), ...inner],
    [...still(outer.length), ...indices.strides, ...still(inner.length)]
  ])
  return { lengths, array: strides[0]!, indices: strides[1]! }
}

const moves = (strides: ReadonlyArray<number>): string => strides.map((stride) => stride === 0 ? "0" : "s").join("")

const kernels = new Memo<Kernel>(256)

/** The kernel and its arguments, apart from the output, which is the vector `y`. */
export const bind = (
  taking: Taking
): { readonly kernel: Kernel; readonly args: Readonly<Record<string, PooledBuffer | number>> } => {
  const { array, axis, indices, mode } = taking
  const walk = walkOf(taking)
  const key = [array.dtype, indices.dtype, mode, moves(walk.array), moves(walk.indices)].join()
  const args: Record<string, PooledBuffer | number> = {
    x: array.lease!,
    at: indices.lease!,
    x_offset: array.offset,
    at_offset: indices.offset,
    x_stride: array.strides[axis]! >>> 0,
    n: array.shape[axis]!
  }
  for (let of = 0; of < walk.lengths.length; of++) {
    if (of > 0) args[`d${of}`] = walk.lengths[of]!
    if (walk.array[of] !== 0) args[`x${of}`] = walk.array[of]! >>> 0
    if (walk.indices[of] !== 0) args[`at${of}`] = walk.indices[of]! >>> 0
  }
  return { kernel: kernels.get(key, () => generate(taking, walk)), args }
}

const element = <D extends DType>(dtype: D, vector: string, index: Expr.Expr<"u32">): Expr.Expr<D> =>
  Expression.make(dtype, { _tag: "Element", vector, dtype, at: { _tag: "Inside", index } })

const generate = ({ array, indices, mode }: Taking, walk: Walk): Kernel => {
  const args: Array<NumericArgument> = [
    VectorArg(array.dtype, "x", { access: "read" }),
    VectorArg(indices.dtype, "at", { access: "read" }),
    VectorArg(array.dtype, "y", { access: "write" })
  ]
  const scalar = <D extends DType>(dtype: D, name: string): Expr.Expr<D> => {
    args.push(ScalarArg(dtype, name))
    return Expression.make(dtype, { _tag: "Scalar", name })
  }
  const coordinates = Indexing.coordinates(
    Expr.index,
    // The kernel does not divide by the first length.
    walk.lengths.map((_, axis) => axis === 0 ? Expr.index : scalar("u32", `d${axis}`))
  )
  const strides = (name: string, of: ReadonlyArray<number>) =>
    of.map((stride, axis) => stride === 0 ? undefined : scalar("u32", `${name}${axis}`))
  const place = Indexing.stridedIndex(scalar("u32", "at_offset"), coordinates, strides("at", walk.indices))
  const position = inside(element(indices.dtype, "at", place), scalar(indices.dtype, "n"), mode)
  const from = Indexing.stridedIndex(
    scalar("u32", "x_offset"),
    [...coordinates, position],
    [...strides("x", walk.array), scalar("u32", "x_stride")]
  )
  return GeneratedElementwise.generate({
    name: `array_take_${mode}`,
    args,
    outputs: { y: element(array.dtype, "x", from) }
  })
}

/** A position on an axis of `length` elements, at least one. */
export const inside = <D extends "i32" | "u32">(
  index: Expr.Expr<D>,
  length: Expr.Expr<D>,
  mode: Mode
): Expr.Expr<"u32"> => {
  const fromEnd = (position: Expr.Expr<D>): Expr.Expr<D> =>
    Expr.where(Expr.less(position, 0), Expr.add(position, length), position)
  if (mode === "wrap") {
    const rest = Expr.fmod(index, length)
    return Expr.astype(index.type === "i32" ? fromEnd(rest) : rest, "u32")
  }
  const last = Expr.subtract(length, 1)
  return Expr.astype(
    index.type === "i32" ? Expr.clip(fromEnd(index), 0, last) : Expr.minimum(index, last),
    "u32"
  )
}
