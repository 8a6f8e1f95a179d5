/**
 * The arguments of kernels, under PyOpenCL's names: `VectorArg` for a buffer seen as elements, `ScalarArg` for a
 * number or a few of them; and beside them `ImageArg` for an image, `SamplerArg` for how it is read, and `LocalArg` for
 * memory that the items of a workgroup share.
 *
 * @see pyopencl.tools.VectorArg, pyopencl.tools.ScalarArg
 * @since 0.1.0
 */
import type { DType } from "../data/DType.ts"
import type { ValueType, VectorElement } from "../data/ValueType.ts"
import * as ImageChannel from "../images/ImageChannel.ts"
import type * as Format from "../images/ImageFormat.ts"
import type { ImageKind } from "../images/ImageShape.ts"

export type {
  HeldValue,
  HostValueOf,
  LongInteger,
  NumberOf,
  NumberType,
  ShortVector,
  SmallInteger,
  ValueOf,
  ValueType,
  VectorElement,
  VectorLength,
  Widened
} from "../data/ValueType.ts"

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
 * Elements may be short vectors: `array<vec4<f32>>` in WGSL, `float4*` in
 * OpenCL C, and in a host body the typed array of their numbers, in which element `k` begins at `k` times its length.
 * Those of three numbers begin 4 numbers apart everywhere. Offsets and lengths count elements.
 *
 * @category models
 * @since 0.1.0
 */
export interface VectorArg<
  Name extends string = string,
  D extends VectorElement = VectorElement,
  Offset extends boolean = boolean,
  A extends Access = Access
> {
  readonly _tag: "VectorArg"
  readonly dtype: D
  readonly name: Name
  readonly access: A
  readonly withOffset: Offset
  /** Set where bodies access its elements by atomic functions: see {@link VectorOptions}. */
  readonly atomic?: true | undefined
}

/**
 * An argument that is passed by value: a number, a truth value, or a short vector of numbers. In a body its name is the
 * value.
 *
 * @category models
 * @since 0.1.0
 */
export interface ScalarArg<Name extends string = string, D extends ValueType = ValueType> {
  readonly _tag: "ScalarArg"
  readonly dtype: D
  readonly name: Name
}

/**
 * How a kernel uses an image: no kernel reads and writes the same one.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageAccess = "read" | "write"

/**
 * An image argument. In a WGSL or OpenCL C body its name is the image, for the functions that the language has for it; a
 * host body gets a `KernelImage.ReadableImage` or a `KernelImage.WritableImage`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageArg<Name extends string = string, A extends ImageAccess = ImageAccess> {
  readonly _tag: "ImageArg"
  readonly name: Name
  readonly access: A
  readonly kind: ImageKind
  readonly channel: ImageChannel.ImageChannel
  /**
   * The format that images must have; without it any format with that kind of channel. A written image must have one.
   */
  readonly format: Format.ImageFormat | undefined
}

/**
 * A sampler argument: how images are read at coordinates between and beyond their elements.
 *
 * @category models
 * @since 0.1.0
 */
export interface SamplerArg<Name extends string = string> {
  readonly _tag: "SamplerArg"
  readonly name: Name
}

/**
 * Memory of a workgroup, which its items share: `__local` in OpenCL C, `var<workgroup>` in WGSL, `__shared__` in CUDA. It
 * is declared among the arguments of a kernel, and a dispatch passes nothing for it. In a body its name is the array.
 *
 * @category models
 * @since 0.1.0
 */
export interface LocalArg<Name extends string = string, D extends DType = DType> {
  readonly _tag: "LocalArg"
  readonly dtype: D
  readonly name: Name
  /** Elements. */
  readonly length: number
  /** Set where bodies access its elements by atomic functions. */
  readonly atomic?: true | undefined
}

/**
 * An argument with numbers, which expressions are made of. Kernels made of expressions take only these.
 *
 * @category models
 * @since 0.1.0
 */
