/**
 * Computes a pool's blocks, counters and ended requests from its events. Explored schedules check it after each event,
 * for which an assertion library is too slow.
 */
import { BlockLedger, leasesOf, type LedgerBlock } from "../../packages/observability/src/recording/BlockLedger.ts"
import * as Expect from "../../packages/testing/src/Expect.ts"
import type { PoolEvent } from "../../src/domain/pool/PoolEvent.ts"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"

/** Counts operations from the event that begins them to the one that ends them. */
class Open {
  readonly #requests = new Map<number, number>()

  begin(request: number): void {
    this.#requests.set(request, (this.#requests.get(request) ?? 0) + 1)
  }

  end(request: number, what: string): void {
    const begun = this.#requests.get(request) ?? 0
    Expect.isTrue(`request ${request} ends ${what} that it had begun`, begun > 0)
    if (begun === 1) this.#requests.delete(request)
    else this.#requests.set(request, begun - 1)
  }

  get size(): number {
    return this.#requests.size
  }
}

/** What an event must do to blocks and leases. */
const expected = (event: PoolEvent): ReadonlyArray<string> => {
  switch (event._tag) {
    case "Leased": {
      const leased = `${event.size} of ${event.partBytes ?? event.capacity} B are leased`
      return event.from === "driver" ? [`${event.capacity} B begin`, leased] : [leased]
    }
    case "Kept":
      return [`${event.capacity} B begin`]
    case "Released":
      return [`${event.size} of ${event.partBytes ?? event.capacity} B are released`]
    case "Freed":
      return [`${event.capacity} B end`]
    default:
      return []
  }
}

/** How many pieces of a block are free: between its leases, and beside them. */
const pieces = (block: LedgerBlock): number => {
  let free = 0
  let end = 0
  for (const { bytes, offset } of [...leasesOf(block)].sort((one, other) => one.offset - other.offset)) {
    if (offset > end) free++
    end = offset + bytes
  }
  return end < block.capacity ? free + 1 : free
}

export class Ledger {
  /** The blocks and leases that began or ended since the last check. */
  readonly #told: Array<string> = []
  readonly #blocks = new BlockLedger({ blocks: [] }, {
    begins: ({ capacity }) => void this.#told.push(`${capacity} B begin`),
    leased: ({ bytes, size }) => void this.#told.push(`${size} of ${bytes} B are leased`),
    released: ({ bytes, size }) => void this.#told.push(`${size} of ${bytes} B are released`),
    ends: ({ capacity }) => void this.#told.push(`${capacity} B end`)
  })
  readonly asking = new Open()
  readonly waiting = new Open()
  readonly reserving = new Open()
  hits = 0
  borrows = 0
  misses = 0
  driverAllocations = 0
  driverFrees = 0

  add(event: PoolEvent): void {
    this.#count(event)
    Expect.isTrue(`${event._tag} is of a known block`, this.#blocks.take(event))
    Expect.same(`what ${event._tag} says, after what came before`, this.#told.splice(0), expected(event))
  }

  #count(event: PoolEvent): void {
    switch (event._tag) {
      case "DriverAsked":
        return this.asking.begin(event.request)
      case "Refused":
        return this.asking.end(event.request, "a call of the driver")
      case "Waiting":
        return this.waiting.begin(event.request)
      case "Waited":
        return this.waiting.end(event.request, "waiting")
      case "Reserved":
        return this.reserving.begin(event.request)
      case "ReservationEnded":
        return this.reserving.end(event.request, "a reservation")
      case "Leased":
        if (event.from === "borrowed") this.borrows += 1
        if (event.from !== "driver") this.hits += 1
        else {
          this.misses += 1
          this.#made(event.request)
        }
        return
      case "Kept":
        return this.#made(event.request)
      case "Freed":
        this.driverFrees += 1
    }
  }

  #made(request: number): void {
    this.asking.end(request, "a call of the driver")
    this.driverAllocations += 1
  }

  get blocks(): ReadonlyArray<LedgerBlock> {
    return [...this.#blocks.blocks()]
  }

  /** The pool's counters, as computed from the events. */
  get stats(): Partial<PoolStats> {
    const { blocks, borrows, driverAllocations, driverFrees, hits, misses } = this
    const { activeBytes, heldBytes, managedBytes } = this.#blocks.bytes
    const sum = (of: (block: LedgerBlock) => number) => blocks.reduce((total, block) => total + of(block), 0)
    return {
      activeBlocks: sum((block) => [...leasesOf(block)].length),
      activeBytes,
      heldBlocks: sum(pieces),
      heldBytes,
      fragmentedBytes: sum(({ capacity, leasedBytes }) => leasedBytes > 0 ? capacity - leasedBytes : 0),
      managedBlocks: blocks.length,
      managedBytes,
      hits,
      borrows,
      misses,
      driverAllocations,
      driverFrees
    }
  }

  /** Fails unless the pool's counters are the same. */
  expect(stats: PoolStats): void {
    const own = this.stats
    const counted = Object.fromEntries(Object.keys(own).map((name) => [name, stats[name as keyof PoolStats]]))
    Expect.same("the counters of the pool", counted, own)
  }
}
