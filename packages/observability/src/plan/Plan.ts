/**
 * How much memory a program needs, before it runs on a device: it runs on the host backend, and all that it does is recorded.
 *
 * @since 0.1.0
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CallSite from "effect-gpu-pool/CallSite"
import { CurrentHub, EventHub } from "effect-gpu-pool/EventHub"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { type HolderGroup, holderGroups } from "effect-gpu-pool/HolderSums"
import * as Host from "effect-gpu-pool/Host"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { checked } from "../Checked.ts"
import { BlockLedger, leasesOf } from "../recording/BlockLedger.ts"
import { record, RecorderOptions } from "../recording/Recorder.ts"
import { events, type Recording } from "../recording/Recording.ts"
import { startOf } from "../recording/RecordingModel.ts"
import type { SmallestLimit } from "../replay/SmallestLimit.ts"
import { limitsOf, type Run } from "./PlanLimits.ts"

/**
 * On what a program is planned.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlanOptions {
  /** The pool's options. Without them the pool has no limit. */
  readonly pool?: BufferPool.BufferPoolOptions | undefined
  /** The device's options, such as its memory and its granularity. */
  readonly device?: Host.HostOptions | undefined
  /** How many events are recorded, from 1 to 100,000,000; the plan sees the newest. Default: 1,000,000. */
  readonly capacity?: number | undefined
  /**
   * Whether the program runs only once. The limits are then those of `Replay.smallestLimit`, which may be too small for a program
   * that has one lease while it waits for another. Default: false.
   */
  readonly once?: boolean | undefined
}

/**
 * Who has memory at the peak: leases of one label that were made at one place of the program.
 *
 * @category models
 * @since 0.1.0
 */
export type PlanHolder = HolderGroup

/**
 * How much memory is in use from a moment on. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlanMoment {
  /** Milliseconds since the program began. */
  readonly at: number
  /** What leases asked for; then the capacity of all blocks. */
  readonly activeBytes: number
  readonly managedBytes: number
}

/**
 * What a program did with memory. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan<A> {
  /** The result of the program. */
  readonly value: A
  /** The most bytes that leases asked for at one time, and when that was first so, in milliseconds since the program began. */
  readonly peakBytes: number
  readonly peakAt: number
  /** The most bytes of blocks, leased and held. */
  readonly peakManagedBytes: number
  /** Who had the memory at the peak, the most bytes first. */
  readonly holders: ReadonlyArray<PlanHolder>
  /** The bytes in use, whenever they changed. */
  readonly timeline: ReadonlyArray<PlanMoment>
  /**
   * The smallest limit of the pool with which the program passes. Undefined where a request fails under any limit, because of a budget of
   * the program or of the device, and where the program does not pass when it runs again.
   */
  readonly atAll: SmallestLimit | undefined
  /** The same limit, if no request may wait. */
  readonly withoutWaiting: SmallestLimit | undefined
  readonly recording: Recording
}

type Services = BufferPool.BufferPool | Host.Services

/** The bytes in use, whenever they changed. */
const timelineOf = (recording: Recording): ReadonlyArray<PlanMoment> => {
  const ledger = new BlockLedger(recording)
  const start = startOf(recording)
  let { activeBytes, managedBytes } = ledger.bytes
  const timeline = [{ at: 0, activeBytes, managedBytes }]
  for (const event of events(recording)) {
    ledger.take(event)
    if (ledger.bytes.activeBytes === activeBytes && ledger.bytes.managedBytes === managedBytes) continue
    ;({ activeBytes, managedBytes } = ledger.bytes)
    timeline.push({ at: event.at - start, activeBytes, managedBytes })
  }
  return timeline
}

/** Who had memory when leases first asked for this many bytes in all. */
const holdersAt = (activeBytes: number, recording: Recording): ReadonlyArray<PlanHolder> => {
  const ledger = new BlockLedger(recording)
  for (const event of events(recording)) {
    if (ledger.bytes.activeBytes === activeBytes) break
    ledger.take(event)
  }
  const blocks = ledger.blocks()
  return holderGroups((add) => {
    for (const block of blocks) for (const { callSite, label, size } of leasesOf(block)) add(label, callSite, size)
  }, Infinity)
}

