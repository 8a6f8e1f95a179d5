/**
 * The kernel of a sum by segments: an item adds the elements of its part to sums in memory that no other item has, in the
 * order of the elements.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import { Statements } from "../../kernels/expression/Statements.ts"
import { substitute } from "../../kernels/expression/Substitution.ts"
import { ArgumentNames } from "../../kernels/reduction/ArgumentNames.ts"
import * as LoopKernel from "../../kernels/reduction/LoopKernel.ts"
import * as State from "../../kernels/reduction/State.ts"
import * as Walk from "../../kernels/reduction/Walk.ts"
import type { Plan } from "../fusion/Plan.ts"
import * as PlanExpressions from "../fusion/PlanExpressions.ts"
import { Structures } from "../fusion/Structures.ts"
import { Memo } from "../Memo.ts"
import { coordinatesInRows, type Rule } from "../reduction/ArrayReduction.ts"
import type { Runner } from "./SegmentDivision.ts"

type Index = Expr.Expr<"u32">

/** The scalars of the kernel besides those of its walk, whose rows are pairs of a block of rows and a range of segments. */
export interface SegmentValues extends Walk.WalkValues {
  /** How many ranges there are, how many segments a range has, and how many there are in all. */
  readonly ranges: number
  readonly range: number
  readonly segments: number
  /** How far the sums of neighbouring segments are apart, in sums of a part; as many rows lie side by side. */
  readonly width: number
  /** How far neighbouring sums of a part are apart, and those of neighbouring parts. */
  readonly apart: number
  readonly partApart: number
  /** The most elements and segments of an item. */
  readonly work: number
}

export const ownScalars = ["ranges", "range", "segments", "width", "apart", "partApart", "work"] as const

type Names = { readonly [S in keyof SegmentValues]: string } & { readonly sums: string }

export interface SegmentKernel {
  readonly kernel: Kernel
  readonly names: Names
}

/** What a kernel is made for, besides its plan: one object for each. */
interface Purpose {
  readonly rule: Rule
  /** The type to which elements are cast, the rows of an item, and the runner. */
  readonly dtype: DType
  readonly height: number
  readonly runner: Runner
}

const purposes = new Memo<Purpose>(256)

const kernels = new Structures<SegmentKernel>(512)

/** The kernel for a plan row by row, whose results are the elements and the numbers of their segments. */
export const kernelOf = (plan: Plan, purpose: Purpose): SegmentKernel => {
  const { dtype, height, rule, runner } = purpose
  const slot = kernels.slot(purposes.get(`${rule.name} ${dtype} ${height} ${runner}`, () => purpose), plan)
  return slot.value ??= generate(plan, purpose)
}

/** Items of a group: a CPU has few items, and each of its threads takes a group after the other. */
const groupItems = { few: 8, many: 64 }

const generate = (plan: Plan, { dtype, height, rule, runner }: Purpose): SegmentKernel => {
  const planned = PlanExpressions.generate(plan, coordinatesInRows(1), "combined")
  const operations = PlanExpressions.nameOf(plan)
  const name = `array_${rule.name}${operations === "" ? "" : `_of_${operations}`}`
  const state = rule.state(dtype)[0]!
  const free = new ArgumentNames(name, planned.args)
  const names: Names = {
    ...Walk.walkNames(free),
    ranges: free.add("ranges"),
    range: free.add("range"),
    segments: free.add("segments"),
    width: free.add("width"),
    apart: free.add("apart"),
    partApart: free.add("partApart"),
    work: free.add("work"),
    sums: free.add("sums")
  }
  const [element, segment] = planned.expressions as readonly [Expr.Expr<DType>, Expr.Expr<"i32" | "u32">]
  const [mapped] = rule.map(PlanExpressions.castTo(dtype, element), Walk.position)
  const item = itemOf(names, runner, height)
  const body: Body = {
    item,
    neutral: State.neutralState([state])[0]!,
    segmentOf: (first) => Expr.subtract(Expr.astype(segment, "u32"), first),
    addOf: ({ row, start }, apart) => addOf(rule, names.sums, { row, start, apart, element: mapped! }),
    sums: names.sums
  }
  const { rows, ...single } = item
  return {
    kernel: LoopKernel.make({
      name,
      args: [
        ...planned.args,
        VectorArg(state.dtype, names.sums, { access: "readwrite" }),
        ...Walk.walkArgs(names),
        ...ownScalars.map((scalar) => ScalarArg("u32", names[scalar]))
      ],
      span: names.work,
      workgroupSize: groupItems[runner],
      expressions: [
        ...Object.values(single),
        body.neutral,
        body.segmentOf(item.first),
        isInside(item.size),
        ...rows.flatMap((row) => [row.row, row.start, ...Object.values(body.addOf(row, item.apart))])
      ],
      write: (writer) => write(writer, body)
    }),
    names
  }
}

/** A row of an item. */
interface Row {
  readonly row: Index
  /** The place of its first sum. */
  readonly start: Index
}

/** What an item has: elements of some rows, and a range of segments. */
interface Item {
  readonly rows: ReadonlyArray<Row>
  /** Its elements in each row. */
  readonly begin: Index
  readonly step: Index
  readonly times: Index
  /** The first segment, and how many there are. */
  readonly first: Index
  readonly size: Index
  /** How far the sums of neighbouring segments are apart. */
  readonly apart: Index
}

