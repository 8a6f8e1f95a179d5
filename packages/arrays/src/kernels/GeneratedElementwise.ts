/**
 * Elementwise kernels made from existing expressions.
 */
import type { DType } from "effect-gpu-pool/DType"
import * as Kernel from "effect-gpu-pool/Kernel"
import type { NumericArgument, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type * as Expr from "./Expr.ts"
import { operationOf } from "./expression/Declaration.ts"
import { dtypesOf, ownVectorsOf, usedIn } from "./expression/Inspection.ts"
import { outputsProblem } from "./expression/OutputsProblem.ts"
import { Statements } from "./expression/Statements.ts"

export const maker = "ElementwiseKernel.make"

/**
 * The kernel made from existing expressions.
 */
export const generate = <const Args extends ReadonlyArray<NumericArgument>>(options: {
  readonly name: string
  readonly args: Args
  readonly outputs: Readonly<Record<string, Expr.Expr | undefined>>
  readonly workgroupSize?: number | undefined
}): Kernel.Kernel<Args> => {
  const { args, name, workgroupSize } = options
  const problem = outputsProblem(operationOf(maker, name), args, options.outputs)
  if (problem !== undefined) return Kernel.define({ name, args, body: {}, workgroupSize, problem })
  const stores = storesOf(args, options.outputs)
  const expressions = stores.map(({ value }) => value)
  return Kernel.define({
    name,
    args,
    workgroupSize,
    body: {},
    dtypes: dtypesOf(expressions),
    itemwise: itemwiseVectors(args, expressions)
  }, (writer) => {
    const { before, inside } = storing(writer, stores)
    return { preamble: writer.preamble(usedIn(expressions)), body: writer.body({ name, args, before, inside }) }
  })
}

interface Store {
  readonly vector: VectorArg
  readonly value: Expr.Expr<DType>
}

const storesOf = (
  args: ReadonlyArray<NumericArgument>,
  outputs: Readonly<Record<string, Expr.Expr | undefined>>
): ReadonlyArray<Store> =>
  args.flatMap((vector) => {
    const value = Object.hasOwn(outputs, vector.name) ? outputs[vector.name] : undefined
    return vector._tag !== "VectorArg" || value === undefined ? [] : [{ vector, value: value as Expr.Expr<DType> }]
  })

const storing = (writer: LanguageWriter, stores: ReadonlyArray<Store>): Statements => {
  const statements = new Statements(writer, { index: "i", indexVaries: true })
  for (const { value } of stores) statements.value(value)
  for (const { value, vector } of stores) statements.store(vector.name, vector.withOffset, value)
  return statements
}

const itemwiseVectors = (
  args: ReadonlyArray<NumericArgument>,
  expressions: ReadonlyArray<Expr.Expr>
): ReadonlyArray<string> => {
  const read = ownVectorsOf(expressions)
  return args.flatMap((argument) =>
    argument._tag === "VectorArg" && (argument.access !== "read" || read.has(argument.name)) ? [argument.name] : []
  )
}
