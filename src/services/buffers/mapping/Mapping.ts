/**
 * Device memory as typed arrays of the host, until a scope closes.
 *
 * **Details**
 *
 * On OpenCL the array is the driver's own mapping of the buffer, without a copy on devices that share the host's memory; so
 * it is on WebGPU for staging memory, as `StagingPool` leases it. Elsewhere it is a private copy, read when it is mapped and
 * written back when it ends: WebGPU cannot map a buffer that kernels use.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../../domain/BufferUsageRules.ts"
import * as BufferRange from "../../../domain/data/BufferRange.ts"
import type { ViewType } from "../../../domain/data/ElementClass.ts"
import * as MemorySpan from "../../../domain/data/MemorySpan.ts"
import * as StridedShape from "../../../domain/data/StridedShape.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import { validated } from "../../calls/Validated.ts"
import { DeviceContext } from "../../device/DeviceContext.ts"
import { type MapAccess, QueueDriver } from "../../device/QueueDriver.ts"
import type * as BufferLike from "../BufferLike.ts"
import * as BufferMemory from "../BufferMemory.ts"
import { bufferFirst, eitherWay } from "../SubjectFirst.ts"
import { type Elements, MappedArray } from "./MappedArray.ts"
import { mapUnsafe } from "./PrivateMapping.ts"
import { ScopedMapping } from "./ScopedMapping.ts"

export type { Order, ShapeOptions } from "../../../domain/data/StridedShape.ts"

export type { MapAccess } from "../../device/QueueDriver.ts"

export { type Elements, MappedArray } from "./MappedArray.ts"

/**
 * The range of a buffer to map, and the axes of the array.
 *
 * @category models
 * @since 0.1.0
 */
export interface MapOptions extends StridedShape.ShapeOptions {
  /**
   * What the program does: `"readwrite"` without it, and for staging memory the one access that it allows. With
   * `"write"` the elements are not read first: the array begins with unspecified numbers (zeros, or the old ones), and
   * all of them are written back. Elements that the strides leave out keep their contents.
   */
  readonly access?: MapAccess | undefined
  /** Where to start, in bytes: a multiple of 4 and of an element's bytes; 0 without it. */
  readonly offset?: number | undefined
}

/**
 * Maps a buffer, after everything recorded before, as a typed array with a shape. When the scope closes, or when the
 * lease ends before, later commands see what the program stored, and the array is detached: its length is 0.
 *
 * Do not store into an array that was mapped for `"read"`: it may or may not reach the buffer.
 *
 * While a buffer is mapped, commands cannot use it; while it is mapped for `"read"`, they can read and copy from it.
 * The same bytes cannot be mapped twice where one of the two mappings may write. Staging memory (`BufferUsage.download`
 * and `BufferUsage.upload`) has one mapping at a time, from a multiple of 8 bytes on, to be read or written as its name
 * says; no command can use it meanwhile.
 *
 * Fails with Released, ForeignDevice, DeviceLost, OutOfMemory; with InvalidRequest for a part that is mapped already,
 * bounds and alignment (as of `CommandQueue.read`), or a missing usage: `copySrc` to read, `copyDst` to write; with
 * DriverError, also for the failures of recorded work.
 *
 * **Example** (Changing one element in place)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, Mapping } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 *   yield* Effect.scoped(Effect.gen(function*() {
 *     const square = yield* Mapping.map(x, Float32Array, { shape: [2, 2] })
 *     square.setUnsafe(10 * square.getUnsafe(1, 0), 1, 0)
 *   }))
 *   return Array.from(yield* CommandQueue.read(x, Float32Array))
 * }) // => [1, 2, 30, 4]
 * ```
 *
 * @see pyopencl.enqueue_map_buffer
 * @category constructors
 * @since 0.1.0
 */
export const map: {
  /**
   * Maps a buffer, after everything recorded before, as a typed array with a shape. When the scope closes, or when the
   * lease ends before, later commands see what the program stored, and the array is detached: its length is 0.
   */
  <A extends Elements>(
    type: ViewType<A>,
    options?: MapOptions
  ): (
    buffer: BufferLike.BufferLike
  ) => Effect.Effect<MappedArray<A>, GpuError, QueueDriver | DeviceContext | Scope.Scope>
  <A extends Elements>(
    buffer: BufferLike.BufferLike,
    type: ViewType<A>,
    options?: MapOptions
  ): Effect.Effect<MappedArray<A>, GpuError, QueueDriver | DeviceContext | Scope.Scope>
} = eitherWay(
  bufferFirst,
  (buffer, type, options) =>
    Effect.flatMap(
      DeviceContext,
      (device) =>
        Effect.flatMap(QueueDriver, (driver) =>
          ScopedMapping.acquire(operation, (mapping) =>
            begin(mapping, device, driver, buffer, type, options ?? {})))
    )
)

