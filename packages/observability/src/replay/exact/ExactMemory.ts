/**
 * A recorded memory whose machine reads from outside of itself what it read when it was recorded.
 *
 * @internal
 */
import type { Budget } from "effect-gpu-pool/Budget"
import * as ExclusiveSections from "effect-gpu-pool/ExclusiveSections"
import type { GpuError, Released } from "effect-gpu-pool/GpuError"
import type { AdmittedJobs } from "effect-gpu-pool/HoldingJobs"
import { noOuterLimits, type OuterLimits } from "effect-gpu-pool/OuterLimits"
import type { Account, Failure, Request } from "effect-gpu-pool/Request"
import type { Input } from "../../recording/Inputs.ts"
import type { MachineRequest } from "../MachineRequest.ts"
import { refusal } from "../Refusal.ts"
import { type MemoryContent, ReplayedMemory } from "../ReplayedMemory.ts"
import { Placeholder, type ReplayedBlock, type ReplayedLease, type ReplayedSource } from "../ReplayedSource.ts"
import type { MemoryPlan } from "../ReplayOptions.ts"
import { demand, type Journal, known } from "./Journal.ts"

export class ExactMemory extends ReplayedMemory implements AdmittedJobs {
  /** True, since the recording has each answer about jobs. */
  readonly countsReservations = true
  answered = undefined
  /** The limits around it, as last recorded. */
  readonly outer: OuterLimits = { ...noOuterLimits }
  readonly #journal: Journal
  readonly #untilDone: (memory: number) => number

  constructor(plan: MemoryPlan, content: MemoryContent, journal: Journal, untilDone: (memory: number) => number) {
    super(plan, content)
    this.core.outer = this.outer
    this.#journal = journal
    this.#untilDone = untilDone
  }

  protected override restored(own: number, recorded: number): void {
    this.#journal.restored(own, recorded)
  }

  /** The lease of a block of the recording, or of a part of one. */
  leaseOf(recorded: number, offset: number): ReplayedLease | undefined {
    const block = this.#journal.blockOf(recorded)
    return block === undefined ? undefined : this.leases.get(block, offset)
  }

  // The arguments of inputs.

  /** A budget, or the memory itself, or its exclusive sections. */
  accountOf({ budgetNumber, value2 }: Input): Account {
    if (budgetNumber !== undefined) return this.knownBudget(budgetNumber)
    return value2 === ExclusiveSections.ofSections ? ExclusiveSections.sectionsOf(this.machine) : this.machine.memory
  }

  knownBudget(number: number | undefined): Budget {
    return known(this.budgetOf(number))
  }

  /** What the driver made for a request. */
  made({ source }: Request): Placeholder {
    return new Placeholder(source as ReplayedSource)
  }

  refusal(why: string, capacity: number): GpuError {
    return refusal(why, capacity)
  }

  /** Replays what others did within a step of the machine, until the recording says that the step continues. */
  untilDone(): number {
    return this.#untilDone(this.number)
  }

  // What the machine reads from outside.

  /** Sets what the machine reads from outside of itself from now on. */
  find({ value2, value3, value, what }: Input): void {
    switch (what) {
      case "lost":
        this.error ??= refusal("DeviceLost", 0)
        return
      case "queues":
        this.namesQueues = value === 1
        return
      case "elsewhere":
        Object.assign(this.outer, { epoch: value, mayComeBack: value2 === 1, othersAtWork: value3 === 1 })
        return
      case "outer": {
        const evict = (missing: () => number): boolean => missing() > 0 && this.untilDone() === 1
        Object.assign(this.outer, { leftBytes: value, attainableBytes: value2, maxBytes: value3, evict })
        return
      }
      default:
        demand(what === "unusable")
        known(this.leaseOf(value, value2)).block!.value.recyclable = false
    }
  }

  get hasSeveralQueues(): boolean {
    return this.namesQueues
  }

  choose(request: MachineRequest, blockSize: number, most: number): ReplayedBlock | "any" | undefined {
    if (!this.#journal.findsNext(this.number, "acquired")) return "any"
    const { family, size } = request
    // With one queue, only requests with allocations to be apart from have such rows.
    if (!this.hasSeveralQueues) request.apart ??= []
    const [recorded, offset] = this.#journal.findPlace(this.number, "acquired")
    const number = this.#journal.blockOf(recorded)
    for (const { whole } of number === undefined ? [] : this.core.held()) {
      if (whole.number !== number) continue
      const isThere = (one: Placeholder): boolean => (one.slab ?? one) === whole.value && one.begin === offset
      return this.core.acquireAccepted(family, blockSize, size, most, isThere)
    }
    return undefined
  }

  override clear(_request: MachineRequest, { value }: ReplayedBlock): Failure | undefined {
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

  // Calls in which others act within a step of the machine.

  endLeases(_why: Released["why"]): void {
    this.untilDone()
  }

  endGranted(): void {
    this.untilDone()
  }

  over(source: ReplayedSource | undefined): void {
    if (source !== undefined) source.pool.closed = true
    this.untilDone()
  }

  interruptCalls(): void {
    this.untilDone()
  }

  // The recording says when waiting requests act.

  schedule(): void {}

  startIdleClock(): void {}
}
