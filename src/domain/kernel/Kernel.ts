/**
 * A kernel: arguments and one body per language. The library writes everything around the body.
 *
 * @since 0.1.0
 */
import { formatted } from "../arguments/Format.ts"
import { byteSize, type DType, type TypedArrayOf } from "../data/DType.ts"
import * as HostSource from "../data/HostSource.ts"
import * as ValueType from "../data/ValueType.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import * as ImageChannel from "../images/ImageChannel.ts"
import * as Format from "../images/ImageFormat.ts"
import type { ReadableImage, Sampler, WritableImage } from "../images/KernelImage.ts"
import type { KernelBody, KernelSource, LanguageWriter } from "../language/LanguageWriter.ts"
import type { ImageArg, KernelArgument, LocalArg, ScalarArg, VectorArg } from "./KernelArgument.ts"
import { showingKernel } from "./KernelLine.ts"
import { isReserved, type ReservedWord } from "./ReservedWords.ts"
import type { Size } from "./Workgroup.ts"

export type { KernelBody, KernelSource } from "../language/LanguageWriter.ts"

/**
 * What a host body gets: a typed array per vector and per local memory, and `<name>_offset` per vector with an offset; per scalar a number, a
 * bigint, or a frozen array of them; something to load from, or to store to, per image, and per sampler what `sample` of
 * an image takes.
 *
 * @category models
 * @since 0.1.0
 */
export type HostArguments<Args extends ReadonlyArray<KernelArgument>> =
  & {
    readonly [A in Args[number] as A["name"]]: A extends VectorArg<string, infer E> ?
      TypedArrayOf[ValueType.NumberIn<E>]
      : A extends LocalArg<string, infer D> ? TypedArrayOf[D]
      : A extends ImageArg<string, infer Use> ? Use extends "read" ? ReadableImage : WritableImage
      : A extends ScalarArg<string, infer V> ? ValueType.HostValueOf<V>
      : Sampler
  }
  & {
    readonly [A in Args[number] as A extends VectorArg<infer N, ValueType.VectorElement, true> ? `${N}_offset` : never]:
      number
  }

/**
 * A body for the host backend: works through the items `from` to `to` (exclusive). It is called range by range, with a
 * yield to the event loop in between. Other backends may move it to threads of their own, as text.
 *
 * @category models
 * @since 0.1.0
 */
export type HostBody<Args extends ReadonlyArray<KernelArgument>> = (
  from: number,
  to: number,
  args: HostArguments<Args>
) => void

/**
 * One body per language, by the id of the language: `wgsl`, `opencl` and `host` are those of the library's own backends.
 *
 * @category models
 * @since 0.1.0
 */
export type KernelBodies<Args extends ReadonlyArray<KernelArgument>> = {
  readonly [language: string]: string | HostBody<Args> | undefined
}

/**
 * Writes a kernel that is made of expressions, in a language.
 *
 * @category models
 * @since 0.1.0
 */
export type Generate = (writer: LanguageWriter) => KernelSource

/**
 * A kernel definition; compiled on first use by the device's KernelCache.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kernel<out Args extends ReadonlyArray<KernelArgument> = ReadonlyArray<KernelArgument>> {
  readonly name: string
  readonly args: Args
  /** Bodies written by hand, by language. */
  readonly body: { readonly [language: string]: KernelBody | undefined }
  /** Declarations put before the kernel, such as functions. */
  readonly preamble: { readonly [language: string]: string | undefined }
  /** Writes the kernel in languages for which it has no body. */
  readonly generate?: Generate | undefined
  /**
   * What the bodies are: absent for statements of one item, `"groups"` for bodies that are written for workgroups, and
   * `"source"` for whole sources of the program's own.
   */
  readonly form?: "groups" | "source" | undefined
  /** Items of one workgroup: in one dimension, or for a kernel with a `form` in up to three. */
  readonly workgroupSize: Size
  /** Options for the OpenCL compiler, as `-cl-mad-enable`. */
  readonly buildOptions: string
  /** Element types that the bodies use besides those of the arguments; the device must have them too. */
  readonly dtypes: ReadonlyArray<DType>
  /**
   * Names of the vectors in which item `i` accesses element `i`, counted from the offset: a dispatch with more items
   * than such a vector has elements is InvalidRequest.
   */
  readonly itemwise: ReadonlyArray<string>
  /**
   * Name of the scalar argument with the most elements that an item works through; without a name that is 1. The host
   * backend divides its range of items by it, so that a task of the event loop stays short. It changes no result.
   */
  readonly workPerItem: string | undefined
  /** What is wrong with the definition, if anything: {@link make} finds it, and the first dispatch fails with it. */
  readonly problem: GpuError | undefined
}

