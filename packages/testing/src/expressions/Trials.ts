/**
 * Tests many expressions in one kernel, because compiling takes most of the time. Each expression has its own items, on
 * which it is compared with the reference.
 *
 * @internal
 */
import * as ElementwiseKernel from "@effect-gpu-pool/arrays/ElementwiseKernel"
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import { nodesOf } from "@effect-gpu-pool/arrays/Inspection"
import { BufferPool, CommandQueue, DType } from "effect-gpu-pool"
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { ArgumentValue, DispatchArguments } from "effect-gpu-pool/DispatchArguments"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import * as Expect from "../Expect.ts"
import type { Random } from "../Random.ts"
import type { Leaves } from "./AnyExpression.ts"
import { anyNumber } from "./AnyNumber.ts"
import type { Integer } from "./IntegerReference.ts"
import { isNaN, isSharp } from "./Interval.ts"
import { allows, type Arguments, evaluate, type Value } from "./Reference.ts"
import { numberText, textOf } from "./Text.ts"

/** The arguments of a kernel, which its expressions use. */
export interface Bench {
  readonly vectors: ReadonlyArray<{ readonly name: string; readonly dtype: DType.DType; readonly offset?: number }>
  readonly scalars: ReadonlyArray<{ readonly name: string; readonly dtype: DType.DType }>
}

/** An expression, and the first of its own items. */
export interface Trial {
  readonly name: string
  readonly expr: Expr.Expr<DType.DType>
  readonly start: number
}

export interface TrialOptions {
  readonly bench: Bench
  readonly inputs: Arguments
  /** The number of items of each trial. */
  readonly items: number
  readonly rules: FloatRules
}

/** How many elements could be compared. */
export interface Compared {
  readonly elements: number
  /** Elements of which so much is certain that the comparison would find a wrong one. */
  readonly sharp: number
  /** Those of them that are not NaN. */
  readonly numbers: number
}

const argumentsOf = ({ scalars, vectors }: Bench): ReadonlyArray<NumericArgument> => [
  ...vectors.map(({ dtype, name, offset }) =>
    VectorArg(dtype, name, { access: "read", withOffset: offset !== undefined })
  ),
  ...scalars.map(({ dtype, name }) => ScalarArg(dtype, name))
]

/** The arguments of a bench as expressions. */
export const leavesOf = (bench: Bench): Leaves => {
  let found: Leaves | undefined
  ElementwiseKernel.make({
    name: "leaves",
    args: argumentsOf(bench),
    outputs: (inputs: { readonly [name: string]: Expr.Expr<DType.DType> }) => {
      found = {
        elements: bench.vectors.map(({ name }) => inputs[name]!),
        scalars: bench.scalars.map(({ name }) => inputs[name]!)
      }
      return {}
    }
  })
  return found!
}

/** Random data for a bench, with a few elements more than there are items. */
export const anyInputs = (random: Random, bench: Bench, items: number): Arguments => ({
  vectors: Object.fromEntries(bench.vectors.map(({ dtype, name, offset = 0 }) => [
    name,
    Array.from({ length: offset + items + 3 }, () => anyNumber(random, dtype))
  ])),
  offsets: Object.fromEntries(bench.vectors.map(({ name, offset = 0 }) => [name, offset])),
  scalars: Object.fromEntries(bench.scalars.map(({ dtype, name }) => {
    const number = anyNumber(random, dtype)
    return [name, dtype === "bool" ? number === 1 : number]
  }))
})

type Run<A> = Effect.Effect<A, GpuError, BufferPool.BufferPool | CommandQueue.CommandQueue>

/** Computes all trials on the device and compares them. Dies if some are wrong, and names them. */
export const runTrials = (trials: ReadonlyArray<Trial>, options: TrialOptions): Run<ReadonlyArray<Compared>> =>
  Effect.gen(function*() {
    const found = yield* compute(trials, options)
    const comparisons = trials.map((trial) => compare(trial, found.get(trial.expr.type)!, options))
    const wrong = comparisons.flatMap(({ difference }) => difference === undefined ? [] : [difference])
    if (wrong.length > 0) {
      const texts = yield* Effect.forEach(wrong.slice(0, 3), (difference) => explain(difference, options))
      const others = wrong.slice(3).map(({ trial }) => trial.name)
      Expect.fail([...texts, ...(others.length > 0 ? [`wrong too: ${others.join(", ")}`] : [])].join("\n"))
    }
    return comparisons.map(({ compared }) => compared)
  })

/** The first item at which a trial is wrong. */
interface Difference {
  readonly trial: Trial
  readonly item: number
  readonly found: Integer
  readonly expected: NonNullable<Value>
}

const compare = (
  trial: Trial,
  found: ArrayLike<Integer>,
  { inputs, items, rules }: TrialOptions
): { readonly compared: Compared; readonly difference: Difference | undefined } => {
  let sharp = 0
  let numbers = 0
  let difference: Difference | undefined
  for (let item = trial.start; item < trial.start + items; item++) {
    const expected = evaluate(trial.expr, item, inputs, rules)
    if (expected === undefined) continue
    if (typeof expected !== "object" || isSharp(expected)) {
      sharp += 1
      if (typeof expected !== "object" || !isNaN(expected)) numbers += 1
    }
    if (!allows(expected, found[item]!)) difference ??= { trial, item, found: found[item]!, expected }
  }
  return { compared: { elements: items, sharp, numbers }, difference }
}

