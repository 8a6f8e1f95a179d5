/**
 * The broker of a fleet: what hosts and clients ask is an input of its ledger, and what the ledger decides answers them.
 *
 * @internal
 */
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import { Ledger } from "../ledger/Ledger.ts"
import { BrokerRpcs } from "../protocol/BrokerRpcs.ts"
import type { Placement } from "../protocol/FleetModel.ts"
import type { Timing } from "../protocol/Timing.ts"

type Answer = (exit: Exit.Exit<Placement, GpuError>) => void

/** The calls that ask for one reservation: more than one where a call was repeated. */
class AskingCalls {
  readonly #calls = new Map<string, Set<Answer>>()
  #answered: Array<() => void> = []

  add(id: string, answer: Answer): void {
    const calls = this.#calls.get(id) ?? new Set()
    this.#calls.set(id, calls.add(answer))
  }

  /** Returns whether it was the last call that asks for the reservation. */
  remove(id: string, answer: Answer): boolean {
    const calls = this.#calls.get(id)
    if (calls?.delete(answer) !== true || calls.size > 0) return false
    return this.#calls.delete(id)
  }

  /** The calls for a reservation have an answer, which they get when the ledger's step is over: their fibers may give it inputs. */
  answer(id: string, exit: Exit.Exit<Placement, GpuError>): void {
    const calls = this.#calls.get(id)
    this.#calls.delete(id)
    calls?.forEach((answer) => this.#answered.push(() => answer(exit)))
  }

  resumeAnswered(): void {
    const answered = this.#answered
    this.#answered = []
    for (const resume of answered) resume()
  }
}

/**
 * The handlers of a broker, which ends with the scope. `recovery` is for how many milliseconds it places nothing, while the hosts that
 * an earlier broker knew join with their grants.
 */
export const make = (timing: Timing, recovery: number) =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const now = () => clock.currentTimeMillisUnsafe()
    const asking = new AskingCalls()
    const ledger = new Ledger({ ...timing, recovery, startedAt: now() }, {
      placed: (placement) => asking.answer(placement.id, Exit.succeed(placement)),
      failed: (id, error) => asking.answer(id, Exit.fail(error)),
      lost: () => {}
    })
    const timer = yield* timerOf(ledger, now)
    const step = <A>(input: () => A): A => {
      const answer = input()
      timer.changed()
      asking.resumeAnswered()
      return answer
    }
    yield* Effect.forkScoped(timer.run(() => step(() => ledger.tick(now()))))
    return BrokerRpcs.of({
      Join: (join) =>
        Effect.suspend(() => {
          const answer = step(() => ledger.join(join, now()))
          return isGpuError(answer) ? Effect.fail(answer) : Effect.succeed(answer)
        }),
      Report: (report) => Effect.sync(() => ({ isCurrent: step(() => ledger.report(report, now())) })),
      Leave: ({ epoch, host }) => Effect.sync(() => step(() => ledger.leave(host, epoch, now()))),
      Place: (place) =>
        Effect.callback<Placement, GpuError>((resume) => {
          const answer: Answer = (exit) => resume(exit)
          asking.add(place.id, answer)
          step(() => ledger.place(place, now()))
          return Effect.sync(() => {
            if (asking.remove(place.id, answer)) step(() => ledger.cancel(place.id, now()))
          })
        }),
      Cancel: ({ id }) => Effect.sync(() => step(() => ledger.cancel(id, now()))),
      Status: () => Effect.sync(() => ledger.status(now()))
    })
  })

/** Says when the ledger is due to look at the time. */
const timerOf = Effect.fnUntraced(function*(ledger: Ledger, now: () => number) {
  const latch = yield* Latch.make(false)
  let planned = Infinity
  return {
    /** The ledger has had an input. */
    changed: (): void => {
      if ((ledger.nextTick() ?? Infinity) < planned) latch.openUnsafe()
    },
    run: (tick: () => void) =>
      Effect.forever(Effect.suspend(() => {
        latch.closeUnsafe()
        planned = -Infinity
        tick()
        planned = ledger.nextTick() ?? Infinity
        return planned === Infinity
          ? latch.await
          : Effect.raceFirst(latch.await, Effect.sleep(Math.max(1, planned - now())))
      }))
  }
})
