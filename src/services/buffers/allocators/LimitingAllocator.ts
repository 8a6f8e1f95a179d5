/**
 * An allocator with a byte limit for everything above it: several pools, or none.
 *
 * @see rmm::mr::limiting_resource_adaptor
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import { optionsProblem, readValues } from "../../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../../domain/arguments/KnownOptions.ts"
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError, type LimitOwner, outOfMemory } from "../../../domain/GpuError.ts"
import * as MemoryLimit from "../../../domain/pool/MemoryLimit.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import { DeviceContext } from "../../device/DeviceContext.ts"
import { CurrentShares } from "../../pool/CurrentReservations.ts"
import { type Share, SharedLimit } from "../../pool/SharedLimit.ts"
import { type AllocateOptions, Allocator } from "../Allocator.ts"

/**
 * The limit: one of the two.
 *
 * @category models
 * @since 0.1.0
 */
export interface LimitingOptions {
  /** The most bytes that may be allocated and not freed. `Infinity` is no limit. */
  readonly maxBytes?: MemoryLimit.ByteAmount | undefined
  /** The same as a share of the device's memory, from 0 to 1, where the device tells it. */
  readonly maxFraction?: number | undefined
}

const layerOperation = "LimitingAllocator.layer"
const operation = "Allocator.allocate"

/**
 * Limits the bytes that are allocated and not freed through the Allocator in context. What does not fit fails before
 * the driver is asked: with LimitExceeded when it is over the limit by itself, else with a retryable OutOfMemory, which
 * a pool answers as it does its driver's.
 *
 * The pools on it hear of each other. Before it refuses a request, it evicts what any of them holds idle, if that is enough; and where the
 * driver has no memory, whatever they hold. A request that it has refused waits, if its pool waits, for what comes back to any of them.
 * Each pool has a line of its own: where they should share one, give them one `DeviceMemory`. A decorator above it passes
 * on the members of the allocator that it does not change (`{ ...inner, allocate }`), or pools do not hear of each other, and
 * a `freeUnsafe` of its own frees in that step.
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
      const limit = readValues(layerOperation, () => limitOf(options, info))
      if (isGpuError(limit)) return yield* limit
      return limited(yield* Allocator, limit, yield* Scheduler.Scheduler)
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

/** Who allocated a buffer, and how many bytes it counts. */
interface Counted {
  readonly bytes: number
  readonly share: Share | undefined
}

const limited = (
  inner: Allocator["Service"],
  maxBytes: number,
  scheduler: Scheduler.Scheduler
): Allocator["Service"] => {
  const limit = new SharedLimit(maxBytes, scheduler)
  /** Buffers of other allocators are not counted, and no buffer is counted twice. */
  const live = new WeakMap<DeviceBuffer, Counted>()
  let activeBytes = 0

  const refused = (bytes: number): GpuError =>
    outOfMemory(bytes, {
      limit: maxBytes,
      activeBytes,
      managedBytes: activeBytes,
      reservedBytes: limit.usedBytes - activeBytes,
      rungs: []
    })

  const allocate = (bytes: number, options: AllocateOptions | undefined, share: Share | undefined) => {
    const problem = BufferRequest.sizeProblem(operation, bytes) ??
      BufferRequest.limitProblem(operation, bytes, "maxBytes", maxBytes, owner)
    if (problem !== undefined) return problem
    const taken = limit.take(bytes, share)
    if (taken === undefined) return refused(bytes)
    limit.begin()
    const ask = (taken: "evicted" | "free"): Effect.Effect<DeviceBuffer, GpuError> => {
      const call = Effect.suspend(() => inner.allocate(bytes, options))
      // Real memory would grow beyond the limit if the driver did not have back what was evicted.
      return Effect.catch(taken === "free" ? call : Effect.andThen(inner.reclaim, call), again)
    }
    // Where the driver has no memory, all held blocks give way, until it has: so no request waits for one of them.
    const again = (error: GpuError) => {
      const target = limit.usedBytes - bytes
      const hasMore = error.reason._tag === "OutOfMemory" && limit.evict(() => limit.usedBytes - target)
      return hasMore ? ask("evicted") : error
    }
    return Effect.onExitPrimitive(ask(taken), (exit) => {
      if (Exit.isFailure(exit)) limit.count(-bytes, share)
      limit.end(Exit.isFailure(exit), share)
      if (Exit.isFailure(exit)) return undefined
      activeBytes += bytes
      live.set(exit.value, { bytes, share })
      return undefined
    })
  }

  return Allocator.of({
    ...inner,
    limits: [limit, ...inner.limits ?? []],
    allocate: (bytes, options) =>
      Effect.uninterruptible(
        Effect.withFiber((fiber) =>
          allocate(bytes, options, fiber.getRef(CurrentShares).find((share) => share.limit === limit))
        )
      ),
    freeUnsafe: (buffer) => {
      const counted = live.get(buffer)
      if (counted !== undefined) {
        live.delete(buffer)
        activeBytes -= counted.bytes
        limit.returned(counted.bytes, counted.share)
      }
      return inner.freeUnsafe(buffer)
    }
  })
}
