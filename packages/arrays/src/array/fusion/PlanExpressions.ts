/**
 * The expressions of a plan: what a kernel computes for the item at a position of the iteration, and the arguments for
 * that. Lengths, offsets, strides and numbers are arguments, so that one kernel serves all of them.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { DType } from "effect-gpu-pool/DType"
import { type NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import { isFloat } from "effect-gpu-pool/Operation"
import type * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import * as Operations from "../../kernels/expression/Operations.ts"
import { real } from "../layout/Promotion.ts"
import * as Indexing from "./Indexing.ts"
import type { Leaf, Plan } from "./Plan.ts"

/** The coordinates of an item, one for each length of the plan, computed without the first length. */
export type Coordinates = (lengths: ReadonlyArray<Expr.Expr<"u32">>) => ReadonlyArray<Expr.Expr<"u32">>

const item = Expression.make("u32", { _tag: "Index" })

/** Coordinates of items that iterate in order. */
export const inOrder: Coordinates = (lengths) => Indexing.coordinates(item, lengths)

/** Caches names, which are the same for every plan. */
const numbered = (prefix: string): (index: number) => string => {
  const names: Array<string> = []
  return (index) => names[index] ??= `${prefix}${index}`
}

const vectorName = numbered("x")
const lengthName = numbered("d")
const offsetName = numbered("o")
const numberName = numbered("n")

const strideName = (leaf: number, axis: number): string => `s${leaf}_${axis}`

/** The name of the vector for a result. */
export const resultName = numbered("y")

const needsCoordinates = (leaves: ReadonlyArray<Leaf>): boolean => {
  for (let leaf = 0; leaf < leaves.length; leaf++) {
    if (leaves[leaf]!.access === "Strided") return true
  }
  return false
}

/** Whether the results are stored, or are combined by a reduction. */
export type Use = "stored" | "combined"

const zeroName = "zero"

/** The variable of an element of the plan's product. */
export const productName = "product__"

/**
 * Whether another operation, also a comparison, may use an operation's float result. Compilers of WGSL may fuse and
 * reorder the two, which would give other numbers than arrays in memory; so each such result is hidden from them.
 */
const needsSeals = (steps: Plan["steps"], use: Use): boolean => {
  let operations = use === "combined" ? 1 : 0
  let floats = 0
  for (let step = 0; step < steps.length; step++) {
    if (steps[step]!._tag === "Apply" || steps[step]!._tag === "Product") operations += 1
    if (isSealable(steps[step]!)) floats += 1
  }
  return operations > 1 && floats > 0
}

const isSealable = (step: Plan["steps"][number]): boolean =>
  (step._tag === "Apply" || step._tag === "Product") && (isFloat(step.dtype) || step.dtype === "c64")

/** The values of the arguments by name. */
export const argumentsOf = (
  { leaves, lengths, numbers, steps, vectors }: Plan,
  use: Use
): Record<string, PooledBuffer | Constant> => {
  const args: Record<string, PooledBuffer | Constant> = {}
  for (let vector = 0; vector < vectors.length; vector++) args[vectorName(vector)] = vectors[vector]!.lease
  if (needsCoordinates(leaves)) {
    for (let axis = 1; axis < lengths.length; axis++) args[lengthName(axis)] = lengths[axis]!
  }
  for (let leaf = 0; leaf < leaves.length; leaf++) {
    const { access, offset, strides } = leaves[leaf]!
    if (access === "Own") continue
    args[offsetName(leaf)] = offset
    if (access !== "Strided") continue
    for (let axis = 0; axis < strides.length; axis++) {
      if (strides[axis] !== 0) args[strideName(leaf, axis)] = strides[axis]! >>> 0
    }
  }
  for (let index = 0; index < numbers.length; index++) args[numberName(index)] = numbers[index]!
  if (needsSeals(steps, use)) args[zeroName] = 0
  return args
}

/** The results of a plan as expressions, and the arguments that they name. */
export const generate = (
  plan: Plan,
  coordinates: Coordinates,
  use: Use
): { readonly args: ReadonlyArray<NumericArgument>; readonly expressions: ReadonlyArray<Expr.Expr<DType>> } => {
  const generator = new Generator(plan, coordinates, use)
  const expressions = generator.expressions()
  return { args: generator.args, expressions }
}

/** Collects the arguments while the expressions name them. */
class Generator {
  readonly args: Array<NumericArgument>
  readonly #plan: Plan
  readonly #coordinates: ReadonlyArray<Expr.Expr<"u32">>
  readonly #use: Use
  #numbers = 0

