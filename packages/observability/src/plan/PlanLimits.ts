/**
 * The smallest limits of a plan: a replay of the first run says where to begin, and the program runs again under each limit that is tried.
 *
 * @internal
 */
import type { BufferPoolOptions } from "effect-gpu-pool/BufferPool"
import { CurrentHub, EventHub } from "effect-gpu-pool/EventHub"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { OfRequest, PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { isFailure } from "../events/Failure.ts"
import * as PoolEvents from "../events/PoolEvents.ts"
import { events, type Recording } from "../recording/Recording.ts"
import { type FailedRequest, failedRequest } from "../replay/ReplayReport.ts"
import { Search, type SmallestLimit, smallestLimitOf, type Try } from "../replay/SmallestLimit.ts"

/** Runs a program with a pool of its own, which gets these options besides its others and publishes to this hub. */
export type Run<A, E, R> = (
  hub: EventHub,
  limit: Pick<BufferPoolOptions, "maxBytes" | "maxFraction" | "deadlockTimeout">
) => Effect.Effect<A, E, R>

/** The first run of a program. */
export interface FirstRun {
  readonly recording: Recording
  /** How long it took, in milliseconds. */
  readonly millis: number
  /** How long requests wait for each other in a run under a limit before that counts as a deadlock. */
  readonly deadlockTimeout: Duration.Duration
  /** Whether the program must not run again. */
  readonly once: boolean
}

export interface Limits {
  readonly atAll: SmallestLimit | undefined
  readonly withoutWaiting: SmallestLimit | undefined
}

/** A run under a limit may take this many times as long as the run without one. */
const mostTimesAsLong = 10

/** The search for a limit ends after this many runs, and after the time that this many runs without a limit take. */
const mostTries = 64

/** The program fails again without a limit, or cannot be interrupted. */
class NotRepeatable extends Data.TaggedError("NotRepeatable") {}

export const limitsOf = <A, E, R>(run: Run<A, E, R>, first: FirstRun): Effect.Effect<Limits, GpuError, R> => {
  const search = new LimitSearch(run, first)
  return Effect.catchTag(
    Effect.all({ atAll: search.limit(true), withoutWaiting: search.limit(false) }),
    "NotRepeatable",
    () => Effect.succeed({ atAll: undefined, withoutWaiting: undefined })
  )
}

/** Searches for the smallest limit where requests may wait, and for the smallest where they may not. */
class LimitSearch<A, E, R> {
  readonly #run: Run<A, E, R>
  readonly #first: FirstRun
  /** How long a run may take, in milliseconds. */
  readonly #mostMillis: number
  /** Whether the program is known to pass again without a limit. */
  #isRepeatable = false

  constructor(run: Run<A, E, R>, first: FirstRun) {
    this.#run = run
    this.#first = first
    this.#mostMillis = mostTimesAsLong * first.millis + 1000
  }

  limit(mayWait: boolean): Effect.Effect<SmallestLimit | undefined, GpuError | NotRepeatable, R> {
    return Effect.gen({ self: this }, function*() {
      const { millis, once, recording } = this.#first
      const guess = yield* smallestLimitOf(recording, { mayWait })
      if (once || guess === undefined) return guess
      const clock = yield* Clock.Clock
      const end = clock.currentTimeMillisUnsafe() + mostTries * millis + 10_000
      const mayTry = (tries: number) => tries < mostTries && clock.currentTimeMillisUnsafe() < end
      const search = new Search(1, (bytes) => this.#try(bytes, mayWait), mayTry)
      return yield* search.near(guess, largestOf(recording) - 1)
    })
  }

  #try(maxBytes: number, mayWait: boolean): Effect.Effect<Try, NotRepeatable, R> {
    return Effect.gen({ self: this }, function*() {
      const hub = new EventHub()
      const { deadlockTimeout } = this.#first
      const program = this.#run(hub, { maxBytes, maxFraction: undefined, deadlockTimeout })
      const tried = yield* tryOf(program, hub, mayWait, this.#mostMillis)
      if (tried.isOwn) yield* this.#repeat
      return tried
    })
  }

  /** Runs the program again without a limit, until it has passed once. Fails where it does not: then it passes under no limit. */
  get #repeat(): Effect.Effect<void, NotRepeatable, R> {
    if (this.#isRepeatable) return Effect.void
    return Effect.flatMap(endOf(this.#run(new EventHub(), {}), Effect.never, this.#mostMillis), (end) => {
      this.#isRepeatable = end !== undefined && Exit.isSuccess(end)
      return this.#isRepeatable ? Effect.void : Effect.fail(new NotRepeatable())
    })
  }
}

/** The bytes of the largest request: under a lower limit it fails, even if the program handles that error. */
const largestOf = (recording: Recording): number => {
  let largest = 1
  for (const event of events(recording)) if ("request" in event) largest = Math.max(largest, event.size)
  return largest
}

/** Runs a program until it ends, `until` completes, or its time is over. Undefined if the program has not ended by itself. */
const endOf = <A, E, R>(
  program: Effect.Effect<A, E, R>,
  until: Effect.Effect<unknown>,
  mostMillis: number
): Effect.Effect<Exit.Exit<A, E> | undefined, NotRepeatable, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkDetach(program, { startImmediately: true })
      const over = Effect.asVoid(Effect.raceFirst(Fiber.await(fiber), until))
      const waited = yield* Effect.exit(restore(Effect.timeoutOption(over, mostMillis)))
      const end = fiber.pollUnsafe()
      if (end !== undefined) return end
      if (Exit.isFailure(waited)) {
        yield* Fiber.interrupt(fiber)
        return yield* Effect.failCause(waited.cause)
      }
      fiber.interruptUnsafe()
      // A program that cannot be interrupted may never end, so the plan does not wait for it.
      const stopped = yield* restore(Effect.timeoutOption(Fiber.await(fiber), mostMillis))
      return Option.isSome(stopped) ? undefined : yield* new NotRepeatable()
    })
  )

