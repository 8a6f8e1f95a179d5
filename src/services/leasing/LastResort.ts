/**
 * What is left when nothing fits: the handlers, then waiting, or the error with its evidence. A pool has one, and so has
 * each budget.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { GpuError, Rung } from "../../domain/GpuError.ts"
import { Handlers, InHandler, isWithin, type Need } from "./Handlers.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"
import { type Answer, type Outcome, tryAgain, type WaitLine } from "./WaitLine.ts"

/** What the driver said to a request, and how much the pool had got back by then. */
export interface Refusal {
  readonly seen: number
}

/** @internal */
export interface Exhausted {
  readonly request: LeaseRequest
  readonly rungs: Set<Rung>
  /** How many bytes are missing now, as far as that is known. */
  readonly missing: () => number
  readonly refusal: Refusal | undefined
  /** Whether anything is leased or reserved now that may come back. */
  readonly mayWait: () => boolean
}

/** @internal */
export interface LastResortOptions {
  /** What tells the pool from others. */
  readonly pool: object
  readonly line: WaitLine
  /** Grows with everything that comes back, and changes with the limit. */
  readonly returned: () => number
  /** The same without what went to others at once: how much of it a driver that refused may have now. */
  readonly progress: () => number
  readonly evidence: (request: LeaseRequest, rungs: ReadonlySet<Rung>, waitedMillis?: number) => GpuError
  /** Done when the pool has closed or its device is lost. */
  readonly over: Deferred.Deferred<void>
}

/**
 * How often a request believes handlers that say they have freed something when nothing came back to the pool. They may
 * have freed memory of the driver that is none of the pool's; and one that always says so must not keep it for ever.
 */
const mostBelieved = 16

/** @internal */
export class LastResort {
  readonly handlers: Handlers
  readonly #options: LastResortOptions

  constructor(options: LastResortOptions) {
    this.handlers = new Handlers(options.pool)
    this.#options = options
  }

  /** Comes back with what the request was given, or with `undefined`: then it should look again. */
  readonly take = Effect.fnUntraced(
    { self: this },
    function*(exhausted: Exhausted): Effect.fn.Return<Outcome, GpuError> {
      const { refusal, request, rungs } = exhausted
      const { evidence, line, pool, returned } = this.#options
      const inHandler = isWithin(yield* InHandler, pool)
      let freed = !inHandler && request.declinedBy !== this
      while (freed && !this.handlers.isEmpty) {
        rungs.add("handlers")
        // In line meanwhile, or whoever comes by would take what they free for it.
        const served = line.enter(request, refusal)
        if (served !== undefined) return yield* served
        const before = returned()
        freed = yield* this.#askHandlers(exhausted, before)
        request.declinedBy = freed ? undefined : this
        const answer = line.answerOf(request)
        if (answer !== undefined) return yield* answer
        if (freed && refusal !== undefined) {
          line.keepPlace(request)
          return undefined
        }
      }
      const waits = !inHandler && request.patience.onExhausted === "wait"
      if (!waits || !exhausted.mayWait()) {
        const answer = this.#lastLook(exhausted)
        if (answer !== undefined) return yield* answer
        // Looking may have set others to work.
        if (!waits || !exhausted.mayWait()) return yield* evidence(request, rungs)
      }
      rungs.add("wait")
      return yield* this.wait(request, rungs, exhausted.refusal)
    }
  )

  /** Waits in line, for as long as the request allows. */
  wait(request: LeaseRequest, rungs: ReadonlySet<Rung>, refusal: Refusal | undefined): Answer {
    const waiting = this.#options.line.wait(request, refusal)
    return request.patience.waitAtMost === Infinity
      ? waiting
      : this.#limited(waiting, request, () => this.#timedOut(request, rungs))
  }

  /** Something may have come back since it was looked at last, and then nothing else may be left to wait for. */
  #lastLook({ mayWait, refusal, request }: Exhausted): Answer | undefined {
    const { line, progress } = this.#options
    if (refusal === undefined) return line.tryNow(request)
    const answer = line.answerOf(request)
    if (answer !== undefined) return answer
    if (mayWait() || refusal.seen === progress()) return undefined
    // While it tries for itself, it is not to be served in line.
    line.keepPlace(request)
    return tryAgain
  }

  /** Whether they freed something, as far as that can be believed. */
  #askHandlers(exhausted: Exhausted, before: number): Effect.Effect<boolean, GpuError> {
    const { over, returned } = this.#options
    const { refusal, request, rungs } = exhausted
    const { onExhausted, waitAtMost } = request.patience
    // A handler that never ends must not outlive the pool.
    const asked = Effect.raceFirst(this.handlers.run(needOf(exhausted)), Effect.as(Deferred.await(over), false))
    const freed = onExhausted === "fail" || waitAtMost === Infinity
      ? asked
      : this.#limited(asked, request, () => this.#tooLate(request, rungs.add("wait")))
    return Effect.map(
      freed,
      (said) => said && (returned() !== before || (refusal !== undefined && request.believed++ < mostBelieved))
    )
  }

  #limited<A>(
    effect: Effect.Effect<A, GpuError>,
    request: LeaseRequest,
    orElse: () => Effect.Effect<A, GpuError>
  ): Effect.Effect<A, GpuError> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      request.waitingSince ??= now
      const waited = now - request.waitingSince
      return Effect.timeoutOrElse(effect, { duration: Math.max(0, request.patience.waitAtMost - waited), orElse })
    })
  }

  #timedOut(request: LeaseRequest, rungs: ReadonlySet<Rung>): Answer {
    // It may have been served in the meantime and not know yet.
    return this.#options.line.answerOf(request) ?? this.#tooLate(request, rungs)
  }

  #tooLate(request: LeaseRequest, rungs: ReadonlySet<Rung>): Effect.Effect<never, GpuError> {
    const { evidence } = this.#options
    return Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => evidence(request, rungs, now - (request.waitingSince ?? now))
    )
  }
}

const needOf = ({ missing, request }: Exhausted): Need => ({
  requested: request.size,
  blockSize: request.blockSize,
  label: request.label,
  missing: missing()
})
