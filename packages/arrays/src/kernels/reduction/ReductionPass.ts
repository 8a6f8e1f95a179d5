/**
 * One kernel of a reduction: an item, or a group of items that share memory, combines the elements of a part of a row into a
 * state.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { LocalArg, type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import * as Expression from "../expression/Expression.ts"
import * as Fours from "../expression/Fours.ts"
import { Statements } from "../expression/Statements.ts"
import { ArgumentNames } from "./ArgumentNames.ts"
import { groupItems, type Lanes } from "./Division.ts"
import * as Lane from "./Lane.ts"
import * as LaneTree from "./LaneTree.ts"
import * as LoopKernel from "./LoopKernel.ts"
import * as State from "./State.ts"
import * as Walk from "./Walk.ts"

/** A kernel, and the names of its arguments. */
export interface ReductionPass {
  readonly kernel: Kernel
  readonly lanes: Lanes
  /** The vectors that the states are stored in. */
  readonly outputs: ReadonlyArray<string>
  readonly names: PassNames
}

interface PassNames extends Walk.WalkNames {
  /** 1 where lanes take their elements in turn. */
  readonly interleaved: string
}

export interface PassOptions {
  readonly name: string
  readonly args: ReadonlyArray<NumericArgument>
  readonly state: ReadonlyArray<State.Component>
  /** The state of an element, given the names of the walk's scalars. */
  readonly map: (names: Walk.WalkNames) => State.StateExprs
  readonly combine: State.Combine
  /** Whether states may be combined in another order than that of the elements. */
  readonly commutative: boolean
}

/**
 * The kernel that reduces the states that `map` makes from the arguments. It loads four neighbours at once from the vectors
 * named by `fours`: lanes whose streams take turns in a run, of which each begins at a multiple of four.
 */
export const generate = (options: PassOptions, lanes: Lanes, fours = Fours.none): ReductionPass => {
  const { combine, commutative, name, state } = options
  const args = options.args.map((argument) => inFours(argument, fours.get(argument.name)))
  const free = new ArgumentNames(name, options.args)
  const names: PassNames = { ...Walk.walkNames(free), interleaved: free.add("interleaved") }
  const outputs = state.map(({ dtype }, index) => VectorArg(dtype, free.add(`state${index}`), { access: "write" }))
  const shared = state.map(({ dtype }, index) => LocalArg(dtype, free.add(`shared${index}`), groupItems))
  const lane = Lane.make({ names, interleaved: names.interleaved, lanes, commutative })
  const body: Body = { lane, outputs, shared, state, combine, map: options.map(names), fours }
  return {
    kernel: LoopKernel.make({
      name,
      args: [...args, ...outputs, ...Walk.walkArgs(names), ScalarArg("u32", names.interleaved)],
      local: lanes === 1 ? undefined : shared,
      span: names.segment,
      expressions: [
        ...Lane.expressionsOf(lane),
        ...State.neutralState(state),
        ...combine(State.gathered(state), body.map),
        ...combine(State.gathered(state), State.gathered(state, "0"))
      ],
      write: (writer) => write(writer, body)
    }),
    lanes,
    outputs: outputs.map((output) => output.name),
    names
  }
}

const inFours = (argument: NumericArgument, dtype: Fours.FourType | undefined): VectorArg | NumericArgument =>
  dtype === undefined ? argument : VectorArg(Fours.fourOf(dtype), argument.name, { access: "read" })

const fourName = (vector: string): string => `${vector}__four`

/** The kernel that reduces the states of an earlier kernel. */
export const generateFurther = (options: Omit<PassOptions, "args" | "map">, lanes: Lanes): ReductionPass => {
  const args = options.state.map((component, index) => stateArg(component, index))
  const map = (names: Walk.WalkNames): State.StateExprs => {
    const at = { _tag: "Inside", index: Walk.stateIndex(names) } as const
    return args.map(({ dtype, name }) => Expression.make(dtype, { _tag: "Element", vector: name, dtype, at }))
  }
  return generate({ ...options, args, map }, lanes)
}

/** The argument of a kernel that takes states: the values of one component. */
export const stateArg = ({ dtype }: State.Component, index: number): VectorArg<string, DType> =>
  VectorArg(dtype, stateArgName(index), { access: "read" })

