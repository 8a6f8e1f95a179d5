/**
 * A recorded memory under a policy of its own: the driver, the handlers and the clock follow the times of the recording.
 *
 * @internal
 */
import type { Budget } from "effect-gpu-pool/Budget"
import type { Released } from "effect-gpu-pool/GpuError"
import { IdleSchedule } from "effect-gpu-pool/IdleSchedule"
import { noOuterLimits } from "effect-gpu-pool/OuterLimits"
import type { ChargedBudget } from "effect-gpu-pool/Reservation"
import { ByPlace } from "../../ByPlace.ts"
import type { MachineRequest } from "../MachineRequest.ts"
import { refusal } from "../Refusal.ts"
import { firstQueue, type MemoryObserver, ReplayedMemory } from "../ReplayedMemory.ts"
import type { Placeholder, ReplayedBlock, ReplayedLease, ReplayedPool, ReplayedSource } from "../ReplayedSource.ts"
import type { MemoryPlan } from "../ReplayOptions.ts"
import type { MemoryTrace } from "./Trace.ts"
import type { VirtualTime } from "./VirtualTime.ts"

/** A request that asks handlers. */
interface Asking {
  /** Gives it the handlers' answer; undefined while it asks none. */
  readonly answerHandlers: ((freed: boolean) => void) | undefined
  isOfPool(pool: ReplayedPool | undefined): boolean
}

export class SimulatedMemory extends ReplayedMemory {
  readonly trace: MemoryTrace
  readonly hasSeveralQueues: boolean
  /** The request that has each block of the recording, or part of one. */
  readonly holders = new ByPlace<number>()
  /** Whether the next trim is a consequence of a new limit or of the end of holding. */
  trimFollows = false
  /** The requests that are asking handlers, in the order in which they began to. */
  readonly asking = new Set<Asking>()
  /** A simulation ignores limits that memories share. */
  readonly outer = noOuterLimits
  readonly #time: VirtualTime
  readonly #idle: IdleSchedule
  #idleClock: "stopped" | "starts" | "runs" = "stopped"

  constructor(plan: MemoryPlan, trace: MemoryTrace, time: VirtualTime) {
    super(plan, trace)
    this.trace = trace
    this.hasSeveralQueues = trace.queues.size > 1
    this.namesQueues = this.hasSeveralQueues
    this.#time = time
    this.#idle = new IdleSchedule(this, plan.settings.idle)
  }

  override observe(observer: MemoryObserver): void {
    super.observe(observer)
    this.inputs = observer.inputsOf(this.machine)
  }

  /** Registers handlers from the first request that asked them until the last time they were asked. */
  handlersAt(place: number): void {
    const { firstHandlers, lastHandlers } = this.trace
    const some = firstHandlers <= place && place <= lastHandlers
    const { memory } = this.machine
    if (memory.hasHandlers !== some) { for (const one of [memory, ...this.budgets]) this.inputs.setHandlers(one, some) }
  }

  protected override addBudget(number: number, budget: Budget): Budget {
    super.addBudget(number, budget)
    if (this.machine.memory.hasHandlers) this.inputs.setHandlers(budget, true)
    return budget
  }

  /** Reclaims freed memory at once. */
  reclaim(): void {
    if (this.error === undefined) this.inputs.reclaimed(this.core.driverFrees)
  }

  /** Frees held blocks: until only `to` bytes are managed, or all, or those that were last leased on one queue. */
  trim(to: number | undefined, queue: string | undefined): void {
    const queueHere = this.hasSeveralQueues ? queue : undefined
    this.inputs.trim(this.trimmed(to, queueHere), to, to === undefined ? queueHere : undefined)
    this.reclaim()
  }

  setHolding(holds: boolean): void {
    this.inputs.setHolding(holds)
    if (!holds) this.trim(undefined, undefined)
  }

  setMaxBytes(bytes: number): void {
    if (this.inputs.setMaxBytes(bytes)) this.trim(Math.max(0, bytes - this.core.pendingBytes), undefined)
  }

  lose(): void {
    if (this.error !== undefined) return
    this.error = refusal("DeviceLost", 0)
    this.inputs.loseDevice()
  }

  /** Closes one of several pools, or the whole memory. */
  close(name: string | undefined, budget: number | undefined): void {
    if (name === undefined) {
      this.inputs.close()
      this.#idleClock = "stopped"
      this.publishClosed()
      this.#interruptCalls(undefined)
    } else {
      const { limit, source } = this.poolOf(name, budget)
      this.inputs.closePool(source, limit)
      this.#interruptCalls(source.pool)
    }
  }

  #goOnIdle(): void {
    if (!this.#idle.goesOn) this.#idleClock = "stopped"
    else this.#time.after(this.#idle.wait, this.#wakeIdle)
  }

  readonly #wakeIdle = (): void => {
    if (this.#idleClock === "stopped") return
    if (this.#idle.wake(this.#time.now)) this.reclaim()
    this.#goOnIdle()
  }

  choose(
    { family, size, replayed: { asked } }: MachineRequest,
    blockSize: number,
    most: number
  ): ReplayedBlock | "any" | undefined {
    if (!this.hasSeveralQueues) return "any"
    const acquire = (accepts: (value: Placeholder) => boolean): ReplayedBlock | undefined =>
      this.core.acquireAccepted(family, blockSize, size, most, accepts)
    const { queue = firstQueue } = asked
    const own = acquire((value) => this.isOfQueue(value, queue))
    const block = own ??
      (this.plan.settings.reuse?.ofOtherQueues === "never" ? undefined : acquire(() => true))
    this.observer?.found?.("acquired", block?.whole.number ?? 0, block?.begin)
    return block
  }

  schedule(task: () => void): void {
    this.#time.add(task)
  }

  startIdleClock(): void {
    if (this.#idleClock !== "stopped" || !this.#idle.hasIdle) return
    this.#idleClock = "starts"
    const time = this.#time
    time.add(() => {
      if (this.machine.closed) return
      this.#idleClock = "runs"
      this.#idle.begin(time.now)
      this.#goOnIdle()
    })
  }

  endLeases(why: Released["why"], budget: ChargedBudget | undefined): void {
    const isMeant = ({ account }: ReplayedLease): boolean =>
      budget === undefined || account?.budgets.includes(budget) === true
    const oldestFirst = Array.from(this.leases.values()).sort((one, other) => one.sequence - other.sequence)
    for (let at = oldestFirst.length - 1; at >= 0; at--) {
      if (isMeant(oldestFirst[at]!)) this.endLease(oldestFirst[at]!, why)
    }
    this.#done()
  }

  #done(): void {
    this.observer?.found?.("done", 0)
  }

  endGranted({ granted }: MachineRequest): void {
    if (granted !== undefined) this.endLease(granted, "scopeClosed")
    this.#done()
  }

  over(source: ReplayedSource | undefined): void {
    if (source !== undefined) source.pool.closed = true
    for (const one of Array.from(this.asking)) if (one.isOfPool(source?.pool)) one.answerHandlers?.(false)
    this.#done()
  }

  interruptCalls(): void {
    this.#interruptCalls(undefined)
    this.#done()
  }

  #interruptCalls(pool: ReplayedPool | undefined): void {
    const calls = pool?.calls ?? Array.from(this.pools.values()).flatMap((one) => Array.from(one.calls))
    for (const interrupt of Array.from(calls)) interrupt()
  }
}
