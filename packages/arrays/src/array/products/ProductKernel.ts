/**
 * Kernels for products: one for each language and structure, whatever the lengths, offsets and strides, which are its
 * arguments.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import * as Kernel from "effect-gpu-pool/Kernel"
import { type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { Language } from "effect-gpu-pool/Language"
import { bitsOf, isInteger, isLong, isUnsigned } from "effect-gpu-pool/Operation"
import { usedIn } from "../../kernels/expression/Inspection.ts"
import { Memo } from "../Memo.ts"
import * as Blocks from "./Blocks.ts"
import { hostBody } from "./HostBody.ts"
import { matrices, type MatrixProduct } from "./MatrixProduct.ts"
import { scalarBody, type Tile, type Types } from "./TileBody.ts"
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
export const bind = (product: MatrixProduct, { bodies, hasEights }: Language): Bound => {
  if (bodies === "ranges" && hasBlocks(product)) return bindBlocks(product)
  const vectors = hasEights && isWide(product)
  return bindTiles(product, tileOf(product, vectors), vectors)
}

/** Blocks are copied to arrays of doubles or of integers of 32 bits, and stored as they are. */
const hasBlocks = ({ dtype }: MatrixProduct): boolean => !isLong(dtype) && dtype !== "bool"

/** Whether the second operand can be read sixteen columns at a time. */
const isWide = ({ b, columns }: MatrixProduct): boolean => b.column === 1 && columns >= VectorBody.columns

/**
 * A larger tile needs fewer loads. But drivers take long to compile large tiles, and a small result has too few of them
 * for a device with many cores.
 */
const largeResult = 2 ** 18

const isLarge = ({ columns, rows }: MatrixProduct): boolean =>
  rows * columns >= largeResult && rows >= itemsOfGroup && columns >= itemsOfGroup

const tileOf = (product: MatrixProduct, vectors: boolean): Tile => {
  const length = isLarge(product) ? 8 : 4
  return {
    rows: product.rows === 1 ? 1 : vectors ? 4 : length,
    columns: vectors ? VectorBody.columns : product.columns === 1 ? 1 : length
  }
}

/** Items whose tiles make a block of the result: a workgroup's. */
const itemsOfGroup = 64

/** The workgroup's block, as square as the tiles allow. */
const groupOf = (down: number, across: number): Tile => {
  const rows = Math.min(Math.floor(itemsOfGroup / Math.min(across, 8)), down)
  return { rows, columns: Math.min(Math.floor(itemsOfGroup / rows), across) }
}

const bindTiles = (product: MatrixProduct, tile: Tile, vectors: boolean): Bound => {
  const group = groupOf(Math.ceil(product.rows / tile.rows), Math.ceil(product.columns / tile.columns))
  const groupsAcross = Math.ceil(product.columns / (tile.columns * group.columns))
  const groups = groupsAcross * Math.ceil(product.rows / (tile.rows * group.rows))
  const how = `${tile.rows}x${tile.columns}${vectors ? " vectors" : ""}`
  return {
    kernel: kernels.get(keyOf(how, product), () => tileKernel(product, tile, vectors)),
    args: { ...scalarsOf(product), groupRows: group.rows, groupColumns: group.columns, groupsAcross, groups },
    count: matrices(product) * groups * group.rows * group.columns
  }
}

const bindBlocks = (product: MatrixProduct): Bound => {
  const { columns, depth, rows } = product
  const { blockColumns, blockItems, blockRows, count } = Blocks.divide(matrices(product), rows, columns, depth)
  return {
    kernel: kernels.get(keyOf("blocks", product), () => blockKernel(product)),
    args: { ...scalarsOf(product), blockRows, blockColumns, blockItems },
    count
  }
}

const kernels = new Memo<Kernel.Kernel>(256)

/** The cache key: everything that the source depends on. */
const keyOf = (how: string, { a, b, batch }: MatrixProduct): string => `${how}:${a.dtype}:${b.dtype}:${batch.length}`

const scalarsOf = ({ a, b, batch, columns, depth, rows }: MatrixProduct): Record<string, number> => {
  const scalars: Record<string, number> = {
    rows,
    columns,
    depth,
    aOffset: a.offset,
    aRow: modulo(a.row),
    aColumn: modulo(a.column),
    bOffset: b.offset,
    bRow: modulo(b.row),
    bColumn: modulo(b.column)
  }
  for (let axis = 0; axis < batch.length; axis++) {
    if (axis > 0) scalars[`length${axis}`] = batch[axis]!
    scalars[`aBatch${axis}`] = modulo(a.batch[axis]!)
    scalars[`bBatch${axis}`] = modulo(b.batch[axis]!)
  }
  return scalars
}

/** Strides as arguments: indices are computed modulo 2^32, in which strides may be negative. */
const modulo = (stride: number): number => stride >>> 0

const argumentsOf = (types: Types, scalars: ReadonlyArray<string>): ReadonlyArray<NumericArgument> => [
  VectorArg(types.a, "a", { access: "read" }),
  VectorArg(types.b, "b", { access: "read" }),
  VectorArg(types.y, "y", { access: "write" }),
  ...scalars.map((name) => ScalarArg("u32", name))
]

const name = "matmul"

const tileKernel = (product: MatrixProduct, tile: Tile, vectors: boolean): Kernel.Kernel => {
  const types = typesOf(product)
  const axes = product.batch.length
  const scalars = [...Object.keys(scalarsOf(product)), "groupRows", "groupColumns", "groupsAcross", "groups"]
  const args = argumentsOf(types, scalars)
  return Kernel.define({ name, args, workgroupSize: itemsOfGroup, body: {} }, (writer) => {
    const { eights } = writer
    const inside = vectors && eights !== undefined
      ? VectorBody.vectorBody(writer, eights, tile.rows, types, axes)
      : scalarBody(writer, tile, types, axes)
    return { preamble: writer.preamble(usedIn([])), body: writer.body({ name, args, before: [], inside }) }
  })
}

const blockKernel = (product: MatrixProduct): Kernel.Kernel => {
  const scalars = [...Object.keys(scalarsOf(product)), "blockRows", "blockColumns", "blockItems"]
  const types = typesOf(product)
  const body = hostBody(types, product.batch.length)
  return Kernel.define({ name, args: argumentsOf(types, scalars), body: {} }, () => ({ preamble: "", body }))
}
