/**
 * Jobs that a fleet runs: their schemas, what they reserve, and the effects that hosts run for them.
 *
 * @since 0.1.0
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type * as BufferPools from "effect-gpu-pool/BufferPools"
import { GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { FleetBuffer, Where } from "./protocol/FleetModel.ts"
import { decode, encode, type JobSchema } from "./protocol/JobData.ts"

export type { JobSchema } from "./protocol/JobData.ts"

/**
 * What a job is, for the program that runs it and for the hosts.
 *
 * @category models
 * @since 0.1.0
 */
export interface Job<in out Input = unknown, in out Output = unknown, in out Failure = unknown> {
  /** Unique in the fleet. */
  readonly name: string
  readonly input: JobSchema<Input>
  readonly output: JobSchema<Output>
  /** Its own error, or a GpuError. */
  readonly error: JobSchema<Failure | GpuError>
  /** The bytes that it reserves on its device. */
  readonly bytes: (input: Input) => number
  /** The devices on which it may run. */
  readonly where: (input: Input) => Where
  /** Whether it may run again when it may have run before, on a host or device that was lost. */
  readonly isIdempotent: boolean
}

/**
 * What {@link make} takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface JobOptions<Input, Output, Failure> {
  readonly input: JobSchema<Input>
  readonly output: JobSchema<Output>
  /** The error of the job, besides GpuError. Default: none. */
  readonly error?: JobSchema<Failure> | undefined
  /** The bytes that it reserves on its device, for all leases that it has at the same time: a number, or a function of the input. */
  readonly bytes: number | ((input: Input) => number)
  /** The devices on which it may run. Default: all. */
  readonly where?: Where | ((input: Input) => Where) | undefined
  /**
   * Whether it may run again when it may have run before, on a host or device that was lost. Default: false; the program then gets
   * HostLost or DeviceLost.
   */
  readonly isIdempotent?: boolean | undefined
}

/**
 * Describes a job. The hosts that run it have a {@link handler} for it.
 *
 * **Example** (A job with its handler)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { FleetJob } from "@effect-gpu-pool/fleet"
 *
 * const Fill = FleetJob.make("Fill", {
 *   input: Schema.Struct({ words: Schema.Int, value: Schema.Int }),
 *   output: Schema.Uint8Array,
 *   bytes: ({ words }) => 4 * words,
 *   isIdempotent: true
 * })
 *
 * const fill = FleetJob.handler(Fill, ({ value, words }) =>
 *   BufferPool.use(4 * words, (x) =>
 *     Effect.andThen(CommandQueue.fill(x, value), CommandQueue.read(x, Uint8Array))))
 * fill.job.name // => "Fill"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Input, Output, Failure = never>(
  name: string,
  options: JobOptions<Input, Output, Failure>
): Job<Input, Output, Failure> => {
  const { bytes, error, input, isIdempotent = false, output, where = {} } = options
  return {
    name,
    input,
    output,
    error: error === undefined ? GpuError : Schema.Union([error, GpuError]),
    bytes: typeof bytes === "number" ? () => bytes : bytes,
    where: typeof where === "function" ? where : () => where,
    isIdempotent
  }
}

/**
 * The services that the handler of a job has besides its own: those of its device, and the scope of this run of the job.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = BufferPools.Services | CurrentHost | Scope.Scope

/**
 * Where a job runs.
 *
 * **Example** (A job that says where it ran)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { FleetJob } from "@effect-gpu-pool/fleet"
 *
 * const Where = FleetJob.make("Where", { input: Schema.Void, output: Schema.String, bytes: 4 })
 * const where = FleetJob.handler(Where, () => Effect.map(FleetJob.CurrentHost, ({ device, host }) => `${host}/${device}`))
 * where.job.name // => "Where"
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class CurrentHost extends Context.Service<CurrentHost, {
  readonly host: string
  /** Of several runs of one job, the one with the largest epoch began last on its host: a token for what the job writes elsewhere. */
  readonly epoch: number
  readonly device: string
  /** The lease of a buffer that is on this host. Fails with Released where it has ended, HostLost where it was on a lost host. */
  readonly buffer: (buffer: FleetBuffer) => Effect.Effect<PooledBuffer, GpuError>
}>()("@effect-gpu-pool/fleet/CurrentHost") {}

/**
 * A job with the effect that a host runs for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handler<out R = never> {
  readonly job: { readonly name: string }
  /** Runs the job for its encoded input. */
  readonly run: (input: Uint8Array) => Effect.Effect<Answer, GpuError, R | Services>
}

/**
 * The encoded output of a job, or its encoded error.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answer {
  readonly outcome: "output" | "error"
  readonly data: Uint8Array
}

/**
 * The effect that a host runs for a job: on the device of the job's reservation, with its queue and pools, whose requests draw from
 * the reservation. Its leases end with it. When the client is interrupted, or the host lost its epoch, it is interrupted.
 *
 * **Example** (A job that fails with an error of its own)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { FleetJob } from "@effect-gpu-pool/fleet"
 *
 * class Negative extends Schema.TaggedError<Negative>()("Negative", { value: Schema.Number }) {}
 *
 * const Root = FleetJob.make("Root", { input: Schema.Number, output: Schema.Number, error: Negative, bytes: 4 })
 * const root = FleetJob.handler(Root, (x) => x < 0 ? Effect.fail(new Negative({ value: x })) : Effect.succeed(Math.sqrt(x)))
 * root.job === Root // => true
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const handler = <Input, Output, Failure, R>(
  job: Job<Input, Output, Failure>,
  run: (input: Input) => Effect.Effect<Output, Failure | GpuError, R>
): Handler<Exclude<R, Services>> => {
  const encoded =
    <A>(schema: JobSchema<A>, outcome: Answer["outcome"]) => (value: A): Effect.Effect<Answer, GpuError> =>
      Effect.map(encode(`${job.name}: its ${outcome}`, schema, value), (data) => ({ outcome, data }))
  return {
    job,
    run: (input) =>
      // The compiler does not see that R is what is left of it and what was taken away.
      // @effect-diagnostics-next-line unsafeEffectTypeAssertion:off
      Effect.flatMap(decode(`${job.name}: its input`, job.input, input), (value) =>
        run(value).pipe(
          Effect.matchEffect({
            onSuccess: encoded(job.output, "output"),
            onFailure: (error) => isGpuError(error) ? Effect.fail(error) : encoded(job.error, "error")(error)
          })
        )) as Effect.Effect<Answer, GpuError, Exclude<R, Services> | Services>
  }
}
