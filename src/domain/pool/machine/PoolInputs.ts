/**
 * What a shell gives to the machine of a memory, but for hits and the ends of leases, which pass by it in one step of their own.
 *
 * A recorder takes the place of the machine here: it writes each input down and passes it on. So a recording has all that the machine
 * was given, and what it did follows from that.
 *
 * @since 0.1.0
 */
import type { PoolMachine } from "./PoolMachine.ts"
import type { Reusable } from "./PoolState.ts"

/**
 * The inputs of a machine, as a shell calls them.
 *
 * @category models
 * @since 0.1.0
 */
export type PoolInputs<A extends Reusable = Reusable> = Pick<
  PoolMachine<A>,
  | "advance"
  | "ask"
  | "askOnce"
  | "begunAll"
  | "believes"
  | "close"
  | "closePool"
  | "driverAnswered"
  | "driverAsked"
  | "driverRefused"
  | "ended"
  | "evictForOthers"
  | "failDeadlocked"
  | "handlersAnswered"
  | "handlersEnded"
  | "idleStep"
  | "limitJobs"
  | "loseDevice"
  | "promote"
  | "raiseJobs"
  | "reclaimed"
  | "reclaimedFor"
  | "reservationEnded"
  | "retracting"
  | "retryAll"
  | "scopeClosed"
  | "serve"
  | "setBudgetLimit"
  | "setHandlers"
  | "setHolding"
  | "setMaxBytes"
  | "startIdleClock"
  | "timedOut"
  | "tooLarge"
  | "trim"
>
