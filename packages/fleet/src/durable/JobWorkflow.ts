/**
 * A durable job, as a workflow of Effect: one activity runs the job on whichever host has room, and its answer is stored.
 *
 * @internal
 */
import { GpuError, HostLost, limitExceeded, make as makeError } from "effect-gpu-pool/GpuError"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import type { EncodedJob } from "../client/EncodedJob.ts"
import type { FleetClient } from "../client/FleetClient.ts"
import type { Reservation } from "../client/FleetMethods.ts"
import { durableShards } from "../net/ShardingTimes.ts"
import { Where } from "../protocol/FleetModel.ts"

const Answer = Schema.Struct({ outcome: Schema.Literals(["output", "error"]), data: Schema.Uint8Array })

/** The same name and identifier are the same execution. */
export const JobWorkflow = Workflow.make("FleetJob", {
  payload: {
    id: Schema.String,
    name: Schema.String,
    input: Schema.Uint8Array,
    bytes: Schema.Number,
    where: Where,
    isIdempotent: Schema.Boolean
  },
  success: Answer,
  error: GpuError,
  idempotencyKey: ({ id, name }) => JSON.stringify([name, id])
}).annotate(ClusterSchema.ShardGroup, () => durableShards)

/** The key of an execution in the engine. */
export const executionIdOf = (name: string, id: string): Effect.Effect<string> =>
  JobWorkflow.executionId({ id, name, input: new Uint8Array(), bytes: 0, where: {}, isIdempotent: false })

/** The most bytes of an input and of an answer: each is one message between processes, as text, and these have at most 16 MiB. */
const mostBytes = 2 ** 23

/** Fails with LimitExceeded for too many bytes. */
export const limited = (what: "input" | "answer", { length: requested }: Uint8Array): Effect.Effect<void, GpuError> =>
  requested <= mostBytes
    ? Effect.void
    : Effect.fail(limitExceeded({
      operation: "DurableJob.execute",
      requested,
      limitName: `the size of the ${what} of a durable job`,
      limit: mostBytes
    }))

/** Which run of a job was the first to be sent to a host. It is stored before. */
const FirstRun = DurableDeferred.make("FirstRun", {
  success: Schema.Struct({ run: Schema.String, host: Schema.String, epoch: Schema.Number })
})

/** Fails with HostLost if another run was the first: that one may have run, and its process is gone. */
const onlyFirst = (run: string) =>
  Effect.fnUntraced(function*({ epoch, host }: Reservation) {
    const engine = yield* WorkflowEngine.WorkflowEngine
    const token = yield* DurableDeferred.token(FirstRun)
    // Only the first of these counts.
    yield* DurableDeferred.succeed(FirstRun, { token, value: { run, host, epoch } })
    const first = yield* Option.getOrThrow(yield* engine.deferredResult(FirstRun))
    if (first.run === run) return
    const detail = "the process that waited for the job has ended"
    return yield* Effect.fail(
      makeError(new HostLost({ host: first.host, epoch: first.epoch, detail, mayHaveRun: true }))
    )
  })

/** A durable job is in no hurry: while hosts are lost it goes on, however long that takes. */
const retry = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("10 seconds")])

const run = (client: FleetClient, job: EncodedJob) =>
  Activity.make({
    name: "run",
    success: Answer,
    error: GpuError,
    execute: Effect.suspend(() =>
      job.isIdempotent
        ? client.runEncoded(job, { retry })
        : client.runEncoded(job, { retry }, onlyFirst(crypto.randomUUID()))
    ).pipe(Effect.tap(({ data }) => limited("answer", data)))
  })

/** More jobs than a process ever sees at a time. */
const mostRunning = 2 ** 31

/** What lets a process see durable jobs to their end. */
export const make = (client: FleetClient) => {
  // Each job that runs has a permit, at least until its answer is stored.
  const running = Semaphore.makeUnsafe(mostRunning)
  return {
    layer: JobWorkflow.toLayer((job) => running.withPermit(run(client, job))),
    /** Waits until none runs. */
    ended: running.withPermits(mostRunning)(Effect.void)
  }
}
