/**
 * Operations on the bits of integers, element by element.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { GpuError } from "../domain/GpuError.ts"
import type { IntegerType } from "../kernels/Expr.ts"
import type { DeviceArray } from "./ArrayValue.ts"
import { binary, plain, unary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import type { ArrayServices } from "./fusion/Evaluation.ts"
import type * as Promotion from "./layout/Promotion.ts"

/**
 * An operation on the bits of two integers, which broadcast: i32 beside u32 gives i32, with the same bits. A number
 * takes the type of the array beside it.
 *
 * **Example** (Choosing an operation)
 *
 * ```ts
 * import { DeviceArray } from "effect-gpu-pool"
 *
 * const combine = (both: boolean): DeviceArray.Bitwise => both ? DeviceArray.bitAnd : DeviceArray.bitOr
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Bitwise {
  <B extends IntegerType>(
    that: DeviceArray<B>
  ): <A extends IntegerType>(
    self: DeviceArray<A>
  ) => Effect.Effect<DeviceArray<Promotion.Promote<A, B>>, GpuError, ArrayServices>
  (
    that: number
  ): <A extends IntegerType>(self: DeviceArray<A>) => Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
  <A extends IntegerType, B extends IntegerType>(
    self: DeviceArray<A>,
    that: DeviceArray<B>
  ): Effect.Effect<DeviceArray<Promotion.Promote<A, B>>, GpuError, ArrayServices>
  <A extends IntegerType>(self: DeviceArray<A>, that: number): Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
  <A extends IntegerType>(self: number, that: DeviceArray<A>): Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
}

/**
 * A shift of the bits of integers. The number of places is taken modulo 32, as the lowest five bits of it; the result
 * has the type of what is shifted.
 *
 * **Example** (Choosing a direction)
 *
 * ```ts
 * import { DeviceArray } from "effect-gpu-pool"
 *
 * const shift = (up: boolean): DeviceArray.Shift => up ? DeviceArray.shiftLeft : DeviceArray.shiftRight
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Shift {
  (
    places: DeviceArray<IntegerType> | number
  ): <A extends IntegerType>(self: DeviceArray<A>) => Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
  <A extends IntegerType>(
    self: DeviceArray<A>,
    places: DeviceArray<IntegerType> | number
  ): Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
  <A extends IntegerType>(
    self: number,
    places: DeviceArray<A>
  ): Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
}

/**
 * An operation on the bits of one integer that keeps its type.
 *
 * **Example** (Naming an operation)
 *
 * ```ts
 * import { DeviceArray } from "effect-gpu-pool"
 *
 * const inverse: DeviceArray.BitwiseUnary = DeviceArray.bitNot
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type BitwiseUnary = <A extends IntegerType>(
  self: DeviceArray<A>
) => Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>

/**
 * The bits that both have.
 *
 * **Example** (The lowest bits)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceArray } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = DeviceArray.fromHost(Uint32Array.of(5, 6)).pipe(
 *   Effect.flatMap(DeviceArray.bitAnd(3)),
 *   Effect.flatMap(DeviceArray.toHost),
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => Uint32Array.of(1, 2)
 * ```
 *
 * @see numpy.bitwise_and
 * @category bits
 * @since 0.1.0
 */
export const bitAnd: {
  /** The bits that both have. */
  <B extends IntegerType>(
    that: DeviceArray<B>
  ): <A extends IntegerType>(
    self: DeviceArray<A>
  ) => Effect.Effect<DeviceArray<Promotion.Promote<A, B>>, GpuError, ArrayServices>
} & Bitwise = binary(plain("bitAnd"), Signature.commonInteger)

/**
 * The bits that at least one has.
 *
 * **Example** (Setting a flag)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceArray } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = DeviceArray.fromHost(Uint32Array.of(4, 5)).pipe(
 *   Effect.flatMap(DeviceArray.bitOr(1)),
 *   Effect.flatMap(DeviceArray.toHost),
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => Uint32Array.of(5, 5)
 * ```
 *
 * @see numpy.bitwise_or
 * @category bits
 * @since 0.1.0
 */
