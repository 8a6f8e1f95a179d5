/**
 * A job with its input as bytes, which any process can hand on without the schemas of the job.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import type { Answer, Job } from "../FleetJob.ts"
import type { Where } from "../protocol/FleetModel.ts"
import { decode, encode } from "../protocol/JobData.ts"

export interface EncodedJob {
  readonly name: string
  readonly input: Uint8Array
  /** The bytes that it reserves. */
  readonly bytes: number
  readonly where: Where
  readonly isIdempotent: boolean
}

/** Fails with InvalidRequest for an input that is not as its schema says. */
export const encodeJob = <Input, Output, Failure>(
  job: Job<Input, Output, Failure>,
  input: Input
): Effect.Effect<EncodedJob, GpuError> =>
  Effect.map(encode(`${job.name}: its input`, job.input, input), (bytes) => ({
    name: job.name,
    input: bytes,
    bytes: job.bytes(input),
    where: job.where(input),
    isIdempotent: job.isIdempotent
  }))

/** Succeeds or fails as the job did. */
export const decodeAnswer = <Input, Output, Failure>(
  job: Job<Input, Output, Failure>,
  { data, outcome }: Answer
): Effect.Effect<Output, Failure | GpuError> =>
  outcome === "output"
    ? decode(`${job.name}: its output`, job.output, data)
    : Effect.flatMap(decode(`${job.name}: its error`, job.error, data), Effect.fail)