const itemOf = (names: Names, runner: Runner, height: number): Item => {
  const { block: unit, part } = Walk.placeOf(names, Walk.scalar(names.rows))
  const ranges = Walk.scalar(names.ranges)
  const block = Walk.quotient(unit, ranges)
  const range = Walk.scalar(names.range)
  const first = Expr.multiply(Expr.subtract(unit, Expr.multiply(block, ranges)), range)
  const above = Expr.multiply(block, height)
  return {
    rows: Array.from({ length: height }, (_, of) => {
      const row = Expr.add(above, of)
      return { row, start: startOf(names, row, part, first) }
    }),
    ...(runner === "few" ? inRun(names, part) : inTurn(names, part)),
    first,
    size: Expr.minimum(range, Expr.subtract(Walk.scalar(names.segments), first)),
    apart: Expr.multiply(Walk.scalar(names.width), Walk.scalar(names.apart))
  }
}

/** The sums of `width` rows lie side by side for each segment. */
const startOf = (names: Names, row: Index, part: Index, first: Index): Index => {
  const width = Walk.scalar(names.width)
  const above = Walk.quotient(row, width)
  const beside = Expr.subtract(row, Expr.multiply(above, width))
  const segment = Walk.multiplyAdd(first, above, Walk.scalar(names.segments))
  const place = Walk.multiplyAdd(beside, segment, width)
  return Walk.multiplyAdd(Expr.multiply(place, Walk.scalar(names.apart)), part, Walk.scalar(names.partApart))
}

const one = Expr.constant("u32", 1)

const inRun = (names: Names, part: Index) => {
  const { begin, size } = Walk.extentOf(names, part)
  return { begin, step: one, times: size }
}

const inTurn = (names: Names, part: Index) => {
  const step = Walk.scalar(names.parts)
  const before = Expr.subtract(Expr.subtract(Walk.scalar(names.length), one), part)
  return { begin: part, step, times: Expr.add(Walk.quotient(before, step), one) }
}

const segmentName = "segment__"

/** The segment of the element at the walk's position, counted from the first of the item. */
const segmentOfElement: Index = Expression.make("u32", { _tag: "Variable", name: segmentName })

const isInside = (size: Index): Expr.Expr<"bool"> => Expr.less(segmentOfElement, size)

/** Where the sum of an element is, and the sum with the element. */
interface Add {
  readonly target: Index
  readonly next: Expr.Expr<DType>
}

const addOf = (
  { combine }: Rule,
  sums: string,
  { apart, element, row, start }: Row & { readonly apart: Index; readonly element: Expr.Expr<DType> }
): Add => {
  const { type } = element
  const target = Walk.multiplyAdd(start, segmentOfElement, apart)
  const at = { _tag: "Inside", index: target } as const
  const sum = Expression.make(type, { _tag: "Element", vector: sums, dtype: type, at })
  const next = combine([sum], substitute([element], new Map([[Walk.row, row]])))
  return { target, next: next[0]! }
}

interface Body {
  readonly item: Item
  readonly neutral: Expr.Expr<DType>
  /** The segment of the element at the walk's position, counted from the first of the item. */
  readonly segmentOf: (first: Index) => Index
  readonly addOf: (row: Row, apart: Index) => Add
  readonly sums: string
}

/** Statements for item `i`. */
const write = (writer: LanguageWriter, { addOf, item, neutral, segmentOf, sums }: Body): ReadonlyArray<string> => {
  const dtype = neutral.type as DType
  const statements = new Statements(writer, { index: "i", indexVaries: false, prefix: "w" })
  const of = (expr: Expr.Expr): string => statements.value(expr)
  const [begin, step, times, first, size, apart, nothing] = [
    item.begin,
    item.step,
    item.times,
    item.first,
    item.size,
    item.apart,
    neutral
  ].map(of) as [string, string, string, string, string, string, string]
  const rows = item.rows.map(({ row, start }) => ({ row: of(row), start: of(start) }))
  const position = "k__"
  const fixed = [first, size, apart, ...rows.flatMap(({ row, start }) => [row, start])]
  const variables = Object.fromEntries(fixed.map((name) => [name, false]))
  const ofElement = (prefix: string) =>
    new Statements(writer, { index: position, indexVaries: true, variables, prefix })
  const [numbers, values] = [ofElement("n"), ofElement("v")]
  const segment = numbers.value(segmentOf(variable(first)))
  const condition = values.value(isInside(variable(size)))
  const tests = values.inside.splice(0)
  const adds = rows.map(({ row, start }) => addOf({ row: variable(row), start: variable(start) }, variable(apart)))
    .map(({ next, target }) => ({ at: values.value(target), value: values.value(next) }))
  return [
    ...statements.before,
    ...rows.flatMap(({ start }, row) =>
      writer.walk({ position: `clear${row}__`, begin: start, step: apart, times: size }, [
        writer.store(sums, `clear${row}__`, nothing, dtype)
      ])
    ),
    ...numbers.before,
    ...values.before,
    ...writer.walk({ position, begin, step, times }, [
      ...numbers.inside,
      writer.declare(segmentName, "u32", segment),
      ...tests,
      ...writer.when(condition, [
        ...values.inside,
        ...adds.map(({ at, value }) => writer.store(sums, at, value, dtype))
      ])
    ])
  ]
}

const variable = (name: string): Index => Expression.make("u32", { _tag: "Variable", name })
