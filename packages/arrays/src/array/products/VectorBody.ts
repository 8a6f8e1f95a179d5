/**
 * The body of a product's kernel where the rows of the second operand and of the result are contiguous, in a language
 * with vectors: sixteen columns at a time, as two vectors of eight.
 *
 * @internal
 */
import type { Eights } from "effect-gpu-pool/Language"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type { Indices } from "./Indices.ts"
import {
  alongDepth,
  type Axes,
  onTile,
  type Place,
  type Results,
  rowStarts,
  storeOne,
  turn,
  type Types,
  upTo
} from "./TileBody.ts"

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
  axes: Axes,
  results: Results
): ReadonlyArray<string> =>
  onTile(writer, { rows, columns }, axes, (at, place) => {
    const { begin } = place
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
    const each = (): ReadonlyArray<string> =>
      eights.each(sums.flatMap(({ high, low }) => [low, high]), types.sum, {
        ...turn,
        lines: storeOne(at, { rows, columns }, types, place, results, first)
      })
    at.lines.push(
      ...isPlain(results) ? plainly(at, eights, types, place, sums, first, results.names[0]!, each()) : each()
    )
  })

/** Whether the elements of the product are stored as they are. */
const isPlain = ({ expressions: [only, ...others] }: Results): boolean =>
  only?.node._tag === "Variable" && others.length === 0

interface Sums {
  readonly low: string
  readonly high: string
}

/** Stores a tile that is whole in its own place as eights, any other as `each` says. */
const plainly = (
  at: Indices,
  eights: Eights,
  types: Types,
  { begin, column, row, rows }: Place,
  sums: ReadonlyArray<Sums>,
  first: string,
  name: string,
  each: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const isWhole = at.apply("logicalAnd", [
    at.compare("equal", first, column),
    at.apply("logicalNot", [at.compare("less", rows, at.plus(row, sums.length))], "bool")
  ], "bool")
  const whole = at.within()
  const step = whole.scalar("yRow")
  for (const [line, { high, low }] of sums.entries()) {
    const start = whole.add(whole.add(begin.y, whole.multiply(whole.plus(row, line), step)), first)
    const second = whole.plus(start, 8)
    whole.lines.push(
      eights.store(low, name, start, types.sum, types.y),
      eights.store(high, name, second, types.sum, types.y)
    )
  }
  return at.writer.when(isWhole, whole.lines, each)
}
