/**
 * What is left when nothing fits: the handlers, then waiting, or the error with its evidence. A pool has one, and so has
 * each budget.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError, Rung } from "../../domain/GpuError.ts"
import { Handlers, InHandler, type Need } from "./Handlers.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"
import type { Answer, Outcome, WaitLine } from "./WaitLine.ts"

/** What the driver said to a request, and how much the pool had got back by then. */
export interface Refusal {
  readonly seen: number
}

/** @internal */
export interface Exhausted {
  readonly request: LeaseRequest
  readonly rungs: Set<Rung>
  readonly missing: number
  readonly refusal: Refusal | undefined
  /** Whether anything is leased or reserved that may come back. */
  readonly mayWait: boolean
}

/** @internal */
export class LastResort {
  readonly line: WaitLine
  readonly handlers = new Handlers()
  readonly #evidence: (request: LeaseRequest, rungs: ReadonlySet<Rung>, waitedMillis?: number) => GpuError

  constructor(
    line: WaitLine,
    evidence: (request: LeaseRequest, rungs: ReadonlySet<Rung>, waitedMillis?: number) => GpuError
  ) {
    this.line = line
    this.#evidence = evidence
  }

  /** Comes back with what the request was given, or with `undefined`: then it should look again. */
  readonly take = Effect.fnUntraced(
    { self: this },
    function*(exhausted: Exhausted): Effect.fn.Return<Outcome, GpuError> {
      const { request, rungs } = exhausted
      const inHandler = yield* InHandler
      if (!inHandler && !this.handlers.isEmpty) {
        rungs.add("handlers")
        if (yield* this.handlers.run(needOf(exhausted))) return undefined
      }
      if (inHandler || request.patience.onExhausted === "fail" || !exhausted.mayWait) {
        return yield* this.#evidence(request, rungs)
      }
      rungs.add("wait")
      return yield* this.wait(request, rungs, exhausted.refusal)
    }
  )

  /** Waits in line, for as long as the request allows. */
  wait(request: LeaseRequest, rungs: ReadonlySet<Rung>, refusal: Refusal | undefined): Answer {
    const waiting = this.line.wait(request, refusal)
    return request.patience.waitAtMost === Infinity ? waiting : this.#limited(waiting, request, rungs)
  }

  #limited(waiting: Answer, request: LeaseRequest, rungs: ReadonlySet<Rung>): Answer {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      request.waitingSince ??= now
      const waited = now - request.waitingSince
      return Effect.timeoutOrElse(waiting, {
        duration: Math.max(0, request.patience.waitAtMost - waited),
        orElse: () => this.#timedOut(request, rungs)
      })
    })
  }

  #timedOut(request: LeaseRequest, rungs: ReadonlySet<Rung>): Answer {
    // It may have been served in the meantime and not know yet.
    const answer = request.waiter?.take()
    if (answer !== undefined) return answer
    if (request.granted !== undefined) return Exit.succeed(request.granted)
    return Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => this.#evidence(request, rungs, now - (request.waitingSince ?? now))
    )
  }
}

const needOf = ({ missing, request }: Exhausted): Need => ({
  requested: request.size,
  blockSize: request.blockSize,
  label: request.label,
  missing
})