/** What a kernel is made of. */
interface KernelOptions<Args extends ReadonlyArray<KernelArgument>> {
  readonly name: string
  readonly args: Args
  readonly body: KernelBodies<Args>
  readonly preamble?: { readonly [language: string]: string | undefined } | undefined
  readonly workgroupSize?: number | undefined
  readonly buildOptions?: string | undefined
  readonly dtypes?: ReadonlyArray<DType> | undefined
  readonly itemwise?: ReadonlyArray<Args[number]["name"]> | undefined
  readonly workPerItem?: Args[number]["name"] | undefined
  readonly problem?: GpuError | undefined
}

/** What a kernel of any form is made of. */
interface DefinitionOptions<Args extends ReadonlyArray<KernelArgument>>
  extends Omit<KernelOptions<Args>, "workgroupSize">
{
  readonly workgroupSize?: Size | undefined
  readonly form?: Kernel["form"]
}

type Taken<Args extends ReadonlyArray<KernelArgument>> = Extract<Args[number]["name"], ReservedWord | "count" | "i">

/** Lets TypeScript refuse reserved words and the names that every body has, as far as it knows the names. */
type FreeNames<Args extends ReadonlyArray<KernelArgument>> = [Taken<Args>] extends [never] ? unknown
  // of arguments without types nothing is known
  : unknown extends Taken<Args> ? unknown
  : {
    readonly args: `"${Taken<Args>}" is taken: a language of kernels or the generated code keeps this word for itself`
  }

/**
 * Defines a kernel. A mistake in a definition (a name that a language reserves, a name twice) is `problem` of the kernel, and
 * InvalidRequest when it is dispatched; TypeScript refuses names that are reserved. `dtypes` lists element types that bodies use beyond those of the arguments, `itemwise` vectors
 * of which item `i` touches element `i`. `workPerItem` names the scalar that says how many elements an item works
 * through, for kernels whose items loop. `problem` is what is wrong with a generated kernel.
 *
 * **Example** (Scaling a vector on every backend)
 *
 * ```ts
 * import { Kernel, KernelArgument } from "effect-gpu-pool"
 *
 * const scale = Kernel.make({
 *   name: "scale",
 *   args: [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", "a")],
 *   body: {
 *     wgsl: "x[i] = a * x[i];",
 *     opencl: "x[i] = a * x[i];",
 *     host: (from, to, { a, x }) => {
 *       for (let i = from; i < to; i++) x[i] = a * x[i]!
 *     }
 *   },
 *   itemwise: ["x"]
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Args extends ReadonlyArray<KernelArgument>>(
  options: KernelOptions<Args> & FreeNames<Args>
): Kernel<Args> => define(options)

/**
 * The same for a generic list of arguments, whose names only the caller of the generic function knows. `generate`
 * writes the kernel in languages for which it has no body.
 *
 * @category functions
 * @since 0.1.0
 */
export const define = <const Args extends ReadonlyArray<KernelArgument>>(
  options: DefinitionOptions<Args>,
  generate?: Generate
): Kernel<Args> => {
  const {
    args,
    body,
    buildOptions = "",
    dtypes = [],
    form,
    itemwise = [],
    name,
    preamble,
    problem,
    workPerItem,
    workgroupSize = 64
  } = options
  const made = {
    name,
    args: fixedList(args),
    body: Object.freeze({ ...body }),
    preamble: Object.freeze({ ...preamble }),
    ...(generate === undefined ? {} : { generate }),
    ...(form === undefined ? {} : { form }),
    workgroupSize: fixedSize(workgroupSize),
    buildOptions,
    dtypes: fixedList(dtypes),
    itemwise: fixedList(itemwise),
    workPerItem,
    problem
  }
  const kernel: Kernel<Args> = Object.freeze(shownKernel<Kernel<Args>>({ ...made, problem: check(made) }))
  fixedForms.set(kernel, kernel)
  return kernel
}

const shownKernel = showingKernel<Kernel>("Kernel")

/**
 * Values that a host body can use besides its arguments and still be moved to another thread.
 *
 * @category models
 * @since 0.1.0
 */
export type HostValue =
  | number
  | bigint
  | string
  | boolean
  | null
  | undefined
  | ((...args: ReadonlyArray<never>) => unknown)
  | ReadonlyArray<HostValue>
  | { readonly [name: string]: HostValue }

