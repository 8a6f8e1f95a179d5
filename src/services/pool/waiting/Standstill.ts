/**
 * Finds requests that wait for each other: each job has memory that the others wait for, so that none can come back.
 * The request of the youngest job then fails with an OutOfMemory that says so, and the job's memory comes back when its
 * scope closes.
 *
 * A lease is stuck when its scope, or the fiber that acquired the first lease of its scope, or the fiber that it is
 * lent to, has a request that is stuck. A fiber has the requests of the operations that it waits for, and an operation
 * the memory that it uses (`Operation`). A request is stuck when it waits in a line to which only stuck leases, stuck
 * reservations and the charges of stuck requests can give anything back. The requests that are left when all others are
 * removed, again and again, are a standstill. The rule does not see a release that another fiber would still do, so it
 * must hold twice, `suspectAfter` apart, with nothing given back in between.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { WaitingJob } from "../../../domain/GpuError.ts"
import type { Lease } from "../../lease/Lease.ts"
import type { LeaseTable } from "../../lease/LeaseTable.ts"
import type { JobTurns } from "./JobTurns.ts"
import { partyOf } from "./Operation.ts"
import type { SetAside } from "./SetAside.ts"
import type { Waiter, WaitLine, WaitLines } from "./WaitLine.ts"

/** The memory whose requests are watched. */
export interface Watched {
  readonly closed: boolean
  readonly lines: WaitLines
  /** The line of those that wait for its blocks. */
  readonly line: WaitLine
  readonly turns: JobTurns
  readonly leases: LeaseTable
  readonly reservations: ReadonlySet<SetAside>
  /** Itself and the others whose blocks come out of the same limit: what comes back to one may serve another. */
  readonly peers: ReadonlyArray<Watched>
  /** Whether its requests are still to hear of what came back. */
  readonly isTelling: boolean
}

/** Whose requests are stuck. */
class Parties {
  readonly #fibers = new Set<number>()
  readonly #scopes = new Set<Scope.Scope>()
  readonly #reservations = new Set<SetAside>()
  readonly #used = new Set<object>()

  constructor(waiters: Iterable<Waiter>) {
    for (const { request } of waiters) {
      const { fiberIds, scopes, uses } = partyOf(request)
      for (const id of fiberIds) this.#fibers.add(id)
      for (const scope of scopes) this.#scopes.add(scope)
      for (const memory of uses) this.#used.add(memory)
      if (request.turn !== undefined) this.#reservations.add(request.turn)
      for (let from = request.from; from !== undefined; from = from.parent) this.#reservations.add(from)
    }
  }

