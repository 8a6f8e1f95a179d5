/**
 * Kernels whose items work through many elements each.
 *
 * @internal
 */
import * as Kernel from "effect-gpu-pool/Kernel"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import type * as Expr from "../Expr.ts"
import { dtypesOf } from "../expression/Inspection.ts"
import { makeHostBody } from "../expression/JavaScript.ts"
import { javaScriptLoops, type Loops, openClLoops, wgslLoops } from "../expression/Loops.ts"
import { openClPreamble } from "../expression/OpenClC.ts"
import { wgslPreamble } from "../expression/Wgsl.ts"

/** A kernel of the same statements in every language. */
export const make = (options: {
  readonly name: string
  readonly args: ReadonlyArray<NumericArgument>
  /** The scalar that says how many elements an item works through at the most. */
  readonly span: string
  /** Every expression that the statements compute. */
  readonly expressions: ReadonlyArray<Expr.Expr>
  /** Statements for item `i`. */
  readonly write: (loops: Loops) => ReadonlyArray<string>
}): Kernel.Kernel => {
  const { args, expressions, name, span, write } = options
  return Kernel.make({
    name,
    args,
    preamble: { wgsl: wgslPreamble(expressions), opencl: openClPreamble(expressions) },
    body: {
      wgsl: write(wgslLoops).join("\n"),
      opencl: write(openClLoops).join("\n"),
      host: makeHostBody(name, args, () => [
        "for (let i = from; i < to; i++) {",
        ...write(javaScriptLoops),
        "}"
      ])
    },
    dtypes: dtypesOf(expressions),
    workPerItem: span
  })
}