/**
 * Runs a program on the host backend, and answers how much memory it needed, when, for whom, and the smallest limits under which it
 * passes. The program gets all that a device of the host offers, a pool of buffers and a scope, which ends with it. It fails as the
 * program does, and with InvalidRequest for a wrong capacity, or wrong options of the pool or the device.
 *
 * The plan finds limits by running the program again under them, mostly twice for each of the two, side effects included; with
 * `once` it does not. A run passes if the program succeeds and none of its requests runs out of memory or is larger than the limit. A run
 * fails if it takes ten times as long as the first run plus a second, or if its requests wait for each other as long as the first run
 * took plus 50 ms. The search for a limit ends after 64 runs, or after 64 times the first run plus 10 seconds, with the smallest limit
 * that was found. It ends at once, without a limit, where the program fails without a limit too or cannot be interrupted.
 *
 * **Example** (Planning a job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Plan } from "@effect-gpu-pool/observability"
 *
 * const job = Effect.gen(function*() {
 *   yield* BufferPool.allocate(4096, { label: "weights" })
 *   yield* BufferPool.use(1024, () => Effect.void, { label: "scratch" })
 * })
 *
 * Effect.map(Plan.of(job), ({ atAll, holders, peakBytes }) => [peakBytes, holders[0]?.label, atAll?.maxBytes]) // => [5120, "weights", 5120]
 * ```
 *
 * @category planning
 * @since 0.1.0
 */
export const of = <A, E, R>(
  program: Effect.Effect<A, E, R>,
  options: PlanOptions = {}
): Effect.Effect<Plan<A>, E | GpuError, Exclude<Exclude<R, Scope.Scope>, Services>> =>
  planned(runOf(program, options), options)

/** Runs the program, and again for its limits. */
const planned = Effect.fnUntraced(function*<A, E, R>(
  run: Run<A, E, R>,
  { capacity = 1_000_000, once = false, pool }: PlanOptions
): Effect.fn.Return<Plan<A>, E | GpuError, R> {
  const clock = yield* Clock.Clock
  const begun = clock.currentTimeMillisUnsafe()
  const [value, recording] = yield* recorded(run, capacity)
  const millis = clock.currentTimeMillisUnsafe() - begun
  const deadlockTimeout = Duration.min(
    Duration.fromInputUnsafe(pool?.deadlockTimeout ?? "100 millis"),
    Duration.millis(millis + 50)
  )
  const limits = yield* limitsOf(run, { recording, millis, deadlockTimeout, once })
  return { value, ...factsOf(recording), ...limits, recording }
})

/** Runs the program with a new pool on a new device each time. */
const runOf = <A, E, R>(
  program: Effect.Effect<A, E, R>,
  { device, pool }: PlanOptions
): Run<A, E | GpuError, Exclude<Exclude<R, Scope.Scope>, Services>> =>
(hub, limit) => {
  const gpu = BufferPool.layer({ ...pool, ...limit }).pipe(
    Layer.provideMerge(Host.layer(device)),
    Layer.provideMerge(Layer.succeed(CurrentHub, hub))
  )
  return Effect.provide(Effect.scoped(CallSite.track(program)), gpu, { local: true })
}

/** The first run: its result, and what it did. */
const recorded = Effect.fnUntraced(
  function*<A, E, R>(
    run: Run<A, E, R>,
    capacity: number
  ): Effect.fn.Return<readonly [A, Recording], E | GpuError, R | Scope.Scope> {
    const hub = new EventHub()
    const options = yield* checked("Plan.of", RecorderOptions, { capacity })
    const { takeUnsafe } = yield* Effect.provideService(record(options), CurrentHub, hub)
    return [yield* run(hub, {}), takeUnsafe("planned")]
  },
  Effect.scoped
)

/** What a recording says about the program's bytes. */
const factsOf = (
  recording: Recording
): Pick<Plan<unknown>, "peakBytes" | "peakAt" | "peakManagedBytes" | "holders" | "timeline"> => {
  const timeline = timelineOf(recording)
  const { activeBytes: peakBytes, at: peakAt } = timeline.reduce((peak, moment) =>
    moment.activeBytes > peak.activeBytes ? moment : peak
  )
  const peakManagedBytes = timeline.reduce((peak, { managedBytes }) => Math.max(peak, managedBytes), 0)
  return { peakBytes, peakAt, peakManagedBytes, holders: holdersAt(peakBytes, recording), timeline }
}
