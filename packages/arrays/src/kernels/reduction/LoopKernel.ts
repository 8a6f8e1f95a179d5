/**
 * Kernels whose items work through many elements each.
 *
 * @internal
 */
import * as Kernel from "effect-gpu-pool/Kernel"
import type { LocalArg, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type * as Expr from "../Expr.ts"
import { dtypesOf, usedIn } from "../expression/Inspection.ts"
import { groupItems } from "./Division.ts"

/** A kernel of the same statements in every language; for workgroups, where it has local memory. */
export const make = (options: {
  readonly name: string
  readonly args: ReadonlyArray<VectorArg | ScalarArg>
  readonly local?: ReadonlyArray<LocalArg> | undefined
  /** The scalar with the most elements of an item. */
  readonly span: string
  /** Items of a workgroup, as many as those of reductions when left out. */
  readonly workgroupSize?: number | undefined
  /** Every expression that the statements compute. */
  readonly expressions: ReadonlyArray<Expr.Expr>
  /** Statements for an item. */
  readonly write: (writer: LanguageWriter) => ReadonlyArray<string>
}): Kernel.Kernel => {
  const { args, expressions, local, name, span, workgroupSize = groupItems, write } = options
  return Kernel.define(
    {
      name,
      args: [...args, ...(local ?? [])],
      body: {},
      dtypes: dtypesOf(expressions),
      workPerItem: span,
      workgroupSize,
      form: local === undefined ? undefined : "groups"
    },
    (writer) => ({
      preamble: writer.preamble(usedIn(expressions)),
      body: writer.body({ name, args, before: [], inside: write(writer) })
    })
  )
}
