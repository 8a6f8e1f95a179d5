/**
 * What happens to the memory of pools, as it happens: leases and their ends, blocks that are freed, requests that wait, are refused
 * or run out. It costs nothing while there is no subscriber.
 *
 * @since 0.1.0
 */
import { CurrentHub, EventHub } from "effect-gpu-pool/EventHub"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { PoolPublisher } from "./PoolPublisher.ts"
import { Subscribers } from "./Subscribers.ts"

/**
 * Calls `f` with each event, synchronously as it happens, until it is interrupted; it never completes. Run it on a fiber of its
 * own: it listens from its first step on. `f` must be quick, and must not ask the pool for anything. When `f` throws, this ends with
 * that defect, and the pool is not affected.
 *
 * The times of events are those of the listener's clock. A listener with the metric attribute `host`, which
 * `Metric.CurrentMetricAttributes` gives, gets events that have that `host`.
 *
 * **Example** (Counting misses)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { PoolEvents } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   let misses = 0
 *   yield* Effect.forkScoped(
 *     PoolEvents.listen((event) => {
 *       if (event._tag === "Leased" && event.from === "driver") misses += 1
 *     }),
 *     { startImmediately: true }
 *   )
 *   yield* Effect.replicateEffect(BufferPool.use(64, () => Effect.void), 3)
 *   return misses
 * }) // => 1
 * ```
 *
 * @see cupy.cuda.MemoryHook
 * @category streams
 * @since 0.1.0
 */
export const listen = (f: (event: PoolEvent) => void): Effect.Effect<never> =>
  Effect.withFiber((fiber) => {
    const clock = fiber.getRef(Clock.Clock)
    const now = () => clock.currentTimeMillisUnsafe()
    const subscribers = Subscribers.of(fiber.getRef(CurrentHub))
    const host = fiber.getRef(Metric.CurrentMetricAttributes)["host"]
    return Effect.callback<never>((resume) => {
      const publish = (event: PoolEvent): void => {
        try {
          f(host === undefined ? event : { ...event, host })
        } catch (defect) {
          stop()
          resume(Effect.die(defect))
        }
      }
      const stop = subscribers.add({ of: (memory) => new PoolPublisher(memory, now, publish), ofLeases: true })
      return Effect.sync(stop)
    })
  })

/** How many events are buffered for a stream that is read too slowly: the newest ones. */
const mostKept = 65_536

/**
 * The events of all pools of the program, from the first pull on; those of {@link layer} where that is provided. A stream that is
 * read more slowly than events happen keeps the newest 65,536.
 *
 * **Example** (Telling who ran out of memory)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { PoolEvents } from "@effect-gpu-pool/observability"
 *
 * const watched = PoolEvents.stream.pipe(
 *   Stream.runForEach((event) =>
 *     event._tag === "RanOut" ? Effect.logWarning(`no memory for ${event.size} B, "${event.label}"`) : Effect.void
 *   )
 * )
 * ```
 *
 * @category streams
 * @since 0.1.0
 */
export const stream: Stream.Stream<PoolEvent> = Stream.callback<PoolEvent>(
  (queue) =>
    listen((event) => {
      Queue.offerUnsafe(queue, event)
    }),
  { bufferSize: mostKept, strategy: "sliding" }
)

/**
 * Separates the events of some pools: those built with this layer publish to no other subscriber, and {@link stream} and
 * {@link listen} with this layer get no events of other pools.
 *
 * **Example** (A test that gets the events of its own pool alone)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { PoolEvents } from "@effect-gpu-pool/observability"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const Gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()), Layer.provideMerge(PoolEvents.layer))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = Layer.effect(CurrentHub, Effect.sync(() => new EventHub()))