/** Runs a program until it ends, or a request runs out of memory, is too large, or waits where it may not. */
const tryOf = <A, E, R>(
  program: Effect.Effect<A, E, R>,
  hub: EventHub,
  mayWait: boolean,
  mostMillis: number
): Effect.Effect<
  Try & { /** Whether something other than the limit may have failed it. */ readonly isOwn: boolean },
  NotRepeatable,
  R
> =>
  Effect.scoped(Effect.gen(function*() {
    const lacking = Deferred.makeUnsafe<FailedRequest | undefined>()
    const made = new Map<number, OfRequest>()
    const receive = (event: PoolEvent): void => {
      if (!("request" in event) || event._tag === "Leased") return
      const asked = made.get(event.request) ?? event
      made.set(event.request, asked)
      if (event._tag === "Waiting" && !mayWait) Deferred.doneUnsafe(lacking, Exit.succeed(undefined))
      if (!isFailure(event)) return
      const why = event._tag === "RanOut" ? "OutOfMemory" : "LimitExceeded"
      Deferred.doneUnsafe(lacking, Exit.succeed(failedRequest({ asked, why, at: event.at })))
    }
    const listening = Effect.provideService(PoolEvents.listen(receive), CurrentHub, hub)
    yield* Effect.forkScoped(listening, { startImmediately: true })
    const exit = yield* endOf(program, Deferred.await(lacking), mostMillis)
    if (Deferred.isDoneUnsafe(lacking)) {
      return { passes: false, isOwn: false, failed: yield* Deferred.await(lacking), peakBytes: 0 }
    }
    const passes = exit !== undefined && Exit.isSuccess(exit)
    return { passes, isOwn: !passes, failed: undefined, peakBytes: 0 }
  }))
