/**
 * The arguments of kernels, under PyOpenCL's names: `VectorArg` for a buffer seen as elements, `ScalarArg` for a
 * number.
 *
 * @see pyopencl.tools.VectorArg, pyopencl.tools.ScalarArg
 * @since 0.1.0
 */
import type { DType } from "./DType.ts"

/**
 * How a kernel uses a vector.
 *
 * @category models
 * @since 0.1.0
 */
export type Access = "read" | "write" | "readwrite"

/**
 * A buffer argument. In a body its name is the array; in WGSL and OpenCL C `<name>_length` is its number of whole
 * elements (a host body's typed array has a `length`), and with
 * `withOffset` the first element of the view is at `<name>_offset`.
 *
 * @category models
 * @since 0.1.0
 */
export interface VectorArg<
  Name extends string = string,
  D extends DType = DType,
  Offset extends boolean = boolean,
  A extends Access = Access
> {
  readonly _tag: "VectorArg"
  readonly dtype: D
  readonly name: Name
  readonly access: A
  readonly withOffset: Offset
}

/**
 * A number argument. In a body its name is the number.
 *
 * @category models
 * @since 0.1.0
 */
export interface ScalarArg<Name extends string = string, D extends DType = DType> {
  readonly _tag: "ScalarArg"
  readonly dtype: D
  readonly name: Name
}

/**
 * Any argument of a kernel.
 *
 * @category models
 * @since 0.1.0
 */
export type KernelArgument = VectorArg | ScalarArg

/**
 * What a buffer argument can say beyond its type and name.
 *
 * @category models
 * @since 0.1.0
 */
export interface VectorOptions {
  /** `"readwrite"` without it. */
  readonly access?: Access | undefined
  /** Lets a dispatch choose the first element of the view; the body sees it as `<name>_offset`. */
  readonly withOffset?: boolean | undefined
}

/**
 * Declares a buffer argument; without options kernels may read and write it, and it has no offset.
 *
 * **Example** (An input and an output)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 *
 * const x = KernelArgument.VectorArg("f32", "x", { access: "read" })
 * const y = KernelArgument.VectorArg("f32", "y", { access: "write" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const VectorArg = <D extends DType, Name extends string, const Options extends VectorOptions = {}>(
  dtype: D,
  name: Name,
  options?: Options
): VectorArg<Name, D, OffsetOf<Options>, AccessOf<Options>> => ({
  _tag: "VectorArg",
  dtype,
  name,
  // Inside a kernel's list of arguments plain type parameters would be inferred too widely, from the list's type.
  access: (options?.access ?? "readwrite") as AccessOf<Options>,
  withOffset: (options?.withOffset ?? false) as OffsetOf<Options>
})

type OffsetOf<Options> = Options extends { readonly withOffset: infer Offset extends boolean } ? Offset : false

type AccessOf<Options> = Options extends { readonly access: infer A extends Access } ? A : "readwrite"

/**
 * Declares a number argument.
 *
 * **Example** (A factor)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 *
 * const a = KernelArgument.ScalarArg("f32", "a")
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ScalarArg = <D extends DType, Name extends string>(dtype: D, name: Name): ScalarArg<Name, D> => ({
  _tag: "ScalarArg",
  dtype,
  name
})