export const stateArgName = (component: number): string => `from${component}`

interface Body {
  readonly lane: Lane.Lane
  readonly outputs: ReadonlyArray<VectorArg<string, DType>>
  readonly shared: ReadonlyArray<LocalArg>
  readonly state: ReadonlyArray<State.Component>
  readonly combine: State.Combine
  readonly map: State.StateExprs
  readonly fours: Fours.Fours
}

/** Statements for an item. */
const write = (writer: LanguageWriter, body: Body): ReadonlyArray<string> => {
  const { combine, lane: { row, sharing, target }, outputs, shared, state } = body
  const item = new Statements(writer, {
    index: sharing === undefined ? "i" : "group_id.x",
    indexVaries: false,
    variables: { local_index: false },
    prefix: "w"
  })
  const at = item.value(target)
  const stored = outputs.map(({ dtype, name }, index) => writer.store(name, at, State.variableOf(index), dtype))
  const lines = [
    writer.declare(Walk.rowVariable, "u32", item.value(row)),
    ...inStreams(writer, body, item),
    ...(sharing === undefined ? stored : [
      ...LaneTree.write(writer, sharing, item, shared, state, combine),
      ...writer.when(item.value(sharing.isLast), stored)
    ])
  ]
  return [...item.before, ...lines]
}

/** The streams of a lane, and the elements that are left. */
const streamNames = Array.from({ length: Lane.streams + 1 }, (_, stream) => String(stream))

/** Combines the elements of each stream in a state of its own, and then these states. */
const inStreams = (
  writer: LanguageWriter,
  { combine, fours, lane, map, state }: Body,
  item: Statements
): ReadonlyArray<string> => {
  const neutral = State.neutralState(state)
  const { fours: numbers } = writer.language
  const all = streamNames.map((of, stream) => {
    const [position, prefix] = [`k${of}__`, `t${of}`]
    const place = stream === Lane.streams
      ? writer.apply("bitwiseAnd", [position, writer.constant(3, "u32")], "u32", "u32")
      : writer.constant(stream, "u32")
    const own = (vector: string): string | undefined =>
      fours.has(vector) ? numbers?.number(fourName(vector), place) : undefined
    const element = new Statements(writer, {
      index: position,
      indexVaries: true,
      variables: { [Walk.rowVariable]: false },
      own,
      prefix
    })
    const variables = neutral.map((expr, index) =>
      writer.variable(State.variableOf(index, of), expr.type, element.value(expr))
    )
    const next = combine(State.gathered(state, of), map)
    const values = next.map((expr) => element.value(expr))
    return {
      position,
      before: [...element.before, ...variables],
      inside: [...element.inside, ...State.assignments(writer, next, values, prefix, of)]
    }
  })
  const [apart, begin, step, times] = [lane.apart, lane.begin, lane.advance, lane.rounds].map((expr) =>
    item.value(expr)
  )
  const round = all.slice(0, Lane.streams).flatMap(({ inside, position }, index) =>
    index === 0 ? inside : [
      writer.declare(position, "u32", writer.apply("add", [all[index - 1]!.position, apart!], "u32", "u32")),
      ...inside
    ]
  )
  const loads = (position: string): ReadonlyArray<string> => {
    const place = writer.quotient(position, writer.constant(Lane.streams, "u32"))
    return [...fours].flatMap(([vector, dtype]) => numbers?.load(fourName(vector), vector, place, dtype) ?? [])
  }
  const rest = all[Lane.streams]!
  return [
    ...all.flatMap(({ before }) => before),
    ...writer.walk({ position: all[0]!.position, begin: begin!, step: step!, times: times! }, [
      ...loads(all[0]!.position),
      ...round
    ]),
    ...writer.walk({
      position: rest.position,
      begin: item.value(lane.rest.begin),
      step: item.value(lane.rest.step),
      times: item.value(lane.rest.times)
    }, [...loads(rest.position), ...rest.inside]),
    ...neutral.map(({ type }, index) => writer.variable(State.variableOf(index), type, State.variableOf(index, "0"))),
    ...streamNames.slice(1).flatMap((of) =>
      State.combining(writer, combine(State.gathered(state), State.gathered(state, of)), `c${of}`)
    )
  ]
}