export type NumericArgument = VectorArg<string, DType> | ScalarArg<string, DType>

/**
 * Any argument of a kernel.
 *
 * @category models
 * @since 0.1.0
 */
export type KernelArgument = VectorArg | ScalarArg | ImageArg | SamplerArg | LocalArg

/**
 * The options of a buffer argument.
 *
 * @category models
 * @since 0.1.0
 */
export interface VectorOptions {
  /** `"readwrite"` without it. */
  readonly access?: Access | undefined
  /** Lets a dispatch choose the first element of the view; the body sees it as `<name>_offset`. */
  readonly withOffset?: boolean | undefined
  /**
   * Lets bodies use atomic functions on its elements, which are `i32` or `u32`: WGSL then declares `array<atomic<u32>>`,
   * and a WGSL body also reads and writes them by `atomicLoad` and `atomicStore`. OpenCL C and the host need no
   * declaration.
   */
  readonly atomic?: boolean | undefined
}

/**
 * Declares a buffer argument; without options kernels may read and write it, and it has no offset. Its elements are
 * numbers, truth values or short vectors. WebGPU has short vectors of 2, 3 and 4 numbers of 32 bits or f16, all others are
 * Unsupported there.
 *
 * **Example** (Numbers in, short vectors out)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 *
 * const heights = KernelArgument.VectorArg("f32", "heights", { access: "read" })
 * const normals = KernelArgument.VectorArg("vec3<f32>", "normals", { access: "write" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const VectorArg = <D extends VectorElement, Name extends string, const Options extends VectorOptions = {}>(
  dtype: D,
  name: Name,
  options?: Options
): VectorArg<Name, D, OffsetOf<Options>, AccessOf<Options>> => ({
  _tag: "VectorArg",
  dtype,
  name,
  // Within a kernel's list of arguments TypeScript would infer plain type parameters too widely, from the list's type.
  access: (options?.access ?? "readwrite") as AccessOf<Options>,
  withOffset: (options?.withOffset ?? false) as OffsetOf<Options>,
  ...atomicOf(options)
})

/** Left out of arguments that are not, which are most. */
const atomicOf = (options: { readonly atomic?: boolean | undefined } | undefined): { readonly atomic?: true } =>
  options?.atomic === true ? { atomic: true } : {}

type OffsetOf<Options> = Options extends { readonly withOffset: infer Offset extends boolean } ? Offset : false

type AccessOf<Options> = Options extends { readonly access: infer A extends Access } ? A : "readwrite"

/**
 * Declares an argument that is passed by value: a number, a truth value, or a short vector of 2, 3, 4, 8 or 16 numbers.
 * Their types are those of elements; `i64` and `u64` are bigints, and `bool` is `true` or `false`.
 *
 * A vector of 8 or 16 numbers is Unsupported on WebGPU. WGSL has no integers of 8 and 16 bits: a WGSL body sees them as
 * integers of 32 bits, and one of 64 bits as a `vec2<u32>` of its low and its high word.
 *
 * **Example** (A factor, a direction and a seed)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 *
 * const a = KernelArgument.ScalarArg("f32", "a")
 * const direction = KernelArgument.ScalarArg("vec3<f32>", "direction")
 * const seed = KernelArgument.ScalarArg("u64", "seed")
 * ```
 *
 * @see pyopencl.tools.ScalarArg, pyopencl.cltypes
 * @category constructors
 * @since 0.1.0
 */
export const ScalarArg = <D extends ValueType, Name extends string>(dtype: D, name: Name): ScalarArg<Name, D> => ({
  _tag: "ScalarArg",
  dtype,
  name
})

/**
 * The options of an image argument.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageOptions {
  /** `"read"` without it. */
  readonly access?: ImageAccess | undefined
  /** `"2d"` without it. */
  readonly kind?: ImageKind | undefined
  /** The kind of number that a body reads or writes: that of the format, or `"float"` without one. */
  readonly channel?: ImageChannel.ImageChannel | undefined
  /** An image that is written needs it, since WGSL declares it. */
  readonly format?: Format.ImageFormat | undefined
}

