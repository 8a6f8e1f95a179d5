/**
 * A recorded memory whose machine finds outside of itself what it found there when it was recorded.
 *
 * @internal
 */
import { DeviceLost, type GpuError, make as makeError, type Released } from "../../../domain/GpuError.ts"
import type { AdmittedJobs } from "../../../domain/pool/machine/HoldingJobs.ts"
import { noOuterLimits, type OuterLimits } from "../../../domain/pool/machine/OuterLimits.ts"
import type { Account, Failure } from "../../../domain/pool/machine/Request.ts"
import type { MachineRequest } from "../MachineRequest.ts"
import { refusal } from "../Refusal.ts"
import { type MemoryContent, ReplayedMemory } from "../ReplayedMemory.ts"
import type { ReplayedBlock, ReplayedLease, ReplayedSource } from "../ReplayedSource.ts"
import type { MemoryPlan } from "../ReplayOptions.ts"
import type { ExactRequest } from "./ExactRequest.ts"
import type { Journal } from "./Journal.ts"

export class ExactMemory extends ReplayedMemory<ExactRequest> implements AdmittedJobs {
  /** Which requests jobs keep back is recorded. */
  readonly countsReservations = true
  answered = undefined
  /** What the machine has found of the limits around it. */
  readonly outer: OuterLimits = { ...noOuterLimits }
  readonly #journal: Journal
  readonly #untilDone: (memory: number) => number

  /** `untilDone` lets others act within a step of the machine, until the recording says that it goes on. */
  constructor(plan: MemoryPlan, content: MemoryContent, journal: Journal, untilDone: (memory: number) => number) {
    super(plan, content)
    this.core.outer = this.outer
    this.#journal = journal
    this.#untilDone = untilDone
  }

  get number(): number {
    return this.plan.memory.number
  }

  protected override granted(): void {
    // Whose lease ends when is recorded.
  }

  protected override restored(own: number, recorded: number): void {
    this.#journal.restored(own, recorded)
  }

  /** The lease of a block of the recording. */
  leaseOf(recorded: number): ReplayedLease | undefined {
    const block = this.#journal.blockOf(recorded)
    return block === undefined ? undefined : this.leases.get(block)
  }

  /** A budget, by its number in the recording, or the memory itself, or its exclusive sections. */
  accountOf(budget: number | undefined, number: number): Account | undefined {
    const { memory, sections } = this.machine
    if (budget !== undefined) return this.budgetOf(budget)
    return number === sections.number ? sections : memory
  }

  /** What the memory finds of the limits around it from here on. */
  seeLimits(leftBytes: number, attainableBytes: number, maxBytes: number): void {
    const evict = (missing: () => number): boolean => missing() > 0 && this.#untilDone(this.number) === 1
    Object.assign(this.outer, { leftBytes, attainableBytes, maxBytes, evict })
  }

  seeOthers(epoch: number, mayComeBack: boolean, othersAtWork: boolean): void {
    Object.assign(this.outer, { epoch, mayComeBack, othersAtWork })
  }

  /** The device is lost, as requests see from here on. */
  seeLost(): void {
    this.error ??= makeError(new DeviceLost({ backend: "recorded", detail: "as recorded" }))
  }

  close(pool: string | undefined, budget: number | undefined): void {
    if (pool === undefined) return this.machine.close()
    const { limit, source } = this.poolOf(pool, budget)
    this.machine.closePool(source, limit)
  }

  trim(to: number | undefined, queue: string | undefined): void {
    this.machine.trim(this.trimmed(to, queue), to, queue)
  }

  setMaxBytes(bytes: number): void {
    this.limitPools(bytes)
    this.machine.setMaxBytes(bytes)
  }

  // What the machine finds.

  /** Only where the device has several queues does it look for a block of one. */
  get hasSeveralQueues(): boolean {
    return this.#journal.findsNext(this.number, "acquired")
  }

  acquireForQueue(
    { family, size }: MachineRequest<ExactRequest>,
    blockSize: number,
    most: number
  ): ReplayedBlock | undefined {
    const number = this.#journal.blockOf(this.#journal.find(this.number, "acquired"))
    for (const { number: held, value } of number === undefined ? [] : this.core.held()) {
      if (held !== number) continue
      return this.core.acquireAccepted(family, blockSize, size, most, (one) => one === value)
    }
    return undefined
  }

  clear(_request: MachineRequest<ExactRequest>, { value }: ReplayedBlock): Failure | undefined {
    if (!this.#journal.findsNext(this.number, "clearFailed")) return undefined
    this.#journal.find(this.number, "clearFailed")
    value.recyclable = false
    return () => refusal("ClearFailed", 0)
  }

  has(): boolean {
    return this.#answer()
  }

  isOver(): boolean {
    return this.#answer()
  }

  isRaised(): boolean {
    return this.#answer()
  }

  admit(): boolean {
    return this.#answer()
  }

  #answer(): boolean {
    return this.#journal.find(this.number, "jobs") === 1
  }

  lookAgain(): void {
    // Each answer is recorded.
  }

  lost(): GpuError | undefined {
    return this.error
  }

  // What others do within a step of the machine.

  endLeases(_why: Released["why"]): void {
    this.#untilDone(this.number)
  }

  endGranted(): void {
    this.#untilDone(this.number)
  }

  over(source: ReplayedSource | undefined): void {
    if (source !== undefined) source.pool.closed = true
    this.#untilDone(this.number)
  }

  interruptCalls(): void {
    this.#untilDone(this.number)
  }

  // The recording says when those act that wait.

  schedule(): void {}

  watch(): void {}

  startIdleClock(): void {}
}
