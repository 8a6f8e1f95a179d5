/**
 * The arguments of one dispatch: their types, and the checks before a driver gets them.
 *
 * @since 0.1.0
 */
import type * as ValueType from "../../domain/data/ValueType.ts"
import type { ImageArg, KernelArgument, LocalArg, ScalarArg, VectorArg } from "../../domain/kernel/KernelArgument.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import type { DeviceSampler } from "../device/DeviceSampler.ts"
import type { ImageLike } from "../images/ImageLike.ts"

/**
 * A vector whose view starts at an element of the buffer, for arguments declared `withOffset`.
 *
 * @category models
 * @since 0.1.0
 */
export interface OffsetBuffer {
  readonly buffer: BufferLike.BufferLike
  /** The first element (not byte) of the view. */
  readonly offset: number
}

/**
 * Any value that an argument can have.
 *
 * @category models
 * @since 0.1.0
 */
export type ArgumentValue =
  | BufferLike.BufferLike
  | OffsetBuffer
  | number
  | bigint
  | boolean
  | ArrayLike<number>
  | ArrayLike<bigint>
  | ImageLike
  | DeviceSampler

/**
 * The values for a kernel's arguments, by name. Local memory takes none.
 *
 * **Example** (Naming the arguments of a kernel)
 *
 * ```ts
 * import { type BufferPool, Kernel, KernelArgument } from "effect-gpu-pool"
 * import type { DispatchArguments } from "effect-gpu-pool/backend"
 *
 * const scale = Kernel.make({
 *   name: "scale",
 *   args: [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", "a")],
 *   body: { wgsl: "x[i] = a * x[i];" }
 * })
 * type ScaleArguments = DispatchArguments.DispatchArguments<typeof scale.args>
 *
 * const doubled = (x: BufferPool.PooledBuffer): ScaleArguments => ({ x, a: 2 })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type DispatchArguments<Args extends ReadonlyArray<KernelArgument>> = {
  readonly [A in Exclude<Args[number], LocalArg> as A["name"]]: A extends ScalarArg<string, infer V> ?
    ValueType.ValueOf<V>
    : A extends VectorArg<string, ValueType.VectorElement, true> ? BufferLike.BufferLike | OffsetBuffer
    : A extends VectorArg ? BufferLike.BufferLike
    : A extends ImageArg ? ImageLike
    : DeviceSampler
}
