/**
 * Kernels that combine the elements of vectors into one, written in every language from expressions.
 *
 * @see pyopencl.reduction.ReductionKernel
 * @since 0.1.0
 */
import type { BufferPool } from "effect-gpu-pool/BufferPool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DispatchArguments } from "effect-gpu-pool/DispatchArguments"
import type { DType } from "effect-gpu-pool/DType"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Kernel from "effect-gpu-pool/Kernel"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Inputs } from "./ElementwiseKernel.ts"
import type * as Expr from "./Expr.ts"
import { operationOf, usesProblem } from "./expression/Declaration.ts"
import { ownVectorsOf } from "./expression/Inspection.ts"
import { printed } from "./Printed.ts"
import {
  combineOf,
  componentsOf,
  declaredInputs,
  type InputArgument,
  neutralProblem,
  stateOf as checkedState,
  togetherProblem
} from "./reduction/Definition.ts"
import * as Reduction from "./reduction/Reduction.ts"
import { runProblem } from "./reduction/RunArguments.ts"
import { type Combine, type Component, gathered, type StateExprs } from "./reduction/State.ts"

export type { InputArgument } from "./reduction/Definition.ts"

/**
 * A reduction over vectors: `run` returns a `Result`, one lease or a record of leases.
 *
 * **Example** (Whether a definition is sound)
 *
 * ```ts
 * import { Expr, ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const triangular: ReductionKernel.ReductionKernel<readonly []> = ReductionKernel.make({
 *   name: "triangular",
 *   args: [],
 *   map: (_, index) => Expr.add(index, 1),
 *   combine: (a, b) => Expr.add(a, b),
 *   neutral: 0
 * })
 * triangular.problem // => undefined
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ReductionKernel<
  out Args extends ReadonlyArray<InputArgument> = ReadonlyArray<InputArgument>,
  out Result = unknown
> {
  readonly name: string
  readonly args: Args
  /** What is wrong with the definition, if anything: every run fails with it. */
  readonly problem: GpuError | undefined
  /** The kernels to run, or the error of the definition. @internal */
  readonly reduction: Reduction.Reduction | GpuError
  /** The vectors that have an element for each of those reduced. @internal */
  readonly own: ReadonlySet<string>
  /** @internal */
  readonly resultOf: (leases: ReadonlyArray<PooledBuffer>) => Result
}

/**
 * The definition of a reduction.
 *
 * **Example** (Options that a program keeps)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { Expr, ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const args = [KernelArgument.VectorArg("f32", "x", { access: "read" })] as const
 * const largest: ReductionKernel.ReductionOptions<typeof args, "f32"> = {
 *   name: "largest",
 *   args,
 *   map: ({ x }) => Expr.abs(x),
 *   combine: (a, b) => Expr.maximum(a, b),
 *   neutral: 0,
 *   commutative: true
 * }
 * ReductionKernel.make(largest).name // => "largest"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ReductionOptions<Args extends ReadonlyArray<InputArgument>, D extends DType> {
  readonly name: string
  readonly args: Args
  /** What is combined: an expression of the elements at one index, and of that index. Its type is that of the result. */
  readonly map: (inputs: Inputs<Args>, index: Expr.Expr<"u32">) => Expr.Expr<D>
  /** Associative, up to rounding: `combine(combine(a, b), c)` is `combine(a, combine(b, c))`. */
  readonly combine: (a: Expr.Expr<D>, b: Expr.Expr<D>) => Expr.Expr<D>
  /** The neutral element of `combine`, on either side; the result for no elements. */
  readonly neutral: Expr.Literal<D>
  /**
   * Whether `combine(a, b)` is also `combine(b, a)`, up to rounding. Then neighbouring items of a GPU read neighbouring
   * elements, and an item of a CPU reads four neighbours at a time, which is faster. Default: false, which keeps the order
   * of the elements.
   */
  readonly commutative?: boolean | undefined
}

const known = KnownOptions.of<ReductionOptions<ReadonlyArray<InputArgument>, DType>>({
  name: true,
  args: true,
  map: true,
  combine: true,
  neutral: true,
  commutative: true
})

