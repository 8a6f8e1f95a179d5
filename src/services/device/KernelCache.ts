/**
 * Compiled kernels of one device, kept by source and options, freed with the device.
 *
 * This is what PyOpenCL's `first_arg_dependent_memoize` and PyCUDA's `context_dependent_memoize` are for, without their
 * leak: nothing outlives the device, and the cache is bounded.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { Kernel, KernelSource } from "../../domain/kernel/Kernel.ts"
import { kernelLine } from "../../domain/kernel/KernelLine.ts"
import type { LanguageWriter } from "../../domain/language/LanguageWriter.ts"
import * as LazyModule from "../calls/LazyModule.ts"
import { validated } from "../calls/Validated.ts"

/**
 * A kernel that one device can run; each backend has a subclass of its own.
 *
 * **Example** (The compiled kernels of a backend of your own)
 *
 * ```ts
 * import { KernelCache } from "effect-gpu-pool/backend"
 * import type { Kernel } from "effect-gpu-pool"
 *
 * class MyCompiledKernel extends KernelCache.CompiledKernel {
 *   readonly program: bigint
 *   constructor(kernel: Kernel.Kernel, program: bigint) {
 *     super(kernel)
 *     this.program = program
 *   }
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export abstract class CompiledKernel {
  readonly kernel: Kernel
  /** Set when the cache has released it. */
  released = false

  constructor(kernel: Kernel) {
    this.kernel = kernel
  }
}

showing<CompiledKernel>(
  ({ kernel, released }) => kernelLine("CompiledKernel", kernel, released ? "released" : "live")
)(CompiledKernel.prototype)

/**
 * Counters of a {@link KernelCache}.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelCacheStats {
  /** Kernels served without compiling. */
  readonly hits: number
  /** Kernels that had to be compiled. */
  readonly misses: number
  /** Kernels released because the cache was full. */
  readonly evictions: number
  /** Compiled kernels kept now. */
  readonly size: number
  /** The most compiled kernels that are kept. */
  readonly capacity: number
}

/**
 * The service: compiled kernels of one device. Each backend's layer provides it.
 *
 * **Example** (Compiling before the first dispatch)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { KernelCache } from "effect-gpu-pool/backend"
 * import type { Kernel } from "effect-gpu-pool"
 *
 * const warmUp = Effect.fnUntraced(function*(kernels: ReadonlyArray<Kernel.Kernel>) {
 *   const cache = yield* KernelCache.KernelCache
 *   yield* Effect.forEach(kernels, cache.get, { concurrency: 4, discard: true })
 *   return yield* cache.stats
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class KernelCache extends Context.Service<KernelCache, {
  /**
   * The compiled form of a kernel; compiles it on the first call. Concurrent calls share one compilation, also when the
   * fiber that started it is interrupted. Fails with InvalidRequest for a malformed definition, Unsupported for a
   * missing body or element type, or images that the device lacks, LimitExceeded for more vectors, images or samplers
   * or a larger workgroup than the device takes, DriverError with the compiler's log, or DeviceLost.
   */
  readonly get: (kernel: Kernel) => Effect.Effect<CompiledKernel, GpuError>
  /** The compiled form when the cache has it, synchronously. Counts a hit. */
  readonly getUnsafe: (kernel: Kernel) => CompiledKernel | undefined
  /** Releases every compiled kernel. */
  readonly clear: Effect.Effect<void>
  readonly stats: Effect.Effect<KernelCacheStats>
}>()("effect-gpu-pool/KernelCache") {}

const kernels = LazyModule.module("services/device/CompiledKernels", () => import("./CompiledKernels.ts"))

/**
 * How a backend compiles.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelCompiler<C extends CompiledKernel> {
  /** What writes kernels of expressions in the backend's language. */
  readonly writer: Effect.Effect<LanguageWriter, GpuError>
  /**
   * Compiles a kernel, which was checked against what the device supports, from its source in that language. A kernel that differs
   * in nothing is not compiled again.
   */
  readonly compile: (kernel: Kernel, source: KernelSource) => Effect.Effect<C, GpuError>
  readonly release: (compiled: C) => void
}

