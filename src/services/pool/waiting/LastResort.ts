/**
 * The last rungs when nothing fits: the handlers, then waiting, or the error with its evidence. Each pool and each
 * budget has one.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError, Rung } from "../../../domain/GpuError.ts"
import { traced } from "../../calls/Tracing.ts"
import { Handlers, InHandler, isWithin, type Need } from "./Handlers.ts"
import { Help } from "./Help.ts"
import { hasGot, type LeaseRequest } from "./LeaseRequest.ts"
import { type Answer, type Outcome, tryAgain } from "./Waiter.ts"
import type { LineOwner, WaitLine, WaitLines } from "./WaitLine.ts"

/** The driver's refusal of a request, and how many blocks the pool had got back by then. */
export interface Refusal {
  readonly seen: number
  /** Whether it has got more back since. */
  readonly isPast: () => boolean
}

export interface Exhausted {
  readonly request: LeaseRequest
  readonly rungs: Set<Rung>
  /** How many bytes are missing now, as far as that is known. */
  readonly missing: () => number
  readonly refusal: Refusal | undefined
  /** Whether anything is leased or reserved now that may come back. */
  readonly mayWait: () => boolean
}

export class LastResort {
  /** A replay has its own. */
  handlers: Handlers
  readonly #owner: LineOwner
  readonly #line: WaitLine
  readonly #lines: WaitLines

  constructor(owner: LineOwner, line: WaitLine, lines: WaitLines) {
    this.handlers = new Handlers(lines)
    this.#owner = owner
    this.#line = line
    this.#lines = lines
  }

  /** Returns what the request got, or `undefined`: then it should search again. */
  readonly take = Effect.fnUntraced(
    { self: this },
    function*(exhausted: Exhausted): Effect.fn.Return<Outcome, GpuError> {
      const { refusal, request, rungs } = exhausted
      const line = this.#line
      const inHandler = isWithin(yield* InHandler, this.#lines)
      while (!this.handlers.isEmpty && request.patience.isPart !== true) {
        const known = request.help?.shortage === this.#owner ? request.help : undefined
        if (inHandler || known?.declined === true) break
        rungs.add("handlers")
        // The request stands in line meanwhile, or a later request would take the memory that handlers free for it.
        const served = line.enter(request, refusal, true)
        if (served !== undefined) return yield* served
        const help = request.help = known ?? new Help(this.#owner)
        this.#lines.events?.roomNeeded(request, exhausted.missing())
        const freed = yield* Effect.onExitPrimitive(this.#askHandlers(exhausted, help), (exit) => {
          this.#lines.events?.handlersAsked(request, Exit.isSuccess(exit) && exit.value === true)
          // In line it may have got meanwhile what it asks for.
          const hasFailed = Exit.isFailure(exit) && !Exit.hasInterrupts(exit) && !hasGot(request)
          if (hasFailed) this.#lines.giveUp(request, "failed")
          return undefined
        })
        help.declined = freed !== true
        const answer = line.answerOf(request)
        if (answer !== undefined) return yield* answer
        if (freed === "too late") return yield* this.#tooLate(request, rungs.add("wait"))
        if (freed && refusal !== undefined) {
          line.keepPlace(request)
          return undefined
        }
      }
      const waits = !inHandler && request.patience.onExhausted === "wait"
      if (!waits || !exhausted.mayWait()) {
        const answer = this.#lastLook(exhausted)
        if (answer !== undefined) return yield* answer
        // The search may have served other waiters.
        if (!waits || !exhausted.mayWait()) return yield* this.#refuse(request, rungs)
      }
      rungs.add("wait")
      return yield* this.wait(request, rungs, exhausted.refusal)
    }
  )

  /** Waits in line, for as long as the request allows. */
  wait(request: LeaseRequest, rungs: ReadonlySet<Rung>, refusal: Refusal | undefined): Answer {
    const line = this.#line.wait(request, refusal)
    const waiting = request.patience.waitAtMost === Infinity
      ? line
      : this.#limited(() => line, request, () => this.#timedOut(request, rungs))
    return traced(request.maker.context, waiting, "wait", request, this.#lines.memory)
  }

  /** The same for something else that a request waits for. */
  inTime<A>(effect: Effect.Effect<A, GpuError>, request: LeaseRequest, rungs: Set<Rung>): Effect.Effect<A, GpuError> {
    return request.patience.waitAtMost === Infinity
      ? effect
      : this.#limited(() => effect, request, () => this.#tooLate(request, rungs.add("wait")))
  }

  /** Something may have come back since it was looked at last, and then nothing else may be left to wait for. */
  #lastLook({ mayWait, refusal, request }: Exhausted): Answer | undefined {
    const line = this.#line
    if (refusal === undefined) return line.tryNow(request)
    const answer = line.answerOf(request)
    if (answer !== undefined) return answer
    if (mayWait() || !refusal.isPast()) return undefined
    // While it tries for itself, it is not to be served in line.
    line.keepPlace(request)
    return tryAgain
  }

  /** Whether they freed something, as far as that can be believed. What they take counts as waiting. */
  #askHandlers(exhausted: Exhausted, help: Help): Effect.Effect<boolean | "too late", GpuError> {
    const { refusal, request } = exhausted
    const run = this.handlers.run(needOf(exhausted), () => help.came(refusal !== undefined))
    // A handler that never ends is interrupted when the pool closes.
    const asked = Effect.raceFirst(run, Effect.as(Deferred.await(request.source.over), false))
    if (request.patience.onExhausted === "fail" || request.patience.waitAtMost === Infinity) return asked
    const tooLate = Exit.succeed("too late" as const)
    // Those that answer at once would win against a timeout that is over already.
    return this.#limited<boolean | "too late">((left) => left < 0 ? tooLate : asked, request, () => tooLate)
  }

  /** Gives an effect what is left of the time that the request may wait, in milliseconds; negative when that is over. */
  #limited<A>(
    effect: (left: number) => Effect.Effect<A, GpuError>,
    request: LeaseRequest,
    orElse: () => Effect.Effect<A, GpuError>
  ): Effect.Effect<A, GpuError> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      request.waitingSince ??= now
      const left = request.patience.waitAtMost - (now - request.waitingSince)
      return Effect.timeoutOrElse(effect(left), { duration: Math.max(0, left), orElse })
    })
  }

  #timedOut(request: LeaseRequest, rungs: ReadonlySet<Rung>): Answer {
    // It may have been served in the meantime and not know yet.
    return this.#line.answerOf(request) ?? Effect.flip(this.#waited(request, rungs))
  }

  /** What it waited for last was no place in line. */
  #tooLate(request: LeaseRequest, rungs: ReadonlySet<Rung>): Effect.Effect<never, GpuError> {
    return Effect.flatMap(this.#waited(request, rungs), (error) => this.#lines.refuse(request, error))
  }

  #waited(request: LeaseRequest, rungs: ReadonlySet<Rung>): Effect.Effect<GpuError> {
    return Effect.map(
      Clock.currentTimeMillis,
      (now) => this.#owner.outOfMemory(request, rungs, now - (request.waitingSince ?? now))
    )
  }

  #refuse(request: LeaseRequest, rungs: ReadonlySet<Rung>): Effect.Effect<never, GpuError> {
    return this.#lines.refuse(request, this.#owner.outOfMemory(request, rungs))
  }
}

const needOf = ({ missing, request }: Exhausted): Need => ({
  requested: request.size,
  blockSize: request.blockSize,
  label: request.label,
  missing: missing()
})
