/**
 * An allocator with a byte limit for everything above it: several pools, or none.
 *
 * @see rmm::mr::limiting_resource_adaptor
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { optionsProblem, readValues } from "../../../domain/ArgumentProblem.ts"
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import type { DeviceInfo } from "../../../domain/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError, type LimitOwner, outOfMemory } from "../../../domain/GpuError.ts"
import * as KnownOptions from "../../../domain/KnownOptions.ts"
import * as MemoryLimit from "../../../domain/MemoryLimit.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import { DeviceContext } from "../../device/DeviceContext.ts"
import { Allocator } from "../Allocator.ts"

/**
 * The limit: one of the two.
 *
 * @category models
 * @since 0.1.0
 */
export interface LimitingOptions {
  /** The most bytes that may be allocated and not freed. `Infinity` is no limit. */
  readonly maxBytes?: MemoryLimit.Input | undefined
  /** The same as a share of the device's memory, from 0 to 1, where the device tells it. */
  readonly maxFraction?: number | undefined
}

const layerOperation = "LimitingAllocator.layer"
const operation = "Allocator.allocate"

/**
 * Limits the bytes that are allocated and not freed through the Allocator in context. What does not fit fails before
 * the driver is asked: with LimitExceeded when it is over the limit by itself, else with a retryable OutOfMemory, which
 * a pool answers as it does its driver's, by giving up blocks that it holds. Pools on one limited
 * allocator do not learn of each other's releases, and hold their blocks each for itself: where they should share a limit, give
 * them one `DeviceMemory`.
 *
 * It counts requested bytes. They count from before the driver is asked, so that requests under way stay within the
 * limit too, until `freeUnsafe` is called, also where the driver fails to free them.
 *
 * Building it fails with InvalidRequest for options that name no limit or two, and with Unsupported for a share of
 * memory that the device does not tell.
 *
 * **Example** (Two pools that share one limit)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator, BufferPool, LimitingAllocator } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const limited = LimitingAllocator.layer({ maxBytes: "1 MiB" }).pipe(
 *   Layer.provide(Allocator.layerImmediate),
 *   Layer.provideMerge(Host.layer())
 * )
 * const program = Effect.gen(function*() {
 *   const frames = yield* BufferPool.make({ label: "frames" })
 *   const tables = yield* BufferPool.make({ label: "tables" })
 *   yield* frames.allocate(768 * 1024)
 *   const error = yield* Effect.flip(tables.allocate(512 * 1024))
 *   return error.reason._tag
 * }).pipe(Effect.scoped, Effect.provide(limited))
 * await Effect.runPromise(program) // => "OutOfMemory"
 * ```
 *
 * @see rmm::mr::limiting_resource_adaptor
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: LimitingOptions): Layer.Layer<Allocator, GpuError, Allocator | DeviceContext> =>
  Layer.fresh(Layer.effect(
    Allocator,
    Effect.gen(function*() {
      const { info } = yield* DeviceContext
      const limit = readValues(layerOperation, () => limitOf(options, info))
      if (isGpuError(limit)) return yield* limit
      return limited(yield* Allocator, limit)
    })
  ))

const known = KnownOptions.of<LimitingOptions>({ maxBytes: true, maxFraction: true })

const limitOf = (options: LimitingOptions, info: DeviceInfo): number | GpuError =>
  optionsProblem(layerOperation, options, known) ??
    MemoryLimit.resolve(
      layerOperation,
      "maxBytes",
      { bytes: options?.maxBytes, fraction: options?.maxFraction },
      info
    ) ?? noLimit()

/** A forgotten limit or a missing setting must not mean "no limit". */
const noLimit = (): GpuError =>
  invalidRequest(
    layerOperation,
    "no limit is given",
    "Pass maxBytes or maxFraction; maxBytes Infinity is no limit."
  )

const owner: LimitOwner = { kind: "allocator" }

const limited = (inner: Allocator["Service"], limit: number): Allocator["Service"] => {
  /** The bytes that each buffer counts. Buffers of other allocators are not counted, and no buffer is counted twice. */
  const live = new WeakMap<DeviceBuffer, number>()
  let activeBytes = 0
  let reservedBytes = 0

  const problem = (bytes: number): GpuError | undefined =>
    BufferRequest.sizeProblem(operation, bytes) ??
      BufferRequest.limitProblem(operation, bytes, "maxBytes", limit, owner) ??
      (bytes <= limit - activeBytes - reservedBytes
        ? undefined
        : outOfMemory(bytes, { limit, activeBytes, managedBytes: activeBytes, reservedBytes, rungs: [] }))

  return Allocator.of({
    allocate: (bytes, options) =>
      Effect.uninterruptible(Effect.suspend(() => {
        const refused = problem(bytes)
        if (refused !== undefined) return refused
        reservedBytes += bytes
        return Effect.onExitPrimitive(Effect.suspend(() => inner.allocate(bytes, options)), (exit) => {
          reservedBytes -= bytes
          if (Exit.isFailure(exit)) return undefined
          activeBytes += bytes
          live.set(exit.value, bytes)
          return undefined
        })
      })),
    freeUnsafe: (buffer) => {
      activeBytes -= live.get(buffer) ?? 0
      live.delete(buffer)
      return inner.freeUnsafe(buffer)
    },
    reclaim: inner.reclaim,
    immediate: inner.immediate
  })
}