  holdsLease({ block, borrowerId, list }: Lease): boolean {
    if (this.#used.size > 0 && block !== undefined && this.#used.has(block.value.wholeMemory)) return true
    if (list?.scope === undefined) return this.#fibers.has(borrowerId)
    return this.#scopes.has(list.scope) || this.#fibers.has(list.fiberId)
  }

  holdsReservation(reservation: SetAside): boolean {
    return this.#reservations.has(reservation) || this.#fibers.has(reservation.fiberId)
  }
}

/** A memory, and its live leases at this look. */
interface Looked {
  readonly pool: Watched
  readonly live: ReadonlyArray<Lease>
}

/**
 * How many bytes some waiters have of what each line waits for: in their leases, their reservations and their hands. A turn
 * counts as a byte.
 */
const bytesByLine = (
  pools: ReadonlyArray<Looked>,
  waiters: Iterable<Waiter>
): ReadonlyMap<object, number> => {
  const parties = new Parties(waiters)
  const bytes = new Map<object, number>()
  const add = (line: object, more: number): void => void bytes.set(line, (bytes.get(line) ?? 0) + more)
  for (const { live, pool } of pools) {
    // What it has would come back to its own line, to the lines of others that their limit refused, and to budgets.
    const others = pools.filter((other) => other.pool !== pool && other.pool.line.isRefused)
    const addCharged = (budgets: ReadonlyArray<{ readonly line: object }>, more: number): void => {
      add(pool.line, more)
      for (const { line } of budgets) add(line, more)
    }
    for (const lease of live) {
      if (!parties.holdsLease(lease)) continue
      addCharged(lease.account?.budgets ?? [], lease.capacity)
      // The limit that they share counts leases, and nothing that is set aside.
      for (const other of others) add(other.pool.line, lease.capacity)
    }
    for (const one of pool.reservations) {
      if (!parties.holdsReservation(one)) continue
      add(pool.line, one.left)
      for (const budget of one.budgets) add(budget.line, one.setAsideOf(budget))
      if (pool.turns.isRunning(one)) add(pool.turns.line, 1)
    }
    const ownLines: ReadonlySet<object> = pool.lines.filled
    for (const { line, request: { budget, charge, drawn, from } } of waiters) {
      if (!ownLines.has(line)) continue
      addCharged(from?.budgets ?? [], drawn)
      for (const one of budget?.chain ?? []) add(one.line, charge?.charged(one) ?? 0)
    }
  }
  return bytes
}

/**
 * Those of the waiters that may have something: the fiber or the scope of a lease, or a request under a budget, in a
 * reservation or in a turn. Of a long line they are few.
 */
const havingAmong = (
  pools: ReadonlyArray<Looked>,
  waiters: ReadonlyArray<Waiter>
): ReadonlyArray<Waiter> => {
  const fibers = new Set<number>()
  const scopes = new Set<Scope.Scope | undefined>()
  for (const { live, pool } of pools) {
    for (const { borrowerId, list } of live) {
      fibers.add(list?.scope === undefined ? borrowerId : list.fiberId)
      if (list?.scope !== undefined) scopes.add(list.scope)
    }
    for (const { fiberId } of pool.reservations) fibers.add(fiberId)
  }
  return waiters.filter(({ request }) => {
    if (request.from !== undefined || request.turn !== undefined || request.charge !== undefined) return true
    const party = partyOf(request)
    return party.uses.length > 0 || party.fiberIds.some((id) => fibers.has(id)) ||
      party.scopes.some((scope) => scopes.has(scope))
  })
}

/** A line, and those of its waiters that may be stuck. */
interface Stuck {
  readonly line: WaitLine
  readonly waiters: ReadonlyArray<Waiter>
}

/** The requests that wait for each other now, among those that may. */
const findStuck = (
  pools: ReadonlyArray<Looked>,
  mayBe: (waiter: Waiter) => boolean
): ReadonlyArray<Waiter> => {
  const stuck = new Map<object, Stuck>(
    pools.flatMap(({ pool }) => Array.from(pool.lines.filled))
      .map((line) => [line, { line, waiters: line.parked().filter(mayBe) }])
  )
  const waiters = () => Array.from(stuck.values()).flatMap(({ waiters }) => waiters)
  const having = havingAmong(pools, waiters())
  for (let before = Infinity; stuck.size > 0 && stuck.size < before;) {
    before = stuck.size
    const stuckBytes = bytesByLine(pools, having.filter(({ line }) => stuck.has(line)))
    for (const { line } of stuck.values()) {
      if (line.countedBytes() > (stuckBytes.get(line) ?? 0)) stuck.delete(line)
    }
  }
  return waiters()
}

/** Whether other requests wait for the bytes that this one is charged with, while it waits in another line. */
const blocksBudget = ({ request: { budget, charge } }: Waiter): boolean =>
  budget?.chain.some(({ line }, index, chain) => line.length > 0 && charge?.charged(chain[index]!) !== 0) ?? false

/**
 * The age of each job, as the sequence number of its oldest lease or reservation. A job that asks for more keeps its
 * age, so the oldest job never fails, and at last it gets all that it needs.
 */
class Ages {
  readonly #ofFibers = new Map<number, number>()
  readonly #ofScopes = new Map<Scope.Scope, number>()
  readonly #ofMemory = new Map<object, number>()

