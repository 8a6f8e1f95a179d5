/**
 * An allocator with a byte limit for everything above it: several pools, or none.
 *
 * @see rmm::mr::limiting_resource_adaptor
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { attempt, valid } from "../../../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError, type LimitOwner, outOfMemory } from "../../../domain/GpuError.ts"
import { type Counted, SharedLimit } from "../../../domain/pool/machine/SharedLimit.ts"
import * as MemoryLimit from "../../../domain/pool/MemoryLimit.ts"
import { type ConfigOf, layerOfConfig } from "../../calls/LayerConfig.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import { DeviceContext } from "../../device/DeviceContext.ts"
import { CurrentCounted } from "../../pool/CurrentReservations.ts"
import { type AllocateOptions, Allocator } from "../Allocator.ts"

/**
 * The limit: one of the two.
 *
 * @category models
 * @since 0.1.0
 */
export interface LimitingOptions extends Schema.Schema.Type<typeof limitingOptions> {}

const limitingOptions = Schema.Struct({
  /** The most bytes that may be allocated and not freed. `Infinity` is no limit. */
  maxBytes: MemoryLimit.amount,
  /** The same as a share of the device's memory, from 0 to 1, where the device reports it. */
  maxFraction: MemoryLimit.fraction
})

const layerOperation = "LimitingAllocator.layer"
const operation = "Allocator.allocate"

/**
 * Limits the bytes that are allocated and not freed through the Allocator in context. What does not fit fails before
 * the driver is asked: with LimitExceeded when it is over the limit by itself, else with a retryable OutOfMemory.
 *
 * To the pools on it this is one more limit besides `maxBytes`. Their active, held, reserved and pending bytes count
 * together, so a request waits, if its pool waits, until any of them has released enough, and `allocateAll` and
 * `reserve` have their bytes under this limit too. A request first evicts held blocks of its own pool, and then those
 * of other pools, if that makes enough room; where the driver has no memory, it evicts all of theirs. Each pool has a
 * wait queue of its own: to share one, give the pools one `DeviceMemory` instead. A decorator above it passes on the
 * members of the allocator that it does not change (`{ ...inner, allocate }`), or pools do not know the limit, and take
 * its OutOfMemory for one of the driver. A decorator's own `freeUnsafe` must free synchronously.
 *
 * It counts requested bytes. They count from before the driver is asked, so that requests under way stay within the
 * limit too, until `freeUnsafe` is called, also where the driver fails to free them.
 *
 * Building it fails with InvalidRequest for options that name no limit or two, and with Unsupported for a share of
 * memory that the device does not report.
 *
 * **Example** (Two pools that share one limit)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 * import { LimitingAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const limited = LimitingAllocator.layer({ maxBytes: "1 MiB" }).pipe(
 *   Layer.provide(Allocator.layerImmediate),
 *   Layer.provideMerge(Host.layer())
 * )
 * const program = Effect.gen(function*() {
 *   const frames = yield* BufferPool.make({ label: "frames" })
 *   const tables = yield* BufferPool.make({ label: "tables" })
 *   yield* frames.use(768 * 1024, () => Effect.void)
 *   yield* tables.allocate(512 * 1024)
 *   return (yield* frames.stats).heldBytes
 * }).pipe(Effect.scoped, Effect.provide(limited))
 * await Effect.runPromise(program) // => 0
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
      const limit = attempt(() => limitOf(options, info))
      if (isGpuError(limit)) return yield* limit
      return limited(yield* Allocator, limit)
    })
  ))

/**
 * The same as {@link layer}, with a limit that comes from configuration.
 *
 * **Example** (The limit from the environment)
 *
 * ```ts
 * import { Config } from "effect"
 * import { LimitingAllocator } from "effect-gpu-pool/allocators"
 *
 * const limited = LimitingAllocator.layerConfig({ maxBytes: Config.String("GPU_LIMIT") })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: ConfigOf<LimitingOptions>
): Layer.Layer<Allocator, GpuError | Config.ConfigError, Allocator | DeviceContext> =>
  layerOfConfig("LimitingAllocator.layerConfig", config, limitingOptions, layer)

/** A forgotten limit or a missing setting must not mean "no limit". */
const limitOf = (options: LimitingOptions, info: DeviceInfo): number | GpuError => {
  const { maxBytes: bytes, maxFraction: fraction } = valid(LayerOptions.read(layerOperation, limitingOptions, options))
  return MemoryLimit.resolve(layerOperation, "maxBytes", { bytes, fraction }, info) ?? invalidRequest(
    layerOperation,
    "no limit is given",
    "Pass maxBytes or maxFraction; maxBytes Infinity is no limit."
  )
}

