/**
 * Keeps the last events of all pools.
 *
 * @since 0.1.0
 */
import { CurrentHub } from "effect-gpu-pool/EventHub"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { checked } from "../Checked.ts"
import { Subscribers } from "../events/Subscribers.ts"
import { blocksBefore, budgetsOf, familiesOf, memoriesOf } from "./MemoryFacts.ts"
import type { RecordingFacts } from "./RecordingFacts.ts"
import type { Recording } from "./RecordingModel.ts"
import { Ring } from "./Ring.ts"
import { RingPublisher } from "./RingPublisher.ts"

/**
 * What a recorder keeps.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecorderOptions extends Schema.Schema.Type<typeof RecorderOptions> {}

/** Of {@link RecorderOptions}. */
export const RecorderOptions = Schema.Struct({
  /**
   * How many of the newest events it keeps at least, from 1 to 100,000,000; default 100,000. A hit or the end of its lease takes 4 bytes
   * where an earlier one said the same of the block, and any other event some 40 to 60, without its texts: the default is 0.5 to 10 MB.
   */
  capacity: Schema.optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000_000 }))),
  /**
   * The name of the host, which recordings keep, and by which `Viewer.fleetHtml` names its lane. Default: the metric attribute `host`
   * where `Metric.CurrentMetricAttributes` has it, or none.
   */
  host: Schema.optional(Schema.NonEmptyString)
})

/**
 * Keeps the last events of all pools.
 *
 * @category services
 * @since 0.1.0
 */
export class Recorder extends Context.Service<Recorder, {
  /** Takes a snapshot of what it has now. */
  readonly takeUnsafe: (reason: RecordingFacts["reason"]) => Recording
  /** Calls `f` whenever a request runs out of memory, before its error reaches the program. Returns a function that stops this. */
  readonly onRanOut: (f: () => void) => () => void
}>()("effect-gpu-pool/Recorder") {}

/** `then` on it runs at the end of this task of the event loop; cheaper than `queueMicrotask`, for which Node makes an object. */
const resolved = Promise.resolve()

/** How many events of one task of the event loop get the same time at most. */
const eventsPerTime = 64

/**
 * The time, read once for the events of one task of the event loop: reading it costs as much as the rest of an event. A test clock can
 * be set within a task, so it is read each time.
 */
const nowOf = (clock: Clock.Clock): () => number => {
  if (clock !== Context.get(Context.empty(), Clock.Clock)) return () => clock.currentTimeMillisUnsafe()
  let time = 0
  let left = 0
  const forget = () => {
    left = 0
  }
  return () => {
    if (left-- > 0) return time
    left = eventsPerTime
    void resolved.then(forget)
    return time = clock.currentTimeMillisUnsafe()
  }
}

/** @internal */
export const record = (
  { capacity = 100_000, host: named }: RecorderOptions
): Effect.Effect<Recorder["Service"], never, Scope.Scope> =>
  Effect.withFiber((fiber) => {
    const clock = fiber.getRef(Clock.Clock)
    const hub = fiber.getRef(CurrentHub)
    const host = named ?? fiber.getRef(Metric.CurrentMetricAttributes)["host"]
    const now = nowOf(clock)
    const ring = new Ring(capacity)
    const listeners = new Set<() => void>()
    const ranOut = () => {
      for (const f of Array.from(listeners)) f()
    }
    const stop = Subscribers.of(hub).add({
      of: (memory) => new RingPublisher(memory, ring, now, ranOut),
      ofLeases: true
    })
    const take = (reason: RecordingFacts["reason"]): Recording => {
      const content = ring.content()
      const { chunks, dropped, length } = content
      const memories = Array.from(hub.memories)
      return {
        source: "effect-gpu-pool",
        host,
        reason,
        takenAt: now(),
        dropped,
        memories: memoriesOf(content, memories),
        families: familiesOf(content),
        budgets: budgetsOf(content),
        blocks: blocksBefore(content, memories),
        length,
        chunks
      }
    }
    return Effect.as(Effect.addFinalizer(() => Effect.sync(stop)), {
      takeUnsafe: take,
      onRanOut: (f) => {
        listeners.add(f)
        return () => void listeners.delete(f)
      }
    })
  })

/**
 * Records what happens to the memory of all pools until the layer closes: those of the program, or of `PoolEvents.layer` where
 * that is provided. Fails with InvalidRequest for an invalid capacity or an empty name of a host.
 *
 * **Example** (What a program did with its memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Recording } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   yield* BufferPool.use(64, () => Effect.void)
 *   const recording = yield* Recording.snapshot
 *   return Array.from(Recording.events(recording), ({ _tag }) => _tag)
 * }).pipe(Effect.provide(Recording.layer({ capacity: 1000 }))) // => ["DriverAsked", "Leased", "Released"]
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: RecorderOptions = {}): Layer.Layer<Recorder, GpuError> =>
  Layer.effect(Recorder, Effect.flatMap(checked("Recording.layer", RecorderOptions, options), record))

/**
 * What the recorder has now: the last events, and the blocks that existed before the first of them. The recorder continues.
 *
 * @category recordings
 * @since 0.1.0
 */
export const snapshot: Effect.Effect<Recording, never, Recorder> = Effect.map(
  Recorder,
  (recorder) => recorder.takeUnsafe("asked")
)
