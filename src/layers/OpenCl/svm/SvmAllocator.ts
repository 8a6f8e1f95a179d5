/**
 * Shared virtual memory for pools, and for programs without one.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { formatted } from "../../../domain/arguments/Format.ts"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import { type GpuError, invalidRequest, isGpuError, unsupported } from "../../../domain/GpuError.ts"
import { BlockOptions } from "../../../domain/pool/PoolOptions.ts"
import { Allocator, layerDeferred } from "../../../services/buffers/Allocator.ts"
import * as BufferPool from "../../../services/buffers/BufferPool.ts"
import { validated } from "../../../services/calls/Validated.ts"
import { DeviceContext } from "../../../services/device/DeviceContext.ts"
import type { QueueDriver } from "../../../services/device/QueueDriver.ts"
import type { OpenCl } from "../OpenCl.ts"
import { own } from "../OwnDevice.ts"
import { missingProblem, type SvmCapabilities } from "./SvmCapabilities.ts"
import type { SvmKind } from "./SvmMemory.ts"

/**
 * Which memory an allocator gives.
 *
 * @category models
 * @since 0.1.0
 */
export interface AllocatorOptions extends Schema.Schema.Type<typeof allocatorOptions> {}

const allocatorOptions = Schema.Struct({
  /**
   * `"coarse"` when left out: the host maps memory to use it. `"fine"`: host and device use it at the same time; not
   * every device has it.
   */
  grain: LayerOptions.oneOf(["coarse", "fine"]),
  /** Whether atomic operations work between host and device: needs fine grain, and a device that has it. */
  atomics: LayerOptions.boolean,
  /**
   * Bytes: a power of two, at most `maxAlignment` of the capabilities. When left out, the device chooses one that suits
   * every type.
   */
  alignment: LayerOptions.count(0)
})

/**
 * The options of a pool, and the kind of its memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolOptions extends BufferPool.BufferPoolOptions, AllocatorOptions {}

const poolOptions = Schema.Struct({ ...allocatorOptions.fields, ...BlockOptions.fields })

/**
 * An Allocator of shared virtual memory. A buffer that it gives has an address that is the same for host and device, and
 * works in every operation and kernel as any other buffer: a program changes to shared memory by changing this layer.
 *
 * **Details**
 *
 * Kernels' access follows from the usage, as for all buffers. An allocation proves that the memory exists: a driver
 * without memory fails at once with OutOfMemory, and a pool starts its fallback. Memory is freed after all commands
 * that were recorded before.
 *
 * Building it fails with Unsupported where the device has no such memory, and with InvalidRequest for an alignment that no
 * allocation could have.
 *
 * **Example** (A buffer without a pool)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator, CommandQueue } from "effect-gpu-pool"
 * import { OpenCl, Svm } from "effect-gpu-pool/opencl"
 *
 * const program = Effect.gen(function*() {
 *   const buffer = yield* Allocator.allocate(1024)
 *   yield* CommandQueue.fill(buffer, 0)
 *   return yield* Svm.pointer(buffer)
 * }).pipe(Effect.scoped, Effect.provide(Svm.layerAllocator({ alignment: 64 })), Effect.provide(OpenCl.layer()))
 * ```
 *
 * @see pyopencl.tools.SVMAllocator
 * @category layers
 * @since 0.1.0
 */
export const layerAllocator = (
  options?: AllocatorOptions
): Layer.Layer<Allocator, GpuError, OpenCl | DeviceContext | QueueDriver> =>
  Layer.fresh(Layer.effect(Allocator, make(options ?? {})))

/**
 * A pool of shared virtual memory: `BufferPool.layerNoDeps` over {@link layerAllocator}, so bytes are counted and limits,
 * waiting and eviction work as in every other pool. Leases are used through `BufferPool`, and work wherever a lease does.
 *
 * Building it fails as the allocator does, and with InvalidRequest for options of the pool that make no sense.
 *
 * **Example** (Swapping the memory under a program)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { OpenCl, Svm } from "effect-gpu-pool/opencl"
 *
 * const program = Effect.scoped(Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(4096)
 *   yield* CommandQueue.write(x, new Float32Array(1024).fill(2))
 *   return yield* CommandQueue.read(x, Float32Array)
 * }))
 * const gpu = OpenCl.layer()
 * const buffers = Effect.provide(program, BufferPool.layer().pipe(Layer.provideMerge(gpu)))
 * const shared = Effect.provide(program, Svm.layerPool({ grain: "fine" }).pipe(Layer.provideMerge(gpu)))
 * ```
 *
 * @see pyopencl.tools.SVMPool
 * @category layers
 * @since 0.1.0
 */
export const layerPool = (
  options?: PoolOptions
): Layer.Layer<BufferPool.BufferPool, GpuError, OpenCl | DeviceContext | QueueDriver> =>
  Layer.unwrap(validated("Svm.layerPool", (operation) => {
    const { alignment, atomics, grain, ...pool } = valid(LayerOptions.read(operation, poolOptions, options))
    return Effect.succeed(Layer.provide(BufferPool.layerNoDeps(pool), layerAllocator({ alignment, atomics, grain })))
  }))

/** The rules are those of every allocator; only the memory comes from elsewhere. */
const make = Effect.fnUntraced(function*(given: AllocatorOptions) {
  const options = LayerOptions.read("Svm.layerAllocator", allocatorOptions, given)
  if (isGpuError(options)) return yield* options
  const { svm } = yield* own
  const device = yield* DeviceContext
  const kind: SvmKind = {
    grain: options.grain ?? "coarse",
    atomics: options.atomics ?? false,
    alignment: options.alignment ?? 0
  }
  const problem = kindProblem(svm.capabilities, kind)
  if (problem !== undefined) return yield* problem
  const shared = DeviceContext.of({
    ...device,
    createBuffer: (bytes, usage, label) => svm.createUnsafe(bytes, usage, label, kind)
  })
  const layer = Layer.provide(layerDeferred, Layer.succeed(DeviceContext, shared))
  return { ...yield* Effect.provide(Allocator, layer), immediate: true }
})

/** Why a device cannot give memory of such a kind, or `undefined`. */
const kindProblem = (capabilities: SvmCapabilities, { alignment, atomics, grain }: SvmKind): GpuError | undefined => {
  const operation = "Svm.layerAllocator"
  const missing = missingProblem(operation, capabilities)
  if (missing !== undefined) return missing
  if (grain === "fine" && !capabilities.fineGrain) {
    const feature = "shared virtual memory of fine grain"
    return unsupported(operation, "opencl", feature, `Use grain: "coarse" and Mapping.map.`)
  }
  if (atomics && !capabilities.atomics) {
    return unsupported(operation, "opencl", "atomics between host and device", "Leave atomics out.")
  }
  if (atomics && grain === "coarse") {
    return invalidRequest(operation, "atomics were asked for on memory of coarse grain", `Pass grain: "fine" as well.`)
  }
  const { maxAlignment } = capabilities
  const isPowerOfTwo = Number.isSafeInteger(alignment) && alignment > 0 && Number.isInteger(Math.log2(alignment))
  return alignment === 0 || (isPowerOfTwo && alignment <= maxAlignment) ? undefined : invalidRequest(
    operation,
    `the alignment ${formatted(alignment)} is no power of two up to ${maxAlignment}`,
    "Pass the bytes of the largest type in the buffer, rounded up to a power of two, or leave it out."
  )
}
