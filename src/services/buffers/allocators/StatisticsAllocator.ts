/**
 * An allocator that counts: bytes and allocations, now, at most, and in all; for the whole program, for a part of it,
 * or for one effect.
 *
 * @see rmm::mr::statistics_resource_adaptor
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import { Allocator } from "../Allocator.ts"

/**
 * One quantity, since counting began.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counter {
  /** Allocated and not freed. Negative when more was freed than allocated since counting began. */
  readonly current: number
  /** The most that `current` has been, at least 0. */
  readonly peak: number
  /** Allocated in total, freed or not. */
  readonly total: number
}

/**
 * Requested bytes, and the number of allocations.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counters {
  readonly bytes: Counter
  readonly allocations: Counter
}

/**
 * The service that reads the counters.
 *
 * **Example** (Reporting the counters from time to time)
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { StatisticsAllocator } from "effect-gpu-pool/allocators"
 *
 * const report = StatisticsAllocator.AllocatorStatistics.use(({ counters }) =>
 *   Effect.flatMap(counters, ({ bytes }) => Effect.log(`${bytes.current} bytes, ${bytes.peak} at most`))
 * ).pipe(Effect.repeat(Schedule.spaced("10 seconds")))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class AllocatorStatistics extends Context.Service<AllocatorStatistics, {
  /** See {@link counters}. */
  readonly counters: Effect.Effect<Counters>
  /** See {@link push}. */
  readonly push: Effect.Effect<Counters>
  /** See {@link pop}. */
  readonly pop: Effect.Effect<Counters, GpuError>
  /** See {@link measure}. */
  readonly measure: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<[counters: Counters, result: A], E, R>
}>()("effect-gpu-pool/AllocatorStatistics") {}

/**
 * Counts what is allocated and freed through the Allocator in context. It counts requested bytes. An allocation that
 * fails is not counted, and a buffer counts as freed when `freeUnsafe` is called, also where the driver fails to free
 * it. Over a pool these are the pool's blocks, not its leases: those are in `BufferPool.stats`.
 *
 * **Example** (What a pool asks of its driver)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 * import { StatisticsAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const gpu = BufferPool.layerNoDeps().pipe(
 *   Layer.provideMerge(StatisticsAllocator.layer),
 *   Layer.provide(Allocator.layerImmediate),
 *   Layer.provideMerge(Host.layer())
 * )
 * const program = BufferPool.use(4096, () => Effect.void).pipe(
 *   Effect.repeat({ times: 9 }),
 *   Effect.andThen(StatisticsAllocator.counters),
 *   Effect.provide(gpu)
 * )
 * const { allocations, bytes } = await Effect.runPromise(program)
 * allocations.total // => 1
 * bytes // => { current: 4096, peak: 4096, total: 4096 }
 * ```
 *
 * @see rmm::mr::statistics_resource_adaptor
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Allocator | AllocatorStatistics, never, Allocator> = Layer.fresh(
  Layer.effectContext(Effect.map(Allocator, (inner) => {
    const counting = new Counting()
    return Context.make(Allocator, counted(inner, counting)).pipe(
      Context.add(AllocatorStatistics, statistics(counting))
    )
  }))
)

/** What one call changes. */
const taken = (amount: number): Counter => ({ current: amount, peak: amount, total: amount })

const freed = (amount: number): Counter => ({ current: -amount, peak: 0, total: 0 })

const after = (before: Counter, { current, peak, total }: Counter): Counter => ({
  current: before.current + current,
  peak: Math.max(before.peak, before.current + peak),
  total: before.total + total
})

const none: Counters = { bytes: taken(0), allocations: taken(0) }

/** Counters that change with each call. */
class RunningCounters {
  now = none

  count({ allocations, bytes }: Counters): void {
    this.now = { bytes: after(this.now.bytes, bytes), allocations: after(this.now.allocations, allocations) }
  }
}

/** The counters that count: those of the allocator itself, those pushed above them, and those of measured effects. */
class Counting {
  readonly stack = [new RunningCounters()]
  readonly measured = new Set<RunningCounters>()

  get now(): Counters {
    return this.stack.at(-1)!.now
  }

  count(change: Counters): void {
    for (const counters of [...this.stack, ...this.measured]) counters.count(change)
  }

  push(): Counters {
    const { now } = this
    this.stack.push(new RunningCounters())
    return now
  }

  pop(): Counters | undefined {
    return this.stack.length === 1 ? undefined : this.stack.pop()!.now
  }
}

const counted = (inner: Allocator["Service"], counting: Counting): Allocator["Service"] => {
  /** The bytes that each buffer counts. Buffers of other allocators are not counted, and no buffer is counted twice. */
  const live = new WeakMap<DeviceBuffer, number>()
  return Allocator.of({
    ...inner,
    allocate: (bytes, options) =>
      Effect.uninterruptible(Effect.map(Effect.suspend(() => inner.allocate(bytes, options)), (buffer) => {
        live.set(buffer, bytes)
        counting.count({ bytes: taken(bytes), allocations: taken(1) })
        return buffer
      })),
    freeUnsafe: (buffer) => {
      const bytes = live.get(buffer)
      if (bytes !== undefined) {
        live.delete(buffer)
        counting.count({ bytes: freed(bytes), allocations: freed(1) })
      }
      return inner.freeUnsafe(buffer)
    }
  })
}

