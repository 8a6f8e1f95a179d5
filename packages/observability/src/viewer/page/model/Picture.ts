/**
 * What a view of a run shows: for each column of pixels the moment at which the leases had the most bytes, so that no peak is lost
 * however many events a column stands for. The time that this takes depends on the number of columns, and hardly on that of events.
 *
 * @internal
 */
import { above, notBelow } from "../../../Bisection.ts"
import { type Axis, type Run, statesPerMark } from "./Run.ts"
import { apart, type Stack, type Totals } from "./Stack.ts"

export interface View {
  readonly axis: Axis
  readonly from: number
  readonly to: number
}

/** Columns of the picture, without those that look like the one before. */
export interface Picture {
  /** Where each column begins on the axis. */
  readonly x: ReadonlyArray<number>
  /** The state that each column shows. */
  readonly states: ReadonlyArray<number>
  /** For each group and column, the bytes of it and of the groups before it. */
  readonly tops: ReadonlyArray<Float64Array>
  /** The bytes of all groups plus what blocks have beyond their leases; then plus held blocks. */
  readonly leased: Float64Array
  readonly stacked: Float64Array
  /** The fewest bytes of leases in each column. */
  readonly least: Float64Array
  /** The most bytes of blocks in each column. */
  readonly managed: Float64Array
  readonly limit: ReadonlyArray<number | null>
  readonly waiting: Float64Array
  /** How many values were read to make it. */
  readonly looks: number
}

/**
 * Where a column begins, and its first and last state. Where marks of the axis are much closer together than columns, columns begin at
 * marks: then no state between marks is read, and columns are off by an eighth of their width at most.
 */
export const rangeOf = (run: Run, { axis, from, to }: View, columns: number, column: number) => {
  const positions = run.positions(axis)
  const marks = run.marks(axis)
  const width = (to - from) / columns
  /** The state of the mark at a place; undefined where marks are too far apart, and at the ends of the view. */
  const markAt = (edge: number): number | undefined => {
    if (edge === 0 || edge === columns) return undefined
    const mark = above(marks, from + edge * width) - 1
    return marks[mark + 1]! - marks[mark]! < width / 8 ? mark * statesPerMark : undefined
  }
  const left = from + column * width
  const first = markAt(column) ?? Math.max(0, above(positions, left) - 1)
  // as the next column has its left, so that no state is between them
  const end = markAt(column + 1) ?? notBelow(positions, from + (column + 1) * width)
  return { left, first, last: Math.max(first, end - 1) }
}

/** The picture with this many columns: `all` of them, or without those that look like the one before. */
export const pictureOf = (stack: Stack, totals: Totals, view: View, columns: number, all = false): Picture => {
  const groups = stack.grouping.names.length
  const bytes = new Float64Array(groups)
  const waits = stack.run.waitChanges.of.length > 0
  const width = (view.to - view.from) / columns
  const peaks = [stack.greatest, stack.least, totals.mostManaged, totals.mostWaiting]
  for (const of of peaks) of.looks = 0
  const x: Array<number> = []
  const states: Array<number> = []
  const series = Array.from({ length: groups + 6 }, () => new Float64Array(columns))
  const values = new Float64Array(groups + 6)
  for (let column = 0; column < columns; column++) {
    const { first, last, left } = rangeOf(stack.run, view, columns, column)
    const state = stack.greatest.between(first, last)
    stack.read(state, bytes)
    let top = 0
    for (let group = 0; group < groups; group++) values[group] = top += Math.max(0, bytes[group]!)
    const slack = Math.max(0, totals.leased[state]! - stack.active[state]!)
    values[groups] = top + slack
    values[groups + 1] = Math.max(top + slack, totals.managed[state]!)
    values[groups + 2] = stack.active[stack.least.between(first, last)]!
    values[groups + 3] = totals.managed[totals.mostManaged.between(first, last)]!
    values[groups + 4] = totals.limit[last]!
    values[groups + 5] = waits ? totals.waiting[totals.mostWaiting.between(first, last)]! : 0
    if (!stack.run.knows(view.axis, left, left + width)) values.fill(0).fill(Infinity, groups + 4, groups + 5)
    const place = x.length
    if (!all && place > 0 && series.every((of, at) => of[place - 1] === values[at])) continue
    x.push(left)
    states.push(state)
    for (let at = 0; at < values.length; at++) series[at]![place] = values[at]!
  }
  const tops = series.map((of) => of.subarray(0, x.length))
  const [leased, stacked, least, managed, limit, waiting] = tops.splice(groups)
  return {
    x,
    states,
    tops,
    leased: leased!,
    stacked: stacked!,
    least: least!,
    managed: managed!,
    limit: Array.from(limit!, (bytes) => bytes === Infinity ? null : bytes),
    waiting: waiting!,
    looks: peaks.reduce((sum, of) => sum + of.looks, 0) + apart * columns
  }
}