  constructor(pools: ReadonlyArray<Looked>) {
    for (const { live, pool } of pools) {
      for (const { block, borrowerId, list, sequence } of live) {
        if (block === undefined || list === undefined) continue
        lower(this.#ofFibers, list.scope === undefined ? borrowerId : list.fiberId, sequence)
        if (list.scope !== undefined) lower(this.#ofScopes, list.scope, sequence)
        lower(this.#ofMemory, block.value.wholeMemory, sequence)
      }
      for (const { fiberId, left, sequence } of pool.reservations) {
        if (left > 0) lower(this.#ofFibers, fiberId, sequence)
      }
    }
  }

  /** Infinity for a job without memory. */
  of({ request }: Waiter): number {
    const { fiberIds, scopes, uses } = partyOf(request)
    return Math.min(
      ...fiberIds.map((id) => this.#ofFibers.get(id) ?? Infinity),
      ...scopes.map((scope) => this.#ofScopes.get(scope) ?? Infinity),
      ...uses.map((memory) => this.#ofMemory.get(memory) ?? Infinity),
      request.from?.isOpen === true ? request.from.sequence : Infinity
    )
  }
}

const lower = <K>(ages: Map<K, number>, key: K, age: number): void => {
  if (age < (ages.get(key) ?? Infinity)) ages.set(key, age)
}

/** The waiters whose jobs have memory that others wait for, the youngest first. */
const holdersAmong = (
  pools: ReadonlyArray<Looked>,
  waiters: ReadonlyArray<Waiter>
): ReadonlyArray<Waiter> => {
  const ages = new Ages(pools)
  return waiters
    .map((waiter) => ({ waiter, age: ages.of(waiter) }))
    .filter(({ age, waiter }) => age < Infinity || blocksBudget(waiter))
    .sort((a, b) => a.age === b.age ? b.waiter.arrival - a.waiter.arrival : b.age - a.age)
    .map(({ waiter }) => waiter)
}

const jobOf = (pools: ReadonlyArray<Looked>, waiter: Waiter): WaitingJob => {
  const { label, size } = waiter.request
  const parties = new Parties([waiter])
  return {
    label,
    requested: size,
    holdsBytes: bytesByLine(pools, [waiter]).get(pools[0]!.pool.line) ?? 0,
    holds: pools.flatMap(({ live }) => live).filter((lease) => parties.holdsLease(lease)).sort((a, b) =>
      b.capacity - a.capacity
    ).slice(0, 3)
      .map(({ label, size }) => ({ label, size }))
  }
}

/** So many jobs are named in an error. */
const mostNamed = 8

export class StandstillWatch {
  readonly #pool: Watched
  readonly #suspectAfterMillis: number
  readonly #run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Runs only while requests wait. */
  #timer: Fiber.Fiber<void> | undefined = undefined
  /** The requests that were stuck at the last look, and how much their lines had got back by then. */
  #suspects: ReadonlyMap<Waiter, number> = new Map()

  constructor(pool: Watched, suspectAfterMillis: number, run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.#pool = pool
    this.#suspectAfterMillis = suspectAfterMillis
    this.#run = run
  }

  /** A request begins to wait. */
  start(): void {
    const suspectAfterMillis = this.#suspectAfterMillis
    if (this.#timer !== undefined || suspectAfterMillis === Infinity || this.#pool.closed) return
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
    if (this.#pool.isTelling) {
      this.#suspects = new Map()
      return
    }
    const pools = this.#pool.peers.map((pool): Looked => ({ pool, live: pool.leases.live() }))
    const stuck = findStuck(pools, () => true)
    this.#suspects = new Map(stuck.map((waiter) => [waiter, waiter.line.returned()]))
    // The requests that were found before must wait for each other without later ones.
    const proven = stuck.length === 0
      ? stuck
      : findStuck(pools, (waiter) => before.get(waiter) === waiter.line.returned())
    if (proven.length > 0) this.#endYoungest(pools, proven)
  })

  /** The youngest. A request with `waitAtMost` ends by itself, and the oldest of several goes on. */
  #victimOf(holding: ReadonlyArray<Waiter>, stuck: ReadonlyArray<Waiter>): Waiter | undefined {
    const [oldest] = holding.slice(-1)
    const victim = (holding.length === 0 ? stuck : holding)
      .find(({ request }) => request.patience.waitAtMost === Infinity)
    return victim === oldest && holding.length > 1 ? undefined : victim
  }

  #endYoungest(pools: ReadonlyArray<Looked>, stuck: ReadonlyArray<Waiter>): void {
    const holding = holdersAmong(pools, stuck)
    const victim = this.#victimOf(holding, stuck)
    if (victim === undefined) return
    // One that lacks nothing but what it has itself would come to the same end again.
    const isAlone = !victim.line.hasRoomFor(victim.request) &&
      findStuck(pools, (waiter) => waiter === victim).length > 0
    // One without memory may stand before the only one that has some, and wait for that.
    const named = isAlone ? [victim] : holding.length > 1 ? holding : [victim, ...stuck.filter((one) => one !== victim)]
    const jobs = named.slice(0, mostNamed).map((waiter) => jobOf(pools, waiter))
    this.#suspects = new Map()
    // The memory of the failed job goes to the others, the oldest first. Requests of jobs without memory would take it,
    // and then wait for each other too.
    for (const waiter of holding) if (waiter !== victim) waiter.line.promote(waiter)
    victim.line.fail(victim, jobs)
  }
}
