/**
 * Pools on the memory that they share.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import { type SharedPoolOptions, sharedSettingsOf } from "../../domain/pool/PoolOptions.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import { type MemoryControls, type OpenPool, openWith } from "./Pool.ts"
import type { PoolRuntime } from "./PoolRuntime.ts"

/**
 * The service. Its functions report and change the memory of all its pools.
 *
 * **Example** (The bytes of buffers and images together)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const taken = Effect.gen(function*() {
 *   const memory = yield* DeviceMemory.DeviceMemory
 *   return (yield* memory.stats).managedBytes
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class DeviceMemory extends Context.Service<DeviceMemory, MemoryControls>()("effect-gpu-pool/DeviceMemory") {}

/** The memory behind each service that was made. @internal */
export const memories = new WeakMap<object, PoolRuntime>()

/**
 * The memory behind the service.
 *
 * @internal
 */
export const memoryOf: Effect.Effect<PoolRuntime, GpuError, DeviceMemory> = DeviceMemory.use((service) =>
  Effect.suspend(() => {
    const memory = memories.get(service)
    return memory === undefined
      ? invalidRequest("DeviceMemory", "the service was not made by DeviceMemory.layer", "Provide DeviceMemory.layer.")
      : Effect.succeed(memory)
  })
)

/**
 * A pool on the memory that it shares with others; see `openAlone`.
 *
 * @internal
 */
export const openShared = <F extends typeof SharedPoolOptions.fields, Own extends object, A, E, R>(
  operation: string,
  options: Schema.Struct<F>["Type"],
  schema: Schema.Struct<F>,
  ownOf: (options: Schema.Struct<F>["Type"]) => Own,
  open: OpenPool<Own, A, E, R>
): Effect.Effect<A, E | GpuError, R | DeviceMemory | DeviceContext> =>
  openWith(
    (device) => {
      const given = valid(LayerOptions.read(operation, schema, options))
      return { ...ownOf(given), ...valid(sharedSettingsOf(operation, given, device)) }
    },
    (settings) => Effect.flatMap(memoryOf, (memory) => open(memory, settings, settings.maxBytes))
  )
