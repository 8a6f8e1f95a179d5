/**
 * How much memory a program needs, before it runs on a device: it runs on the host backend, and all that it does is recorded.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { membersOf } from "../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../domain/arguments/KnownOptions.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import * as Host from "../../layers/Host/Host.ts"
import * as BufferPool from "../../services/buffers/BufferPool.ts"
import * as CallSite from "../../services/calls/CallSite.ts"
import { CurrentHub, EventHub } from "../../services/pool/EventHub.ts"
import { BlockLedger } from "../recording/BlockLedger.ts"
import { capacityOf, record } from "../recording/Recorder.ts"
import { events, type Recording } from "../recording/Recording.ts"
import { startOf } from "../recording/RecordingModel.ts"
import { type SmallestLimit, smallestLimitOf } from "./SmallestLimit.ts"

/**
 * On what a program is planned.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlanOptions {
  /** The pool's options; its limit is none without them. */
  readonly pool?: BufferPool.BufferPoolOptions | undefined
  /** The device's options, as its memory and its granularity. */
  readonly device?: Host.HostOptions | undefined
  /** How many events are recorded: of more, the newest are planned for. Default: 1,000,000. */
  readonly capacity?: number | undefined
}

/**
 * Who has memory at the peak: leases of one label that were made at one place of the program.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlanHolder {
  readonly label: string | undefined
  readonly callSite: string | undefined
  /** How many leases, and the bytes that they asked for. */
  readonly leases: number
  readonly bytes: number
}

/**
 * How much memory is in use from a moment on. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlanMoment {
  /** Milliseconds since the program began. */
  readonly at: number
  /** What leases asked for, and all blocks. */
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
  /** What the program answered. */
  readonly value: A
  /** The most bytes that leases asked for together, and when that was first so, in milliseconds since the program began. */
  readonly peakBytes: number
  readonly peakAt: number
  /** The most bytes of blocks, leased and held. */
  readonly peakManagedBytes: number
  /** Who had the memory at the peak, the most bytes first. */
  readonly holders: ReadonlyArray<PlanHolder>
  /** The bytes in use, whenever they changed. */
  readonly timeline: ReadonlyArray<PlanMoment>
  /** The smallest limit of the pool with which the program passes; undefined where the device refused too much. */
  readonly atAll: SmallestLimit | undefined
  /** The same, if none of its requests is to wait. */
  readonly withoutWaiting: SmallestLimit | undefined
  readonly recording: Recording
}

const known = KnownOptions.of<PlanOptions>({ pool: true, device: true, capacity: true })

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

/** Who had memory when leases first asked for so many bytes together. */
const holdersAt = (activeBytes: number, recording: Recording): ReadonlyArray<PlanHolder> => {
  const ledger = new BlockLedger(recording)
  for (const event of events(recording)) {
    if (ledger.bytes.activeBytes === activeBytes) break
    ledger.take(event)
  }
  const holders = new Map<string, PlanHolder>()
  for (const { callSite, label, lease, size } of ledger.blocks()) {
    if (lease === -1) continue
    const key = `${label}\n${callSite}`
    const { bytes, leases } = holders.get(key) ?? { leases: 0, bytes: 0 }
    holders.set(key, { label, callSite, leases: leases + 1, bytes: bytes + size })
  }
  return Array.from(holders.values()).sort((a, b) => b.bytes - a.bytes)
}

/**
 * Runs a program on the host backend, and answers how much memory it needed, when, for whom, and the smallest limits under which it
 * passes. The program gets all that a device of the host offers, a pool of buffers and a scope, which ends with it. It fails as the
 * program does, and with InvalidRequest for wrong options.
 *
 * Limits are found by replaying what the program did, as {@link Replay.smallestLimit} says: under a limit it may have done other things.
 *
 * **Example** (Planning a job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Plan } from "effect-gpu-pool/observability"
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
  options?: PlanOptions
): Effect.Effect<Plan<A>, E | GpuError, Exclude<Exclude<R, Scope.Scope>, Services>> =>
  Effect.suspend((): Effect.Effect<Plan<A>, E | GpuError, Exclude<Exclude<R, Scope.Scope>, Services>> => {
    const given = membersOf("Plan.of", options, known)
    if (isGpuError(given)) return given
    const { capacity = 1_000_000, device, pool } = given
    const checked = capacityOf({ capacity })
    if (isGpuError(checked)) return checked
    const hub = new EventHub()
    const gpu = BufferPool.layer(pool).pipe(
      Layer.provideMerge(Host.layer(device)),
      Layer.provideMerge(Layer.succeed(CurrentHub, hub))
    )
    const ran = Effect.provide(Effect.scoped(CallSite.track(program)), gpu, { local: true })
    const recorder = Effect.provideService(record(checked), CurrentHub, hub)
    return Effect.acquireUseRelease(
      Scope.make(),
      (scope) =>
        Effect.flatMap(
          Scope.provide(recorder, scope),
          ({ takeUnsafe }) => Effect.flatMap(ran, (value) => planned(value, takeUnsafe("planned")))
        ),
      (scope) => Scope.close(scope, Exit.void)
    )
  })

const planned = <A>(value: A, recording: Recording): Effect.Effect<Plan<A>, GpuError> =>
  Effect.gen(function*() {
    const timeline = timelineOf(recording)
    const { activeBytes: peakBytes, at: peakAt } = timeline.reduce((peak, moment) =>
      moment.activeBytes > peak.activeBytes ? moment : peak
    )
    const atAll = yield* smallestLimitOf(recording, {})
    const withoutWaiting = yield* smallestLimitOf(recording, { mayWait: false })
    return {
      value,
      peakBytes,
      peakAt,
      peakManagedBytes: timeline.reduce((peak, { managedBytes }) => Math.max(peak, managedBytes), 0),
      holders: holdersAt(peakBytes, recording),
      timeline,
      atAll,
      withoutWaiting,
      recording
    }
  })
