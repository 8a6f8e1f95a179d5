/**
 * Finds requests that wait for each other: each holds memory that the others wait for, so that nothing can come back.
 * The request of the youngest job then fails with an OutOfMemory that says so, and what the job holds comes back when its
 * scope closes.
 *
 * A lease is stuck when its scope, or the fiber that acquired the first lease of its scope, or the fiber that it is lent
 * to, has a request that is stuck. A request is stuck when it waits in a line to which only stuck leases, stuck
 * reservations and the charges of stuck requests can give anything back. What is left when all others are taken out again
 * and again is a standstill. The rule sees no release that another fiber would still do, so it is believed only when it
 * has held twice, `suspectAfter` apart, with nothing given back between.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { WaitingJob } from "../../domain/GpuError.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import type { MemoryPool } from "./MemoryPool.ts"
import type { SetAside } from "./SetAside.ts"
import type { Holdings, Waiter } from "./WaitLine.ts"

/** Whose requests are stuck. */
class Parties {
  readonly #fibers = new Set<number>()
  readonly #scopes = new Set<Scope.Scope>()
  readonly #reservations = new Set<SetAside>()

  constructor(waiters: Iterable<Waiter>) {
    for (const { request } of waiters) {
      this.#fibers.add(request.fiberId)
      if (request.scope !== undefined) this.#scopes.add(request.scope)
      if (request.turn !== undefined) this.#reservations.add(request.turn)
      for (let from = request.from; from !== undefined; from = from.parent) this.#reservations.add(from)
    }
  }

  holdsLease({ borrowerId, list }: PooledBuffer): boolean {
    if (list?.scope === undefined) return this.#fibers.has(borrowerId)
    return this.#scopes.has(list.scope) || this.#fibers.has(list.fiberId)
  }

  holdsReservation(reservation: SetAside): boolean {
    return this.#reservations.has(reservation) || this.#fibers.has(reservation.fiberId)
  }

  holdings(pool: MemoryPool): Holdings {
    return {
      leases: pool.leases.live().filter((lease) => this.holdsLease(lease)),
      reservations: Array.from(pool.reservations).filter((one) => this.holdsReservation(one))
    }
  }
}

/** The requests that wait for each other now, among those that may. */
const findStuck = (pool: MemoryPool, mayBe: (waiter: Waiter) => boolean): ReadonlySet<Waiter> => {
  const lines = Array.from(pool.lines.filled)
  const stuck = new Set(lines.flatMap((line) => line.parked().filter(mayBe)))
  for (let before = Infinity; stuck.size > 0 && stuck.size < before;) {
    before = stuck.size
    const holdings = new Parties(stuck).holdings(pool)
    const requests = Array.from(stuck, ({ request }) => request)
    for (const line of lines) {
      const stuckBytes = line.bytesOf(holdings) + line.bytesOfRequests(requests)
      if (line.countedBytes() > stuckBytes) { for (const waiter of line.parked()) stuck.delete(waiter) }
    }
  }
  return stuck
}

/** Whether other requests wait for what this one is charged with, while it waits elsewhere. */
const blocksBudget = ({ request: { budget, charge } }: Waiter): boolean =>
  budget?.chain.some(({ line }, index, chain) => line.length > 0 && charge?.charged(chain[index]!) !== 0) ?? false

/**
 * Since when jobs hold what they hold, as the sequence number of their oldest lease or reservation. A job that asks for
 * more keeps its age, so the oldest one is never ended, and at last it gets all that it needs.
 */
class Ages {
  readonly #ofFibers = new Map<number, number>()
  readonly #ofScopes = new Map<Scope.Scope, number>()

