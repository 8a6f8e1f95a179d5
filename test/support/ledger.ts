/** What follows from the events of a pool: its blocks and counters, and which requests have ended. */
import { assert } from "@effect/vitest"
import type { PoolEvent } from "../../src/domain/pool/PoolEvent.ts"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number, 0)

/** Counts requests that have begun something, until the event that ends it. */
class Open {
  readonly #requests = new Map<number, number>()

  begin(request: number): void {
    this.#requests.set(request, (this.#requests.get(request) ?? 0) + 1)
  }

  end(request: number, what: string): void {
    const begun = this.#requests.get(request)
    assert.isDefined(begun, `request ${request} ends ${what} that it had not begun`)
    if (begun === 1) this.#requests.delete(request)
    else this.#requests.set(request, begun - 1)
  }

  get size(): number {
    return this.#requests.size
  }
}

export class Ledger {
  /** The size of its lease is undefined for a block that is held. */
  readonly blocks = new Map<number, { readonly capacity: number; size: number | undefined }>()
  readonly asking = new Open()
  readonly waiting = new Open()
  readonly reserving = new Open()
  hits = 0
  borrows = 0
  misses = 0
  driverAllocations = 0
  driverFrees = 0

  add(event: PoolEvent): void {
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
        return this.#leased(event)
      case "Kept":
        this.asking.end(event.request, "a call of the driver")
        this.driverAllocations += 1
        this.blocks.set(event.block, { capacity: event.capacity, size: undefined })
        return
      case "Released": {
        const block = this.blocks.get(event.block)
        assert.strictEqual(block?.size, event.size)
        block!.size = undefined
        return
      }
      case "Freed":
        this.driverFrees += 1
        assert.isTrue(this.blocks.delete(event.block))
    }
  }

  #leased({ block, capacity, from, request, size }: PoolEvent & { readonly _tag: "Leased" }): void {
    if (from === "driver") {
      this.asking.end(request, "a call of the driver")
      this.misses += 1
      this.driverAllocations += 1
    } else this.hits += 1
    if (from === "borrowed") this.borrows += 1
    assert.strictEqual(this.blocks.has(block), from !== "driver", `block ${block}, ${from}`)
    this.blocks.set(block, { capacity, size })
  }

  /** The counters of a pool that tell the same. */
  get stats(): Partial<PoolStats> {
    const all = [...this.blocks.values()]
    const active = all.flatMap(({ size }) => size === undefined ? [] : [size])
    const held = all.filter(({ size }) => size === undefined)
    const { borrows, driverAllocations, driverFrees, hits, misses } = this
    return {
      activeBlocks: active.length,
      activeBytes: sum(active),
      heldBlocks: held.length,
      heldBytes: sum(held.map(({ capacity }) => capacity)),
      managedBytes: sum(all.map(({ capacity }) => capacity)),
      hits,
      borrows,
      misses,
      driverAllocations,
      driverFrees
    }
  }

  /** Fails unless the pool has counted the same. */
  expect(stats: PoolStats): void {
    const own = this.stats
    assert.deepStrictEqual(
      own,
      Object.fromEntries(Object.keys(own).map((name) => [name, stats[name as keyof PoolStats]]))
    )
  }
}
