/**
 * One kernel of a reduction: each item combines the elements of a chunk into a state.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { type NumericArgument, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import * as Expression from "../expression/Expression.ts"
import { Statements } from "../expression/Statements.ts"
import { ArgumentNames } from "./ArgumentNames.ts"
import * as LoopKernel from "./LoopKernel.ts"
import { type Combine, type Component, gathered, neutralState, type StateExprs, variableOf } from "./State.ts"
import * as Walk from "./Walk.ts"

/** A kernel, and the names of its arguments. */
export interface ReductionPass {
  readonly kernel: Kernel
  /** The vectors that the states are stored in. */
  readonly outputs: ReadonlyArray<string>
  readonly names: Walk.WalkNames
}

export interface PassOptions {
  readonly name: string
  readonly args: ReadonlyArray<NumericArgument>
  readonly state: ReadonlyArray<Component>
  /** The state of an element, given the names of the walk's scalars. */
  readonly map: (names: Walk.WalkNames) => StateExprs
  readonly combine: Combine
}

/** The kernel that reduces the states that `map` makes from the arguments. */
export const generate = (options: PassOptions): ReductionPass => {
  const { args, name, state } = options
  const names = new ArgumentNames(name, args)
  const walkNames = Walk.walkNames(names)
  const outputs = state.map(({ dtype }, index) => VectorArg(dtype, names.add(`state${index}`), { access: "write" }))
  const walk = Walk.make(walkNames)
  const body: Body = {
    walk,
    outputs,
    neutral: neutralState(state),
    next: options.combine(gathered(state), options.map(walkNames))
  }
  return {
    kernel: LoopKernel.make({
      name,
      args: [...args, ...outputs, ...Walk.walkArgs(walkNames)],
      span: walkNames.span,
      expressions: [walk.row, walk.begin, walk.step, walk.times, ...body.neutral, ...body.next],
      write: (writer) => write(writer, body)
    }),
    outputs: outputs.map((output) => output.name),
    names: walkNames
  }
}

/** The kernel that reduces the states of an earlier kernel. */
export const generateFurther = (options: Omit<PassOptions, "args" | "map">): ReductionPass => {
  const args = options.state.map((component, index) => stateArg(component, index))
  const map = (names: Walk.WalkNames): StateExprs => {
    const at = { _tag: "Inside", index: Walk.stateIndex(names) } as const
    return args.map(({ dtype, name }) => Expression.make(dtype, { _tag: "Element", vector: name, dtype, at }))
  }
  return generate({ ...options, args, map })
}

/** The argument of a kernel that takes states: the values of one component. */
export const stateArg = ({ dtype }: Component, index: number): VectorArg<string, DType> =>
  VectorArg(dtype, stateArgName(index), { access: "read" })

export const stateArgName = (component: number): string => `from${component}`

interface Body {
  readonly walk: Walk.Walk
  readonly outputs: ReadonlyArray<VectorArg<string, DType>>
  readonly neutral: StateExprs
  /** The state after an element, made of the state before it. */
  readonly next: StateExprs
}

/** Statements for item `i`. */
const write = (writer: LanguageWriter, { neutral, next, outputs, walk }: Body): ReadonlyArray<string> => {
  const item = new Statements(writer, { index: "i", indexVaries: false, prefix: "w" })
  const moves = Walk.moves(walk, item)
  const row = item.value(walk.row)
  const element = new Statements(writer, {
    index: moves.position,
    indexVaries: true,
    variables: { [Walk.rowVariable]: false }
  })
  const variables = neutral.map((expr, index) => writer.variable(variableOf(index), expr.type, element.value(expr)))
  const values = next.map((expr) => element.value(expr))
  return [
    ...item.before,
    writer.declare(Walk.rowVariable, "u32", row),
    ...element.before,
    ...variables,
    ...writer.walk(moves, [...element.inside, ...assignments(writer, next, values)]),
    ...outputs.map(({ dtype, name }, index) => writer.store(name, "i", variableOf(index), dtype))
  ]
}

/**
 * Assignments of the next state. All its values are computed before the first is assigned. A value that is only the old
 * value of another component is copied first, since that component may be assigned before.
 */
const assignments = (
  writer: LanguageWriter,
  next: StateExprs,
  values: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const moved = values.map((value, index) => next[index]!.node._tag === "Variable" && value !== variableOf(index))
  return [
    ...values.flatMap((value, index) =>
      moved[index] ? [writer.declare(`next__${index}`, next[index]!.type, value)] : []
    ),
    ...values.flatMap((value, index) =>
      value === variableOf(index) ? [] : [writer.assign(variableOf(index), moved[index] ? `next__${index}` : value)]
    )
  ]
}
