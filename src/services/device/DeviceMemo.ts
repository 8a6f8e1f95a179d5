/**
 * Results that belong to an open device: computed once for each device and key, and gone with the device.
 *
 * @see pyopencl.tools.first_arg_dependent_memoize, pycuda.tools.context_dependent_memoize
 * @since 0.1.0
 */
import * as Cache from "effect/Cache"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { DeviceContext } from "./DeviceContext.ts"

/**
 * A function that is memoized by device and key. Keys are compared as `Equal.equals` does: plain data by its contents.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceMemo<in Key, out A, out E, out R> {
  /** The result for the open device. Fibers that ask at the same time share one lookup; failures are not kept. */
  readonly get: (key: Key) => Effect.Effect<A, E, R | DeviceContext>
  /** Forgets what was computed for the open device. {@link clearAll} does so for every memo and device. */
  readonly clear: Effect.Effect<void, never, DeviceContext>
}

/** The weak key under which all memos keep results: one opening of a device, until the next {@link clearAll}. */
interface Age {
  readonly isAge: true
}

let ages = new WeakMap<DeviceInfo, Age>()

/** Each opening of a device has its own `DeviceInfo`, compared by identity. */
const ageOf = (info: DeviceInfo): Age => {
  const known = ages.get(info)
  if (known !== undefined) return known
  const age: Age = { isAge: true }
  ages.set(info, age)
  return age
}

/**
 * Drops all results of every memo of this process, for all open devices: later calls compute anew. A lookup under way
 * answers the fibers that wait for it, and its result is not kept.
 *
 * **Example** (Computing anew after a setting has changed)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceContext } from "effect-gpu-pool"
 * import { DeviceMemo } from "effect-gpu-pool/backend"
 * import { Host } from "effect-gpu-pool/host"
 *
 * let lanes = 4
 * const width = DeviceMemo.make((_kernel: string) => Effect.sync(() => lanes))
 * const program = Effect.gen(function*() {
 *   const before = yield* width.get("sum")
 *   lanes = 8
 *   const remembered = yield* width.get("sum")
 *   yield* DeviceMemo.clearAll
 *   return [before, remembered, yield* width.get("sum")]
 * })
 * await Effect.runPromise(Effect.provide(program, Host.layer())) // => [4, 4, 8]
 * ```
 *
 * @see pyopencl.tools.clear_first_arg_caches, pycuda.tools.clear_context_caches
 * @category clearing
 * @since 0.1.0
 */
export const clearAll: Effect.Effect<void> = Effect.sync(() => {
  ages = new WeakMap()
})

/**
 * Memoizes `lookup`. A memo keeps at most `capacity` results (256 by default), and drops the least recently used first.
 * It keeps results only while something else refers to the open device. Each opening of a device begins without
 * results, and so does each test with a fresh layer.
 *
 * **Details**
 *
 * A lookup that is under way when its results are cleared answers the fibers that wait for it, and its result is not
 * kept. A lookup that no fiber waits for any more is interrupted.
 *
 * **Example** (Choosing a workgroup size once for each device)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceContext } from "effect-gpu-pool"
 * import { DeviceMemo } from "effect-gpu-pool/backend"
 * import { Host } from "effect-gpu-pool/host"
 *
 * let asked = 0
 * const workgroupSize = DeviceMemo.make((kernel: string) =>
 *   Effect.map(DeviceContext.info, ({ limits }) => {
 *     asked++
 *     return Math.min(kernel.length * 64, limits.maxWorkgroupSize)
 *   })
 * )
 * const program = Effect.all([workgroupSize.get("sum"), workgroupSize.get("sum")])
 * await Effect.runPromise(Effect.provide(program, Host.layer())) // => [192, 192]
 * asked // => 1
 * ```
 *
 * @see pyopencl.tools.first_arg_dependent_memoize
 * @category constructors
 * @since 0.1.0
 */
export const make = <Key, A, E, R>(
  lookup: (key: Key) => Effect.Effect<A, E, R>,
  options?: { readonly capacity?: number | undefined }
): DeviceMemo<Key, A, E, R> => {
  const caches = new WeakMap<Age, Cache.Cache<Key, A, E, R>>()
  const fresh = Cache.makeWith<Key, A, E, R, "lookup">(lookup, {
    capacity: options?.capacity ?? 256,
    timeToLive: (exit) => Exit.isSuccess(exit) ? "Infinity" : 0,
    requireServicesAt: "lookup"
  })
  const cacheOf = (info: DeviceInfo): Effect.Effect<Cache.Cache<Key, A, E, R>> => {
    const known = caches.get(ageOf(info))
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(fresh, (cache) => {
      // The run loop may yield between the steps, and another fiber can have made one meanwhile, or cleared all.
      const age = ageOf(info)
      const first = caches.get(age) ?? cache
      caches.set(age, first)
      return first
    })
  }
  return {
    get: (key) => DeviceContext.use(({ info }) => Effect.flatMap(cacheOf(info), (cache) => Cache.get(cache, key))),
    clear: DeviceContext.useSync(({ info }) => {
      caches.delete(ageOf(info))
    })
  }
}
