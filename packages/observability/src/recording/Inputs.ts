/**
 * The inputs of a pool's machine, as a recording has them: how the arguments of each input are written to a row, and how a replay reads
 * them from it. The recorder and the exact replay know inputs by these tables alone.
 *
 * @internal
 */
import type { Budget } from "effect-gpu-pool/Budget"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { AdmittedJobs } from "effect-gpu-pool/HoldingJobs"
import type { Happened, OfRequest } from "effect-gpu-pool/PoolEvent"
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import type { Ending } from "effect-gpu-pool/PoolMachine"
import type { Found } from "effect-gpu-pool/PoolObserver"
import type { Account, Request } from "effect-gpu-pool/Request"
import type { ChargedBudget } from "effect-gpu-pool/Reservation"

/** The inputs that make a request known; `"made"` is for a request that ends before it was asked for. */
export type Asking = "ask" | "askOnce" | "made" | "tooLarge"

/** An input of the machine that makes a request known. It is no event: readers of events do not see it. */
export interface Asked extends OfRequest {
  readonly _tag: "Asked"
  readonly what: Asking
  /** The exclusive section in which it is made. */
  readonly section: number | undefined
  /** The sum of {@link inHandler}, {@link isPart}, {@link waits}, {@link isSection} and {@link ownerClosed}. */
  readonly how: number
}

/** A handler makes it. */
export const inHandler = 1
/** It is a part of an `allocateAll`. */
export const isPart = 2
/** It waits if nothing fits. */
export const waits = 4
/** It is for an exclusive section. */
export const isSection = 8
/** The scope that was to own its lease is closed. */
export const ownerClosed = 16

/** What the machine read from outside of itself. */
export type Finding = Found | "elsewhere" | "lost" | "outer" | "queues" | "unusable"

/** Another input of the machine, or what it read from outside of itself. It is no event either. */
export interface Input extends Happened {
  readonly _tag: "Input"
  readonly what: InputOfRequest | InputOfMemory | Finding
  /** The state of its request: the sum of {@link inHandler} and {@link ownerClosed}. */
  readonly how: number
  readonly request: number | undefined
  readonly value: number
  readonly value2: number
  readonly value3: number
  readonly pool: string | undefined
  readonly budgetNumber: number | undefined
  readonly queue: string | undefined
  readonly why: string | undefined
}

/** The columns that an input sets. */
export interface InputFacts extends Partial<Pick<Input, "pool" | "queue" | "value" | "value2" | "value3" | "why">> {
  readonly budget?: ChargedBudget | undefined
}

type Arguments<K extends keyof PoolInputs> = Parameters<PoolInputs[K]>

/** The arguments of an input after its request. */
type Others<K extends keyof PoolInputs> = Arguments<K> extends [Request, ...infer Rest] ? Rest : never

/** A replayed memory, in which the replay finds what rows name. */
interface Memory extends AdmittedJobs {
  /** A budget, or the memory itself, or its exclusive sections. */
  accountOf(row: Input): Account
  knownBudget(number: number | undefined): Budget
  /** One of several pools on the memory, by its service and its limit's number. */
  poolOf(name: string, budget: number | undefined): {
    readonly source: Arguments<"closePool">[0]
    readonly limit: Budget
  }
  /** The held blocks to free: until only `to` bytes are managed, or all, or those that were last leased on one queue. */
  trimmed(to: number | undefined, queue: string | undefined): Arguments<"trim">[0]
  /** What the driver made for a request, or why it did not. */
  made(request: Request): Arguments<"driverAnswered">[1]
  refusal(why: string, capacity: number): GpuError
  /** Replays what others did within a step of the machine, until the recording says that the step continues. */
  untilDone(): number
}

/** How the arguments of an input, beside its request, are written to a row, and read from it. */
interface Coding<A extends ReadonlyArray<unknown>> {
  readonly write: (...args: A) => InputFacts
  readonly read: (row: Input, memory: Memory, request: Request | undefined) => A
}

/** The bit of an ending's value that says that it was interrupted. */
export const isInterrupted = 2

const both = (first: boolean, second: boolean): number => Number(first) + 2 * Number(second)

const accountFacts = (account: Account | ChargedBudget): InputFacts =>
  "chain" in account ? { budget: account } : { value2: account.number }

