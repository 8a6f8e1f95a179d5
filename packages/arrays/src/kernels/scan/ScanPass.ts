/**
 * The last kernel of a scan at each level: every item scans a chunk of neighbours in a row, beginning with the
 * combination of everything before it in the row.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import * as Expr from "../Expr.ts"
import * as Expression from "../expression/Expression.ts"
import { Statements } from "../expression/Statements.ts"
import { ArgumentNames } from "../reduction/ArgumentNames.ts"
import * as LoopKernel from "../reduction/LoopKernel.ts"
import { type Combine, type Component, gathered, type StateExprs, variableOf } from "../reduction/State.ts"
import * as Walk from "../reduction/Walk.ts"

/** The names of the arguments of a pass, besides those of the program. */
export interface ScanNames extends Walk.WalkNames {
  /** The combination of everything before each chunk; one neutral value where every row is one chunk. */
  readonly before: string
  readonly result: string
  /** How far neighbours of a row are apart in the result. */
  readonly width: string
  /** 1 where an element's own value is left out of its result. */
  readonly exclusive: string
}

export interface ScanPass {
  readonly kernel: Kernel
  readonly names: ScanNames
}

export interface ScanPassOptions {
  readonly name: string
  readonly args: ReadonlyArray<NumericArgument>
  readonly state: Component
  /** The state of an element, given its place in the result. */
  readonly map: (place: Expr.Expr<"u32">) => Expr.Expr<DType>
  readonly combine: Combine
  /** The stored element, made from the scanned value. */
  readonly output: (scanned: Expr.Expr<DType>) => Expr.Expr<DType>
}

export const generate = ({ args, combine, map, name, output, state }: ScanPassOptions): ScanPass => {
  const free = new ArgumentNames(name, args)
  const names: ScanNames = {
    ...Walk.walkNames(free),
    before: free.add("before"),
    result: free.add("result"),
    width: free.add("width"),
    exclusive: free.add("exclusive")
  }
  const { block: row, part } = Walk.placeOf(names, Walk.scalar(names.rows))
  const extent = Walk.extentOf(names, part)
  const before = Expr.where(Expr.equal(Walk.scalar(names.parts), 1), 0, Walk.stateOfPart(names, row, part))
  const own = gathered([state])
  const place = Walk.placeInOrder(names, Walk.scalar(names.width))
  const next = combine(own, [map(place)])
  const flag = Walk.scalar(names.exclusive)
  const scanned = Expression.make(state.dtype, {
    _tag: "Apply",
    operation: "where",
    operands: [Walk.isSet(flag), own[0]!, next[0]!]
  })
  const body: Body = { row, ...extent, before, names, own, next, place, output: output(scanned) }
  return {
    kernel: LoopKernel.make({
      name,
      args: [
        ...args,
        VectorArg(state.dtype, names.before, { access: "read" }),
        VectorArg(body.output.type, names.result, { access: "write" }),
        ...Walk.walkArgs(names),
        ScalarArg("u32", names.width),
        ScalarArg("u32", names.exclusive)
      ],
      span: names.segment,
      expressions: [row, extent.begin, extent.size, before, ...next, place, body.output],
      write: (writer) => write(writer, body)
    }),
    names
  }
}

interface Body {
  readonly row: Expr.Expr<"u32">
  /** The elements of the item in its row. */
  readonly begin: Expr.Expr<"u32">
  readonly size: Expr.Expr<"u32">
  /** Where the state before them is. */
  readonly before: Expr.Expr<"u32">
  readonly names: ScanNames
  readonly own: StateExprs
  readonly next: StateExprs
  readonly place: Expr.Expr<"u32">
  readonly output: Expr.Expr<DType>
}

/** Statements for item `i`. */
const write = (writer: LanguageWriter, { names, next, output, own, place, ...body }: Body): ReadonlyArray<string> => {
  const item = new Statements(writer, { index: "i", indexVaries: false, prefix: "w" })
  const position = "k__"
  const moves = {
    position,
    begin: item.value(body.begin),
    step: item.value(Expr.constant("u32", 1)),
    times: item.value(body.size)
  }
  const row = item.value(body.row)
  const before = item.value(body.before)
  const element = new Statements(writer, {
    index: position,
    indexVaries: true,
    variables: { [Walk.rowVariable]: false }
  })
  const [value] = next.map((expr) => element.value(expr))
  const stored = element.value(output)
  const at = element.value(place)
  const [{ type }] = own as readonly [Expr.Expr<DType>]
  return [
    ...item.before,
    writer.declare(Walk.rowVariable, "u32", row),
    ...element.before,
    writer.variable(variableOf(0), type, writer.load(names.before, before, type)),
    ...writer.walk(moves, [
      ...element.inside,
      writer.store(names.result, at, stored, output.type),
      writer.assign(variableOf(0), value!)
    ])
  ]
}