/**
 * A host body, or a function for one, that uses `values` besides its arguments: `make` gets them and returns the
 * function. On the host itself this is `make(values)`; a backend that runs bodies on other threads gets the values as
 * they are now, written as text. Functions among the values see only their own arguments and JavaScript's globals,
 * unless `hostFunction` made them too. Throws a TypeError for a value without a text, as a typed array.
 *
 * **Example** (A body that uses a number of the program's)
 *
 * ```ts
 * import { Kernel, KernelArgument } from "effect-gpu-pool"
 *
 * const power = (exponent: number) =>
 *   Kernel.make({
 *     name: "power",
 *     args: [KernelArgument.VectorArg("f32", "x")],
 *     body: {
 *       host: Kernel.hostFunction({ exponent }, ({ exponent }) => (from: number, to: number, { x }: { x: Float32Array }) => {
 *         for (let i = from; i < to; i++) x[i] = x[i]! ** exponent
 *       })
 *     }
 *   })
 * const cube = power(3)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const hostFunction = <
  const Values extends { readonly [name: string]: HostValue },
  F extends (...args: ReadonlyArray<never>) => unknown
>(values: Values, make: (values: Values) => F): F => {
  const text = `${HostSource.textOf(make)}(${HostSource.literal(values)})`
  return HostSource.withText(make(values), text)
}

/**
 * A copy of a list.
 *
 * @category functions
 * @since 0.1.0
 */
export const fixedList = <A extends ReadonlyArray<unknown>>(list: A): A =>
  Object.freeze(list.map(fixedElement)) as unknown as A

const fixedElement = (element: unknown): unknown =>
  typeof element === "object" && element !== null ? Object.freeze({ ...element }) : element

const fixedSize = (size: Size): Size => Array.isArray(size) ? Object.freeze([...size]) as unknown as Size : size

const fixedForms = new WeakMap<object, Kernel>()

/**
 * A copy of a kernel at its first use, so that later changes by the program cannot disagree with the compiled code.
 * Kernels of {@link make} never change, but a program can copy one with some fields replaced.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fixed = (kernel: Kernel): Kernel => {
  const known = fixedForms.get(kernel)
  if (known !== undefined) return known
  const { args, body, dtypes, itemwise, preamble, workgroupSize } = kernel
  const own: Kernel = {
    ...kernel,
    workgroupSize: fixedSize(workgroupSize),
    args: fixedList(args),
    body: fixedElement(body) as Kernel["body"],
    preamble: fixedElement(preamble) as Kernel["preamble"],
    dtypes: fixedList(dtypes),
    itemwise: fixedList(itemwise)
  }
  fixedForms.set(kernel, own)
  return own
}

const identifier = /^[A-Za-z][A-Za-z0-9_]*$/

/** PoCL makes file names of kernels' names: longer ones fail to link, and from 800 characters on abort the process. */
const longestName = 128

const operation = "Kernel.make"

const namesOf = (argument: KernelArgument): ReadonlyArray<string> =>
  argument._tag === "VectorArg"
    ? [
      argument.name,
      `${argument.name}_length`,
      ...(argument.withOffset ? [`${argument.name}_offset`] : []),
      // The functions of a vector in WGSL whose elements share words.
      ...(byteSize(argument.dtype as DType) < 4 && argument.dtype !== "f16"
        ? [`${argument.name}_load`, `${argument.name}_store`]
        : [])
    ]
    : [argument.name]

/**
 * What is wrong with a kernel definition, or `undefined` for a good one.
 *
 * @category functions
 * @since 0.1.0
 */
export const check = (kernel: Kernel): GpuError | undefined =>
  kernel.problem ?? textProblem(kernel) ?? imagesProblem(kernel) ?? nameProblem(kernel) ?? itemwiseProblem(kernel) ??
    workProblem(kernel) ?? workgroupProblem(kernel)

/** Compilers get these texts, and some abort the process when one is no string. */
const textProblem = ({ body, buildOptions, name, preamble }: Kernel): GpuError | undefined => {
  const texts: ReadonlyArray<readonly [what: string, value: unknown, isOptional: boolean]> = [
    ["name", name, false],
    ...Object.entries(body).map(([id, value]) => [`body.${id}`, value, true] as const),
    ...Object.entries(preamble ?? {}).map(([id, value]) => [`preamble.${id}`, value, true] as const),
    ["buildOptions", buildOptions, false]
  ]
  for (const [what, value, isOptional] of texts) {
    if (typeof value === "string" || (isOptional && value === undefined)) continue
    if (what.startsWith("body.") && typeof value === "function") continue
    return invalidRequest(
      operation,
      `${formatted(value)} was given for ${what}${typeof name === "string" ? ` of kernel "${name}"` : ""}`,
      isOptional ? "Pass source as a string, or leave it out." : "Pass a string."
    )
  }
  return undefined
}

