/**
 * Replays a program's requests under another policy: the pool's own code serves them on a device that has no memory at all, so that
 * what took 80 GB is replayed on a laptop.
 *
 * @since 0.1.0
 */
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { Recording } from "../recording/RecordingModel.ts"
import { ExactReplay } from "./exact/ExactReplay.ts"
import { differsAt } from "./exact/Journal.ts"
import { planOf, type ReplayOptions } from "./ReplayOptions.ts"
import { type ReplayReport, reportOf } from "./ReplayReport.ts"
import { Simulator } from "./simulated/Simulator.ts"
import { Trace } from "./simulated/Trace.ts"
import { type SmallestLimit, smallestLimitOf, type SmallestLimitOptions } from "./SmallestLimit.ts"

export type { ReplayOptions } from "./ReplayOptions.ts"
export type { FailedRequest, ReplayReport } from "./ReplayReport.ts"
export type { SmallestLimit, SmallestLimitOptions } from "./SmallestLimit.ts"

/** Whether the data-first form was called. */
const hasRecording = ({ 0: first, length }: IArguments): boolean =>
  length > 1 || (first !== undefined && "chunks" in first)

const replay = (
  operation: string,
  recording: Recording,
  trace: () => Trace,
  options: ReplayOptions | undefined
): Effect.Effect<ReplayReport, GpuError> => {
  const plan = planOf(operation, recording, options)
  if (isGpuError(plan)) return plan
  const { budgets, takenAt } = recording
  const facts = { source: "effect-gpu-pool", reason: "planned" as const, takenAt, dropped: 0, budgets }
  const exact = plan.isSame ? new ExactReplay(recording, plan) : undefined
  if (exact?.run() === true) return Effect.succeed(reportOf(exact, { ...recording, ...facts }, undefined))
  const simulator = new Simulator(recording, { plan, trace: trace(), keepsEvents: true, endsWith: undefined })
  const problem = simulator.run(operation)
  if (problem !== undefined) return problem
  const replayed = simulator.events.build({ ...facts, ...simulator.facts })
  const report = reportOf(simulator, replayed, plan.isSame ? differsAt(recording, replayed) : undefined)
  return exact?.defect === undefined ? Effect.succeed(report) : Effect.as(warn(operation, exact.defect), report)
}

/** The simulation may do what was recorded all the same, so only this says that the inputs could not be replayed. */
const warn = (operation: string, defect: unknown): Effect.Effect<void> =>
  Effect.logWarning(
    `${operation} has simulated the recording, since replaying its inputs failed. Please report this unless the file was changed.`,
    Cause.die(defect)
  )

/** The trace of a recording, made at the first use. */
const traceOf = (recording: Recording): () => Trace => {
  let trace: Trace | undefined
  return () => trace ??= new Trace(recording)
}

/**
 * Makes the requests of a recording again, with their times, and answers what became of them. Without options the policies are those
 * that were recorded, and the replay does what was recorded, event by event; `differsAt` says where it does not. Fails with
 * InvalidRequest for wrong options, for more than 16,384 memories at one time, and for blocks of more than 2^53−1 bytes before the first
 * event; a request that fails is part of the report. Logs a warning for a recording with inputs that no pool has, as in a changed file.
 *
 * Under another policy a request is made when it was made in the recording. A lease lasts as long as it did there:
 * one that begins later, because its request waited, ends later. A request that failed in the recording and is served here has its lease
 * until the time of that failure; one that was larger than a limit has it for no time. The driver takes as long for a request as it did,
 * no time for requests that did not need it, and has as much memory as its refusals imply.
 * docs/observability.md, "Replay", says more.
 *
 * **Example** (The same requests with half the memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Recording, Replay } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   yield* BufferPool.useAll([1024, 1024], () => Effect.void, { label: "frame" })
 *   const recording = yield* Recording.snapshot
 *   const asRecorded = yield* Replay.run(recording)
 *   const smaller = yield* Replay.run(recording, { maxBytes: 1024 })
 *   return [asRecorded.peakManagedBytes, asRecorded.failed.length, smaller.failed[0]?.label]
 * }).pipe(Effect.provide(Recording.layer())) // => [2048, 0, "frame"]
 * ```
 *
 * @category replaying
 * @since 0.1.0
 */
