/**
 * What a program offers to do when memory has run out: drop a cache, spill. Handlers are asked in the order of their
 * registration until one says that it freed something.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import type { GpuError } from "../../domain/GpuError.ts"

/**
 * What a pool is short of when it asks its out-of-memory handlers.
 *
 * **Example** (Dropping a cache only for large requests)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const dropFor = (cache: Map<string, unknown>) => (need: BufferPool.Need) =>
 *   Effect.sync(() => {
 *     if (need.requested < 1 << 20 || cache.size === 0) return false
 *     cache.clear()
 *     return true
 *   })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Need {
  /** What the caller asked for, in bytes. */
  readonly requested: number
  /** The block that the size policy made of it, in bytes. */
  readonly blockSize: number
  /** The label of the request. */
  readonly label: string | undefined
  /**
   * How many bytes must come free for the request to fit under the limit; 0 when it is the driver that has no memory,
   * since nobody knows how much it lacks.
   */
  readonly missing: number
}

/** @internal */
export type Handler = (need: Need) => Effect.Effect<boolean, GpuError>

/**
 * Set for what a handler does: asking for memory there neither asks the handlers again nor waits.
 *
 * @internal
 */
export const InHandler = Context.Reference<boolean>("effect-gpu-pool/InHandler", { defaultValue: () => false })

/** @internal */
export class Handlers {
  readonly #handlers = new Set<{ readonly handler: Handler }>()
  readonly #oneAtATime = Semaphore.makeUnsafe(1)
  /** How often they said that they had freed something. */
  #freed = 0

  get isEmpty(): boolean {
    return this.#handlers.size === 0
  }

  add(handler: Handler): () => void {
    const entry = { handler }
    this.#handlers.add(entry)
    return () => {
      this.#handlers.delete(entry)
    }
  }

  /**
   * Whether memory may be had now. They work for one request at a time; what they free for one is reason enough for
   * those who waited for their turn to look again first.
   */
  run(need: Need): Effect.Effect<boolean, GpuError> {
    return Effect.suspend(() => {
      const before = this.#freed
      return this.#oneAtATime.withPermit(
        Effect.suspend(() =>
          this.#freed === before ? Effect.provideService(this.#askAll(need), InHandler, true) : Exit.succeed(true)
        )
      )
    })
  }

  readonly #askAll = Effect.fnUntraced({ self: this }, function*(need: Need): Effect.fn.Return<boolean, GpuError> {
    // One that is registered meanwhile is asked the next time.
    const handlers = Array.from(this.#handlers)
    for (const { handler } of handlers) {
      if (yield* handler(need)) {
        this.#freed++
        return true
      }
    }
    return false
  })
}