export const bitOr: {
  /** The bits that at least one has. */
  <B extends IntegerType>(
    that: DeviceArray<B>
  ): <A extends IntegerType>(
    self: DeviceArray<A>
  ) => Effect.Effect<DeviceArray<Promotion.Promote<A, B>>, GpuError, ArrayServices>
} & Bitwise = binary(plain("bitOr"), Signature.commonInteger)

/**
 * The bits that exactly one has.
 *
 * **Example** (Turning a flag around)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceArray } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = DeviceArray.fromHost(Uint32Array.of(4, 5)).pipe(
 *   Effect.flatMap(DeviceArray.bitXor(1)),
 *   Effect.flatMap(DeviceArray.toHost),
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => Uint32Array.of(5, 4)
 * ```
 *
 * @see numpy.bitwise_xor
 * @category bits
 * @since 0.1.0
 */
export const bitXor: {
  /** The bits that exactly one has. */
  <B extends IntegerType>(
    that: DeviceArray<B>
  ): <A extends IntegerType>(
    self: DeviceArray<A>
  ) => Effect.Effect<DeviceArray<Promotion.Promote<A, B>>, GpuError, ArrayServices>
} & Bitwise = binary(plain("bitXor"), Signature.commonInteger)

/**
 * Every bit turned around. For masks of 0 and 1 use `logicalNot`.
 *
 * **Example** (All bits but some)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceArray } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = DeviceArray.fromHost(Int32Array.of(0, 5)).pipe(
 *   Effect.flatMap(DeviceArray.bitNot),
 *   Effect.flatMap(DeviceArray.toHost),
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => Int32Array.of(-1, -6)
 * ```
 *
 * @see numpy.bitwise_not
 * @category bits
 * @since 0.1.0
 */
export const bitNot: BitwiseUnary = unary(plain("bitNot"), Signature.integer)

/**
 * The bits moved to higher places; those beyond the highest are lost.
 *
 * **Example** (Powers of two)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceArray } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = DeviceArray.fromHost(Int32Array.of(1, 3)).pipe(
 *   Effect.flatMap(DeviceArray.shiftLeft(4)),
 *   Effect.flatMap(DeviceArray.toHost),
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => Int32Array.of(16, 48)
 * ```
 *
 * @see numpy.left_shift
 * @category bits
 * @since 0.1.0
 */
export const shiftLeft: {
  /** The bits moved to higher places; those beyond the highest are lost. */
  (
    places: DeviceArray<IntegerType> | number
  ): <A extends IntegerType>(self: DeviceArray<A>) => Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
} & Shift = binary(plain("shiftLeft"), Signature.shift)

/**
 * The bits moved to lower places. i32 keeps its sign, u32 gets zeros from above.
 *
 * **Example** (Halving twice)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceArray } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = DeviceArray.fromHost(Int32Array.of(-8, 8)).pipe(
 *   Effect.flatMap(DeviceArray.shiftRight(2)),
 *   Effect.flatMap(DeviceArray.toHost),
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => Int32Array.of(-2, 2)
 * ```
 *
 * @see numpy.right_shift
 * @category bits
 * @since 0.1.0
 */
export const shiftRight: {
  /** The bits moved to lower places. i32 keeps its sign, u32 gets zeros from above. */
  (
    places: DeviceArray<IntegerType> | number
  ): <A extends IntegerType>(self: DeviceArray<A>) => Effect.Effect<DeviceArray<A>, GpuError, ArrayServices>
} & Shift = binary(plain("shiftRight"), Signature.shift)

/**
 * How many bits are 1.
 *
 * **Example** (Sizes of sets)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceArray } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = DeviceArray.fromHost(Uint32Array.of(0, 7, 255)).pipe(
 *   Effect.flatMap(DeviceArray.countOneBits),
 *   Effect.flatMap(DeviceArray.toHost),
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program) // => Uint32Array.of(0, 3, 8)
 * ```
 *
 * @see numpy.bitwise_count
 * @category bits
 * @since 0.1.0
 */
export const countOneBits: BitwiseUnary = unary(plain("countOneBits"), Signature.integer)
