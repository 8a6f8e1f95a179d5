/**
 * The strategy of pools that have none of their own.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type { PoolStrategy } from "../../domain/pool/PoolStrategy.ts"

/**
 * The strategy of pools whose options have none; `undefined` for blocks. A test suite can run once more on arenas with it,
 * without a change to its pools.
 *
 * **Example** (The pools of a program, all on arenas)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { PoolStrategy } from "effect-gpu-pool/allocators"
 *
 * const onArenas = <A, E, R>(gpu: Layer.Layer<A, E, R>) =>
 *   Layer.provide(gpu, Layer.succeed(BufferPool.DefaultStrategy, PoolStrategy.arena()))
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const DefaultStrategy = Context.Reference<PoolStrategy | undefined>("effect-gpu-pool/DefaultStrategy", {
  defaultValue: () => undefined
})