/**
 * Defines a reduction to one value. Vectors are declared with `access: "read"`; one declared `withOffset` is read from
 * its offset on.
 *
 * A mistake in the definition is InvalidRequest when it is first run: a vector that may be written, a neutral value that
 * the type cannot represent, a `combine` of another type or one that uses arguments, a wrong expression. The functions are
 * called once, immediately.
 *
 * **Details**
 *
 * The order of combination depends only on the number of elements, `commutative` and the kind of device, never on timing,
 * so equal input gives equal output on a device. Floats that a CPU, a GPU and the host combine may differ by rounding. A
 * chain of combinations is at most `n / 262144 + 1100` long instead of `n`, and so is the number of rounding errors that a
 * float sum accumulates.
 *
 * **Example** (The dot product of two vectors)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"
 * import { Expr, ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const dot = ReductionKernel.make({
 *   name: "dot",
 *   args: [
 *     KernelArgument.VectorArg("f32", "x", { access: "read" }),
 *     KernelArgument.VectorArg("f32", "y", { access: "read" })
 *   ],
 *   map: ({ x, y }) => Expr.multiply(x, y),
 *   combine: (a, b) => Expr.add(a, b),
 *   neutral: 0,
 *   commutative: true
 * })
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(12)
 *   const y = yield* BufferPool.allocate(12)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3))
 *   yield* CommandQueue.write(y, Float32Array.of(4, 5, 6))
 *   const sum = yield* ReductionKernel.run(dot, { x, y }, 3)
 *   return (yield* CommandQueue.read(sum, Float32Array))[0]
 * }) // => 32
 * ```
 *
 * @see pyopencl.reduction.ReductionKernel
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Args extends ReadonlyArray<InputArgument>, D extends DType>(
  options: ReductionOptions<Args, D>
): ReductionKernel<Args, PooledBuffer> => {
  const operation = operationOf("ReductionKernel.make", options.name)
  return define(operation, options, known, ([lease]) => lease!, (inputs) => {
    const mapped = options.map(inputs, Reduction.position)
    return mapped.problem ?? {
      state: [{ name: "", dtype: mapped.type, neutral: options.neutral }],
      map: [mapped],
      combine: ([a], [b]) => [options.combine(a as Expr.Expr<D>, b as Expr.Expr<D>)]
    }
  })
}

/**
 * The values of a state, by name, and the type of each.
 *
 * **Example** (A sum and how many it has)
 *
 * ```ts
 * import type { ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const state = { sum: "f32", count: "u32" } as const satisfies ReductionKernel.State
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly [name: string]: DType
}

/**
 * An expression for each value of a state.
 *
 * **Example** (A function that combines)
 *
 * ```ts
 * import { Expr, type ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * type Range = ReductionKernel.StateOf<{ readonly low: "f32"; readonly high: "f32" }>
 *
 * const enclosing = (a: Range, b: Range): Range => ({ low: Expr.minimum(a.low, b.low), high: Expr.maximum(a.high, b.high) })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type StateOf<S extends State> = { readonly [K in keyof S]: Expr.Expr<S[K]> }

/**
 * The definition of a reduction of several values at once.
 *
 * **Example** (Options that a program keeps)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { Expr, ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const args = [KernelArgument.VectorArg("f32", "x", { access: "read" })] as const
 * const range: ReductionKernel.StateOptions<typeof args, { readonly low: "f32"; readonly high: "f32" }> = {
 *   name: "range",
 *   args,
 *   state: { low: "f32", high: "f32" },
 *   map: ({ x }) => ({ low: x, high: x }),
 *   combine: (a, b) => ({ low: Expr.minimum(a.low, b.low), high: Expr.maximum(a.high, b.high) }),
 *   neutral: { low: Infinity, high: -Infinity },
 *   commutative: true
 * }
 * ReductionKernel.makeState(range).problem // => undefined
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface StateOptions<Args extends ReadonlyArray<InputArgument>, S extends State> {
  readonly name: string
  readonly args: Args
  readonly state: S
  /** The state of the elements at one index. */
  readonly map: (inputs: Inputs<Args>, index: Expr.Expr<"u32">) => StateOf<S>
  /** Associative, up to rounding. */
  readonly combine: (a: StateOf<S>, b: StateOf<S>) => StateOf<S>
  /** The neutral state of `combine`, on either side; the result for no elements. */
  readonly neutral: { readonly [K in keyof S]: Expr.Literal<S[K]> }
  /** Whether states may be combined in any order. Default: false. */
  readonly commutative?: boolean | undefined
}

const ofState = KnownOptions.of<StateOptions<ReadonlyArray<InputArgument>, State>>({
  name: true,
  args: true,
  state: true,
  map: true,
  combine: true,
  neutral: true,
  commutative: true
})

