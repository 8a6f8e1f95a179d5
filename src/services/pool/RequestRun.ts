/**
 * Runs the machine's outputs for one request, until it is granted or has failed. It decides nothing.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import type { Ending, PoolOutput } from "../../domain/pool/machine/PoolMachine.ts"
import { unavailable } from "../../domain/pool/machine/Request.ts"
import { onOwnFiber } from "../calls/DriverFiber.ts"
import { inSpan } from "../calls/Spans.ts"
import type { Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"
import type { PoolRuntime } from "./PoolRuntime.ts"

/** What a program does with the lease that its request was granted. */
type Then<G, A, E, R> = (granted: G) => Effect.Effect<A, E, R>

/** Makes a request, in this step, and runs `then` when it is granted. At the end the caller calls `machine.ended`. */
export const run = <G extends Lease | undefined, A, E, R>(
  pool: PoolRuntime,
  request: LeaseRequest<G>,
  then: Then<G, A, E, R>
): Effect.Effect<A, E | GpuError, R> => perform(pool, request, pool.inputs.ask(request), then)

/** Goes on with a request from what the machine said last. */
export const perform = <G extends Lease | undefined, A, E, R>(
  pool: PoolRuntime,
  request: LeaseRequest<G>,
  output: PoolOutput,
  then: Then<G, A, E, R>
): Effect.Effect<A, E | GpuError, R> => {
  switch (output) {
    case "Granted":
      // A source makes leases of one kind only.
      return then(request.granted as G)
    case "Failed":
      return refuse(pool, request, failureOf(request))
    case "AskDriver":
      return Effect.flatMap(
        Effect.catch(
          requestSpan(pool, request, "miss", askDriver(pool, request)),
          (failure) => request.state === "failed" ? failure : Exit.void
        ),
        () => perform(pool, request, pool.inputs.advance(request), then)
      )
    case "Reclaim":
      return Effect.flatMap(pool.reclaim, () => perform(pool, request, pool.inputs.reclaimedFor(request), then))
    case "AskHandlers":
      return Effect.flatMap(pool.waits!.askHandlers(pool, request), (next) => perform(pool, request, next, then))
    case "Wait":
      return Effect.flatMap(
        pool.waits!.wait(pool, request),
        () => perform(pool, request, pool.inputs.advance(request), then)
      )
  }
}

export const requestSpan = <A>(
  pool: PoolRuntime,
  request: LeaseRequest,
  what: "miss" | "wait" | "refused",
  effect: Effect.Effect<A, GpuError>
): Effect.Effect<A, GpuError> =>
  inSpan(effect, `gpu.pool.${what}`, () => ({
    "gpu.device": pool.device,
    "gpu.memory.label": pool.label,
    "gpu.pool.service": request.source.service,
    "gpu.budget.label": request.budget?.owner.name,
    "gpu.operation": request.operation,
    "gpu.request.size": request.size,
    "gpu.request.label": request.label,
    "gpu.request.call_site": request.callSite,
    "gpu.block.size": what === "miss" ? request.pending : undefined
  }))

export const failureOf = (request: LeaseRequest): Effect.Effect<never, GpuError> => request.failure!()

const refusals: ReadonlySet<GpuError["reason"]["_tag"]> = new Set(["OutOfMemory", "LimitExceeded"])

/** Fails a request that is in no queue. For lack of memory, or a limit that is too low, traces show a span. */
export const refuse = (
  pool: PoolRuntime,
  request: LeaseRequest,
  why: Effect.Effect<never, GpuError>
): Effect.Effect<never, GpuError> =>
  isGpuError(why) && refusals.has(why.reason._tag) ? requestSpan(pool, request, "refused", why) : why

/**
 * Asks the driver for a block, whose bytes are pending. The call runs on a fiber of its own: if the requesting fiber is interrupted
 * meanwhile, a valid block is kept as held.
 */
const askDriver = (pool: PoolRuntime, request: LeaseRequest): Effect.Effect<void, GpuError> =>
  Effect.withFiber((fiber) => {
    const { callSite, label, source, wanted } = request
    const capacity = pool.inputs.driverAsked(request)
    const call = Effect.suspend(() => source.create(wanted, capacity, label, callSite))
    return onOwnFiber(fiber, call, source.inFlight, (exit) => {
      if (Exit.isSuccess(exit)) {
        exit.value.pooledBy = source
        pool.inputs.driverAnswered(request, exit.value)
        return Exit.void
      }
      const failure = failureOfCall(pool, request, exit)
      pool.inputs.driverRefused(request, reasonOf(exit.cause) ?? shortOf(exit.cause), () => failure)
      return failure
    })
  })

/** The failure of a driver call. The pool's close, or the loss of the device, interrupts the calls under way. */
const failureOfCall = (
  pool: PoolRuntime,
  request: LeaseRequest,
  exit: Exit.Failure<Leasable, GpuError>
): GpuError | Exit.Exit<never, GpuError> => {
  const failed = Exit.failCause(exit.cause)
  if (!Cause.hasInterruptsOnly(exit.cause)) return failed
  return request.source.closed ? unavailable(request, "poolClosed") : pool.status.error ?? failed
}

const reasonOf = (cause: Cause.Cause<unknown>): GpuError["reason"]["_tag"] | undefined => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return isGpuError(error) ? error.reason._tag : undefined
}

const shortOf = (cause: Cause.Cause<unknown>): string => Cause.hasInterruptsOnly(cause) ? "Interrupted" : "Defect"

/** How a request's fiber ended, for the machine. */
export const endingOf = (exit: Exit.Exit<unknown, unknown>): Ending =>
  Exit.isSuccess(exit)
    ? succeeded
    : { isFailure: true, isInterrupted: Exit.hasInterrupts(exit), reason: reasonOf(exit.cause) }

const succeeded: Ending = { isFailure: false, isInterrupted: false, reason: undefined }
