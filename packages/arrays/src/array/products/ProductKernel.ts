/**
 * Kernels for products: one for each language and structure, whatever the lengths, offsets and strides, which are its
 * arguments.
 *
 * @internal
 */
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import type { DType } from "effect-gpu-pool/DType"
import * as Kernel from "effect-gpu-pool/Kernel"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import { bitsOf, isInteger, isLong, isUnsigned } from "effect-gpu-pool/Operation"
import { fourOf, hasFour } from "../../kernels/expression/Fours.ts"
import { dtypesOf, usedIn } from "../../kernels/expression/Inspection.ts"
import type { Plan } from "../fusion/Plan.ts"
import * as PlanExpressions from "../fusion/PlanExpressions.ts"
import * as PlanKernels from "../fusion/PlanKernels.ts"
import * as Layout from "../layout/Layout.ts"
import * as Shape from "../layout/Shape.ts"
import { Memo } from "../Memo.ts"
import * as Blocks from "./Blocks.ts"
import { hostBody } from "./HostBody.ts"
import { matrices, type MatrixProduct } from "./MatrixProduct.ts"
import { type Axes, scalarBody, type Tile, type Types } from "./TileBody.ts"
import * as Tiles from "./Tiles.ts"
import * as VectorBody from "./VectorBody.ts"

/** A kernel with its arguments, apart from the memory: the vectors `a`, `b` and `y`. */
export interface Bound {
  readonly kernel: Kernel.Kernel
  readonly args: Record<string, number>
  /** How many items to dispatch. */
  readonly count: number
}

/**
 * The element types of a product. Sums of less than 32 bits are kept in 32. Those of truth values count: they are 0 where
 * the result is false.
 */
const typesOf = ({ a, b, dtype }: MatrixProduct): Types => ({ a: a.dtype, b: b.dtype, y: dtype, sum: sumOf(dtype) })

const sumOf = (dtype: DType): DType => {
  if (dtype === "bool") return "u32"
  if (!isInteger(dtype) || bitsOf(dtype) >= 32) return dtype === "f16" ? "f32" : dtype
  return isUnsigned(dtype) ? "u32" : "i32"
}

/** The kernel for a product that has something to compute. */
export const bind = (plan: Plan, product: MatrixProduct, { isCpu = false, traits }: DeviceInfo): Bound => {
  const { bodies, eights, fours } = traits.language
  if (bodies === "ranges" && hasBlocks(product)) return bindBlocks(plan, product)
  const byRows = byLastAxis(product)
  return eights !== undefined && isWide(byRows)
    ? bindTiles(plan, byRows, isCpu, 8)
    : bindTiles(plan, product, isCpu, fours !== undefined && isInFours(product) ? 4 : 1)
}

/** Blocks are copied to arrays of doubles or of integers of 32 bits, and stored as they are. */
const hasBlocks = ({ dtype }: MatrixProduct): boolean => !isLong(dtype) && dtype !== "bool"

/** Whether the second operand can be read sixteen columns at a time. */
const isWide = ({ b, columns }: MatrixProduct): boolean =>
  columns.length === 1 && b.lines[0] === 1 && columns[0]! >= VectorBody.columns

/**
 * Whether the second operand can be read as elements of four numbers: rows of them, each of which begins where an element
 * can, in every buffer. lavapipe takes four fifths of the time so.
 */
const isInFours = ({ b, columns }: MatrixProduct): boolean =>
  hasFour(b.dtype) && columns.length === 1 && b.lines[0] === 1 &&
  [b.offset, ...columns, ...b.depth, ...b.batch].every((length) => length % 4 === 0)

/** The same product with the columns of the last axis alone, and those of the others in the batch. */
const byLastAxis = (product: MatrixProduct): MatrixProduct => {
  const { a, b, batch, columns, y } = product
  const last = columns.length - 1
  const moved = columns.slice(0, last)
  const steps = Layout.rowMajor(columns)
  return {
    ...product,
    columns: columns.slice(last),
    batch: [...batch, ...moved],
    a: { ...a, batch: [...a.batch, ...moved.map(() => 0)] },
    b: { ...b, lines: b.lines.slice(last), batch: [...b.batch, ...b.lines.slice(0, last)] },
    y: { ...y, batch: [...y.batch, ...steps.slice(0, last)] }
  }
}

/** How many elements of the second operand are read at a time. */
type Width = 1 | 4 | 8

const bindTiles = (plan: Plan, product: MatrixProduct, isCpu: boolean, width: Width): Bound => {
  const runner = { isCpu, vectors: width === 8 }
  const { group, groups, groupsAcross, tile } = Tiles.divide(product.rows, Shape.size(product.columns), runner)
  const how = `${tile.rows}x${tile.columns} by ${width}`
  const form = forms.get(keyOf(how, product), () => ({
    types: typesOf(product),
    axes: axesOf(product),
    scalars: [...Object.keys(scalarsOf(product)), "groupRows", "groupColumns", "groupsAcross", "groups"],
    tile,
    width
  }))
  return {
    kernel: kernelOf(plan, form),
    args: { ...scalarsOf(product), groupRows: group.rows, groupColumns: group.columns, groupsAcross, groups },
    count: matrices(product) * groups * group.rows * group.columns
  }
}

