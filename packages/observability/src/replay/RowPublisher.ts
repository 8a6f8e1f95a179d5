/**
 * Writes what a replayed memory publishes as rows, with the numbers and names of the recording. Hits and ends of leases, which are
 * the most frequent, are written without an event object.
 *
 * @internal
 */
import type { PoolEvent, Released } from "effect-gpu-pool/PoolEvent"
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import type { Found } from "effect-gpu-pool/PoolObserver"
import type { Origin } from "effect-gpu-pool/Reservation"
import { EventMaker, type EventMemory, poolOf } from "../events/EventMaker.ts"
import { InputRecorder, type InputWriter, type Outside } from "../events/InputRecorder.ts"
import type { EventRow } from "../recording/EventRow.ts"
import { columns } from "../recording/EventShape.ts"
import type { Asked, Input, InputFacts } from "../recording/Inputs.ts"
import type { MachineRequest, ReplayedRequest } from "./MachineRequest.ts"
import type { MemoryObserver } from "./ReplayedMemory.ts"
import type { ReplayedBlock, ReplayedLease } from "./ReplayedSource.ts"

/** Where rows are written. */
export interface Rows {
  readonly row: EventRow
  /** Adds the row's current event. */
  readonly add: () => void
  /** Whether inputs of the machine are wanted too. */
  readonly withInputs: boolean
}

/** The memory that publishes. */
export interface PublishingMemory extends Outside, EventMemory {
  /** The recorded number of each budget, by its number in the replay. */
  readonly recordedBudgets: ReadonlyMap<number, number>
  /** Whether its device has several queues. */
  readonly namesQueues: boolean
}

export class RowPublisher extends EventMaker<MachineRequest> implements InputWriter, MemoryObserver {
  readonly #rows: Rows
  readonly #publishing: PublishingMemory

  constructor(memory: PublishingMemory, now: () => number, rows: Rows) {
    super(memory, now, (event) => this.#add(event))
    this.#rows = rows
    this.#publishing = memory
  }

  #add(event: PoolEvent | Asked | Input): void {
    const { row, row: { values } } = this.#rows
    row.set(event)
    const recorded = "budgetNumber" in event ? this.#publishing.recordedBudgets.get(event.budgetNumber ?? 0) : undefined
    if (recorded !== undefined) values[columns.budgetNumber] = recorded
    this.#rows.add()
  }

  inputsOf(inputs: PoolInputs): PoolInputs {
    return this.#rows.withInputs ? new InputRecorder(this, this.#publishing).of(inputs) : inputs
  }

  found(what: Found, value: number, value2 = 0): void {
    this.input(what, undefined, { value, value2 })
  }

  asked(what: Asked["what"], request: MachineRequest): void {
    this.#add(this.askedOf(what, request))
  }

  input(what: Input["what"], request: MachineRequest | undefined, facts: InputFacts): void {
    this.#add(this.inputOf(what, request, facts))
  }

  protected override queueOf({ replayed: { asked: { queue } } }: MachineRequest) {
    return { label: queue, isNamed: this.#publishing.namesQueues }
  }

  hit({ asked }: ReplayedRequest, lease: ReplayedLease, block: ReplayedBlock, from: Origin): void {
    const { request, waitAtMost } = asked
    const { row } = this.#rows
    row.memory = this.memory.number
    row.setHit(lease, block, {
      at: this.now(),
      pool: poolOf(block),
      request,
      family: String(block.bin?.family),
      queue: this.#publishing.namesQueues ? asked.queue : undefined,
      from,
      waitAtMost
    })
    this.#rows.add()
  }

  override released(lease: ReplayedLease, block: ReplayedBlock, why: Released["why"]): void {
    const { row } = this.#rows
    row.memory = this.memory.number
    row.setReleased(this.now(), poolOf(block), lease, block, why)
    this.#rows.add()
  }
}
