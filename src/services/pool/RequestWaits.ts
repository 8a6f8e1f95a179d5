/**
 * What requests do that do not fail at once: they wait, and ask handlers. A pool without them has none of this code.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import type { PoolOutput } from "../../domain/pool/machine/PoolMachine.ts"
import { CurrentDeferred } from "./CurrentReservations.ts"
import { DeadlockWatch } from "./DeadlockWatch.ts"
import type { Need } from "./Handlers.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"
import type { PoolRuntime, Waits } from "./PoolRuntime.ts"
import { failureOf, requestSpan } from "./RequestRun.ts"

/** Waits until the machine resumes the request, or its time is over. */
const wait = (pool: PoolRuntime, request: LeaseRequest): Effect.Effect<void, GpuError> => {
  const waiting = request.waitPolicy.waitAtMost === Infinity ? untilResumed(request) : waitInTime(pool, request)
  return requestSpan(pool, request, "wait", waiting)
}

const untilResumed = (request: LeaseRequest): Effect.Effect<void, GpuError> =>
  Effect.callback((resume) => {
    // The run loop may have yielded since the machine returned `Wait`.
    if (request.isWaiting) request.resume = resume
    else resume(request.answer)
  })

const waitInTime = (pool: PoolRuntime, request: LeaseRequest): Effect.Effect<void, GpuError> =>
  inTime(
    request,
    () => untilResumed(request),
    (waited) => pool.inputs.timedOut(request, waited) === "Failed" ? failureOf(request) : Exit.void
  )

/** Asks the handlers of the account at which a request is. Their time counts as waiting, so a request that must not wait asks none. */
const askHandlers = (pool: PoolRuntime, request: LeaseRequest): Effect.Effect<PoolOutput, GpuError> =>
  Effect.withFiber(({ context }) =>
    Context.get(context, CurrentDeferred) ? handlersTold(pool, request, Exit.succeed(false)) : askAll(pool, request)
  )

const askAll = (pool: PoolRuntime, request: LeaseRequest): Effect.Effect<PoolOutput, GpuError> => {
  const account = pool.machine.accountOf(request)
  const { blockSize, label, waitPolicy, size: requested } = request
  const need: Need = { requested, blockSize, label, missing: account.missing(request) }
  const run = pool.handlers.get(account)!.run(need, () => pool.inputs.believes(request))
  // A handler that never ends is interrupted when the pool closes.
  const asked = Effect.raceFirst(run, Effect.as(Deferred.await(request.source.over), false))
  const isTimed = waitPolicy.onExhausted === "wait" && waitPolicy.waitAtMost < Infinity
  const limited: Effect.Effect<boolean | number, GpuError> = isTimed
    // Handlers that answer at once would win against a timeout that is over already.
    ? inTime<boolean | number>(request, (left, waited) => left < 0 ? Exit.succeed(waited) : asked, Exit.succeed)
    : asked
  return handlersTold(pool, request, limited)
}

/** Tells the machine what the handlers of a request have answered, also where the request was interrupted. */
const handlersTold = (
  pool: PoolRuntime,
  request: LeaseRequest,
  limited: Effect.Effect<boolean | number, GpuError>
): Effect.Effect<PoolOutput, GpuError> => {
  const told = Effect.onExitPrimitive(limited, (exit) => {
    const freed = Exit.isSuccess(exit) && exit.value === true
    pool.inputs.handlersEnded(request, freed, Exit.isFailure(exit) && !Exit.hasInterrupts(exit))
    return undefined
  })
  return Effect.map(
    told,
    (freed) =>
      typeof freed === "number" ? pool.inputs.timedOut(request, freed) : pool.inputs.handlersAnswered(request, freed)
  )
}

/**
 * Runs an effect within the time that a request may still wait. The effect gets the milliseconds that are left, negative if the time is
 * over. When the time is over, runs `orElse` with the milliseconds that the request has waited.
 */
const inTime = <A>(
  request: LeaseRequest,
  effect: (left: number, waited: number) => Effect.Effect<A, GpuError>,
  orElse: (waited: number) => Effect.Effect<A, GpuError>
): Effect.Effect<A, GpuError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const since = request.waitingSince ??= now
    const left = request.waitPolicy.waitAtMost - (now - since)
    return Effect.timeoutOrElse(effect(left, now - since), {
      duration: Math.max(0, left),
      orElse: () => Effect.flatMap(Clock.currentTimeMillis, (later) => orElse(later - since))
    })
  })

export const waits: Waits = {
  wait,
  askHandlers,
  watch: (pool, deadlockTimeoutMillis, run) => new DeadlockWatch(pool, deadlockTimeoutMillis, run)
}