const statistics = (counting: Counting): AllocatorStatistics["Service"] =>
  AllocatorStatistics.of({
    counters: Effect.sync(() => counting.now),
    push: Effect.sync(() => counting.push()),
    pop: Effect.suspend(() => {
      const ended = counting.pop()
      return ended === undefined ? nothingPushed : Exit.succeed(ended)
    }),
    measure: (effect) => measured(counting, effect)
  })

const measured = <A, E, R>(
  { measured }: Counting,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<[counters: Counters, result: A], E, R> =>
  Effect.suspend(() => {
    const counters = new RunningCounters()
    // Counting begins when the finalizer that ends it is already on the fiber's stack.
    const run = Effect.suspend(() => {
      measured.add(counters)
      return Effect.map(effect, (result): [Counters, A] => [counters.now, result])
    })
    return Effect.onExitPrimitive(run, () => {
      measured.delete(counters)
      return undefined
    })
  })

const nothingPushed = Effect.suspend(() =>
  invalidRequest(
    "StatisticsAllocator.pop",
    "only the counters of the allocator itself are left",
    "Call push before, once for each pop."
  )
)

/**
 * The counters since the last `push` that is not popped yet, else since the layer was built.
 *
 * **Example** (The peak of a program without a pool)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 * import { StatisticsAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = Effect.all([Allocator.allocate(100), Allocator.allocate(50)]).pipe(
 *   Effect.scoped,
 *   Effect.andThen(StatisticsAllocator.counters),
 *   Effect.provide(StatisticsAllocator.layer.pipe(Layer.provide(Allocator.layerImmediate))),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program)
 * // => { bytes: { current: 0, peak: 150, total: 150 }, allocations: { current: 0, peak: 2, total: 2 } }
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const counters: Effect.Effect<Counters, never, AllocatorStatistics> = AllocatorStatistics.use((statistics) =>
  statistics.counters
)

/**
 * Pushes new counters that start from zero. It returns the counters below them, which do not count until the matching
 * {@link pop}. All fibers share the allocator's one stack: use {@link measure} for effects that run concurrently.
 *
 * **Example** (The peak of each phase, and of them all)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StatisticsAllocator } from "effect-gpu-pool/allocators"
 *
 * const phase = <A, E, R>(name: string, work: Effect.Effect<A, E, R>) =>
 *   StatisticsAllocator.push.pipe(
 *     Effect.andThen(work),
 *     Effect.andThen(StatisticsAllocator.pop),
 *     Effect.tap(({ bytes }) => Effect.log(`${name}: ${bytes.peak} bytes at most`))
 *   )
 * ```
 *
 * @see rmm::mr::statistics_resource_adaptor::push_counters
 * @category accessors
 * @since 0.1.0
 */
export const push: Effect.Effect<Counters, never, AllocatorStatistics> = AllocatorStatistics.use((statistics) =>
  statistics.push
)

/**
 * Pops the counters of the last {@link push} and returns them. Their counts are added to the counters below; the peak
 * is added to the bytes that were allocated at the push. Fails with InvalidRequest when there is no push left to end.
 *
 * **Example** (What was pushed is counted below too)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 * import { StatisticsAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = Effect.gen(function*() {
 *   yield* Allocator.allocate(100)
 *   yield* StatisticsAllocator.push
 *   yield* Effect.scoped(Allocator.allocate(50))
 *   const inner = yield* StatisticsAllocator.pop
 *   const outer = yield* StatisticsAllocator.counters
 *   return [inner.bytes, outer.bytes]
 * }).pipe(
 *   Effect.scoped,
 *   Effect.provide(StatisticsAllocator.layer.pipe(Layer.provide(Allocator.layerImmediate))),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(program)
 * // => [{ current: 0, peak: 50, total: 50 }, { current: 100, peak: 150, total: 150 }]
 * ```
 *
 * @see rmm::mr::statistics_resource_adaptor::pop_counters
 * @category accessors
 * @since 0.1.0
 */
export const pop: Effect.Effect<Counters, GpuError, AllocatorStatistics> = AllocatorStatistics.use((statistics) =>
  statistics.pop
)

/**
 * Runs an effect and returns the counters of that time and its result. They start from zero and also count other
 * fibers. It does not use the stack of {@link push} and {@link pop}, so any number of effects may be measured at once,
 * one within the other or side by side.
 *
 * **Example** (What one step allocates)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 * import { StatisticsAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const step = Effect.map(Allocator.allocate(64), (buffer) => buffer.size)
 * const program = StatisticsAllocator.measure(Effect.scoped(step)).pipe(
 *   Effect.provide(StatisticsAllocator.layer.pipe(Layer.provide(Allocator.layerImmediate))),
 *   Effect.provide(Host.layer())
 * )
 * const [{ bytes }, size] = await Effect.runPromise(program)
 * bytes // => { current: 0, peak: 64, total: 64 }
 * size // => 64
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const measure = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<[counters: Counters, result: A], E, R | AllocatorStatistics> =>
  AllocatorStatistics.use((statistics) => statistics.measure(effect))
