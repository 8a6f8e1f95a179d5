/**
 * Elementwise kernels made from existing expressions, which are checked before.
 */
import type { DType } from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Kernel from "effect-gpu-pool/Kernel"
import type { NumericArgument, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type * as Expr from "./Expr.ts"
import { operationOf, usesProblem } from "./expression/Declaration.ts"
import { dtypesOf, nodesOf, ownVectorsOf, usedIn } from "./expression/Inspection.ts"
import { Statements } from "./expression/Statements.ts"

export const maker = "ElementwiseKernel.make"

type Outputs = Readonly<Record<string, Expr.Expr | undefined>>

/** Where an output is stored, by the name of its vector: at an index that is known to be inside, and no other item's. */
type Places = Readonly<Record<string, Expr.Expr<"u32">>>

/**
 * The kernel made from existing expressions.
 */
export const generate = <const Args extends ReadonlyArray<NumericArgument>>(options: {
  readonly name: string
  readonly args: Args
  readonly outputs: Outputs
  /** An output without a place is the element of the item itself. */
  readonly places?: Places | undefined
  readonly workgroupSize?: number | undefined
}): Kernel.Kernel<Args> => {
  const { args, name, places = {}, workgroupSize } = options
  const problem = outputsProblem(operationOf(maker, name), args, options.outputs)
  if (problem !== undefined) return Kernel.define({ name, args, body: {}, workgroupSize, problem })
  const stores = storesOf(args, options.outputs, places)
  const expressions = stores.flatMap(({ place, value }) => place === undefined ? [value] : [value, place])
  return Kernel.define({
    name,
    args,
    workgroupSize,
    body: {},
    dtypes: dtypesOf(expressions),
    itemwise: itemwiseVectors(args, expressions, places)
  }, (writer) => {
    const { before, inside } = storing(writer, stores)
    return {
      preamble: writer.preamble(usedIn(expressions)),
      body: writer.body({ name, args, before, inside }),
      isStraight: true
    }
  })
}

interface Store {
  readonly vector: VectorArg
  readonly value: Expr.Expr<DType>
  readonly place: Expr.Expr<"u32"> | undefined
}

const storesOf = (
  args: ReadonlyArray<NumericArgument>,
  outputs: Outputs,
  places: Places
): ReadonlyArray<Store> =>
  args.flatMap((vector) => {
    const value = Object.hasOwn(outputs, vector.name) ? outputs[vector.name] : undefined
    if (vector._tag !== "VectorArg" || value === undefined) return []
    return [{
      vector,
      value: value as Expr.Expr<DType>,
      place: Object.hasOwn(places, vector.name) ? places[vector.name] : undefined
    }]
  })

const storing = (writer: LanguageWriter, stores: ReadonlyArray<Store>): Statements => {
  const statements = new Statements(writer, { index: "i", indexVaries: true })
  for (const { value } of stores) statements.value(value)
  for (const { place, value, vector } of stores) {
    if (place === undefined) statements.store(vector.name, vector.withOffset, value)
    else statements.storeAt(vector.name, place, value)
  }
  return statements
}

const itemwiseVectors = (
  args: ReadonlyArray<NumericArgument>,
  expressions: ReadonlyArray<Expr.Expr>,
  places: Places
): ReadonlyArray<string> => {
  const read = ownVectorsOf(expressions)
  return args.flatMap((argument) =>
    argument._tag === "VectorArg" && !Object.hasOwn(places, argument.name) &&
      (argument.access !== "read" || read.has(argument.name))
      ? [argument.name]
      : []
  )
}

/** What is wrong with the outputs, or `undefined`. */
const outputsProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  outputs: Outputs
): GpuError | undefined => {
  const expressions: Array<Expr.Expr> = []
  for (const [name, value] of Object.entries(outputs)) {
    const problem = outputProblem(operation, args, name, value)
    if (problem !== undefined) return problem
    if (value !== undefined) expressions.push(value)
  }
  return missingProblem(operation, args, outputs) ??
    (expressions.length === 0 ? noOutput(operation) : undefined) ??
    usesProblem(operation, "outputs", expressions, args) ?? overwrittenProblem(operation, outputs, expressions)
}

const outputProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  name: string,
  value: Expr.Expr | undefined
): GpuError | undefined => {
  const argument = args.find((candidate) => candidate.name === name)
  if (argument?._tag !== "VectorArg" || argument.access === "read") {
    return invalidRequest(
      operation,
      `${JSON.stringify(name)} is no vector that it may write`,
      `Declare it as a vector with access "write" or "readwrite".`
    )
  }
  if (value === undefined) return undefined
  if (value.problem !== undefined) return value.problem
  return value.type === argument.dtype ? undefined : invalidRequest(
    operation,
    `output "${name}" has elements of type ${argument.dtype}, and its expression is ${value.type}`,
    `Cast it: Expr.astype(value, "${argument.dtype}").`
  )
}

const missingProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  outputs: Outputs
): GpuError | undefined => {
  const missing = args.find((argument) =>
    argument._tag === "VectorArg" && argument.access === "write" &&
    (!Object.hasOwn(outputs, argument.name) || outputs[argument.name] === undefined)
  )
  return missing === undefined ? undefined : invalidRequest(
    operation,
    `there is no expression for output "${missing.name}"`,
    "Return one by that name."
  )
}

const noOutput = (operation: string): GpuError =>
  invalidRequest(operation, "it has no output", "Declare a vector that it may write, and its expression.")

const overwrittenProblem = (
  operation: string,
  outputs: Outputs,
  expressions: ReadonlyArray<Expr.Expr>
): GpuError | undefined => {
  for (const { node } of nodesOf(expressions)) {
    if (node._tag !== "Element" || node.at._tag !== "Clamped" || !isWritten(outputs, node.vector)) continue
    return invalidRequest(
      operation,
      `it writes "${node.vector}", and reads elements of it by Expr.at that other items may have written already`,
      "Write to another vector."
    )
  }
  return undefined
}

const isWritten = (outputs: Outputs, name: string): boolean =>
  Object.hasOwn(outputs, name) && outputs[name] !== undefined
