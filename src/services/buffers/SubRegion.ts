/**
 * Buffers over a range of another buffer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import * as BufferRange from "../../domain/data/BufferRange.ts"
import type { ElementType } from "../../domain/data/ElementClass.ts"
import { type GpuError, invalidRequest, type Released } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import { releaseInOrderUnsafe } from "../device/ReleaseInOrder.ts"
import { ScopedAttachment } from "../device/ScopedAttachment.ts"
import type * as BufferLike from "./BufferLike.ts"
import * as BufferMemory from "./BufferMemory.ts"
import { leaseOf, leases } from "./LeaseUnder.ts"
import { bufferFirst, eitherWay } from "./SubjectFirst.ts"

/**
 * The range of a buffer that a sub-region is over.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bounds {
  /** Its first byte: a multiple of the device's `limits.regionAlignment`; 0 without it. */
  readonly offset?: number | undefined
  /** Bytes, at least 1: a multiple of 4, except up to the end of the buffer, which is the default. */
  readonly size?: number | undefined
}

/**
 * The options of a sub-region, beside its range.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The parent's usage without it. It has the parent's flags or fewer, and can add flags that forbid something to
   * kernels or to the program, as `kernelReadOnly` and `hostNoAccess`.
   */
  readonly usage?: BufferUsage.BufferUsage | undefined
  /** What errors call it; the parent's label with the bytes without it. */
  readonly label?: string | undefined
}

/**
 * A buffer over a range of another buffer's memory, until the scope closes.
 *
 * **Details**
 *
 * Whatever takes a buffer takes a sub-region: writes, reads, fills, copies, kernels, and this function. A sub-region of
 * a sub-region is one of the whole buffer. The parent sees its writes, in queue order.
 *
 * When the lease under it ends, for any reason, the sub-region ends before another owner gets the block. A buffer
 * without a pool may end before its sub-regions: it is Released at once, and its memory is freed with the last
 * sub-region.
 *
 * **Gotchas**
 *
 * All sub-regions of one buffer count as that buffer where two arguments of a dispatch, or source and target of a copy,
 * are compared: WebGPU forbids both whether the bytes overlap or not.
 *
 * Fails with InvalidRequest for an offset that the device cannot start a sub-region at, for bytes outside the buffer,
 * for no bytes at all, or for a usage beyond the parent's; and with Released, ForeignDevice, DeviceLost or DriverError.
 *
 * **Example** (Filling the second half of a buffer)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, SubRegion } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const whole = yield* BufferPool.allocate(1024)
 *   const half = yield* SubRegion.make(whole, { offset: 512 })
 *   yield* CommandQueue.fill(whole, 1)
 *   yield* CommandQueue.fill(half, 2)
 *   return [...(yield* CommandQueue.read(whole, Uint32Array, { offset: 504, length: 4 }))]
 * }) // => [1, 1, 2, 2]
 * ```
 *
 * @see pyopencl.Buffer.get_sub_region
 * @category constructors
 * @since 0.1.0
 */
export const make: {
  /** A buffer over a range of another buffer's memory, until the scope closes. */
  (
    bounds: Bounds,
    options?: Options
  ): (
    buffer: BufferLike.BufferLike
  ) => Effect.Effect<DeviceBuffer, GpuError, DeviceContext | QueueDriver | Scope.Scope>
  (
    buffer: BufferLike.BufferLike,
    bounds: Bounds,
    options?: Options
  ): Effect.Effect<DeviceBuffer, GpuError, DeviceContext | QueueDriver | Scope.Scope>
} = eitherWay(
  bufferFirst,
  (buffer, bounds, options) => acquire("SubRegion.make", buffer, () => bounds, options)
)

/**
 * The elements `from` to `to` (not included; the end of the buffer without it) of a buffer as a buffer of their own.
 * Details and errors as {@link make}; a range without an element is InvalidRequest.
 *
 * **Example** (Working on a quarter of the numbers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, SubRegion } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(1024)
 *   const quarter = yield* SubRegion.slice(x, Float32Array, 64, 128)
 *   yield* CommandQueue.write(quarter, new Float32Array(64).fill(0.5))
 *   return [quarter.size, ...(yield* CommandQueue.read(x, Float32Array, { offset: 256, length: 2 }))]
 * }) // => [256, 0.5, 0.5]
 * ```
 *
 * @see pyopencl.Buffer.__getitem__
 * @category constructors
 * @since 0.1.0
 */
