/**
 * The body of a product's kernel where the rows of the second operand and of the result are contiguous, in a language
 * with vectors: sixteen columns at a time, as two vectors of eight.
 *
 * @internal
 */
import type { Eights, LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type { Indices } from "./Indices.ts"
import { alongDepth, type Axes, onLine, onTile, resultRow, rowStarts, type Types, upTo } from "./TileBody.ts"

/** Columns of a tile; the result must have as many. */
export const columns = 16

/**
 * Statements for a tile with that many rows. The last tile of a row begins earlier, so that it is whole, and only stores
 * the columns that no other tile stores.
 */
export const vectorBody = (
  writer: LanguageWriter,
  eights: Eights,
  rows: number,
  types: Types,
  axes: Axes
): ReadonlyArray<string> =>
  onTile(writer, { rows, columns }, axes, (at, place) => {
    const { begin, row } = place
    const a = rowStarts(at, rows, place)
    const first = at.minimum(place.column, at.subtract(place.columns, at.constant(columns)))
    const start = at.add(begin.b, first)
    const moved = { a: at.fresh(), b: at.fresh() }
    const zero = (): string => {
      const name = at.fresh()
      at.lines.push(eights.zero(name, types.sum))
      return name
    }
    const sums = upTo(rows).map(() => ({ low: zero(), high: zero() }))
    const round = at.within()
    const load = (index: string): string => {
      const name = round.fresh()
      round.lines.push(eights.load(name, "b", index, types.b, types.sum))
      return name
    }
    const [low, high] = [load(moved.b), load(round.plus(moved.b, 8))]
    for (const [r, sum] of sums.entries()) {
      const x = round.fresh()
      const index = round.add(a[r]!, moved.a)
      round.lines.push(
        eights.one(x, "a", index, types.a, types.sum),
        eights.addProduct(sum.low, x, low),
        eights.addProduct(sum.high, x, high)
      )
    }
    alongDepth(at, axes.depth, round, moved, { a: at.constant(0), b: start })
    const eachRow = (store: (at: Indices, sum: { low: string; high: string }, start: string) => void): Indices => {
      const within = at.within()
      for (const [r, sum] of sums.entries()) {
        onLine(within, row, r, place.rows, (at) => store(at, sum, resultRow(at, place, r, first)))
      }
      return within
    }
    const whole = eachRow((at, sum, start) => {
      const second = at.plus(start, 8)
      at.lines.push(
        eights.store(sum.low, "y", start, types.sum, types.y),
        eights.store(sum.high, "y", second, types.sum, types.y)
      )
    })
    const part = eachRow((at, { high, low }, start) => {
      const skipped = at.subtract(place.column, first)
      at.lines.push(...eights.storeRest([low, high], skipped, "y", start, types.sum, types.y))
    })
    at.lines.push(...writer.when(at.compare("equal", first, place.column), whole.lines, part.lines))
  })
