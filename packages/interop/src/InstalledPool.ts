/**
 * A pool under a WebGPU device that other libraries use, for Effect programs: until a scope closes, or together with the program's own
 * leases.
 *
 * @since 0.1.0
 */
import * as Allocator from "effect-gpu-pool/Allocator"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as GpuError from "effect-gpu-pool/GpuError"
import { QueueDriver } from "effect-gpu-pool/QueueDriver"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { PoolableDevice } from "./foreign/PoolableDevice.ts"
import { checkDevice, install, type Installation, open } from "./install/Installation.ts"
import { type InstallOptions, settingsOf } from "./install/Options.ts"
import { NativeDevice } from "./installed/NativeDevice.ts"
import { PoolMemory } from "./installed/PoolMemory.ts"

/**
 * The pool that {@link layer} has installed: its counters, and which buffers libraries have of it. Its `stop()` gives the device its own
 * methods back before the layer closes; the pool, which is the program's, goes on.
 *
 * @category services
 * @since 0.1.0
 */
export class InstalledPool extends Context.Service<InstalledPool, Installation>()(
  "@effect-gpu-pool/interop/InstalledPool"
) {}

/**
 * Puts a pool under a device until the scope closes, as `install` of `@effect-gpu-pool/interop/install` does. Buffers that libraries
 * have then stay as they are until they destroy them.
 *
 * Fails with InvalidRequest for options that are none, and for a value that is no device or that has a pool installed.
 *
 * **Example** (A pool for one job)
 *
 * ```ts
 * import { InstalledPool } from "@effect-gpu-pool/interop/effect"
 * import { Effect } from "effect"
 *
 * const pooled = (device: GPUDevice, infer: (device: GPUDevice) => Promise<void>) =>
 *   Effect.scoped(Effect.gen(function*() {
 *     const installation = yield* InstalledPool.make(device, { maxBytes: 1 << 30 })
 *     yield* Effect.promise(() => infer(device))
 *     return installation.stats().peakActiveBytes
 *   }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  device: PoolableDevice,
  options?: InstallOptions
): Effect.Effect<Installation, GpuError.GpuError, Scope.Scope> =>
  Effect.acquireRelease(
    attempt(() => install(device, options)),
    (installation) => Effect.sync(() => installation.stop())
  )

/**
 * How other libraries get their buffers.
 *
 * @category models
 * @since 0.1.0
 */
export interface LibraryOptions extends Pick<InstallOptions, "clear" | "strict" | "track"> {}

/**
 * A device that other libraries use, with one pool for their buffers and for the program's own leases: one limit, one set of held blocks,
 * and statistics, events and holders of all of them. It is the layer of `WebGpu.layerFromDevice` with a `BufferPool`, and the device of
 * its `WebGpu` is the one that the libraries get.
 *
 * **Details**
 *
 * - A library's `createBuffer` is served in its step: from held blocks, or by the driver, or by eviction. It does not wait for leases, so
 *   where nothing is left it fails as on a device without memory, with the holders in the message.
 * - What a library destroys goes to the program's requests that wait, and to libraries.
 * - When the layer closes, the buffers that libraries have of it are destroyed.
 * - Buffers that are mapped, those with `QUERY_RESOLVE`, those without `COPY_DST`, and those whose bytes are no multiple of 4 are the
 *   device's own, and count for no limit.
 *
 * Fails as `WebGpu.layerFromDevice` and `BufferPool.layer` do; with InvalidRequest for a device that has a pool installed; and with
 * Unsupported for a strategy that splits slabs, since a library gets whole GPUBuffers.
 *
 * **Example** (A model and the program's own kernels under one limit)
 *
 * ```ts
 * import { InstalledPool } from "@effect-gpu-pool/interop/effect"
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const program = (device: GPUDevice, infer: (device: GPUDevice) => Promise<void>) =>
 *   Effect.gen(function*() {
 *     const own = yield* BufferPool.allocate(1 << 20, { label: "frame" })
 *     yield* Effect.promise(() => infer(device))
 *     return [own.size, (yield* BufferPool.stats).managedBytes]
 *   }).pipe(Effect.scoped, Effect.provide(InstalledPool.layer(device, { maxBytes: "1 GiB" }, { track: true })))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  device: PoolableDevice,
  pool: BufferPool.BufferPoolOptions = {},
  options: LibraryOptions = {}
): Layer.Layer<InstalledPool | BufferPool.BufferPool | WebGpu.Services, GpuError.GpuError> => {
  const settings = attempt(() => {
    checkDevice(operation, device)
    return settingsOf(operation, options)
  })
  return Layer.unwrap(Effect.map(Effect.andThen(splitsNothing(pool), settings), (settings) => {
    const native = new NativeDevice(device)
    const installed = Layer.effect(
      InstalledPool,
      Effect.gen(function*() {
        const memory = new PoolMemory({
          pool: yield* BufferPool.BufferPool,
          driver: yield* QueueDriver,
          gpu: yield* WebGpu.WebGpu,
          device: native,
          context: Context.make(Scope.Scope, yield* leasesOfLibraries)
        })
        return yield* Effect.acquireRelease(
          attempt(() => open(operation, device, settings, () => memory)),
          (installation) => Effect.sync(() => installation.end())
        )
      })
    )
    return installed.pipe(
      Layer.provideMerge(BufferPool.layerNoDeps(pool)),
      Layer.provide(Layer.effect(Allocator.Allocator, tellingFrees(native))),
      Layer.provide(Allocator.layerImmediate),
      Layer.provideMerge(openedAs(device, native))
    )
  }))
}

const operation = "InstalledPool.layer"

const attempt = <A>(f: () => A): Effect.Effect<A, GpuError.GpuError> =>
  Effect.suspend(() => {
    try {
      return Exit.succeed(f())
    } catch (error) {
      return GpuError.isGpuError(error) ? Exit.fail(error) : Exit.die(error)
    }
  })

const splitsNothing = ({ strategy }: BufferPool.BufferPoolOptions): Effect.Effect<void, GpuError.GpuError> =>
  strategy?.splits === true
    ? GpuError.unsupported(
      operation,
      "webgpu",
      `the strategy ${strategy.name}`,
      "Leave the strategy out: other libraries get whole buffers."
    )
    : Effect.void

/** It closes after the installation has ended, and before the pool. */
const leasesOfLibraries: Effect.Effect<Scope.Closeable, never, Scope.Scope> = Effect.acquireRelease(
  Scope.make(),
  (scope) => Scope.close(scope, Exit.void)
)

/** The allocator in context, which says when the pool frees: a library may destroy a buffer that it no longer has. */
const tellingFrees = (
  native: NativeDevice
): Effect.Effect<Allocator.Allocator["Service"], never, Allocator.Allocator> =>
  Effect.map(Allocator.Allocator, (inner) =>
    Allocator.Allocator.of({
      ...inner,
      freeUnsafe: (buffer) => {
        native.isFreeing = true
        try {
          return inner.freeUnsafe(buffer)
        } finally {
          native.isFreeing = false
        }
      }
    }))

/** The library's backend calls the device without this package; programs get the device itself. */
const openedAs = (device: PoolableDevice, native: NativeDevice): Layer.Layer<WebGpu.Services, GpuError.GpuError> =>
  Layer.effectContext(
    Effect.map(Layer.build(WebGpu.layerFromDevice(native.api)), (context) => {
      const service = Context.get(context, WebGpu.WebGpu)
      const shown: object = Object.create(Object.getPrototypeOf(service))
      return Context.add(context, WebGpu.WebGpu, Object.assign(shown, service, { device, queue: device.queue }))
    })
  )
