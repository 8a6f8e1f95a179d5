/**
 * Writes what a replayed memory tells as rows, under the numbers and names of the recording. Hits and the ends of leases, which happen
 * the most, make no event on the way.
 *
 * @internal
 */
import type { Patience } from "../../domain/pool/machine/Request.ts"
import type { Origin } from "../../domain/pool/machine/Reservation.ts"
import type { PoolEvent, Released } from "../../domain/pool/PoolEvent.ts"
import type { Block, Lease } from "../../services/lease/Lease.ts"
import type { PoolSource } from "../../services/lease/PoolSource.ts"
import type { Heard } from "../../services/pool/EventHub.ts"
import { longestWait, PoolEmitter, poolOf } from "../events/PoolEmitter.ts"
import type { EventRow } from "../recording/EventRow.ts"
import { columns, placeOf } from "../recording/EventShape.ts"
import type { Ticket } from "./Ticket.ts"

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
    const block = lease.block!
    const { row, row: { texts } } = this.#rows
    row.memory = this.memory.number
    row.setHit(this.now(), lease, block, {
      pool: texts.placeOf(source.service),
      request,
      family: texts.placeOf(String(block.bin?.family)),
      queue: texts.placeOf(this.#tickets.get(request)?.asked.queue),
      from: texts.placeOf(from),
      waitAtMost: longestWait(patience)
    })
    this.#rows.add()
  }

  override released(lease: Lease, block: Block, why: Released["why"]): void {
    const { row, row: { texts, values } } = this.#rows
    row.memory = this.memory.number
    row.setLease(releasedKind, this.now(), texts.placeOf(poolOf(block)), lease, block)
    values[columns.detail] = texts.placeOf(why)
    this.#rows.add()
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