const bindBlocks = (plan: Plan, product: MatrixProduct): Bound => {
  const [columns, depth] = [Shape.size(product.columns), Shape.size(product.depth)]
  const { blockColumns, blockItems, blockRows, count } = Blocks.divide(matrices(product), product.rows, columns, depth)
  const form = forms.get(keyOf("blocks", product), () => ({
    types: typesOf(product),
    axes: axesOf(product),
    scalars: [...Object.keys(scalarsOf(product)), "blockRows", "blockColumns", "blockItems"]
  }))
  return {
    kernel: kernelOf(plan, form),
    args: { ...scalarsOf(product), blockRows, blockColumns, blockItems },
    count
  }
}

/** What the source of a product's kernel depends on, besides the operations on its elements: one object for each such form. */
interface Form {
  readonly types: Types
  readonly axes: Axes
  readonly scalars: ReadonlyArray<string>
  /** Left out where the kernel is a function of blocks. */
  readonly tile?: Tile
  readonly width?: Width
}

const forms = new Memo<Form>(256)

/** The cache key of a form. */
const keyOf = (how: string, { a, b, batch, columns, depth }: MatrixProduct): string =>
  `${how}:${a.dtype}:${b.dtype}:${batch.length}:${columns.length}:${depth.length}`

const scalarsOf = ({ a, b, batch, columns, depth, rows, y }: MatrixProduct): Record<string, number> => {
  const scalars: Record<string, number> = {
    rows,
    columns: Shape.size(columns),
    aOffset: a.offset,
    aRow: modulo(a.lines[0]!),
    bOffset: b.offset,
    yRow: modulo(y.row)
  }
  for (let axis = 0; axis < batch.length; axis++) {
    if (axis > 0) scalars[`length${axis}`] = batch[axis]!
    scalars[`aBatch${axis}`] = modulo(a.batch[axis]!)
    scalars[`bBatch${axis}`] = modulo(b.batch[axis]!)
    scalars[`yBatch${axis}`] = modulo(y.batch[axis]!)
  }
  for (let axis = 0; axis < columns.length; axis++) {
    if (axis > 0) scalars[`across${axis}`] = columns[axis]!
    scalars[`bColumn${axis}`] = modulo(b.lines[axis]!)
  }
  for (let axis = 0; axis < depth.length; axis++) {
    scalars[`depth${axis}`] = depth[axis]!
    scalars[`aDepth${axis}`] = modulo(a.depth[axis]!)
    scalars[`bDepth${axis}`] = modulo(b.depth[axis]!)
  }
  return scalars
}

const axesOf = ({ batch, columns, depth }: MatrixProduct): Axes => ({
  batch: batch.length,
  columns: columns.length,
  depth: depth.length
})

/** Strides as arguments: indices are computed modulo 2^32, in which strides may be negative. */
const modulo = (stride: number): number => stride >>> 0

const operands = ({ a, b }: Types, width: Width | undefined): ReadonlyArray<VectorArg> => [
  VectorArg(a, "a", { access: "read" }),
  VectorArg(width === 4 && hasFour(b) ? fourOf(b) : b, "b", { access: "read" })
]

const kernelOf = PlanKernels.make(1024, (planned: PlanKernels.Planned, form: Form): Kernel.Kernel => {
  const { axes, scalars, tile, types, width } = form
  const names = planned.expressions.map((_, index) => PlanExpressions.resultName(index))
  const args = [
    ...operands(types, width),
    ...planned.args,
    ...planned.expressions.map(({ type }, index) => VectorArg(type, names[index]!, { access: "write" })),
    ...scalars.map((scalar) => ScalarArg("u32", scalar))
  ]
  const { expressions, name } = planned
  if (tile === undefined) {
    const body = hostBody(types, axes, names[0]!)
    return Kernel.define({ name, args, body: {} }, () => ({ preamble: "", body }))
  }
  const options = { name, args, workgroupSize: Tiles.itemsOfGroup, body: {}, dtypes: dtypesOf(expressions) }
  return Kernel.define(options, (writer) => {
    const { eights, fours } = writer.language
    const results = { product: PlanExpressions.productName, expressions, names }
    const inside = width === 8 && eights !== undefined
      ? VectorBody.vectorBody(writer, eights, tile.rows, types, axes, results)
      : scalarBody(writer, width === 4 ? fours : undefined, tile, types, axes, results)
    return { preamble: writer.preamble(usedIn(expressions)), body: writer.body({ name, args, before: [], inside }) }
  })
})
