/**
 * Kernels that compute each element of their outputs from the elements of their inputs, written in every language from
 * expressions.
 *
 * @see pyopencl.elementwise.ElementwiseKernel
 * @since 0.1.0
 */
import * as Kernel from "effect-gpu-pool/Kernel"
import type { NumericArgument, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import type * as Expr from "./Expr.ts"
import { declarationProblem, inputOf, operationOf } from "./expression/Declaration.ts"
import { generate, maker } from "./GeneratedElementwise.ts"

/**
 * The arguments as expressions: for a vector that may be read its element, for a scalar its value.
 *
 * **Example** (What a function of inputs sees)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { type ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
 *
 * const args = [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", "factor")] as const
 * const scaled = ({ factor, x }: ElementwiseKernel.Inputs<typeof args>) => Expr.multiply(factor, x)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Inputs<Args extends ReadonlyArray<NumericArgument>> = {
  readonly [A in Args[number] as A extends { readonly access: "write" } ? never : A["name"]]: Expr.Expr<
    A["dtype"]
  >
}

/**
 * An expression for each vector that may be written; a vector that may also be read can be left out, and is then unchanged.
 *
 * **Example** (What a function of inputs answers)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { type ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
 *
 * const args = [KernelArgument.VectorArg("f32", "x"), KernelArgument.VectorArg("u32", "y", { access: "write" })] as const
 * const outputs: ElementwiseKernel.Outputs<typeof args> = { y: Expr.index }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Outputs<Args extends ReadonlyArray<NumericArgument>> =
  & {
    readonly [A in Args[number] as A extends VectorArg & { readonly access: "write" } ? A["name"] : never]: Expr.Expr<
      A["dtype"]
    >
  }
  & {
    readonly [A in Args[number] as A extends VectorArg & { readonly access: "readwrite" } ? A["name"] : never]?:
      | Expr.Expr<A["dtype"]>
      | undefined
  }

/**
 * The definition of an elementwise kernel.
 *
 * **Example** (Options that a program keeps)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
 *
 * const args = [KernelArgument.VectorArg("f32", "x")] as const
 * const halving: ElementwiseKernel.ElementwiseOptions<typeof args> = {
 *   name: "halving",
 *   args,
 *   outputs: ({ x }) => ({ x: Expr.multiply(x, 0.5) })
 * }
 * ElementwiseKernel.make(halving).name // => "halving"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ElementwiseOptions<Args extends ReadonlyArray<NumericArgument>> {
  readonly name: string
  readonly args: Args
  /** The expressions, all of them computed before the first is stored: so an argument may be input and output. */
  readonly outputs: (inputs: Inputs<Args>) => Outputs<Args>
  /** Items of one workgroup. Default: 64. */
  readonly workgroupSize?: number | undefined
}

const known = KnownOptions.of<ElementwiseOptions<ReadonlyArray<NumericArgument>>>({
  name: true,
  args: true,
  outputs: true,
  workgroupSize: true
})

/**
 * Defines a kernel whose item `i` computes element `i` of every output, counted from the offset of a vector declared
 * `withOffset`. It is dispatched as any kernel; a dispatch of more items than a vector has elements is InvalidRequest.
 *
 * The function `outputs` is called once, immediately. A mistake in the definition does not throw: the first use of the kernel
 * is InvalidRequest for a wrong expression, for one made of more than 4,096 others, for an output without one, and for an
 * argument with the name of a function that generated code calls, as `max`. Unsupported where the device lacks a type
 * that an expression uses.
 *
 * **Example** (A line's values, on every backend)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"
 * import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
 *
 * const line = ElementwiseKernel.make({
 *   name: "line",
 *   args: [
 *     KernelArgument.VectorArg("f32", "x", { access: "read" }),
 *     KernelArgument.VectorArg("f32", "y", { access: "write" }),
 *     KernelArgument.ScalarArg("f32", "slope")
 *   ],
 *   outputs: ({ slope, x }) => ({ y: Expr.add(Expr.multiply(slope, x), 1) })
 * })
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(12)
 *   const y = yield* BufferPool.allocate(12)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3))
 *   yield* CommandQueue.dispatch(line, { x, y, slope: 2 }, 3)
 *   return Array.from(yield* CommandQueue.read(y, Float32Array))
 * }) // => [3, 5, 7]
 * ```
 *
 * @see pyopencl.elementwise.ElementwiseKernel
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Args extends ReadonlyArray<NumericArgument>>(
  options: ElementwiseOptions<Args>
): Kernel.Kernel<Args> => {
  const { args, name, outputs, workgroupSize } = options
  const operation = operationOf(maker, name)
  const problem = KnownOptions.problem(operation, options, known) ?? declarationProblem(operation, name, args)
  if (problem !== undefined) return Kernel.define({ name, args, body: {}, workgroupSize, problem })
  const inputs = Object.fromEntries(
    args.flatMap((argument) =>
      argument._tag === "VectorArg" && argument.access === "write" ? [] : [[argument.name, inputOf(argument)]]
    )
  )
  return generate({ ...options, outputs: outputs(inputs as Inputs<Args>) })
}
