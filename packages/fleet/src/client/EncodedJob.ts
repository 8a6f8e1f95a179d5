/**
 * A job with its input as bytes, which any process can hand on without the schemas of the job.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import type { Answer, Job } from "../FleetJob.ts"
import { checked, count, where } from "../protocol/Checked.ts"
import type { Where } from "../protocol/FleetModel.ts"
import { decode, encode } from "../protocol/JobData.ts"
import * as ClientChecks from "./ClientChecks.ts"

export interface EncodedJob {
  readonly name: string
  readonly input: Uint8Array
  /** The bytes that it reserves. */
  readonly bytes: number
  readonly where: Where
  readonly isIdempotent: boolean
}

/** What a function of the job says of the input. */
const saidBy = <Input, A>(operation: string, name: string, say: (input: Input) => A, input: Input) =>
  Effect.try({
    try: () => say(input),
    catch: (thrown) =>
      invalidRequest(
        operation,
        `${name} threw ${thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : "what is no error"}`,
        "Give FleetJob.make a function that answers for every input."
      )
  })

/**
 * Fails with InvalidRequest for a value that is no job, and for an input that is not as its schema says; also when the job says nonsense
 * of the bytes that it reserves, which are `least` or more, or of where it may run.
 */
export const encodeJob = Effect.fnUntraced(function*<Input, Output, Failure>(
  operation: string,
  job: Job<Input, Output, Failure>,
  input: Input,
  least: number = 1
) {
  yield* checked(operation, ["the job", ClientChecks.job, job])
  const { isIdempotent, name } = job
  const encoded: EncodedJob = {
    name,
    input: yield* encode(`${name}: its input`, job.input, input),
    bytes: yield* saidBy(operation, `bytes of the job "${name}"`, job.bytes, input),
    where: yield* saidBy(operation, `where of the job "${name}"`, job.where, input),
    isIdempotent
  }
  yield* checked(
    operation,
    [`bytes of the job "${name}"`, count("bytes", least), encoded.bytes],
    [`where of the job "${name}"`, where, encoded.where]
  )
  return encoded
})

/** Succeeds or fails as the job did. */
export const decodeAnswer = <Input, Output, Failure>(
  job: Job<Input, Output, Failure>,
  { data, outcome }: Answer
): Effect.Effect<Output, Failure | GpuError> =>
  outcome === "output"
    ? decode(`${job.name}: its output`, job.output, data)
    : Effect.flatMap(decode(`${job.name}: its error`, job.error, data), Effect.fail)