const imagesProblem = (kernel: Kernel): GpuError | undefined => {
  for (const argument of kernel.args) {
    const problem = argument._tag === "ImageArg" ? imageProblem(kernel, argument) : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

const imageProblem = (kernel: Kernel, argument: ImageArg): GpuError | undefined => {
  const { access, channel, format, name } = argument
  const of = `of image ${formatted(name)} in kernel "${kernel.name}"`
  if (format === undefined) {
    return access === "read" ? undefined : invalidRequest(
      operation,
      `the format ${of} is missing, which the kernel writes`,
      "Name it, as ImageFormat.rgba8: kernels declare the format of what they write."
    )
  }
  const wrong = Format.problem(format)
  if (wrong !== undefined) {
    return invalidRequest(operation, `the format ${of}: ${wrong}`, "Take one of ImageFormat.all.")
  }
  const fitting = ImageChannel.of(format)
  return fitting === channel ? undefined : invalidRequest(
    operation,
    `the channel "${channel}" ${of} does not fit its format ${Format.format(format)}`,
    `Leave the channel out, or say "${fitting}".`
  )
}

const itemwiseProblem = (kernel: Kernel): GpuError | undefined => {
  for (const name of kernel.itemwise) {
    if (kernel.args.some((argument) => argument._tag === "VectorArg" && argument.name === name)) continue
    return invalidRequest(
      operation,
      `${formatted(name)}, which kernel "${kernel.name}" lists as itemwise, is no vector of it`,
      "List names of its vectors only."
    )
  }
  return undefined
}

const workProblem = ({ args, name, workPerItem }: Kernel): GpuError | undefined =>
  workPerItem === undefined ||
    args.some((argument) =>
      argument._tag === "ScalarArg" && argument.name === workPerItem && ValueType.partsOf(argument.dtype).length === 1
    )
    ? undefined
    : invalidRequest(
      operation,
      `${formatted(workPerItem)}, which kernel "${name}" names as its workPerItem, is no number of it`,
      "Name the scalar that holds how many elements an item works through, or leave it out."
    )

const nameProblem = (kernel: Kernel): GpuError | undefined => {
  if (kernel.name.length > longestName) {
    return invalidRequest(
      operation,
      `the name of kernel "${kernel.name.slice(0, 20)}..." has ${kernel.name.length} characters`,
      `Use ${longestName} at most.`
    )
  }
  const isOfItems = kernel.form === undefined
  const seen = new Set(isOfItems ? ["i", "count"] : [])
  // A source of the program's own names its parameters as it likes.
  const ofArguments = kernel.form === "source" ? kernel.args.map(({ name }) => name) : kernel.args.flatMap(namesOf)
  for (const name of [kernel.name, ...ofArguments]) {
    if (!identifier.test(name) || name.includes("__")) {
      return invalidRequest(
        operation,
        `"${name}" in kernel "${kernel.name}" is no name that every language accepts`,
        "Use letters, digits and single underscores, a letter first."
      )
    }
    if (name !== kernel.name && kernel.form !== "source" && isReserved(name)) {
      return invalidRequest(
        operation,
        `"${name}" in kernel "${kernel.name}" is a word that a language of kernels reserves`,
        `Choose another name, as ${name}_value: kernels are portable, so what one language reserves is ` +
          "refused on every backend."
      )
    }
    if (seen.has(name)) {
      return invalidRequest(
        operation,
        `the name "${name}" is taken in kernel "${kernel.name}"`,
        `Give every argument a name of its own, other than ${isOfItems ? "i, count and " : ""}the kernel's name.`
      )
    }
    seen.add(name)
  }
  return undefined
}

/** The module of workgroups checks other forms, since few programs have them. */
const workgroupProblem = ({ form, name, workgroupSize }: Kernel): GpuError | undefined =>
  form !== undefined || (Number.isInteger(workgroupSize) && workgroupSize as number >= 1) ? undefined : invalidRequest(
    operation,
    `workgroupSize ${String(workgroupSize)} of kernel "${name}" is no positive integer`,
    "Leave it out, or use a power of two such as 64."
  )