  constructor(pool: MemoryPool) {
    for (const { block, borrowerId, list, sequence } of pool.leases.live()) {
      if (block === undefined || list === undefined) continue
      lower(this.#ofFibers, list.scope === undefined ? borrowerId : list.fiberId, sequence)
      if (list.scope !== undefined) lower(this.#ofScopes, list.scope, sequence)
    }
    for (const { fiberId, left, sequence } of pool.reservations) if (left > 0) lower(this.#ofFibers, fiberId, sequence)
  }

  /** Infinity for one that holds nothing. */
  of({ request: { fiberId, from, scope } }: Waiter): number {
    return Math.min(
      this.#ofFibers.get(fiberId) ?? Infinity,
      (scope && this.#ofScopes.get(scope)) ?? Infinity,
      from?.isOpen === true ? from.sequence : Infinity
    )
  }
}

const lower = <K>(ages: Map<K, number>, key: K, age: number): void => {
  if (age < (ages.get(key) ?? Infinity)) ages.set(key, age)
}

/** Those of the waiters that hold what others wait for, the youngest first. */
const holdersAmong = (pool: MemoryPool, waiters: ReadonlyArray<Waiter>): ReadonlyArray<Waiter> => {
  const ages = new Ages(pool)
  return waiters
    .map((waiter) => ({ waiter, age: ages.of(waiter) }))
    .filter(({ age, waiter }) => age < Infinity || blocksBudget(waiter))
    .sort((a, b) => a.age === b.age ? b.waiter.arrival - a.waiter.arrival : b.age - a.age)
    .map(({ waiter }) => waiter)
}

const jobOf = (pool: MemoryPool, waiter: Waiter): WaitingJob => {
  const { request } = waiter
  const holdings = new Parties([waiter]).holdings(pool)
  return {
    label: request.label,
    requested: request.size,
    holdsBytes: pool.line.bytesOf(holdings) + pool.line.bytesOfRequests([request]),
    holds: Array.from(holdings.leases).sort((a, b) => b.capacity - a.capacity).slice(0, 3)
      .map(({ label, size }) => ({ label, size }))
  }
}

/** So many jobs are named in an error. */
const mostNamed = 8

/** @internal */
export class StandstillWatch {
  readonly #pool: MemoryPool
  readonly #run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Runs only while requests wait. */
  #timer: Fiber.Fiber<void> | undefined = undefined
  /** Who was stuck when it looked last, and how much their lines had got back by then. */
  #suspects: ReadonlyMap<Waiter, number> = new Map()

  constructor(pool: MemoryPool, run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.#pool = pool
    this.#run = run
  }

  /** A request begins to wait. */
  start(): void {
    const { suspectAfterMillis } = this.#pool.settings
    if (this.#timer !== undefined || suspectAfterMillis === Infinity || this.#pool.leases.closed) return
    const timer = this.#run(Effect.whileLoop({
      while: () => {
        const goesOn = this.#pool.lines.filled.size > 0
        // In the same step, or a request that begins to wait before the fiber has ended would start no other.
        if (!goesOn) this.#forget()
        return goesOn
      },
      body: () => Effect.andThen(Effect.sleep(suspectAfterMillis), this.#look),
      step: () => {}
    }))
    this.#timer = timer
    timer.addObserver(() => {
      if (this.#timer === timer) this.#timer = undefined
    })
  }

  stop(): void {
    const timer = this.#timer
    this.#forget()
    timer?.interruptUnsafe()
  }

  #forget(): void {
    this.#timer = undefined
    this.#suspects = new Map()
  }

  readonly #look = Effect.sync(() => {
    const before = this.#suspects
    const stuck = findStuck(this.#pool, () => true)
    this.#suspects = new Map(Array.from(stuck, (waiter) => [waiter, waiter.line.returned()]))
    // Those that were found before must wait for each other without the ones that came since.
    const proven = findStuck(this.#pool, (waiter) => before.get(waiter) === waiter.line.returned())
    if (proven.size > 0) this.#endYoungest(Array.from(proven))
  })

  /** The youngest. One that says how long it waits ends by itself, and the oldest of several is left to go on. */
  #victimOf(holding: ReadonlyArray<Waiter>, stuck: ReadonlyArray<Waiter>): Waiter | undefined {
    const [oldest] = holding.slice(-1)
    const victim = (holding.length === 0 ? stuck : holding)
      .find(({ request }) => request.patience.waitAtMost === Infinity)
    return victim === oldest && holding.length > 1 ? undefined : victim
  }

  #endYoungest(stuck: ReadonlyArray<Waiter>): void {
    const holding = holdersAmong(this.#pool, stuck)
    const victim = this.#victimOf(holding, stuck)
    if (victim === undefined) return
    const jobs = holding.slice(0, mostNamed).map((waiter) => jobOf(this.#pool, waiter))
    this.#suspects = new Map()
    // What the victim gives back is for the others, the oldest first: requests that hold nothing yet would take it, and then
    // stand still as well.
    for (const waiter of holding) if (waiter !== victim) waiter.line.promote(waiter)
    victim.line.fail(victim, jobs)
  }
}
