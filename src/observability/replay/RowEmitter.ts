/**
 * Writes what a replayed memory tells as rows, under the numbers and names of the recording. Hits and the ends of leases, which happen
 * the most, make no event on the way.
 *
 * @internal
 */
import type { Origin } from "../../domain/pool/machine/Reservation.ts"
import type { PoolEvent, Released } from "../../domain/pool/PoolEvent.ts"
import { EventMaker, type ToldMemory } from "../events/EventMaker.ts"
import type { EventRow } from "../recording/EventRow.ts"
import { columns, placeOf } from "../recording/EventShape.ts"
import type { MachineRequest, Told } from "./MachineRequest.ts"
import type { ReplayedBlock, ReplayedLease } from "./ReplayedSource.ts"

const releasedKind = placeOf("Released")!

type Mutable<E> = { -readonly [K in keyof E]: E[K] }

/** What rows are written of. */
export interface Rows {
  readonly row: EventRow
  /** Adds the event that the row is now. */
  readonly add: () => void
}

export class RowEmitter extends EventMaker<MachineRequest> {
  readonly #rows: Rows

  /** Budgets have numbers of their own in a replay, of which it is told those of the recording. */
  constructor(memory: ToldMemory, recordedBudgets: ReadonlyMap<number, number>, now: () => number, rows: Rows) {
    super(memory, now, (event) => {
      rows.row.set(renamed(event, recordedBudgets))
      rows.add()
    })
    this.#rows = rows
  }

  protected override queueOf({ replayed: { asked } }: MachineRequest): string | undefined {
    return asked.queue
  }

  hitOf({ asked }: Told, lease: ReplayedLease, block: ReplayedBlock, from: Origin): void {
    const { row, row: { texts } } = this.#rows
    row.memory = this.memory.number
    row.setHit(this.now(), lease, block, {
      pool: texts.placeOf(block.value.pooledBy.service),
      request: asked.request,
      family: texts.placeOf(String(block.bin?.family)),
      queue: texts.placeOf(asked.queue),
      from: texts.placeOf(from),
      waitAtMost: asked.waitAtMost
    })
    this.#rows.add()
  }

  override released(lease: ReplayedLease, block: ReplayedBlock, why: Released["why"]): void {
    const { row, row: { texts, values } } = this.#rows
    row.memory = this.memory.number
    row.setLease(releasedKind, this.now(), texts.placeOf(block.value.pooledBy.service), lease, block)
    values[columns.detail] = texts.placeOf(why)
    this.#rows.add()
  }
}

/** Gives an event that was made just now the numbers of the recording. */
const renamed = (event: PoolEvent, recordedBudgets: ReadonlyMap<number, number>): PoolEvent => {
  if (!("budgetNumber" in event) || event.budgetNumber === undefined) return event
  const own: Mutable<typeof event> = event
  own.budgetNumber = recordedBudgets.get(event.budgetNumber) ?? event.budgetNumber
  return own
}
