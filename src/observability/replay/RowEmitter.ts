/**
 * Writes what a replayed memory tells as rows, under the numbers and names of the recording. Hits and the ends of leases, which happen
 * the most, make no event on the way.
 *
 * @internal
 */
import type { PoolEvent, Released } from "../../domain/pool/PoolEvent.ts"
import type { Block, Lease } from "../../services/lease/Lease.ts"
import type { PoolSource } from "../../services/lease/PoolSource.ts"
import type { Heard } from "../../services/pool/EventHub.ts"
import type { Origin } from "../../services/pool/waiting/Charge.ts"
import type { Patience } from "../../services/pool/waiting/LeaseRequest.ts"
import { longestWait, PoolEmitter, poolOf } from "../events/PoolEmitter.ts"
import type { EventRow } from "../recording/EventRow.ts"
import { columns, placeOf } from "../recording/EventShape.ts"
import type { Ticket } from "./Ticket.ts"

const leasedKind = placeOf("Leased")!
const releasedKind = placeOf("Released")!

type Mutable<E> = { -readonly [K in keyof E]: E[K] }

/** What rows are written of. */
export interface Rows {
  readonly row: EventRow
  /** Adds the event that the row is now. */
  readonly add: () => void
}

export class RowEmitter extends PoolEmitter {
  readonly #tickets: ReadonlyMap<number, Ticket>
  readonly #rows: Rows

  constructor(
    memory: Heard,
    now: () => number,
    tickets: ReadonlyMap<number, Ticket>,
    recordedBudgets: ReadonlyMap<number, number>,
    rows: Rows
  ) {
    super(memory, now, (event) => {
      rows.row.set(renamed(event, tickets, recordedBudgets))
      rows.add()
    })
    this.#tickets = tickets
    this.#rows = rows
  }

  override hit(request: number, lease: Lease, from: Origin, source: PoolSource, patience: Patience): void {
    const family = lease.block!.bin?.family
    const { texts, values } = this.#begin(leasedKind, source.service, lease, lease.block!)
    values[columns.request] = request
    values[columns.waitAtMost] = longestWait(patience)
    values[columns.under] = 0
    values[columns.budgetNumber] = 0
    values[columns.family] = texts.placeOf(String(family))
    values[columns.budget] = 0
    values[columns.queue] = texts.placeOf(this.#tickets.get(request)?.asked.queue)
    values[columns.detail] = texts.placeOf(from)
    this.#rows.add()
  }

  override released(lease: Lease, block: Block, why: Released["why"]): void {
    const { texts, values } = this.#begin(releasedKind, poolOf(block), lease, block)
    values[columns.detail] = texts.placeOf(why)
    this.#rows.add()
  }

  #begin(kind: number, pool: string, lease: Lease, block: Block): EventRow {
    const { row } = this.#rows
    row.memory = this.memory.number
    row.setLease(kind, this.now(), row.texts.placeOf(pool), lease, block)
    return row
  }
}

/** Gives an event that was made just now the numbers and names of the recording. */
const renamed = (
  event: PoolEvent,
  tickets: ReadonlyMap<number, Ticket>,
  recordedBudgets: ReadonlyMap<number, number>
): PoolEvent => {
  if ("budgetNumber" in event && event.budgetNumber !== undefined) {
    const own: Mutable<typeof event> = event
    own.budgetNumber = recordedBudgets.get(event.budgetNumber) ?? event.budgetNumber
  }
  if (!("request" in event)) return event
  const own: Mutable<typeof event> = event
  own.queue = tickets.get(own.request)?.asked.queue
  return own
}