const nothing: Coding<[]> = { write: () => ({}), read: () => [] }
const number: Coding<[value: number]> = { write: (value) => ({ value }), read: ({ value }) => [value] }
const yesOrNo: Coding<[holds: boolean]> = {
  write: (holds) => ({ value: Number(holds) }),
  read: ({ value }) => [value === 1]
}
const twice: Coding<[boolean, boolean]> = {
  write: (first, second) => ({ value: both(first, second) }),
  read: ({ value }) => [(value & 1) !== 0, (value & 2) !== 0]
}
const queue: Coding<Arguments<"serve">> = {
  write: ({ account }) => accountFacts(account),
  read: (row, memory) => [memory.accountOf(row).queue]
}
const ending: Coding<[Ending]> = {
  write: ({ isFailure, isInterrupted, reason }) => ({ value: both(isFailure, isInterrupted), why: reason }),
  read: ({ value, why }) => [
    { isFailure: (value & 1) !== 0, isInterrupted: (value & 2) !== 0, reason: why as Ending["reason"] }
  ]
}

/** A number of bytes, or the error of a file that has another one. */
const bytesOf = ({ value }: Input): number => {
  if (!(value >= 0)) throw new RangeError(`${value} is no number of bytes`)
  return value
}

/** The inputs whose first argument is a request. */
export const inputsOfRequests: { readonly [K in InputOfRequest]: Coding<Others<K>> } = {
  advance: nothing,
  begunAll: nothing,
  believes: nothing,
  driverAnswered: { write: () => ({}), read: (_, memory, request) => [memory.made(request!)] },
  driverAsked: nothing,
  driverRefused: {
    write: (why) => ({ why }),
    read: ({ why = "" }, memory, request) => [why, () => memory.refusal(why, request!.asking)]
  },
  ended: ending,
  failDeadlocked: { write: () => ({}), read: () => [[]] },
  handlersAnswered: yesOrNo,
  handlersEnded: twice,
  promote: nothing,
  reclaimedFor: nothing,
  reservationEnded: ending,
  retryAll: number,
  scopeClosed: nothing,
  timedOut: number
}

export type InputOfRequest = Exclude<
  { [K in keyof PoolInputs]: Arguments<K> extends [Request, ...Array<unknown>] ? K : never }[keyof PoolInputs],
  Asking
>

export const isOfRequest = (what: string): what is InputOfRequest => Object.hasOwn(inputsOfRequests, what)

/** Whether an input ends its request. */
export const isEnd = (what: InputOfRequest): boolean => what === "ended" || what === "reservationEnded"

/** The other inputs, without those that make a request known. */
export const inputsOfMemories: {
  readonly [K in Exclude<keyof PoolInputs, Asking | InputOfRequest>]: Coding<Arguments<K>>
} = {
  close: nothing,
  closePool: {
    write: ({ service }, budget) => ({ pool: service, budget }),
    read: ({ budgetNumber, pool = "" }, memory) => {
      const { limit, source } = memory.poolOf(pool, budgetNumber)
      return [source, limit]
    }
  },
  evictForOthers: number,
  idleStep: {
    write: (value) => ({ value }),
    read: ({ value }) => {
      if (!Number.isInteger(value) || value <= 0) throw new RangeError(`${value} is no number of steps`)
      return [value]
    }
  },
  limitJobs: {
    write: ({ account }) => accountFacts(account),
    read: (row, memory) => [memory.accountOf(row).queue, memory]
  },
  loseDevice: nothing,
  raiseJobs: queue,
  reclaimed: number,
  retracting: { write: () => ({}), read: (_, memory) => [() => memory.untilDone()] },
  serve: queue,
  setBudgetLimit: {
    write: (budget, value) => ({ value, budget }),
    read: (row, memory) => [memory.knownBudget(row.budgetNumber), bytesOf(row)]
  },
  setHandlers: {
    write: (account, some) => ({ value: Number(some), ...accountFacts(account) }),
    read: (row, memory) => [memory.accountOf(row), row.value === 1]
  },
  setHolding: yesOrNo,
  setMaxBytes: { write: (value) => ({ value }), read: (row) => [bytesOf(row)] },
  startIdleClock: nothing,
  trim: {
    write: (_blocks, to, queue) => ({ value: to ?? 0, value2: Number(to === undefined), queue }),
    read: ({ queue, value, value2 }, memory) => {
      const to = value2 === 1 ? undefined : value
      return [memory.trimmed(to, queue), to, queue]
    }
  }
}

export type InputOfMemory = keyof typeof inputsOfMemories

export const isOfMemory = (what: string): what is InputOfMemory => Object.hasOwn(inputsOfMemories, what)

const findings: Record<Finding, true> = {
  acquired: true,
  clearFailed: true,
  done: true,
  elsewhere: true,
  jobs: true,
  lost: true,
  outer: true,
  queues: true,
  unusable: true
}

/** The names of all rows of inputs. */
export const inputNames: ReadonlySet<string> = new Set(
  [inputsOfRequests, inputsOfMemories, findings].flatMap((all) => Object.keys(all))
)
