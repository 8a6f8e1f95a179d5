/**
 * The elements of one item of a reduction: those of its lane, of all lanes that share a part of a row. The item reads them
 * as four streams, so that it does not wait for one combination before it begins the next, and then those that are left.
 *
 * Where states are combined in the order of their elements, lanes and streams have runs of them. In any order, the streams
 * of a CPU's lane take turns in one run, so that it reads four neighbours at a time, and lanes of a GPU take turns too.
 *
 * @internal
 */
import * as Expr from "../Expr.ts"
import * as Expression from "../expression/Expression.ts"
import { groupItems, type Lanes } from "./Division.ts"
import * as Walk from "./Walk.ts"

type Index = Expr.Expr<"u32">

/** The streams of equal length. */
export const streams = 4

export interface Lane extends Moves {
  /** The row, for the expressions of `map`; an item beyond the last row reads that one, and stores nothing. */
  readonly row: Index
  /** How many elements a stream has. */
  readonly rounds: Index
  /** Where the state of the part is stored. */
  readonly target: Index
  /** How the lanes of a part combine their states; `undefined` for a single one. */
  readonly sharing: Sharing | undefined
}

interface Moves {
  /** Where the first stream begins, and how far the next ones are from it. */
  readonly begin: Index
  readonly apart: Index
  /** How far elements of a stream are apart. */
  readonly advance: Index
  /** The elements that are left. */
  readonly rest: { readonly begin: Index; readonly step: Index; readonly times: Index }
}

/** How the items of a group share its parts: pairs of neighbouring lanes combine their states, then pairs of pairs. */
export interface Sharing {
  readonly steps: number
  /** Whether an item takes the state of another one at the step that the index counts, and the number of that one. */
  readonly takes: Expr.Expr<"bool">
  readonly other: Index
  /** Whether the item has the state of a part at last; the last group may have fewer rows. */
  readonly isLast: Expr.Expr<"bool">
}

/** The name by which bodies of groups know the item's number. */
const localIndex: Index = Expression.make("u32", { _tag: "Variable", name: "local_index" })

const constant = (value: number): Index => Expr.constant("u32", value)

/** Which lanes are made: `interleaved` is the scalar that says whether lanes take turns, which the order may forbid. */
export interface LaneOptions {
  readonly names: Walk.WalkNames
  readonly interleaved: string
  readonly lanes: Lanes
  readonly commutative: boolean
}

/** The lane of an item: of the index, where it has a part alone, or else of a group, which the index counts. */
export const make = (options: LaneOptions): Lane => options.lanes === 1 ? alone(options) : shared(options)

const alone = ({ commutative, names }: LaneOptions): Lane => {
  const { block: row, part } = Walk.placeOf(names, Walk.scalar(names.rows))
  const { begin, size } = Walk.extentOf(names, part)
  const rounds = Walk.quotient(size, constant(streams))
  const inStreams = Expr.multiply(rounds, streams)
  return {
    row,
    begin,
    apart: commutative ? constant(1) : rounds,
    advance: constant(commutative ? streams : 1),
    rounds,
    rest: { begin: Expr.add(begin, inStreams), step: constant(1), times: Expr.subtract(size, inStreams) },
    target: Walk.stateOfPart(names, row, part),
    sharing: undefined
  }
}

const shared = ({ commutative, interleaved, lanes, names }: LaneOptions): Lane => {
  const height = groupItems / lanes
  const rows = Walk.scalar(names.rows)
  const across = Walk.isSet(Walk.scalar(names.across))
  const { block, part } = Walk.placeOf(names, Walk.quotient(Expr.add(rows, height - 1), constant(height)))
  const inRows = (width: number): readonly [above: Index, beside: Index] => {
    const above = Walk.quotient(localIndex, constant(width))
    return [above, Expr.subtract(localIndex, Expr.multiply(above, width))]
  }
  const [[rowAlong, laneAlong], [laneAcross, rowAcross]] = [inRows(lanes), inRows(height)]
  const lane = Expr.where(across, laneAcross, laneAlong)
  const wanted = Walk.multiplyAdd(Expr.where(across, rowAcross, rowAlong), block, constant(height))
  const row = Expr.minimum(wanted, Expr.subtract(rows, 1))
  const { begin, size } = Walk.extentOf(names, part)
  // The rounds are the same for all lanes, since compilers for CPUs work on several items at once where they know that.
  const each = Walk.quotient(size, constant(lanes))
  const more = Expr.subtract(size, Expr.multiply(each, lanes))
  const rounds = Walk.quotient(each, constant(streams))
  const inStreams = Expr.multiply(rounds, streams)
  const own = Expr.add(each, Expr.where(Expr.less(lane, more), constant(1), constant(0)))
  const left = Expr.subtract(own, inStreams)
  const inRuns = (): Moves => {
    const first = Expr.add(begin, Walk.multiplyAdd(Expr.minimum(lane, more), lane, each))
    return {
      begin: first,
      apart: rounds,
      advance: constant(1),
      rest: { begin: Expr.add(first, inStreams), step: constant(1), times: left }
    }
  }
  const inTurns = (): Moves => {
    const turns = Walk.isSet(Walk.scalar(interleaved))
    return {
      begin: Walk.multiplyAdd(begin, lane, Expr.where(turns, constant(1), inStreams)),
      apart: Expr.where(turns, constant(lanes), constant(1)),
      advance: Expr.where(turns, constant(streams * lanes), constant(streams)),
      rest: {
        begin: Walk.multiplyAdd(Expr.add(begin, lane), inStreams, constant(lanes)),
        step: constant(lanes),
        times: left
      }
    }
  }
  const width = Expr.leftShift(constant(1), Walk.position)
  return {
    row,
    ...(commutative ? inTurns() : inRuns()),
    rounds,
    target: Walk.stateOfPart(names, row, part),
    sharing: {
      steps: Math.log2(lanes),
      takes: Expr.equal(Expr.bitwiseAnd(lane, Expr.subtract(Expr.multiply(width, 2), 1)), 0),
      other: Walk.multiplyAdd(localIndex, Expr.where(across, constant(height), constant(1)), width),
      isLast: Expr.logicalAnd(Expr.equal(lane, 0), Expr.less(wanted, rows))
    }
  }
}

/** Every expression of a lane, whose functions the kernel needs. */
export const expressionsOf = ({ rest, sharing, ...lane }: Lane): ReadonlyArray<Expr.Expr> => [
  lane.row,
  lane.begin,
  lane.apart,
  lane.advance,
  lane.rounds,
  rest.begin,
  rest.step,
  rest.times,
  lane.target,
  ...(sharing === undefined ? [] : [sharing.takes, sharing.other, sharing.isLast])
]
