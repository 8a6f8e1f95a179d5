/** What a soak checks while its fibers run: the limit, how operations end, and problems. */
import { Cause, Effect } from "effect"
import { GpuError } from "effect-gpu-pool"

/** In the message of every fault that was planned, so that a driver's own errors stand out. */
export const plannedFault = "a planned fault"

/** The most problems that are kept. */
const mostProblems = 20

type ReasonTag = GpuError.GpuError["reason"]["_tag"]

/** The errors of requests that find no memory at the moment. */
const hardship: ReadonlyArray<ReasonTag> = ["OutOfMemory", "LimitExceeded"]

export class Watch {
  readonly counts: Record<string, number> = {}
  problemCount = 0
  /** The most bytes by which a pool was larger than it may be. */
  excessBytes = 0
  readonly #expected: ReadonlySet<ReasonTag>
  /** One problem of each kind: those that differ only in numbers count as the same. */
  readonly #problems = new Map<string, { readonly problem: string; times: number }>()
  #limit = Infinity
  /** The bytes that a pool may have: its limit, or what it had when the limit was lowered and cannot free yet. */
  #allowed = Infinity

  /** `expected`: further errors that an operation may end with. */
  constructor(expected: ReadonlyArray<ReasonTag> = []) {
    this.#expected = new Set([...hardship, ...expected])
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  /** What should not have been. */
  get problems(): ReadonlyArray<string> {
    return Array.from(this.#problems.values(), ({ problem, times }) => `${times} x ${problem}`)
  }

  problem(what: string, times: number = 1): void {
    this.problemCount += times
    const kind = what.replaceAll(/\d+/g, "0")
    const known = this.#problems.get(kind)
    if (known !== undefined) known.times += times
    else if (this.#problems.size < mostProblems) this.#problems.set(kind, { problem: what, times })
  }

  /** Adds the findings of another watch. */
  include(other: Watch): void {
    for (const [what, times] of Object.entries(other.counts)) this.counts[what] = (this.counts[what] ?? 0) + times
    for (const { problem, times } of other.#problems.values()) this.problem(problem, times)
    this.excessBytes = Math.max(this.excessBytes, other.excessBytes)
  }

  /** While a limit changes, either may hold. */
  limitChanges(bytes: number): void {
    this.#allowed = Math.max(this.#allowed, bytes)
  }

  /** From now on a pool with so many used bytes may not grow beyond this limit. */
  limitIs(bytes: number, used: number): void {
    this.#limit = bytes
    this.#allowed = Math.max(bytes, used)
  }

  /** Checks the managed and pending bytes now. */
  look(used: number): void {
    this.excessBytes = Math.max(this.excessBytes, used - this.#allowed)
    this.#allowed = Math.max(this.#limit, Math.min(this.#allowed, used))
  }

  /** Counts how an effect ended. An unexpected end is a problem; the returned effect never fails. */
  settle<A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> {
    return Effect.matchCause(effect, {
      onSuccess: () => this.count(what),
      onFailure: (cause) => this.#failed(what, cause)
    })
  }

  #failed<E>(what: string, cause: Cause.Cause<E>): void {
    const error = Cause.squash(cause)
    if (Cause.hasInterruptsOnly(cause)) this.count("interrupted")
    else if (!Cause.hasDies(cause) && error instanceof GpuError.GpuError && this.#isExpected(error)) {
      const { reason } = error
      this.count(reason._tag)
      if (reason._tag === "OutOfMemory" && reason.deadlock.length > 0) this.count("deadlock")
    } else this.problem(`${what}: ${Cause.pretty(cause)}`)
  }

  #isExpected({ message, reason }: GpuError.GpuError): boolean {
    return this.#expected.has(reason._tag) || (reason._tag === "DriverError" && message.includes(plannedFault))
  }
}