/**
 * Ends a mapping before its scope closes. A second call fails with Released; a driver that refuses, with DriverError.
 *
 * **Example** (Mapping one after the other in one scope)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, Mapping } from "effect-gpu-pool"
 *
 * const clearFirst = Effect.fnUntraced(function*(leases: ReadonlyArray<BufferPool.PooledBuffer>) {
 *   for (const lease of leases) {
 *     const mapped = yield* Mapping.map(lease, Uint32Array)
 *     mapped.data[0] = 0
 *     yield* Mapping.unmap(mapped)
 *   }
 * })
 * ```
 *
 * @see pyopencl.MemoryMap.release
 * @category resource management
 * @since 0.1.0
 */
export const unmap = <A extends Elements>(mapped: MappedArray<A>): Effect.Effect<void, GpuError> =>
  validated("Mapping.unmap", (operation) => {
    return mapped.mapping.problem(operation) ?? mapped.mapping.endUnsafe("released")
  })

/** The alignment of typed arrays over memory that a driver maps in place, needed also where commands need none. */
const portableAlignment = BufferRange.portableAlignment

/** WebGPU's, for what it maps in place. https://www.w3.org/TR/webgpu/#dom-gpubuffer-mapasync */
const stagingAlignment: BufferRange.Alignment = { bytes: 8, liftable: false }

/** The checked options. */
interface Request {
  readonly layout: StridedShape.StridedShape
  readonly offset: number
  readonly bytes: number
  readonly access: MapAccess
}

const operation = "Mapping.map"

const begin = <A extends Elements>(
  mapping: ScopedMapping,
  device: DeviceContext["Service"],
  driver: QueueDriver["Service"],
  buffer: BufferLike.BufferLike,
  type: ViewType<A>,
  options: MapOptions
): Effect.Effect<MappedArray<A>, GpuError> => {
  const memory = valid(BufferMemory.of(operation, buffer, device))
  const request = valid(requestOf(buffer, type, options))
  const { bytes, layout, offset } = request
  // WebGPU maps multiples of 4 bytes, so the memory may be longer than the array.
  const show = (memory: ArrayBuffer) =>
    new MappedArray(new type(memory, 0, bytes / type.BYTES_PER_ELEMENT), layout, mapping)
  if (memory === undefined || bytes === 0) return Effect.succeed(show(new ArrayBuffer(0)))
  const part = {
    label: buffer.label,
    size: bytes,
    owner: buffer,
    claim: BufferUsageRules.isStaging(memory.root.usage)
      ? { ...MemorySpan.part(memory.wholeMemory, 0, memory.wholeMemory.end - memory.wholeMemory.begin), writes: true }
      : { ...MemorySpan.part(memory, offset, bytes), writes: request.access !== "read" },
    name: `bytes ${offset} to ${offset + bytes}`
  }
  return mapping.begin(operation, part, () => mapUnsafe(driver, device.status, memory, request), show)
}

const requestOf = <A extends Elements>(
  buffer: BufferLike.BufferLike,
  type: ViewType<A>,
  options: MapOptions
): Request | GpuError => {
  const { usage } = buffer
  const access = options.access ?? accessOf(usage)
  const offset = options.offset ?? 0
  const alignment = BufferUsageRules.isStaging(usage) ? stagingAlignment : portableAlignment
  valid(BufferRange.offsetProblem(operation, buffer, offset, alignment))
  const layout = valid(StridedShape.within(operation, buffer, offset, type, options))
  // The program must not write the elements between those of the array.
  const needed = access === "write" && !layout.packed ? "readwrite" : access
  const bytes = layout.span * type.BYTES_PER_ELEMENT
  const purpose = BufferUsageRules.isStaging(usage) ? 0 : usageOf[needed]
  return BufferMemory.usageProblem(operation, buffer, purpose, needed) ??
    BufferRange.lengthProblem(operation, buffer, offset, bytes, portableAlignment) ??
    { layout, offset, bytes, access: needed }
}

/** The access of a mapping that names none: for staging memory the one that it allows. */
const accessOf = (usage: BufferUsage.BufferUsage): MapAccess =>
  usage === BufferUsage.download ? "read" : usage === BufferUsage.upload ? "write" : "readwrite"

const usageOf: Readonly<Record<MapAccess, number>> = {
  read: BufferUsage.copySrc,
  write: BufferUsage.copyDst,
  readwrite: BufferUsage.copySrc | BufferUsage.copyDst
}