/**
 * Declares an image argument; without options a two-dimensional one that kernels read as floats.
 *
 * **Example** (A picture in, a picture out)
 *
 * ```ts
 * import { Kernel, KernelArgument } from "effect-gpu-pool"
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * const mirror = Kernel.make({
 *   name: "mirror",
 *   args: [
 *     KernelArgument.ImageArg("picture"),
 *     KernelArgument.ImageArg("mirrored", { access: "write", format: ImageFormat.rgba8 }),
 *     KernelArgument.ScalarArg("i32", "width")
 *   ],
 *   body: {
 *     wgsl: `
 *       let x = i32(i) % width;
 *       let y = i32(i) / width;
 *       textureStore(mirrored, vec2<i32>(width - 1 - x, y), textureLoad(picture, vec2<i32>(x, y), 0));`,
 *     opencl: `
 *       const int x = (int) i % width;
 *       const int y = (int) i / width;
 *       write_imagef(mirrored, (int2)(width - 1 - x, y), read_imagef(picture, (int2)(x, y)));`,
 *     host: (from, to, { mirrored, picture, width }) => {
 *       for (let i = from; i < to; i++) {
 *         const [x, y] = [i % width, Math.floor(i / width)]
 *         mirrored.store(width - 1 - x, y, 0, picture.load(x, y, 0))
 *       }
 *     }
 *   }
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ImageArg = <Name extends string, const Options extends ImageOptions = {}>(
  name: Name,
  options?: Options
): ImageArg<Name, ImageAccessOf<Options>> => ({
  _tag: "ImageArg",
  name,
  access: (options?.access ?? "read") as ImageAccessOf<Options>,
  kind: options?.kind ?? "2d",
  channel: options?.channel ?? channelOf(options?.format),
  format: options?.format
})

const channelOf = (format: Format.ImageFormat | undefined): ImageChannel.ImageChannel =>
  format === undefined ? "float" : ImageChannel.of(format)

type ImageAccessOf<Options> = Options extends { readonly access: infer A extends ImageAccess } ? A : "read"

/**
 * Declares a sampler argument. WGSL keeps the name `sampler` for itself.
 *
 * **Example** (How a picture is read)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 *
 * const args = [KernelArgument.ImageArg("picture"), KernelArgument.SamplerArg("smooth_edges")] as const
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const SamplerArg = <Name extends string>(name: Name): SamplerArg<Name> => ({ _tag: "SamplerArg", name })

/**
 * The options of local memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface LocalOptions {
  /** Lets bodies use atomic functions on its elements, which are `i32` or `u32`. */
  readonly atomic?: boolean | undefined
}

/**
 * Declares memory that the items of a workgroup share, for kernels of `GroupKernel.make` and `SourceKernel.make`: `length`
 * elements, known when the kernel is made. What it contains when a workgroup begins is undefined.
 *
 * **Example** (A tile of a matrix, and counts of a histogram)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 *
 * const tile = KernelArgument.LocalArg("f32", "tile", 16 * 16)
 * const counts = KernelArgument.LocalArg("u32", "counts", 256, { atomic: true })
 * ```
 *
 * @see pyopencl.LocalMemory
 * @category constructors
 * @since 0.1.0
 */
export const LocalArg = <D extends DType, Name extends string>(
  dtype: D,
  name: Name,
  length: number,
  options?: LocalOptions
): LocalArg<Name, D> => ({ _tag: "LocalArg", dtype, name, length, ...atomicOf(options) })

/**
 * Whether an argument is a vector or a scalar, not an image or a sampler.
 *
 * @category functions
 * @since 0.1.0
 */
export const isNumeric = (argument: KernelArgument): argument is VectorArg | ScalarArg =>
  argument._tag === "VectorArg" || argument._tag === "ScalarArg"
