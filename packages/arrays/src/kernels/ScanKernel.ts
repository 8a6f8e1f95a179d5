/**
 * Kernels that combine each element of vectors with all that come before it, written in every language from
 * expressions.
 *
 * @see pyopencl.scan.GenericScanKernel
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
import { substitute } from "./expression/Substitution.ts"
import { printed } from "./Printed.ts"
import {
  combineOf,
  declaredInputs,
  type InputArgument,
  neutralProblem,
  togetherProblem
} from "./reduction/Definition.ts"
import { position } from "./reduction/Reduction.ts"
import { runProblem } from "./reduction/RunArguments.ts"
import { gathered } from "./reduction/State.ts"
import * as Scan from "./scan/Scan.ts"

/**
 * A scan over vectors, whose results are elements of type `D`.
 *
 * **Example** (What it says of itself)
 *
 * ```ts
 * import { Expr, ScanKernel } from "@effect-gpu-pool/arrays"
 *
 * const triangular: ScanKernel.ScanKernel<readonly [], "u32"> = ScanKernel.make({
 *   name: "triangular",
 *   args: [],
 *   map: (_, index) => Expr.add(index, 1),
 *   combine: (a, b) => Expr.add(a, b),
 *   neutral: 0
 * })
 * triangular.dtype // => "u32"
 * triangular.problem // => undefined
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ScanKernel<
  out Args extends ReadonlyArray<InputArgument> = ReadonlyArray<InputArgument>,
  out D extends DType = DType
> {
  readonly name: string
  readonly args: Args
  /** The type of the results. */
  readonly dtype: D
  /** What is wrong with the definition, if anything: every run fails with it. */
  readonly problem: GpuError | undefined
  /** What runs, or why there is nothing to run. @internal */
  readonly scan: Scan.Scan | GpuError
  /** The vectors that have an element for each of those scanned. @internal */
  readonly own: ReadonlySet<string>
}

/**
 * The definition of a scan.
 *
 * **Example** (Options that a program keeps)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { Expr, ScanKernel } from "@effect-gpu-pool/arrays"
 *
 * const args = [KernelArgument.VectorArg("f32", "x", { access: "read" })] as const
 * const peaks: ScanKernel.ScanOptions<typeof args, "f32", "f32"> = {
 *   name: "peaks",
 *   args,
 *   map: ({ x }) => x,
 *   combine: (a, b) => Expr.maximum(a, b),
 *   neutral: -Infinity
 * }
 * ScanKernel.make(peaks).name // => "peaks"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ScanOptions<Args extends ReadonlyArray<InputArgument>, D extends DType, O extends DType> {
  readonly name: string
  readonly args: Args
  /** What is combined: an expression of the elements at one index, and of that index. */
  readonly map: (inputs: Inputs<Args>, index: Expr.Expr<"u32">) => Expr.Expr<D>
  /** Associative, up to rounding; it need not be commutative, `a` always comes before `b`. */
  readonly combine: (a: Expr.Expr<D>, b: Expr.Expr<D>) => Expr.Expr<D>
  /** The neutral element of `combine`, on either side; the first result of an exclusive scan. */
  readonly neutral: Expr.Literal<D>
  /** The stored element, made from the scanned value. Default: that value itself. */
  readonly output?:
    | ((scanned: Expr.Expr<D>, inputs: Inputs<Args>, index: Expr.Expr<"u32">) => Expr.Expr<O>)
    | undefined
}

