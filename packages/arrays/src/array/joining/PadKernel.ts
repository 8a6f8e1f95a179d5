/**
 * Kernels that read an array beyond its ends: one for each structure, whatever the lengths, offsets and strides.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import * as GeneratedElementwise from "../../kernels/GeneratedElementwise.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import * as Indexing from "../fusion/Indexing.ts"
import type { Shape } from "../layout/Shape.ts"
import { Memo } from "../Memo.ts"

/** What an array is continued with. */
export type Extension = "edge" | "reflect" | "symmetric" | "wrap"

/** How an axis is read: only inside, its last elements again and again, or forwards and backwards with a period. */
type Reading = "inside" | "held" | "periodic"

/** The arguments of an axis, by name. */
type Numbers = Readonly<Record<string, number>>

const readingOf = (mode: Extension, before: number, after: number): Reading =>
  before + after === 0 ? "inside" : mode === "edge" ? "held" : "periodic"

/**
 * An element of the result is `shift` elements further in a pattern that begins at the first element, and repeats after `period`
 * elements; the pattern counts up, and if it turns then down again, since `last` minus its position is the smaller number.
 */
const pattern = (mode: Extension, before: number, length: number): Numbers => {
  const period = mode === "wrap" ? length : mode === "symmetric" ? 2 * length : Math.max(1, 2 * length - 2)
  const last = mode === "wrap" ? 0xffffffff : mode === "symmetric" ? period - 1 : 2 * length - 2
  return { shift: Math.ceil(before / period) * period - before, period, last }
}

const numbersOf = (reading: Reading, mode: Extension, before: number, length: number): Numbers =>
  reading === "inside" ? {} : reading === "held" ? { before, last: length - 1 } : pattern(mode, before, length)

const kernels = new Memo<Kernel>(256)

/** The kernel and its arguments, apart from the output, which is the vector `y`. Axes that are continued have elements. */
export const bind = (
  array: DeviceArray,
  borders: ReadonlyArray<readonly [number, number]>,
  shape: Shape,
  mode: Extension
): { readonly kernel: Kernel; readonly args: Readonly<Record<string, PooledBuffer | number>> } => {
  const readings = borders.map(([before, after]) => readingOf(mode, before, after))
  const args: Record<string, PooledBuffer | number> = { x: array.lease!, x_offset: array.offset }
  for (let axis = 0; axis < shape.length; axis++) {
    if (axis > 0) args[`d${axis}`] = shape[axis]!
    args[`x${axis}`] = array.strides[axis]! >>> 0
    const numbers = numbersOf(readings[axis]!, mode, borders[axis]![0], array.shape[axis]!)
    for (const name of Object.keys(numbers)) args[`${name}${axis}`] = numbers[name]!
  }
  return { kernel: kernels.get([array.dtype, ...readings].join(), () => generate(array, readings)), args }
}

const generate = ({ dtype }: DeviceArray, readings: ReadonlyArray<Reading>): Kernel => {
  const args: Array<NumericArgument> = [
    VectorArg(dtype, "x", { access: "read" }),
    VectorArg(dtype, "y", { access: "write" })
  ]
  const scalar = (name: string): Expr.Expr<"u32"> => {
    args.push(ScalarArg("u32", name))
    return Expression.scalar("u32", name)
  }
  const coordinates = Indexing.coordinates(
    Expr.index,
    // The kernel does not divide by the first length.
    readings.map((_, axis) => axis === 0 ? Expr.index : scalar(`d${axis}`))
  )
  const places = coordinates.map((coordinate, axis) =>
    placeOf(readings[axis]!, coordinate, (name) => scalar(`${name}${axis}`))
  )
  const index = Indexing.stridedIndex(scalar("x_offset"), places, readings.map((_, axis) => scalar(`x${axis}`)))
  return GeneratedElementwise.generate({
    name: "array_pad",
    args,
    outputs: { y: Expression.make(dtype, { _tag: "Element", vector: "x", dtype, at: { _tag: "Inside", index } }) }
  })
}

/** Where an element of the result comes from on its axis. */
const placeOf = (
  reading: Reading,
  coordinate: Expr.Expr<"u32">,
  scalar: (name: string) => Expr.Expr<"u32">
): Expr.Expr<"u32"> => {
  if (reading === "inside") return coordinate
  if (reading === "held") {
    const before = scalar("before")
    return Expr.minimum(Expr.subtract(Expr.maximum(coordinate, before), before), scalar("last"))
  }
  const shifted = Expr.add(coordinate, scalar("shift"))
  const period = scalar("period")
  const rounds = Expression.make("u32", { _tag: "Quotient", operands: [shifted, period] })
  const place = Expr.subtract(shifted, Expr.multiply(rounds, period))
  return Expr.minimum(place, Expr.subtract(scalar("last"), place))
}