  constructor(plan: Plan, coordinates: Coordinates, use: Use) {
    this.#plan = plan
    this.#use = use
    this.args = plan.vectors.map(({ dtype }, index) => VectorArg(dtype, vectorName(index), { access: "read" }))
    this.#coordinates = needsCoordinates(plan.leaves)
      // No kernel divides by the first length.
      ? coordinates(plan.lengths.map((_, axis) => axis === 0 ? item : this.#scalar("u32", lengthName(axis))))
      : []
  }

  expressions(): ReadonlyArray<Expr.Expr<DType>> {
    const values: Array<Expr.Expr<DType>> = []
    const results: Array<Expr.Expr<DType>> = []
    const leaves = this.#plan.leaves.map((leaf, index) => this.#leaf(leaf, index))
    const zero = needsSeals(this.#plan.steps, this.#use) ? this.#scalar("u32", zeroName) : undefined
    for (const step of this.#plan.steps) {
      if (step._tag === "Leaf") values.push(leaves[step.leaf]!)
      else if (step._tag === "Number") values.push(this.#scalar(real(step.dtype), numberName(this.#numbers++)))
      else {
        const value = step._tag === "Product"
          ? Expression.make(step.dtype, { _tag: "Variable", name: productName })
          : this.#applied(step, values)
        results[values.length] = value
        values.push(zero !== undefined && isSealable(step) ? seal(value, zero) : value)
      }
    }
    return this.#plan.results.map((result) =>
      this.#use === "stored" ? results[result] ?? values[result]! : values[result]!
    )
  }

  #applied(
    { dtype, operands: steps, pending }: Extract<Plan["steps"][number], { readonly _tag: "Apply" }>,
    values: ReadonlyArray<Expr.Expr<DType>>
  ): Expr.Expr<DType> {
    const { operandTypes, operation } = pending
    const operands = steps.map((operand, at) => castTo(operandTypes[at]!, values[operand]!))
    return operation.build(operands as ReadonlyArray<Expr.Expr<Expr.NumberType>>, dtype)
  }

  #scalar<D extends DType>(dtype: D, name: string): Expr.Expr<D> {
    this.args.push(ScalarArg(dtype, name))
    return Expression.make(dtype, { _tag: "Scalar", name })
  }

  #leaf(leaf: Leaf, index: number): Expr.Expr<DType> {
    const { dtype } = this.#plan.vectors[leaf.vector]!
    return Expression.make(dtype, {
      _tag: "Element",
      vector: vectorName(leaf.vector),
      dtype,
      at: this.#at(leaf, index)
    })
  }

  #at({ access, strides }: Leaf, leaf: number): Expression.ElementIndex {
    if (access === "Own") return { _tag: "Own", withOffset: false }
    const offset = this.#scalar("u32", offsetName(leaf))
    switch (access) {
      case "Single":
        return { _tag: "Inside", index: offset }
      case "Shifted": {
        const one = Expression.make("u32", { _tag: "Constant", value: 1 })
        return { _tag: "Inside", index: Indexing.stridedIndex(offset, [item], [one]) }
      }
      case "Strided": {
        const steps = strides.map((stride, axis) =>
          stride === 0 ? undefined : this.#scalar("u32", strideName(leaf, axis))
        )
        return { _tag: "Inside", index: Indexing.stridedIndex(offset, this.#coordinates, steps) }
      }
    }
  }
}

const seal = (value: Expr.Expr<DType>, zero: Expr.Expr<"u32">): Expr.Expr<DType> => {
  if (value.type !== "c64") return sealOne(value, zero)
  const part = (operation: "real" | "imag") => sealOne(Operations.apply(operation, [value]) as Expr.Expr<DType>, zero)
  return Expression.complexOf(part("real"), part("imag"))
}

const sealOne = (value: Expr.Expr<DType>, zero: Expr.Expr<"u32">): Expr.Expr<DType> =>
  Expression.make(value.type, { _tag: "Seal", operands: [value, zero] }, value.problem, value.depth)

export const castTo = (dtype: DType, operand: Expr.Expr<DType>): Expr.Expr<DType> =>
  operand.type === dtype ? operand : Operations.apply("astype", [operand], dtype) as Expr.Expr<DType>

/** The name of a kernel, made from its operations so that an error says what failed. */
export const nameOf = ({ steps }: Plan): string => {
  const names = steps.flatMap((step) =>
    step._tag === "Apply" || step._tag === "Product" ? [step.pending.operation.name.replaceAll(/\W+/g, "_")] : []
  )
  const distinct = [...new Set(names)]
  const shown = distinct.slice(0, 6).join("_")
  return distinct.length > 6 ? `${shown}_and_more` : shown
}
