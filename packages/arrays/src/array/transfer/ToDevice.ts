/**
 * Copies arrays from one device to another.
 *
 * @since 0.1.0
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { BufferPools, type Pools } from "effect-gpu-pool/BufferPools"
import * as DType from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import type { ChunkOptions } from "effect-gpu-pool/Transfers"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Scope from "effect/Scope"
import { isDataFirst } from "../ArrayProblem.ts"
import { DeviceArray } from "../ArrayValue.ts"
import { arrayProblem } from "../elementwise/OperandProblem.ts"
import * as FreshArray from "../FreshArray.ts"
import { evaluateCopy } from "../fusion/Evaluation.ts"
import * as Layout from "../layout/Layout.ts"

/**
 * The array on another of several devices, in memory of its own that the caller's scope owns there. Element type and shape stay,
 * and so do the strides where the elements fill a range of the memory, as those of a transposed array do. Other views are copied on
 * their device first, into memory that is released at once. A recorded array is computed for this, and stays recorded.
 *
 * **Details**
 *
 * The target device is opened if it is not open, and stays open as long as the scope: see `BufferPools.on`. If the target is the device of the
 * array, the array is copied there. Between devices the elements go through the memory of the program and the staging memory
 * of the target, a few chunks at a time.
 *
 * Fails with InvalidRequest for an invalid array or name, and for an array of a device that is not open in these BufferPools;
 * with Unsupported for an element type that the target lacks, before anything is allocated; and as `BufferPools.on`,
 * `BufferPools.copy` and `BufferPool.allocate`.
 *
 * **Example** (Work on two devices)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPools.on("0", DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]]))
 *   const y = yield* DeviceArray.to(x, "1")
 *   const doubled = DeviceArray.toNested(DeviceArray.multiply(y, 2))
 *   return yield* BufferPools.on("1", doubled)
 * }).pipe(Effect.scoped, Effect.provide(BufferPools.layer(() => Host.layer()))) // => [[2, 4, 6], [8, 10, 12]]
 * ```
 *
 * @see torch.Tensor.to, cupy.asarray under cupy.cuda.Device
 * @category transfer
 * @since 0.1.0
 */
export const to: {
  /**
   * The array on another of several devices, in memory of its own that the caller's scope owns there. Element type and shape stay,
   * and so do the strides where the elements fill a range of the memory, as those of a transposed array do. Other views are copied on
   * their device first, into memory that is released at once. A recorded array is computed for this, and stays recorded.
   */
  (
    device: string,
    options?: ChunkOptions
  ): <D extends DType.DType>(
    self: DeviceArray<D>
  ) => Effect.Effect<DeviceArray<D>, GpuError, BufferPools | Scope.Scope>
  <D extends DType.DType>(
    self: DeviceArray<D>,
    device: string,
    options?: ChunkOptions
  ): Effect.Effect<DeviceArray<D>, GpuError, BufferPools | Scope.Scope>
} = dual(
  isDataFirst(3),
  <D extends DType.DType>(
    self: DeviceArray<D>,
    device: string,
    options?: ChunkOptions
  ): Effect.Effect<DeviceArray<D>, GpuError, BufferPools | Scope.Scope> =>
    arrayProblem("DeviceArray.to", self) ?? KnownOptions.problem("DeviceArray.to", options, known) ??
      BufferPools.use((pools) => moved("DeviceArray.to", pools, self, device, options))
)

const known = KnownOptions.of<ChunkOptions>({ chunkSize: true, inFlight: true })

const moved = <D extends DType.DType>(
  operation: string,
  pools: Pools,
  array: DeviceArray<D>,
  device: string,
  options: ChunkOptions | undefined
): Effect.Effect<DeviceArray<D>, GpuError, Scope.Scope> => {
  const lease = leaseOf(array, new Set())
  if (lease === undefined) {
    return invalidRequest(
      operation,
      "the recorded array is of no device yet",
      "Pass it to DeviceArray.evaluate before."
    )
  }
  // The result belongs to the caller's scope, and keeps only its own device open. The caller's budgets and queues apply.
  return Effect.contextWith((caller: Context.Context<Scope.Scope>) => {
    const copy = (whole: DeviceArray<D>) =>
      Effect.provideContext(copied(operation, pools, whole, device, options, caller), caller)
    return pools.onDeviceOf(
      lease,
      isWhole(array) ? copy(array) : Effect.scoped(Effect.flatMap(evaluateCopy(array), copy))
    )
  })
}

/** The memory of an array, or of one of its operands while it is recorded. */
const leaseOf = (array: DeviceArray, seen: Set<DeviceArray>): PooledBuffer | undefined => {
  if (array.pending === undefined) return array.lease
  seen.add(array)
  for (const operand of array.pending.operands) {
    const lease = typeof operand !== "object" || seen.has(operand) ? undefined : leaseOf(operand, seen)
    if (lease !== undefined) return lease
  }
  return undefined
}

const bytesOf = ({ dtype, size }: DeviceArray): number => size * DType.byteSize(dtype)

const startOf = ({ dtype, offset }: DeviceArray): number => offset * DType.byteSize(dtype)

/** Whether commands of any device can copy its memory in place: a range of whole words, or one to the end of the lease. */
const isWhole = (array: DeviceArray): boolean => {
  if (array.pending !== undefined || !Layout.isDense(array) || startOf(array) % 4 !== 0) return false
  return bytesOf(array) % 4 === 0 || startOf(array) + bytesOf(array) === array.lease!.size
}

const copied = <D extends DType.DType>(
  operation: string,
  pools: Pools,
  array: DeviceArray<D>,
  device: string,
  options: ChunkOptions | undefined,
  caller: Context.Context<Scope.Scope>
): Effect.Effect<DeviceArray<D>, GpuError, Scope.Scope> => {
  const { dtype, lease, shape, strides } = array
  const range = { ...options, sourceOffset: startOf(array), size: bytesOf(array) }
  const fresh = FreshArray.make(
    operation,
    dtype,
    shape,
    (target) => Effect.provideContext(pools.copy(lease!, target, range), caller)
  )
  return pools.on(
    device,
    Effect.map(fresh, (made) => new DeviceArray(dtype, { shape, strides, offset: 0 }, made.lease!))
  )
}