/**
 * Builds the cache of one device. Everything is released when the scope closes; least recently used first when it is
 * full.
 *
 * **Example** (The cache of a backend of your own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { KernelCache } from "effect-gpu-pool/backend"
 * import type { DeviceContext } from "effect-gpu-pool"
 * import { JavaScript } from "effect-gpu-pool/host"
 *
 * class Interpreted extends KernelCache.CompiledKernel {}
 *
 * const cacheOf = ({ info, status }: DeviceContext.DeviceContext["Service"]) =>
 *   KernelCache.make<Interpreted>({
 *     writer: Effect.succeed(JavaScript.writer),
 *     compile: (kernel) => Effect.succeed(new Interpreted(kernel)),
 *     release: () => {}
 *   }, { info, status, capacity: 16 })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <C extends CompiledKernel>(
  compiler: KernelCompiler<C>,
  options: {
    /** The device's; a lost device answers every request with its DeviceLost error. */
    readonly status: DeviceStatus
    /** Of the device; a kernel that it cannot run is refused before anything is compiled. */
    readonly info: DeviceInfo
    /** How many compiled kernels are kept, one at least; 256 without it. */
    readonly capacity?: number | undefined
  }
): Effect.Effect<KernelCache["Service"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const { capacity: given = 256, status } = options
    // With less a dispatch would compile its kernel without end, since it compiles again what the cache has released.
    const capacity = given >= 1 ? given : 1
    const scope = yield* Effect.scope
    const cache = kernels.map(({ CompiledKernels }) => new CompiledKernels(compiler, capacity, options, scope))
    const stats = () => cache.value?.stats ?? { hits: 0, misses: 0, evictions: 0, size: 0, capacity }
    const clear = () => cache.value?.clear()
    // The cache closes with its device: no compilation can start in a closed scope.
    yield* Scope.addFinalizer(
      scope,
      Effect.sync(() => {
        status.lose("its layer is closed")
        clear()
      })
    )
    return showing(() => cacheLine(stats(), options), "KernelCache")(KernelCache.of({
      get: (kernel) => cache.use((cache) => validated("KernelCache.get", () => cache.get(kernel))),
      getUnsafe: (kernel) => cache.value?.lookup(kernel),
      clear: Effect.sync(clear),
      stats: Effect.sync(stats)
    }))
  })

const cacheLine = (
  { capacity, evictions, hits, misses, size }: KernelCacheStats,
  { info, status }: { readonly info: DeviceInfo; readonly status: DeviceStatus }
): string =>
  inOneLine("KernelCache", undefined, [
    `${size} of ${capacity} kernels`,
    `${hits} hits`,
    `${misses} misses`,
    `${evictions} evictions`,
    deviceState(status, info)
  ])

/**
 * The compiled form of a kernel; compiles it on the first call, so that a program can compile it before the first
 * dispatch.
 *
 * Fails with InvalidRequest for a malformed definition, Unsupported for a missing body or element type, DriverError
 * with the compiler's log, or DeviceLost.
 *
 * **Example** (Compiling ahead)
 *
 * ```ts
 * import { Kernel, KernelArgument } from "effect-gpu-pool"
 * import { KernelCache } from "effect-gpu-pool/backend"
 *
 * const double = Kernel.make({
 *   name: "double",
 *   args: [KernelArgument.VectorArg("f32", "x")],
 *   body: { wgsl: "x[i] = 2.0 * x[i];", opencl: "x[i] = 2 * x[i];" }
 * })
 * const ahead = KernelCache.get(double)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const get = (kernel: Kernel): Effect.Effect<CompiledKernel, GpuError, KernelCache> =>
  KernelCache.use((cache) => cache.get(kernel))

/**
 * Releases every compiled kernel; the next dispatch of one compiles it again.
 *
 * **Example** (Between two phases of a program)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { KernelCache } from "effect-gpu-pool/backend"
 *
 * const phaseOver = Effect.andThen(CommandQueue.finish, KernelCache.clear)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const clear: Effect.Effect<void, never, KernelCache> = KernelCache.use((cache) => cache.clear)

/**
 * The cache's counters now.
 *
 * **Example** (How much was compiled)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { KernelCache } from "effect-gpu-pool/backend"
 *
 * const report = Effect.map(KernelCache.stats, (s) => `${s.misses} compiled, ${s.hits} found`)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const stats: Effect.Effect<KernelCacheStats, never, KernelCache> = KernelCache.use((cache) => cache.stats)