export const slice: {
  /**
   * The elements `from` to `to` (not included; the end of the buffer without it) of a buffer as a buffer of their own.
   * Details and errors as {@link make}; a range without an element is InvalidRequest.
   */
  <A extends ArrayBufferView>(
    type: ElementType<A>,
    from: number,
    to?: number | undefined,
    options?: Options
  ): (
    buffer: BufferLike.BufferLike
  ) => Effect.Effect<DeviceBuffer, GpuError, DeviceContext | QueueDriver | Scope.Scope>
  <A extends ArrayBufferView>(
    buffer: BufferLike.BufferLike,
    type: ElementType<A>,
    from: number,
    to?: number | undefined,
    options?: Options
  ): Effect.Effect<DeviceBuffer, GpuError, DeviceContext | QueueDriver | Scope.Scope>
} = eitherWay(
  bufferFirst,
  (buffer, type, from, to, options) =>
    acquire("SubRegion.slice", buffer, () => elementBounds(buffer.size, type, from, to), options)
)

const acquire = (
  operation: string,
  buffer: BufferLike.BufferLike,
  bounds: () => Bounds,
  options: Options | undefined
): Effect.Effect<DeviceBuffer, GpuError, DeviceContext | QueueDriver | Scope.Scope> =>
  Effect.flatMap(
    DeviceContext,
    (device) =>
      Effect.flatMap(QueueDriver, (driver) =>
        ScopedAttachment.acquire(operation, "buffer", (attachment) => {
          const region = create(operation, device, buffer, bounds, options)
          if (Exit.isFailure(region)) return region
          const lease = leaseOf(buffer)
          if (lease !== undefined) leases.set(region.value, lease)
          attachment.begin(lease, (why) => end(device, driver, region.value, why))
          return region
        }))
  )

/** The bounds are read only after the buffer is known to be a buffer. */
const create = (
  operation: string,
  device: DeviceContext["Service"],
  buffer: BufferLike.BufferLike,
  bounds: () => Bounds,
  options: Options | undefined
): Exit.Exit<DeviceBuffer, GpuError> => {
  const memory = valid(BufferMemory.of(operation, buffer, device))
  const { offset = 0, size = buffer.size - offset } = bounds()
  const { label, usage = buffer.usage } = options ?? {}
  valid(BufferRange.problem(operation, buffer, offset, size, BufferRange.portableAlignment))
  if (size === 0 || memory === undefined) {
    throw invalidRequest(operation, "the region has no bytes", "Take at least one byte: drivers have no empty buffers.")
  }
  valid(usageProblem(operation, buffer.usage, usage))
  // Its first byte in the whole buffer, since OpenCL has no sub-buffers of sub-buffers.
  const part = { parent: memory.root, origin: memory.origin + offset, within: memory.wholeMemory }
  valid(alignmentProblem(operation, part.origin, device.info.limits.regionAlignment))
  return device.createRegionUnsafe(part, size, usage, label ?? labelOf(buffer, offset, size))
}

const end = (
  device: DeviceContext["Service"],
  driver: QueueDriver["Service"],
  region: DeviceBuffer,
  why: Released["why"]
): Exit.Exit<void, GpuError> => {
  if (region.destroyed) return Exit.void
  region.ended = why
  return releaseInOrderUnsafe(device, driver, region, why)
}

const elementBounds = <A extends ArrayBufferView>(
  size: number,
  type: ElementType<A>,
  from: number,
  to: number | undefined
): Bounds => {
  const itemSize = type.BYTES_PER_ELEMENT
  const end = to ?? Math.floor(size / itemSize)
  if (Number.isSafeInteger(from) && from >= 0 && Number.isSafeInteger(end) && end > from) {
    return { offset: from * itemSize, size: (end - from) * itemSize }
  }
  throw invalidRequest(
    "SubRegion.slice",
    `from ${from} to ${end} there is no ${type.name} element`,
    `Pass whole numbers of elements, the first one and the one after the last, of the buffer's ${size} bytes.`
  )
}

/** Counted from the beginning of the whole buffer. */
const alignmentProblem = (operation: string, origin: number, alignment: number): GpuError | undefined =>
  origin % alignment === 0 ? undefined : invalidRequest(
    operation,
    `byte ${origin} of the whole buffer is no multiple of ${alignment}, as this device's regions begin at`,
    `Begin at byte ${origin - origin % alignment} or ${origin - origin % alignment + alignment}, as ` +
      "DeviceInfo.limits.regionAlignment says, or pass an offset to the operation."
  )

/** It may have fewer usages, but keeps the restrictions of the parent. */
const usageProblem = (
  operation: string,
  whole: BufferUsage.BufferUsage,
  usage: BufferUsage.BufferUsage
): GpuError | undefined => {
  const problem = BufferUsageRules.problem(usage)
  const hint = "Join flags of the buffer's own usage with |, and flags that forbid something."
  if (problem !== undefined) return invalidRequest(operation, problem, hint)
  if (BufferUsageRules.isWithin(usage, whole)) return undefined
  return invalidRequest(
    operation,
    `the usage ${BufferUsage.format(usage)} is beyond the buffer's ${BufferUsage.format(whole)}`,
    hint
  )
}

const labelOf = ({ label }: BufferLike.BufferLike, offset: number, size: number): string | undefined =>
  label === undefined ? undefined : `${label}[${offset}:${offset + size}]`
