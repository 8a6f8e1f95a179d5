/**
 * What of a run is seen between two places of the axis: for each column of the picture one moment, that at which the leases had
 * the most bytes, so that no peak is lost however many events a column stands for. The time that this takes depends on the
 * columns, and hardly on the events.
 *
 * @internal
 */
import { above, type Axis, notBelow } from "./Run.ts"
import { apart, type Stack, type Totals } from "./Stack.ts"

export interface View {
  readonly axis: Axis
  readonly from: number
  readonly to: number
}

/** Columns of the picture; where one looks as the one before, it is left out. */
export interface Picture {
  /** Where each column begins on the axis. */
  readonly x: ReadonlyArray<number>
  /** The state that each column shows. */
  readonly states: ReadonlyArray<number>
  /** For each group and column, the bytes of it and of the groups before it. */
  readonly tops: ReadonlyArray<ReadonlyArray<number>>
  /** With what blocks have beyond their leases; and with held blocks. */
  readonly leased: ReadonlyArray<number>
  readonly stacked: ReadonlyArray<number>
  /** The fewest bytes of leases in each column. */
  readonly least: ReadonlyArray<number>
  /** The most bytes of blocks in each column. */
  readonly managed: ReadonlyArray<number>
  readonly limit: ReadonlyArray<number | null>
  readonly waiting: ReadonlyArray<number>
  /** How many values were looked at for it. */
  readonly looks: number
}

/** Where a column begins, and its first and last state. */
export const rangeOf = (positions: Float64Array, { from, to }: View, columns: number, column: number) => {
  const width = (to - from) / columns
  const left = from + column * width
  const first = Math.max(0, above(positions, left) - 1)
  // as the next column has its left, so that no state is between them
  const right = from + (column + 1) * width
  return { left, first, last: Math.max(first, notBelow(positions, right) - 1) }
}

const sameAt = (series: ReadonlyArray<ReadonlyArray<number | null>>, values: ReadonlyArray<number | null>): boolean => {
  const last = series[0]!.length - 1
  return last >= 0 && series.every((of, at) => of[last] === values[at])
}

/** The picture of so many columns; `all` of them, or without those that look as the one before. */
export const pictureOf = (stack: Stack, totals: Totals, view: View, columns: number, all = false): Picture => {
  const positions = stack.run.positions(view.axis)
  const groups = stack.grouping.names.length
  const bytes = new Float64Array(groups)
  const waits = stack.run.waitChanges.of.length > 0
  const peaks = [stack.greatest, stack.least, totals.mostManaged, totals.mostWaiting]
  for (const of of peaks) of.looks = 0
  const x: Array<number> = []
  const states: Array<number> = []
  const series: Array<Array<number | null>> = Array.from({ length: groups + 6 }, () => [])
  for (let column = 0; column < columns; column++) {
    const { first, last, left } = rangeOf(positions, view, columns, column)
    const state = stack.greatest.between(first, last)
    stack.read(state, bytes)
    const values: Array<number | null> = []
    let top = 0
    for (const of of bytes) values.push(top += Math.max(0, of))
    const slack = Math.max(0, totals.leased[state]! - stack.active[state]!)
    const limit = totals.limit[last]!
    values.push(
      top + slack,
      Math.max(top + slack, totals.managed[state]!),
      stack.active[stack.least.between(first, last)]!,
      totals.managed[totals.mostManaged.between(first, last)]!,
      limit === Infinity ? null : limit,
      waits ? totals.waiting[totals.mostWaiting.between(first, last)]! : 0
    )
    if (!all && sameAt(series, values)) continue
    x.push(left)
    states.push(state)
    values.forEach((value, at) => series[at]!.push(value))
  }
  const [leased, stacked, least, managed, limit, waiting] = series.slice(groups) as Array<Array<number>>
  const looks = peaks.reduce((sum, of) => sum + of.looks, 0) + apart * columns
  return {
    x,
    states,
    tops: series.slice(0, groups) as Array<Array<number>>,
    leased: leased!,
    stacked: stacked!,
    least: least!,
    managed: managed!,
    limit: limit!,
    waiting: waiting!,
    looks
  }
}
