/**
 * Pools on the memory that they share.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { optionsProblem, valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../domain/arguments/KnownOptions.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import {
  type MemoryOptions,
  ofMemory,
  type SharedPoolOptions,
  sharedSettingsOf
} from "../../domain/pool/PoolOptions.ts"
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

export const known = KnownOptions.of<MemoryOptions>(ofMemory)

export const memories = new WeakMap<object, PoolRuntime>()

/**
 * The memory behind the service.
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
 */
export const openShared = <O extends SharedPoolOptions, Own extends object, A, E, R>(
  operation: string,
  options: O,
  known: KnownOptions.KnownOptions,
  ownOf: (operation: string, options: O) => Own,
  open: OpenPool<Own, A, E, R>
): Effect.Effect<A, E | GpuError, R | DeviceMemory | DeviceContext> =>
  openWith(
    operation,
    (device) => {
      valid(optionsProblem(operation, options, known))
      return { ...ownOf(operation, options), ...valid(sharedSettingsOf(operation, options, device)) }
    },
    (settings) => Effect.flatMap(memoryOf, (memory) => open(memory, settings, settings.maxBytes))
  )
