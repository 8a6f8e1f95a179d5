/**
 * Jobs that outlive the program that asks for them. The database of the fleet has the input, and then the output, of each under an
 * identifier; some host of the fleet sees it to its end.
 *
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import type { DurableMethods, ExecuteOptions } from "./durable/DurableMethods.ts"
import type { Job } from "./FleetJob.ts"

export type { DurableMethods, ExecuteOptions } from "./durable/DurableMethods.ts"

/**
 * The service. Every layer of `Fleet` provides it.
 *
 * @category services
 * @since 0.1.0
 */
export class DurableJobs extends Context.Service<DurableJobs, DurableMethods>()("@effect-gpu-pool/fleet/DurableJobs") {}

/**
 * Executes a job under an identifier, and waits for its output; or returns when it is stored, with `discard`. From then on the job is
 * done without this program: a host of the fleet reserves memory for it, on whichever host has room, and stores what the job answers.
 * A second call with the identifier, in any program and at any time, has the same input and gets the same answer; it does not run the
 * job again. When the calling fiber is interrupted, the job goes on.
 *
 * An idempotent job runs at least once. It runs again when the host that runs it is lost, or the one that waits for it. A job that is
 * not idempotent runs at most once: it then fails with HostLost, which is its answer.
 *
 * Fails as the job, and as `Fleet.run`; with LimitExceeded for an input or an answer of more than 8 MiB, InvalidRequest for an empty identifier, and
 * DriverError when the database does not answer. Each error of the job, and each of `Fleet.run`, is an answer: another attempt needs
 * another identifier. It is interrupted when the job is, by {@link interrupt}.
 *
 * **Example** (The second call gets the output of the first)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { DurableJob, Fleet, FleetJob } from "@effect-gpu-pool/fleet"
 *
 * let runs = 0
 * const Frame = FleetJob.make("Frame", { input: Schema.Int, output: Schema.String, bytes: 4, isIdempotent: true })
 * const frame = FleetJob.handler(Frame, (x) => Effect.sync(() => `frame ${x}, run ${++runs}`))
 *
 * const program = Effect.all([
 *   DurableJob.execute(Frame, 7, { id: "film/7" }),
 *   DurableJob.execute(Frame, 7, { id: "film/7" })
 * ])
 *
 * const local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [frame] })
 * await Effect.runPromise(program.pipe(
 *   Effect.provide(local),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * )) // => ["frame 7, run 1", "frame 7, run 1"]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const execute = <Input, Output, Failure, const Discard extends boolean = false>(
  job: Job<Input, Output, Failure>,
  input: Input,
  options: ExecuteOptions<Discard>
): Effect.Effect<Discard extends true ? void : Output, Failure | GpuError, DurableJobs> =>
  DurableJobs.use((jobs) => jobs.execute(job, input, options))

/**
 * The answer of a durable job, if it has ended: its output, its error, or an interruption. None while it waits or runs, and for an
 * identifier that no job has.
 *
 * Fails with DriverError when the database does not answer.
 *
 * **Example** (Start a job, and come back for its output)
 *
 * ```ts
 * import { Effect, Option, Schema } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { DurableJob, Fleet, FleetJob } from "@effect-gpu-pool/fleet"
 *
 * const Square = FleetJob.make("Square", { input: Schema.Int, output: Schema.Int, bytes: 4, isIdempotent: true })
 * const square = FleetJob.handler(Square, (x) => Effect.succeed(x * x))
 *
 * const program = Effect.gen(function*() {
 *   yield* DurableJob.execute(Square, 7, { id: "seven", discard: true })
 *   const answer = yield* DurableJob.poll(Square, "seven").pipe(Effect.repeat({ until: Option.isSome }))
 *   return yield* Option.getOrThrow(answer)
 * })
 *
 * const local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [square] })
 * await Effect.runPromise(program.pipe(
 *   Effect.provide(local),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * )) // => 49
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const poll = <Input, Output, Failure>(
  job: Job<Input, Output, Failure>,
  id: string
): Effect.Effect<Option.Option<Exit.Exit<Output, Failure | GpuError>>, GpuError, DurableJobs> =>
  DurableJobs.use((jobs) => jobs.poll(job, id))

/**
 * Interrupts a durable job, wherever it waits or runs. Interruption then is its answer, unless it has ended before. It does nothing for an
 * identifier that no job has.
 *
 * Fails with DriverError when the database does not answer.
 *
 * @category running
 * @since 0.1.0
 */
export const interrupt = (job: Pick<Job, "name">, id: string): Effect.Effect<void, GpuError, DurableJobs> =>
  DurableJobs.use((jobs) => jobs.interrupt(job, id))
