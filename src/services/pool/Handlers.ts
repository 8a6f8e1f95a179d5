/**
 * The effects of a program that free memory when it has run out: drop a cache, spill. Handlers are asked in the order
 * of their registration until one has freed something.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import type { GpuError } from "../../domain/GpuError.ts"

/**
 * What a pool needs when it asks its out-of-memory handlers.
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
  /** Requested bytes. */
  readonly requested: number
  /** The block that the size policy made of it, in bytes. */
  readonly blockSize: number
  /** The label of the request. */
  readonly label: string | undefined
  /**
   * How many bytes must become free for the request to fit under the limit; 0 when the driver has no memory, since its
   * deficit is unknown.
   */
  readonly missing: number
}

/** @internal */
export type Handler = (need: Need) => Effect.Effect<boolean, GpuError>

/**
 * One run of a pool's handlers, for one request.
 *
 * @category models
 * @since 0.1.0
 */
export interface HandlerRun {
  /** True once the handlers have ended: a fiber that outlives them no longer counts as a handler. */
  isOver: boolean
  readonly pool: object
  readonly outer: HandlerRun | undefined
}

/**
 * In the context of a handler's effect: its requests to the pool neither ask the handlers again nor wait.
 *
 * @internal
 */
export const InHandler = Context.Reference<HandlerRun | undefined>("effect-gpu-pool/InHandler", {
  defaultValue: () => undefined
})

/**
 * Whether the request comes from a handler of the pool, perhaps through a handler of another pool.
 *
 * @internal
 */
export const isWithin = (innermost: HandlerRun | undefined, pool: object): boolean => {
  for (let run = innermost; run !== undefined; run = run.outer) {
    if (run.pool === pool && !run.isOver) return true
  }
  return false
}

/** @internal */
export class Handlers {
  readonly #handlers = new Set<{ readonly handler: Handler }>()
  readonly #oneAtATime = Semaphore.makeUnsafe(1)
  /** The identity of the pool. */
  readonly #pool: object
  readonly #changed: (some: boolean) => void
  /** How often the handlers freed something. */
  #freed = 0

  /** `changed` is called when the first handler is added, and when the last is removed. */
  constructor(pool: object, changed: (some: boolean) => void) {
    this.#pool = pool
    this.#changed = changed
  }

  add(handler: Handler): () => void {
    const entry = { handler }
    this.#handlers.add(entry)
    if (this.#handlers.size === 1) this.#changed(true)
    return () => {
      if (this.#handlers.delete(entry) && this.#handlers.size === 0) this.#changed(false)
    }
  }

  /**
   * Whether memory may be free now: a handler says so, and `came` agrees. Handlers run for one request at a time. If they
   * freed something while this request waited for them, it searches again before it asks them.
   */
  run(need: Need, came: () => boolean): Effect.Effect<boolean, GpuError> {
    return Effect.suspend(() => {
      const before = this.#freed
      return this.#oneAtATime.withPermit(
        Effect.suspend(() =>
          this.#freed !== before && came() ? Exit.succeed(true) : this.#asRun(this.#askAll(need, came))
        )
      )
    })
  }

  #asRun<A>(effect: Effect.Effect<A, GpuError>): Effect.Effect<A, GpuError> {
    return Effect.withFiber((fiber) => {
      const run: HandlerRun = { isOver: false, pool: this.#pool, outer: fiber.getRef(InHandler) }
      return Effect.onExitPrimitive(Effect.provideService(effect, InHandler, run), () => {
        run.isOver = true
        return undefined
      })
    })
  }

  readonly #askAll = Effect.fnUntraced(
    { self: this },
    function*(need: Need, came: () => boolean): Effect.fn.Return<boolean, GpuError> {
      // A handler that is registered meanwhile is asked the next time.
      const handlers = Array.from(this.#handlers)
      for (const { handler } of handlers) {
        if ((yield* handler(need)) && came()) {
          this.#freed++
          return true
        }
      }
      return false
    }
  )
}
