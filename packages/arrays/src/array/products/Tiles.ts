/**
 * How a matrix is divided into tiles, each of them computed by an item, and these into blocks, each of them a workgroup's.
 * Each sum is over the depth in order, so the division only affects speed.
 *
 * @internal
 */
import type { Tile } from "./TileBody.ts"
import * as VectorBody from "./VectorBody.ts"

export interface Tiles {
  readonly tile: Tile
  /** The tiles of a block. */
  readonly group: Tile
  /** The blocks of a row of blocks, and of the matrix. */
  readonly groupsAcross: number
  readonly groups: number
}

/** What runs the items: whether the device says that it is a CPU, and whether items compute vectors of columns or single numbers. */
export interface Runner {
  readonly isCpu: boolean
  readonly vectors: boolean
}

/** Divides a matrix that has elements. */
export const divide = (rows: number, columns: number, runner: Runner): Tiles => {
  const tile = tileOf(rows, columns, runner)
  const group = groupOf(Math.ceil(rows / tile.rows), Math.ceil(columns / tile.columns))
  const groupsAcross = Math.ceil(columns / (tile.columns * group.columns))
  return { tile, group, groupsAcross, groups: groupsAcross * Math.ceil(rows / (tile.rows * group.rows)) }
}

/** Items of a workgroup. */
export const itemsOfGroup = 64

/**
 * The fewest elements of a result that gets large tiles. These need fewer loads, but make fewer items: a CPU has enough of
 * them with a workgroup or two for each core, a GPU only with many.
 */
const largeResult = { cpu: 2 ** 15, gpu: 2 ** 18 }

const tileOf = (rows: number, columns: number, { isCpu, vectors }: Runner): Tile => {
  const isLarge = rows * columns >= (isCpu ? largeResult.cpu : largeResult.gpu)
  const length = isLarge && Math.min(rows, columns) >= itemsOfGroup ? 8 : 4
  return {
    rows: rows === 1 ? 1 : vectors ? 4 : length,
    columns: vectors ? VectorBody.columns : columns === 1 ? 1 : length
  }
}

/** The workgroup's block, as square as the tiles allow. */
const groupOf = (down: number, across: number): Tile => {
  const rows = Math.min(Math.floor(itemsOfGroup / Math.min(across, 8)), down)
  return { rows, columns: Math.min(Math.floor(itemsOfGroup / rows), across) }
}