export const run: {
  /**
   * Makes the requests of a recording again, with their times, and answers what became of them. Without options the policies are those
   * that were recorded, and the replay does what was recorded, event by event; `differsAt` says where it does not. Fails with
   * InvalidRequest for wrong options, for more than 16,384 memories at one time, and for blocks of more than 2^53−1 bytes before the first
   * event; a request that fails is part of the report.
   */
  (options?: ReplayOptions): (recording: Recording) => Effect.Effect<ReplayReport, GpuError>
  (recording: Recording, options?: ReplayOptions): Effect.Effect<ReplayReport, GpuError>
} = dual(
  hasRecording,
  (recording: Recording, options?: ReplayOptions): Effect.Effect<ReplayReport, GpuError> =>
    Effect.suspend(() => replay("Replay.run", recording, traceOf(recording), options))
)

/**
 * Replays a recording under several policies, one after the other, and answers a report for each name. Errors as {@link run}.
 *
 * **Example** (Which order of eviction serves more requests from held blocks)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, EvictionPolicy } from "effect-gpu-pool"
 * import { Recording, Replay } from "@effect-gpu-pool/observability"
 *
 * Effect.gen(function*() {
 *   yield* Effect.forEach([64, 256, 64], (size) => BufferPool.use(size, () => Effect.void))
 *   const recording = yield* Recording.snapshot
 *   const { largest, recent } = yield* Replay.compare(recording, {
 *     largest: { maxBytes: 300, eviction: EvictionPolicy.largestFirst },
 *     recent: { maxBytes: 512, eviction: EvictionPolicy.leastRecentlyUsed }
 *   })
 *   return [largest.hits, recent.hits]
 * }).pipe(Effect.provide(Recording.layer())) // => [0, 1]
 * ```
 *
 * @category replaying
 * @since 0.1.0
 */
export const compare: {
  /** Replays a recording under several policies, one after the other, and answers a report for each name. Errors as {@link run}. */
  <const Name extends string>(
    policies: Readonly<Record<Name, ReplayOptions>>
  ): (recording: Recording) => Effect.Effect<Record<Name, ReplayReport>, GpuError>
  <const Name extends string>(
    recording: Recording,
    policies: Readonly<Record<Name, ReplayOptions>>
  ): Effect.Effect<Record<Name, ReplayReport>, GpuError>
} = dual(
  2,
  <const Name extends string>(
    recording: Recording,
    policies: Readonly<Record<Name, ReplayOptions>>
  ): Effect.Effect<Record<Name, ReplayReport>, GpuError> =>
    Effect.gen(function*() {
      const operation = "Replay.compare"
      const trace = traceOf(recording)
      const reports: Array<[string, ReplayReport]> = []
      for (const [name, options] of Object.entries<ReplayOptions>(policies)) {
        reports.push([name, yield* replay(operation, recording, trace, options)])
        yield* Effect.yieldNow
      }
      return Object.fromEntries(reports) as Record<Name, ReplayReport>
    })
)

/**
 * The smallest limit of the memory under which all requests of a recording pass, those too that were larger than the recorded limit;
 * undefined where they do not even without a limit, since the driver refuses them or a budget does. Errors as {@link run}.
 *
 * It is found by bisection. A pool may fail under a limit where it passes under a smaller one, since it then evicts or borrows other
 * blocks. So limits above the one that was found are tried too, each twice as far away as the one before, up to the peak without a
 * limit; where one of them fails, the search continues above it, up to 64 times. The result passes, and `within` bytes less do not; no
 * more is certain.
 *
 * **Example** (How much memory a job needs, and how much if it is not to wait)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Recording, Replay } from "@effect-gpu-pool/observability"
 *
 * const tile = BufferPool.use(1024, () => Effect.yieldNow, { onExhausted: "wait" })
 *
 * Effect.gen(function*() {
 *   yield* Effect.replicateEffect(tile, 4, { concurrency: "unbounded" })
 *   const recording = yield* Recording.snapshot
 *   const atAll = yield* Replay.smallestLimit(recording)
 *   const withoutWaiting = yield* Replay.smallestLimit(recording, { mayWait: false })
 *   return [atAll?.maxBytes, withoutWaiting?.maxBytes]
 * }).pipe(Effect.provide(Recording.layer())) // => [1024, 4096]
 * ```
 *
 * @category replaying
 * @since 0.1.0
 */
export const smallestLimit: {
  /**
   * The smallest limit of the memory under which all requests of a recording pass, those too that were larger than the recorded limit;
   * undefined where they do not even without a limit, since the driver refuses them or a budget does. Errors as {@link run}.
   */
  (options?: SmallestLimitOptions): (recording: Recording) => Effect.Effect<SmallestLimit | undefined, GpuError>
  (recording: Recording, options?: SmallestLimitOptions): Effect.Effect<SmallestLimit | undefined, GpuError>
} = dual(
  hasRecording,
  (
    recording: Recording,
    options: SmallestLimitOptions = {}
  ): Effect.Effect<SmallestLimit | undefined, GpuError> => smallestLimitOf(recording, options)
)