/** The elements that the device computed, by type: the results of each trial at its items. */
const compute = (
  trials: ReadonlyArray<Trial>,
  { bench, inputs, items }: TrialOptions
): Run<ReadonlyMap<DType.DType, ArrayLike<Integer>>> =>
  Effect.scoped(Effect.gen(function*() {
    const count = Math.max(...trials.map(({ start }) => start)) + items
    const types = [...new Set(trials.map(({ expr }) => expr.type))]
    const kernel = kernelOf(bench, types.map((type) => chain(trials.filter(({ expr }) => expr.type === type), items)))
    const args: Record<string, ArgumentValue> = { ...inputs.scalars }
    for (const { dtype, name, offset } of bench.vectors) {
      const buffer = yield* upload(dtype, inputs.vectors[name]!)
      args[name] = offset === undefined ? buffer : { buffer, offset }
    }
    const outputs = new Map<DType.DType, PooledBuffer>()
    for (const [at, type] of types.entries()) {
      const lease = yield* BufferPool.allocate(count * DType.byteSize(type))
      args[`result${at}`] = lease
      outputs.set(type, lease)
    }
    yield* CommandQueue.dispatch(kernel, args as DispatchArguments<typeof kernel.args>, count)
    const results = new Map<DType.DType, ArrayLike<Integer>>()
    for (const [type, lease] of outputs) results.set(type, yield* download(type, lease, count))
    return results
  }))

/** One output for each chain. */
const kernelOf = (bench: Bench, chains: ReadonlyArray<Expr.Expr<DType.DType>>): Kernel =>
  ElementwiseKernel.make({
    name: `trials_of_${bench.vectors[0]!.dtype}`,
    args: [
      ...argumentsOf(bench),
      ...chains.map(({ type }, at) => VectorArg(type, `result${at}`, { access: "write" }))
    ],
    outputs: () => Object.fromEntries(chains.map((chain, at) => [`result${at}`, chain]))
  })

/** One expression of all: each trial's expression at its items, and the last one's past the end. */
const chain = (trials: ReadonlyArray<Trial>, items: number): Expr.Expr<DType.DType> =>
  trials.slice(0, -1).reduceRight(
    (rest, { expr, start }) => Expr.where(Expr.less(Expr.index, start + items), expr, rest),
    trials.at(-1)!.expr
  )

const upload = (dtype: DType.DType, numbers: ArrayLike<Integer>) =>
  Effect.gen(function*() {
    const bytes = new ArrayBuffer(numbers.length * DType.byteSize(dtype))
    DType.viewUnsafe(dtype, bytes, 0, numbers.length).set(numbers as never)
    const lease = yield* BufferPool.allocate(bytes.byteLength)
    yield* CommandQueue.write(lease, bytes)
    return lease
  })

const download = (dtype: DType.DType, lease: PooledBuffer, count: number) =>
  Effect.map(
    CommandQueue.read(lease, Uint8Array),
    (bytes) => DType.viewUnsafe(dtype, bytes.slice().buffer, 0, count)
  )

/** What is wrong, and the smallest part of the expression that is wrong. */
const explain = ({ expected, found, item, trial }: Difference, options: TrialOptions): Run<string> =>
  Effect.gen(function*() {
    const whole = `${trial.name}: ${told(trial.expr, item, found, expected, options)}`
    for (const part of partsOf(trial.expr)) {
      const results = yield* compute([{ ...trial, expr: part }], options)
      const value = evaluate(part, item, options.inputs, options.rules)
      const result = results.get(part.type)![item]!
      if (value !== undefined && !allows(value, result)) {
        return `${whole}\nthis part is wrong alone: ${told(part, item, result, value, options)}`
      }
    }
    return whole
  })

const told = (expr: Expr.Expr, item: number, found: Integer, expected: NonNullable<Value>, { inputs }: TrialOptions) =>
  `${textOf(expr)} is ${numberText(found)} at item ${item}, expected ${valueText(expected)}, where ${
    leafTexts(expr, item, inputs).join(", ")
  }`

export const valueText = (value: Value): string => {
  if (typeof value !== "object") return value === undefined ? "anything" : numberText(value)
  return Object.is(value.lo, value.hi)
    ? numberText(value.lo)
    : `${numberText(value.lo)} to ${numberText(value.hi)}`
}

/** The scalars and elements that an expression reads at an item. */
const leafTexts = (expr: Expr.Expr, item: number, inputs: Arguments): ReadonlyArray<string> => {
  const texts = new Set<string>()
  for (const node of nodesOf([expr])) {
    const { _tag } = node.node
    if (_tag !== "Scalar" && _tag !== "Element") continue
    const exactly = evaluate(node, item, inputs, { flushes: false, reorders: false, assumesFinite: false })
    texts.add(`${textOf(node)} = ${valueText(exactly)}`)
  }
  return [...texts]
}

/** The operations of an expression whose results are elements, the smallest first. */
const partsOf = (expr: Expr.Expr): ReadonlyArray<Expr.Expr<DType.DType>> =>
  [...nodesOf([expr])].filter((node) => node !== expr && node.node._tag === "Apply")