const owner: LimitOwner = { kind: "allocator" }

/** A buffer's bytes: `ofPool` are counted by the pool above, the rest by this allocator, for programs without a pool or a decorator in between. */
interface Live {
  readonly bytes: number
  readonly ofPool: number
  readonly counted: Counted | undefined
}

const limited = (inner: Allocator["Service"], maxBytes: number): Allocator["Service"] => {
  const limit = new SharedLimit(maxBytes)
  /** Buffers of other allocators are not counted, and no buffer is counted twice. */
  const live = new WeakMap<DeviceBuffer, Live>()
  let activeBytes = 0

  const refused = (bytes: number): GpuError =>
    outOfMemory(bytes, {
      limit: maxBytes,
      activeBytes,
      managedBytes: activeBytes,
      pendingBytes: limit.usedBut(undefined) - activeBytes,
      stepsTried: []
    })

  const giveBack = ({ bytes, counted, ofPool }: Live): void => {
    // The pool may request these bytes again in the same call.
    if (ofPool > 0) counted!.left.set(limit, counted!.left.get(limit)! + ofPool)
    limit.release(bytes - ofPool, counted?.member)
  }

  const allocate = (bytes: number, options: AllocateOptions | undefined, counted: Counted | undefined) => {
    const problem = BufferRequest.sizeProblem(operation, bytes) ??
      BufferRequest.limitProblem(operation, bytes, "maxBytes", maxBytes, owner)
    if (problem !== undefined) return problem
    const left = counted?.left.get(limit) ?? 0
    const ofPool = Math.min(bytes, left)
    const taken = limit.take(bytes - ofPool, counted?.member)
    if (taken === undefined) return refused(bytes)
    if (ofPool > 0) counted!.left.set(limit, left - ofPool)
    const call = Effect.suspend(() => inner.allocate(bytes, options))
    const ask = (taken: "evicted" | "free"): Effect.Effect<DeviceBuffer, GpuError> =>
      // After an eviction, reclaim first: else real memory could grow beyond the limit.
      Effect.catch(taken === "free" ? call : Effect.andThen(inner.reclaim, call), again)
    // Where the driver has no memory for a request without a pool, evict held blocks until it has. A pool evicts by
    // itself.
    const again = (error: GpuError) => {
      const target = limit.usedBut(undefined) - bytes
      const hasMore = error.reason._tag === "OutOfMemory" && counted === undefined &&
        limit.evict(() => limit.usedBut(undefined) - target)
      return hasMore ? ask("evicted") : error
    }
    const one = { bytes, ofPool, counted }
    return Effect.onExitPrimitive(ask(taken), (exit) => {
      if (Exit.isFailure(exit)) giveBack(one)
      else {
        activeBytes += bytes
        live.set(exit.value, one)
      }
      return undefined
    })
  }

  return Allocator.of({
    ...inner,
    limits: [limit, ...inner.limits ?? []],
    allocate: (bytes, options) =>
      Effect.uninterruptible(
        Effect.withFiber((fiber) => allocate(bytes, options, fiber.getRef(CurrentCounted)))
      ),
    freeUnsafe: (buffer) => {
      const one = live.get(buffer)
      if (one !== undefined) {
        live.delete(buffer)
        activeBytes -= one.bytes
        giveBack(one)
      }
      return inner.freeUnsafe(buffer)
    }
  })
}
