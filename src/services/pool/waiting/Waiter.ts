/**
 * One request in a waiting line, and its answer.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError, WaitingJob } from "../../../domain/GpuError.ts"
import type { Lease } from "../../lease/Lease.ts"
import type { Awaiting } from "../../lease/LeaseTable.ts"

/** Bytes that were reserved for the first in line; `whenBack` waits until the driver has what was evicted for them. */
export class Reservation {
  readonly capacity: number
  readonly evicted: boolean
  readonly whenBack: Effect.Effect<void, GpuError>

  constructor(capacity: number, evicted: boolean, whenBack: Effect.Effect<void, GpuError>) {
    this.capacity = capacity
    this.evicted = evicted
    this.whenBack = whenBack
  }
}

/** The answer to a waiter: a lease, bytes, or `undefined`, with which it may try again. */
export type Outcome = Lease | Reservation | undefined

export type Answer = Effect.Effect<Outcome, GpuError>

/**
 * The answer to a waiter that the driver refused, when the pool got something back: it tries for itself, and keeps its
 * place meanwhile.
 */
export const tryAgain: Answer = Exit.succeed(undefined)

/** The answer to a waiter that is past a gate: it is charged, or its reservation or its turn has begun. */
export const passed: Answer = Exit.succeed(undefined)

/** The line in which a waiter stands, as its request and its scope know it. */
export interface Line<R> {
  readonly length: number
  /** Serves the waiters that it can, in order. */
  readonly serve: () => void
  /** A waiter has its lease or its place past the gate. */
  readonly served: (waiter: Waiter<R>) => void
  readonly leave: (waiter: Waiter<R>) => void
  /** Answers a waiter if it should wait no longer. */
  readonly endWaiter: (waiter: Waiter<R>) => void
  /** Puts a waiter at the head. */
  readonly promote: (waiter: Waiter<R>) => void
  /** Ends the wait of a request that waits for others which wait for it. */
  readonly fail: (waiter: Waiter<R>, jobs: ReadonlyArray<WaitingJob>) => void
  /** Grows with everything that comes back, and changes with the limit. */
  readonly returned: () => number
  /** Whether a request would fit if it were the first in line. */
  readonly hasRoomFor: (request: R) => boolean
}

export class Waiter<R> implements Awaiting {
  readonly line: Line<R>
  readonly request: R
  /** Its place among all requests. */
  readonly arrival: number
  /** In line it waits to be served, or it is at work itself and keeps its place. */
  state: "out" | "waiting" | "trying" = "out"
  /** How often a later request has overtaken it, or is trying to now. */
  passes = 0
  /** It tries, and those before it are counted as passed already. */
  passing = false
  /** It was given something, and those before it were counted as passed for that. */
  wasServed = false
  /** The driver refused it: bytes under the limit are of no use to it. */
  refused = false
  /** What the pool had got back when the driver refused. */
  seen = 0
  /** It stands in line while handlers work for it. */
  isHelped = false
  /** The answer that its fiber gets when it is resumed. */
  answer: Answer | undefined = undefined
  resume: ((answer: Answer) => void) | undefined = undefined
  previous: Waiter<R> | undefined = undefined
  next: Waiter<R> | undefined = undefined
  previousOfList: Awaiting | undefined = undefined
  nextOfList: Awaiting | undefined = undefined

  constructor(line: Line<R>, request: R, arrival: number) {
    this.line = line
    this.request = request
    this.arrival = arrival
  }

  /** The answer, in the hands of its own fiber. */
  take(): Answer | undefined {
    const { answer } = this
    if (answer === undefined) return undefined
    this.answer = undefined
    this.resume = undefined
    return answer
  }

  endWithScope(): Line<R> {
    this.line.endWaiter(this)
    return this.line
  }
}
