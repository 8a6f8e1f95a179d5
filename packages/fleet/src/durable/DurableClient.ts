/**
 * The methods of durable jobs, on an engine for workflows.
 *
 * @internal
 */
import { driverError, type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { decodeAnswer, encodeJob } from "../client/EncodedJob.ts"
import type { DurableMethods } from "./DurableMethods.ts"
import { executionIdOf, JobWorkflow, limited } from "./JobWorkflow.ts"

/** The engine dies of a database that does not answer. */
const stored = <A, E, R>(call: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | GpuError, R> =>
  Effect.catchDefect(effect, (defect) =>
    Predicate.hasProperty(defect, "_tag") && defect._tag === "PersistenceError"
      ? Effect.fail(driverError({ backend: "fleet storage", call, log: String(defect), hint }))
      : Effect.die(defect))

const hint = "Check that the database is there. What was stored before is not lost: ask again."

/** The methods on this engine. */
export const make = Effect.gen(function*() {
  const engine = yield* WorkflowEngine.WorkflowEngine
  const methods: DurableMethods = {
    execute: Effect.fnUntraced(function*(job, input, { discard, id }) {
      if (id === "") {
        return yield* Effect.fail(
          invalidRequest("DurableJob.execute", "the identifier is empty", "Give the job its own.")
        )
      }
      const payload = { ...(yield* encodeJob(job, input)), id }
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
    interrupt: ({ name }, id) =>
      stored(
        "interrupt a durable job",
        // Effect's safe way would wait until the job has run.
        Effect.flatMap(executionIdOf(name, id), (executionId) => engine.interruptUnsafe(JobWorkflow, executionId))
      )
  }
  return methods
})
