/**
 * The methods of durable jobs, for programs.
 *
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import type { Job } from "../FleetJob.ts"

/**
 * How a durable job is executed.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExecuteOptions<Discard extends boolean = boolean> {
  /** Unique among the durable jobs of its name: the same one is the same execution. */
  readonly id: string
  /** Whether it returns as soon as the job is stored. Default: false; it waits for the output. */
  readonly discard?: Discard | undefined
}

/**
 * The methods of durable jobs.
 *
 * @category models
 * @since 0.1.0
 */
export interface DurableMethods {
  /** See {@link execute}. */
  readonly execute: <Input, Output, Failure, Discard extends boolean = false>(
    job: Job<Input, Output, Failure>,
    input: Input,
    options: ExecuteOptions<Discard>
  ) => Effect.Effect<Discard extends true ? void : Output, Failure | GpuError>
  /** See {@link poll}. */
  readonly poll: <Input, Output, Failure>(
    job: Job<Input, Output, Failure>,
    id: string
  ) => Effect.Effect<Option.Option<Exit.Exit<Output, Failure | GpuError>>, GpuError>
  /** See {@link interrupt}. */
  readonly interrupt: (job: Pick<Job, "name">, id: string) => Effect.Effect<void, GpuError>
}
