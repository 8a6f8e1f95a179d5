/**
 * The methods of durable jobs, on an engine for workflows.
 *
 * @internal
 */
import { driverError, type GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import * as ClientChecks from "../client/ClientChecks.ts"
import { decodeAnswer, encodeJob } from "../client/EncodedJob.ts"
import { boolean, checked, is, nonEmptyText, optional, options } from "../protocol/Checked.ts"
import type { DurableMethods, ExecuteOptions } from "./DurableMethods.ts"
import { executionIdOf, JobWorkflow, limited } from "./JobWorkflow.ts"

/** The engine dies of a database that does not answer. */
const stored = <A, E, R>(call: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | GpuError, R> =>
  Effect.catchDefect(effect, (defect) =>
    Predicate.hasProperty(defect, "_tag") && defect._tag === "PersistenceError"
      ? Effect.fail(driverError({ backend: "fleet storage", call, log: String(defect), hint }))
      : Effect.die(defect))

const hint = "Check that the database is there. What was stored before is not lost: ask again."

const executeOptions = options<ExecuteOptions>({ id: nonEmptyText, discard: optional(boolean) })

const named = is(
  "job with a name",
  "Pass what FleetJob.make returned, or an object with the name of the job.",
  (value) => Predicate.hasProperty(value, "name") && typeof value.name === "string" && value.name !== ""
)

/** The methods on this engine. */
export const make = Effect.gen(function*() {
  const engine = yield* WorkflowEngine.WorkflowEngine
  const methods: DurableMethods = {
    execute: Effect.fnUntraced(function*(job, input, options) {
      yield* checked("DurableJob.execute", ["options", executeOptions, options])
      const { discard, id } = options
      const payload = { ...(yield* encodeJob("DurableJob.execute", job, input)), id }
      yield* limited("input", payload.input)
      const executionId = yield* executionIdOf(job.name, id)
      const call = "execute a durable job"
      if (discard === true) {
        yield* stored(call, engine.execute(JobWorkflow, { executionId, payload, discard }))
        return
      }
      return yield* decodeAnswer(job, yield* stored(call, engine.execute(JobWorkflow, { executionId, payload })))
    }) as DurableMethods["execute"],
    poll: Effect.fnUntraced(function*(job, id) {
      yield* checked("DurableJob.poll", ["the job", ClientChecks.job, job], ["id", nonEmptyText, id])
      const result = yield* stored(
        "poll a durable job",
        Effect.flatMap(executionIdOf(job.name, id), (executionId) => engine.poll(JobWorkflow, executionId))
      )
      if (Option.isNone(result) || result.value._tag === "Suspended") return Option.none()
      const { exit } = result.value
      return Option.some(
        Exit.isSuccess(exit) ? yield* Effect.exit(decodeAnswer(job, exit.value)) : Exit.failCause(exit.cause)
      )
    }),
    interrupt: Effect.fnUntraced(function*(job, id) {
      yield* checked("DurableJob.interrupt", ["the job", named, job], ["id", nonEmptyText, id])
      yield* stored(
        "interrupt a durable job",
        // Effect's safe way would wait until the job has run.
        Effect.flatMap(executionIdOf(job.name, id), (executionId) => engine.interruptUnsafe(JobWorkflow, executionId))
      )
    })
  }
  return methods
})
