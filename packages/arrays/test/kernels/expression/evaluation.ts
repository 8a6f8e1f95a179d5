/** Computes many expressions on many operands with one kernel, because drivers take long to compile one. */
import { Expr } from "@effect-gpu-pool/arrays"
import { BufferPool, CommandQueue, DType, KernelArgument } from "effect-gpu-pool"
import { isFloat } from "effect-gpu-pool/Operation"
import * as Effect from "effect/Effect"
import * as Expression from "../../../src/kernels/expression/Expression.ts"
import { generate } from "../../../src/kernels/GeneratedElementwise.ts"

type AnyDType = DType.DType

/** The operands of one case. */
export interface Operands<T extends AnyDType> {
  readonly a: Expr.Expr<T>
  readonly b: Expr.Expr<T>
  readonly c: Expr.Expr<T>
}

/** An expression of one, two or three operands. */
export type Build<T extends AnyDType> = (operands: Operands<T>) => Expr.Expr

/** A number of a case: a bigint or a number for integers of any type. */
export type CaseNumber = number | bigint

/** Numbers for the operands; the shorter lists are repeated. */
export interface Cases {
  readonly a: ReadonlyArray<CaseNumber>
  readonly b?: ReadonlyArray<CaseNumber>
  readonly c?: ReadonlyArray<CaseNumber>
}

const upload = (dtype: AnyDType, numbers: ReadonlyArray<CaseNumber>) =>
  Effect.gen(function*() {
    const buffer = yield* BufferPool.allocate(numbers.length * DType.byteSize(dtype))
    const view = DType.viewUnsafe(dtype, new ArrayBuffer(buffer.size), 0, numbers.length)
    const asElement = dtype === "i64" || dtype === "u64" ? BigInt : Number
    numbers.forEach((number, at) => view[at] = asElement(number))
    yield* CommandQueue.write(buffer, view)
    return buffer
  })

const spread = (numbers: ReadonlyArray<CaseNumber> | undefined, count: number): ReadonlyArray<CaseNumber> =>
  Array.from({ length: count }, (_, index) => numbers === undefined ? 0 : numbers[index % numbers.length]!)

/**
 * Results by the names of the expressions, one number a case, of 64-bit integers the nearest double; truth values are 0
 * and 1. `exactly` gives integers as bigints.
 */
export const evaluate = <T extends AnyDType>(
  dtype: T,
  cases: Cases,
  expressions: Readonly<Record<string, Build<T>>>
) =>
  Effect.gen(function*() {
    const count = cases.a.length
    const a = KernelArgument.VectorArg(dtype, "a", { access: "read" })
    const b = KernelArgument.VectorArg(dtype, "b", { access: "read" })
    const c = KernelArgument.VectorArg(dtype, "c", { access: "read" })
    const item = Expr.fmod(Expr.index, count)
    const which = Expr.floorDivide(Expr.index, count)
    const elementOf = (vector: string): Expr.Expr<T> =>
      Expression.make(dtype, {
        _tag: "Element",
        vector,
        dtype,
        at: { _tag: "Clamped", withOffset: false, index: item }
      })
    const operands = { a: elementOf("a"), b: elementOf("b"), c: elementOf("c") }
    const groups = new Map<AnyDType, Array<{ readonly name: string; readonly value: Expr.Expr<AnyDType> }>>()
    for (const [name, build] of Object.entries(expressions)) {
      const built = build(operands)
      const value = (built.type === "bool" && dtype !== "bool" ? Expr.astype(built, "u32") : built) as Expr.Expr<
        AnyDType
      >
      groups.set(value.type, [...groups.get(value.type) ?? [], { name, value }])
    }
    const results = [...groups].map(([type, members]) => ({
      type,
      members,
      argument: KernelArgument.VectorArg(type, `y_${type}`, { access: "write" }),
      value: members.map(({ value }) => value).reduceRight((rest, value, index) =>
        Expr.where(Expr.equal(which, index), value, rest)
      )
    }))
    const kernel = generate({
      name: "evaluation",
      args: [a, b, c, ...results.map(({ argument }) => argument)],
      outputs: Object.fromEntries(results.map(({ argument, value }) => [argument.name, value]))
    })
    const most = Math.max(...results.map(({ members }) => members.length))
    const args: Record<string, BufferPool.PooledBuffer> = {}
    for (const name of ["a", "b", "c"] as const) args[name] = yield* upload(dtype, spread(cases[name], count))
    for (const { argument, type } of results) {
      args[argument.name] = yield* BufferPool.allocate(most * count * DType.byteSize(type))
    }
    yield* CommandQueue.dispatch(kernel, args as never, most * count)
    const found: Record<string, ReadonlyArray<number>> = {}
    const exactly: Record<string, ReadonlyArray<bigint>> = {}
    for (const { argument, members, type } of results) {
      const bytes = yield* CommandQueue.read(args[argument.name]!, Uint8Array)
      const view = DType.viewUnsafe(type, bytes.buffer as ArrayBuffer, bytes.byteOffset, most * count)
      members.forEach(({ name }, index) => {
        const part = Array.from(view.subarray(index * count, (index + 1) * count) as Iterable<CaseNumber>)
        found[name] = part.map(Number)
        if (!isFloat(type)) exactly[name] = part.map(BigInt)
      })
    }
    return { found, exactly }
  }).pipe(Effect.scoped)