/**
 * Defines a scan: the result for an element combines everything up to it. Vectors are declared with `access: "read"`;
 * one declared `withOffset` is read from its offset on.
 *
 * A mistake in the definition is InvalidRequest when it is first run: a vector that may be written, a neutral value that
 * the type cannot represent, a `combine` of another type or one that uses arguments, a wrong expression. The functions are
 * called once, immediately.
 *
 * **Details**
 *
 * The order of combination depends only on the number of elements, never on timing or on the device, so equal
 * input gives equal output, and devices only differ in their rounding of each operation. The elements are
 * divided into chunks of neighbours, so a chain of combinations is at most `n / 65536 + 600` long, instead of `n`.
 * So a result of a float scan need not be the one before plus the element, rounded: where a chunk ends, the two were
 * combined in different ways.
 *
 * **Example** (Running totals)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"
 * import { Expr, ScanKernel } from "@effect-gpu-pool/arrays"
 *
 * const cumsum = ScanKernel.make({
 *   name: "cumsum",
 *   args: [KernelArgument.VectorArg("i32", "x", { access: "read" })],
 *   map: ({ x }) => x,
 *   combine: (a, b) => Expr.add(a, b),
 *   neutral: 0
 * })
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Int32Array.of(1, 20, 300, 4000))
 *   const totals = yield* ScanKernel.run(cumsum, { x }, 4)
 *   return Array.from(yield* CommandQueue.read(totals, Int32Array))
 * }) // => [1, 21, 321, 4321]
 * ```
 *
 * @see pyopencl.scan.GenericScanKernel
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Args extends ReadonlyArray<InputArgument>, D extends DType, O extends DType = D>(
  options: ScanOptions<Args, D, O>
): ScanKernel<Args, O> => {
  const scan = scanOf(options)
  const problem = isGpuError(scan) ? scan : undefined
  // It prints as a kernel of the same arguments.
  const kernel = Kernel.define({ name: options.name, args: options.args, body: {}, problem })
  const dtype = (isGpuError(scan) ? "f32" : scan.dtype) as O
  const own = isGpuError(scan) ? new Set<string>() : ownVectorsOf(scan.expressions)
  return printed({ name: kernel.name, args: kernel.args, dtype, problem, scan, own }, () => `Scan${kernel}`)
}

const known = KnownOptions.of<ScanOptions<ReadonlyArray<InputArgument>, DType, DType>>({
  name: true,
  args: true,
  map: true,
  combine: true,
  neutral: true,
  output: true
})

const scanOf = <Args extends ReadonlyArray<InputArgument>, D extends DType, O extends DType>(
  options: ScanOptions<Args, D, O>
): Scan.Scan | GpuError => {
  const { args, combine, map, name, neutral, output } = options
  const operation = operationOf("ScanKernel.make", name)
  const inputs = KnownOptions.problem(operation, options, known) ?? declaredInputs(operation, name, args)
  if (isGpuError(inputs)) return inputs
  const mapped = map(inputs, position)
  if (mapped.problem !== undefined) return mapped.problem
  const state = { name: "", dtype: mapped.type, neutral }
  const [own] = gathered([state]) as readonly [Expr.Expr<D>]
  const result: Expr.Expr<DType> = output === undefined ? own : output(own, inputs, position)
  const problem = result.problem ?? usesProblem(operation, "map", [mapped], args) ??
    neutralProblem(operation, [state]) ??
    usesProblem(operation, "output", [result], args, [own])
  const combineStates = problem ??
    combineOf(operation, [state], ([a], [b]) => [combine(a as Expr.Expr<D>, b as Expr.Expr<D>)])
  if (isGpuError(combineStates)) return combineStates
  const stored = (scanned: Expr.Expr<DType>) => substitute([result], new Map([[own, scanned]]))[0]!
  return togetherProblem(operation, combineStates([own], [mapped]).map(stored)) ??
    new Scan.Scan({ name, args, state, map: mapped, combine: combineStates, output: stored })
}

/**
 * How a scan runs.
 *
 * **Example** (Without an element's own value)
 *
 * ```ts
 * import type { ScanKernel } from "@effect-gpu-pool/arrays"
 *
 * const before: ScanKernel.ScanRunOptions = { exclusive: true }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ScanRunOptions {
  /** Leaves an element's own value out of its result, so that the first is the neutral value. Default: false. */
  readonly exclusive?: boolean | undefined
}

const ofRun = KnownOptions.of<ScanRunOptions>({ exclusive: true })

/**
 * Scans `count` elements: a lease of as many results, from the ambient pool and in the caller's scope. Intermediate memory
 * comes from the pool too and is released at once. No elements give a lease of no bytes.
 *
 * Fails, before any command is sent, with InvalidRequest (a mistake in the definition, a count that is invalid or exceeds a
 * vector, an argument that is missing or unknown), LimitExceeded, Released, ForeignDevice, Unsupported (the device
 * lacks a type), DeviceLost or the errors of `BufferPool.allocate`; and with a compile error as DriverError.
 *
 * **Example** (Where each of several lists begins)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"
 * import { Expr, ScanKernel } from "@effect-gpu-pool/arrays"
 *
 * const offsets = ScanKernel.make({
 *   name: "offsets",
 *   args: [KernelArgument.VectorArg("u32", "lengths", { access: "read" })],
 *   map: ({ lengths }) => lengths,
 *   combine: (a, b) => Expr.add(a, b),
 *   neutral: 0
 * })
 *
 * Effect.gen(function*() {
 *   const lengths = yield* BufferPool.allocate(12)
 *   yield* CommandQueue.write(lengths, Uint32Array.of(5, 2, 9))
 *   const starts = yield* ScanKernel.run(offsets, { lengths }, 3, { exclusive: true })
 *   return Array.from(yield* CommandQueue.read(starts, Uint32Array))
 * }) // => [0, 5, 7]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <const Args extends ReadonlyArray<InputArgument>, D extends DType>(
  kernel: ScanKernel<Args, D>,
  args: DispatchArguments<Args>,
  count: number,
  options?: ScanRunOptions
): Effect.Effect<PooledBuffer, GpuError, BufferPool | CommandQueue | Scope.Scope> =>
  Effect.suspend(() => {
    const { scan } = kernel
    if (isGpuError(scan)) return scan
    const operation = operationOf("ScanKernel.run", kernel.name)
    return KnownOptions.problem(operation, options, ofRun) ??
      runProblem(operation, kernel.args, kernel.own, args, count) ??
      Scan.run(scan, args, count, options?.exclusive ?? false)
  })