/**
 * Defines a reduction of several values together, such as a minimum and where it is. A run returns a lease for
 * each of them. Everything else is as in {@link make}.
 *
 * **Example** (Where the least element is, the first of several)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"
 * import { Expr, ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const argmin = ReductionKernel.makeState({
 *   name: "argmin",
 *   args: [KernelArgument.VectorArg("f32", "x", { access: "read" })],
 *   state: { value: "f32", index: "u32" },
 *   map: ({ x }, index) => ({ value: x, index }),
 *   combine: (a, b) => {
 *     const takesB = Expr.less(b.value, a.value)
 *     return { value: Expr.where(takesB, b.value, a.value), index: Expr.where(takesB, b.index, a.index) }
 *   },
 *   neutral: { value: Infinity, index: 0 }
 * })
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Float32Array.of(3, 1, 4, 1))
 *   const { index } = yield* ReductionKernel.run(argmin, { x }, 4)
 *   return (yield* CommandQueue.read(index, Uint32Array))[0]
 * }) // => 1
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeState = <const Args extends ReadonlyArray<InputArgument>, const S extends State>(
  options: StateOptions<Args, S>
): ReductionKernel<Args, { readonly [K in keyof S]: PooledBuffer }> => {
  const operation = operationOf("ReductionKernel.makeState", options.name)
  // Read once: the program may change its object later.
  const names = Object.keys(options.state)
  const recordOf = <A>(list: ReadonlyArray<A>) => Object.fromEntries(names.map((name, index) => [name, list[index]!]))
  const resultOf = (leases: ReadonlyArray<PooledBuffer>) =>
    recordOf(leases) as { readonly [K in keyof S]: PooledBuffer }
  return define(operation, options, ofState, resultOf, (inputs) => {
    const state = componentsOf(operation, options.state, options.neutral)
    if (isGpuError(state)) return state
    const listOf = (answer: StateOf<S>): StateExprs => state.map(({ name }) => answer[name]!)
    const map = checkedState(operation, "map", state, listOf(options.map(inputs, Reduction.position)))
    return isGpuError(map) ? map : {
      state,
      map,
      combine: (a, b) => listOf(options.combine(recordOf(a) as StateOf<S>, recordOf(b) as StateOf<S>))
    }
  })
}

/** The common form of both kinds of definitions; `combine` is not checked yet. */
interface Parts {
  readonly state: ReadonlyArray<Component>
  readonly map: StateExprs
  readonly combine: Combine
}

const define = <Args extends ReadonlyArray<InputArgument>, Result>(
  operation: string,
  options: { readonly name: string; readonly args: Args; readonly commutative?: boolean | undefined },
  known: KnownOptions.KnownOptions,
  resultOf: (leases: ReadonlyArray<PooledBuffer>) => Result,
  partsOf: (inputs: Inputs<Args>) => Parts | GpuError
): ReductionKernel<Args, Result> => {
  const inputs = KnownOptions.problem(operation, options, known) ??
    declaredInputs(operation, options.name, options.args)
  const parts = isGpuError(inputs) ? inputs : partsOf(inputs)
  const reduction = isGpuError(parts) ? parts : reductionOf(operation, options, parts)
  const problem = isGpuError(reduction) ? reduction : undefined
  // It prints as a kernel of the same arguments.
  const kernel = Kernel.define({ name: options.name, args: options.args, body: {}, problem })
  const own = isGpuError(parts) ? new Set<string>() : ownVectorsOf(parts.map)
  return printed(
    { name: kernel.name, args: kernel.args, problem, reduction, own, resultOf },
    () => `Reduction${kernel}`
  )
}

const reductionOf = (
  operation: string,
  { args, commutative, name }: {
    readonly name: string
    readonly args: ReadonlyArray<InputArgument>
    readonly commutative?: boolean | undefined
  },
  { combine, map, state }: Parts
): Reduction.Reduction | GpuError => {
  const problem = usesProblem(operation, "map", map, args) ?? neutralProblem(operation, state)
  const combineStates = problem ?? combineOf(operation, state, combine)
  if (isGpuError(combineStates)) return combineStates
  return togetherProblem(operation, combineStates(gathered(state), map)) ?? new Reduction.Reduction({
    name,
    args,
    state,
    map,
    combine: combineStates,
    commutative: commutative ?? false
  })
}

/**
 * Reduces `count` elements: the lease of one element, or of one for each value of the state, from the ambient pool and
 * in the caller's scope. Intermediate memory comes from the pool too and is released at once. No elements give the
 * neutral value.
 *
 * Fails, before any command is sent, with InvalidRequest (a mistake in the definition, a count that is invalid or exceeds a
 * vector, an argument that is missing or unknown), LimitExceeded, Released, ForeignDevice, Unsupported (the device
 * lacks a type), DeviceLost or the errors of `BufferPool.allocate`; and with a compile error as DriverError.
 *
 * **Example** (The sum of a view)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"
 * import { Expr, ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const sum = ReductionKernel.make({
 *   name: "sum",
 *   args: [KernelArgument.VectorArg("i32", "x", { access: "read", withOffset: true })],
 *   map: ({ x }) => x,
 *   combine: (a, b) => Expr.add(a, b),
 *   neutral: 0
 * })
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Int32Array.of(1, 20, 300, 4000))
 *   const total = yield* ReductionKernel.run(sum, { x: { buffer: x, offset: 1 } }, 2)
 *   return (yield* CommandQueue.read(total, Int32Array))[0]
 * }) // => 320
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <const Args extends ReadonlyArray<InputArgument>, Result>(
  kernel: ReductionKernel<Args, Result>,
  args: DispatchArguments<Args>,
  count: number
): Effect.Effect<Result, GpuError, BufferPool | CommandQueue | Scope.Scope> =>
  Effect.suspend(() => {
    const { reduction } = kernel
    if (isGpuError(reduction)) return reduction
    const problem = runProblem(operationOf("ReductionKernel.run", kernel.name), kernel.args, kernel.own, args, count)
    if (problem !== undefined) return problem
    const rows = { rows: 1, length: count, neighbours: "positions" } as const
    return Effect.map(Reduction.run(reduction, args, rows), kernel.resultOf)
  })
