/**
 * What a buffer pool whose requests wait should do on a driver that answers at once, with blocks of the exact size:
 * arrays of waiters in order of arrival, linear scans and BigInt bytes. It uses no fibers and no linked lists; a
 * request is a generator that stops where it waits, and the clock is a number.
 */
import type { Released } from "../../src/domain/GpuError.ts"
import type { EvictionOrder } from "../../src/domain/pool/EvictionPolicy.ts"

export interface WaitingModelOptions {
  readonly maxBytes: bigint
  readonly maxHeldBytes: bigint | undefined
  readonly maxBypasses: number
  /** The order of eviction for a known number of missing bytes; evictions here always have one. */
  readonly eviction: EvictionOrder
  readonly idle: { readonly steps: bigint; readonly stepMillis: number; readonly keepBytes: bigint } | undefined
}

export type Ended = Released["why"] | undefined

export type Failure =
  | { readonly tag: "OutOfMemory"; readonly evidence: Readonly<Record<string, unknown>> }
  | { readonly tag: "LimitExceeded"; readonly limitName: "maxBytes" | "budget" }
  | { readonly tag: "Released"; readonly why: Ended }
  | { readonly tag: "DeviceLost" }

/** How a request ends without a lease. */
export type Refusal = Failure | "interrupted" | "too late"

/** A limit: of a budget, or of the pool as the outermost one. */
export class ModelPlace {
  limit: bigint
  readonly parent: ModelPlace | undefined
  /** First come, first served. */
  queue: Array<ModelRequest> = []
  /** The number, among all entries into wait queues, of the first request since this queue was last empty. */
  filled = 0
  readonly handlers: Array<ModelHandler> = []
  hits = 0n
  misses = 0n

  constructor(limit: bigint, parent: ModelPlace | undefined) {
    this.limit = limit
    this.parent = parent
  }
}

/** A handler that releases the first of its live leases. */
export interface ModelHandler {
  readonly victims: ReadonlyArray<ModelRequest>
}

/** The leases of one scope, or those of `use`. */
export interface ModelList {
  closed: boolean
  leases: Array<ModelLease>
  /** Leases whose places in the list are known. */
  readonly ordered: Set<ModelLease>
}

interface ModelBlock {
  readonly capacity: bigint
  heldAt: bigint
}

export interface ModelLease {
  readonly size: bigint
  readonly place: ModelPlace
  block: ModelBlock | undefined
  list: ModelList
  ended: Ended
}

export interface WaitPolicy {
  readonly onExhausted: "fail" | "wait"
  readonly waitAtMost: number | undefined
  /** The duration of an `Effect.timeout` around the request. */
  readonly timeout: number | undefined
}

export class ModelRequest {
  readonly size: bigint
  readonly place: ModelPlace
  readonly waitPolicy: WaitPolicy
  list: ModelList | undefined
  lease: ModelLease | undefined = undefined
  refusal: Refusal | undefined = undefined
  /** The place in whose wait queue it waits, if any. */
  waitsIn: ModelPlace | undefined = undefined
  readonly charged = new Set<ModelPlace>()
  /** Its number among all entries into wait queues. */
  entered = 0
  passes = 0
  reserved = 0n
  /** Its outcome, until its fiber resumes. */
  answer: "served" | Failure | undefined = undefined
  waitingSince: number | undefined = undefined
  /** The alarm of its wait policy, while it is in a wait queue. */
  waitAlarm: Alarm | undefined = undefined
  /** The alarm of the timeout around the request. */
  timeoutAlarm: Alarm | undefined = undefined
  steps: Iterator<void, Failure | undefined> | undefined = undefined

  constructor(size: bigint, place: ModelPlace, waitPolicy: WaitPolicy) {
    this.size = size
    this.place = place
    this.waitPolicy = waitPolicy
  }

  get waits(): boolean {
    return this.lease === undefined && this.refusal === undefined
  }
}

interface Alarm {
  readonly at: number
  /** Alarms that are due at the same time go off in this order. */
  readonly order: number
  readonly ring: () => void
}

/** How many requests of a wait queue are examined. */
const window = 64

const sum = (numbers: ReadonlyArray<bigint>): bigint => numbers.reduce((total, n) => total + n, 0n)
const capacity = (blocks: ReadonlyArray<ModelBlock>): bigint => sum(blocks.map((block) => block.capacity))
const max = (a: bigint, b: bigint): bigint => a > b ? a : b
const min = (a: bigint, b: bigint): bigint => a < b ? a : b

export class WaitingModel {
  readonly pool: ModelPlace
  /** The pool, then the budgets in order of creation. */
  readonly places: Array<ModelPlace>
  readonly scopes: Array<ModelList> = []
  readonly uses: ModelList = { closed: false, leases: [], ordered: new Set() }
  readonly requests: Array<ModelRequest> = []
  /** In the order of their release, the longest held first. */
  held: Array<ModelBlock> = []
  active: Array<ModelBlock> = []
  /** The sizes of blocks in the order of their last use. */
  #used: Array<bigint> = []
  holding = true
  closed = false
  lost = false
  now = 0
  driverAllocations = 0n
  driverFrees = 0n
  readonly #options: WaitingModelOptions
  /** The requests with an outcome whose fibers have not resumed, in order. */
  #answered: Array<ModelRequest> = []
  #alarmsSet = 0
  #entries = 0
  #idleAlarm: Alarm | undefined = undefined
  #tick = 0n
  #startsTick = false
  /** Blocks that were released and not passed on to the next request of the wait queue. */
  #released = 0n
  #returning: ModelBlock | undefined = undefined
  #seen = 0n
  #stillSteps = 0n
  /** What was idle when each tick ended. */
  readonly #idled = new Map<bigint, bigint>()

  constructor(options: WaitingModelOptions) {
    this.#options = options
    this.pool = new ModelPlace(options.maxBytes, undefined)
    this.places = [this.pool]
  }

  // What can be seen

  get trimsIdle(): boolean {
    return this.#options.idle !== undefined
  }

  get heldBytes(): bigint {
    return capacity(this.held)
  }

  get managedBytes(): bigint {
    return this.heldBytes + capacity(this.active)
  }

  get pendingBytes(): bigint {
    return sum(this.requests.map(({ reserved }) => reserved))
  }

  get live(): ReadonlyArray<ModelLease> {
    return this.requests.flatMap(({ lease }) => lease === undefined || lease.ended !== undefined ? [] : [lease])
  }

  get waiting(): ReadonlyArray<ModelRequest> {
    return this.requests.filter((request) => request.waits)
  }

  get stats() {
    return {
      heldBlocks: BigInt(this.held.length),
      activeBlocks: BigInt(this.active.length),
      managedBlocks: BigInt(this.held.length + this.active.length),
      heldBytes: this.heldBytes,
      activeBytes: sum(this.live.map(({ size }) => size)),
      managedBytes: this.managedBytes,
      pendingBytes: this.pendingBytes,
      hits: this.pool.hits,
      borrows: 0n,
      misses: this.pool.misses,
      driverAllocations: this.driverAllocations,
      driverFrees: this.driverFrees,
      releaseFailures: 0n,
      waiters: BigInt(this.waiting.length)
    }
  }

  /** The counters of a budget: what is leased under it. */
  statsOf(place: ModelPlace) {
    const leases = this.leasesUnder(place).filter(({ block }) => block !== undefined)
    const bytes = sum(leases.map(({ size }) => size))
    return {
      activeBlocks: BigInt(leases.length),
      activeBytes: bytes,
      managedBytes: bytes,
      pendingBytes: sum(this.requests.filter(({ charged }) => charged.has(place)).map(({ size }) => size)),
      hits: place.hits,
      misses: place.misses,
      waiters: BigInt(place.queue.length)
    }
  }

  leasesUnder(place: ModelPlace): ReadonlyArray<ModelLease> {
    return this.live.filter((lease) => this.#chain(lease.place).includes(place))
  }

  // Commands

  openScope(): void {
    this.scopes.push({ closed: false, leases: [], ordered: new Set() })
  }

  openBudget(limit: bigint, parent: ModelPlace): void {
    this.places.push(new ModelPlace(limit, parent))
  }

  /** Starts a request; `list` is that of its scope, or the model's `uses` for a `use`. */
  start(size: number, place: ModelPlace, list: ModelList, waitPolicy: WaitPolicy): ModelRequest {
    const request = new ModelRequest(BigInt(size), place, waitPolicy)
    this.requests.push(request)
    request.steps = this.#request(request, list)
    this.#resume(request)
    const { timeout } = waitPolicy
    if (timeout !== undefined) request.timeoutAlarm = this.#alarm(timeout, () => this.#abandon(request, "too late"))
    this.#settle()
    return request
  }

  interrupt(request: ModelRequest): void {
    this.#abandon(request, "interrupted")
    this.#settle()
  }

  /** The body of a `use` has ended. */
  finish({ lease }: ModelRequest): void {
    if (lease !== undefined && lease.ended === undefined && lease.list === this.uses) {
      this.#end(lease, "scopeClosed")
    }
    this.#settle()
  }

  release(lease: ModelLease): Failure | undefined {
    if (lease.ended !== undefined) return { tag: "Released", why: lease.ended }
    this.#end(lease, "released")
    this.#settle()
    return undefined
  }

  transfer(lease: ModelLease, list: ModelList): Failure | undefined {
    if (lease.ended !== undefined) return { tag: "Released", why: lease.ended }
    if (list.closed) {
      this.#end(lease, "scopeClosed")
      this.#settle()
      return { tag: "Released", why: "scopeClosed" }
    }
    lease.list.leases = lease.list.leases.filter((other) => other !== lease)
    lease.list.ordered.delete(lease)
    lease.list = list
    list.leases.push(lease)
    return undefined
  }

  closeScope(list: ModelList): void {
    list.closed = true
    const waiters = this.waiting.filter((request) => request.list === list && request.waitsIn !== undefined)
    this.#endAll(waiters.sort((a, b) => b.entered - a.entered))
    while (list.leases.length > 0) this.#end(list.leases.at(-1)!, "scopeClosed")
    this.#settle()
  }

  setLimit(place: ModelPlace, bytes: bigint): Failure | undefined {
    const lowered = bytes < place.limit
    place.limit = bytes
    this.#endWaiters()
    if (place === this.pool && lowered) return this.trimTo(bytes - this.pendingBytes)
    this.#serve(place)
    this.#settle()
    return undefined
  }

  trimTo(bytes: bigint): Failure | undefined {
    while (this.managedBytes > bytes && this.held.length > 0) this.#freeBlock(this.#next(this.managedBytes - bytes))
    this.#serve(this.pool)
    this.#settle()
    return this.lost ? { tag: "DeviceLost" } : undefined
  }

  freeHeld(): Failure | undefined {
    return this.trimTo(-1n)
  }

  stopHolding(): Failure | undefined {
    this.holding = false
    return this.freeHeld()
  }

  resumeHolding(): void {
    if (!this.closed && !this.lost) this.holding = true
  }

  lose(): void {
    this.lost = true
    this.holding = false
    this.#endWaiters()
    for (const block of this.held) this.#freeBlock(block)
    this.#settle()
  }

  close(): void {
    this.closed = true
    this.holding = false
    this.#endWaiters()
    for (const lease of this.live) this.#end(lease, "poolClosed")
    for (const block of this.held) this.#freeBlock(block)
    this.#settle()
  }

  /**
   * Sorts the leases that a scope was granted since the last call into the pool's order: it is not specified which of
   * several requests gets its memory first, but a scope ends its last lease first. Earlier leases keep their places.
   */
  orderGrants(list: ModelList, order: ReadonlyArray<ModelLease>): void {
    const before = list.leases.filter((lease) => list.ordered.has(lease))
    const [same, others] = [order.slice(0, before.length), new Set(order)]
    if (order.length !== list.leases.length || !list.leases.every((lease) => others.has(lease))) {
      throw new Error("the scope has other leases than in the model")
    }
    if (!before.every((lease, i) => lease === same[i])) throw new Error("leases of a scope have changed places")
    list.leases = [...order]
    for (const lease of order) list.ordered.add(lease)
  }

  /** The next time at which something happens by itself, at most `latest`. */
  nextTime(latest: number): number {
    return Math.min(latest, ...this.#alarms().map(({ at }) => at))
  }

  /** Moves the clock to such a time. */
  advance(to: number): void {
    this.now = to
    let due = this.#alarms().find(({ at }) => at <= to)
    while (due !== undefined) {
      due.ring()
      this.#settle()
      due = this.#alarms().find(({ at }) => at <= to)
    }
  }

  // Requests

  *#request(request: ModelRequest, list: ModelList): Generator<void, Failure | undefined> {
    const { place, size } = request
    const problem = this.#problem(request)
    if (problem !== undefined && !("limitName" in problem && problem.limitName === "budget")) return problem
    request.list = list
    if (list.closed) return { tag: "Released", why: "scopeClosed" }
    if (size === 0n) {
      this.#grant(request, undefined, "hits")
      return undefined
    }
    if (problem !== undefined) return problem
    const budgets = this.#chain(place).filter((other) => other !== this.pool)
    for (const budget of budgets) {
      const failure = yield* this.#obtain(request, budget)
      if (failure !== undefined) return failure
    }
    return yield* this.#obtain(request, this.pool)
  }

  /** Obtains what the request needs at one place: a charge of a budget, or a lease of the pool. */
  *#obtain(request: ModelRequest, place: ModelPlace): Generator<void, Failure | undefined> {
    while (true) {
      const problem = this.#problem(request)
      if (problem !== undefined) return problem
      if (this.#tryNow(request, place)) break
      if (this.#askHandlers(place)) continue
      if (request.waitPolicy.onExhausted === "fail") return this.#outOfMemory(request, place)
      this.#wait(request, place)
      yield
      request.waitAlarm = undefined
      const answer = request.answer
      request.answer = undefined
      if (answer !== "served") return answer
      break
    }
    return place === this.pool ? this.#fetch(request) : undefined
  }

  /** Tries to serve the request at once, bypassing the wait queue where that is allowed. */
  #tryNow(request: ModelRequest, place: ModelPlace): boolean {
    if (place.queue.length === 0) return this.#take(request, place)
    this.#enter(request, place)
    if (request.answer === undefined) {
      this.#leave(request)
      return false
    }
    request.answer = undefined
    this.#answered = this.#answered.filter((other) => other !== request)
    return true
  }

  #wait(request: ModelRequest, place: ModelPlace): void {
    const { waitAtMost } = request.waitPolicy
    this.#enter(request, place)
    if (waitAtMost === undefined) return
    request.waitingSince ??= this.now
    const left = request.waitingSince + waitAtMost - this.now
    request.waitAlarm = this.#alarm(left, () => {
      const waited = this.now - request.waitingSince!
      this.#abandon(request, this.#outOfMemory(request, place, waited))
    })
  }

  #enter(request: ModelRequest, place: ModelPlace): void {
    request.waitsIn = place
    request.passes = 0
    request.entered = ++this.#entries
    if (place.queue.length === 0) place.filled = request.entered
    place.queue.push(request)
    this.#serve(place)
  }

  #leave(request: ModelRequest): void {
    const place = request.waitsIn
    if (place === undefined) return
    place.queue = place.queue.filter((other) => other !== request)
    request.waitsIn = undefined
  }

  /**
   * Serves in order. Only the first requests of the wait queue are examined, and none behind one that was bypassed too
   * often.
   */
  #serve(place: ModelPlace): void {
    let before: Array<ModelRequest> = []
    for (const request of place.queue) {
      if (before.length === window || before.some(({ passes }) => passes >= this.#options.maxBypasses)) return
      if (this.#take(request, place)) {
        for (const other of before) other.passes++
        this.#leave(request)
        this.#answer(request, "served")
      } else {
        before = [...before, request]
      }
    }
  }

  /** Charges a budget, or takes a held block, or adds pending bytes, which may evict other blocks. */
  #take(request: ModelRequest, place: ModelPlace): boolean {
    if (place !== this.pool) {
      if (this.#free(place) < request.size) return false
      request.charged.add(place)
      return true
    }
    const own = this.#lastHeld(request.size)
    if (own !== undefined) {
      this.held = this.held.filter((block) => block !== own)
      this.#use(own)
      if (own === this.#returning) this.#released -= 1n
      this.#grant(request, own, "hits")
      return true
    }
    if (capacity(this.active) + this.pendingBytes + request.size > place.limit) return false
    const rest = place.limit - this.pendingBytes - request.size
    while (this.managedBytes > rest) this.#freeBlock(this.#next(this.managedBytes - rest))
    request.reserved = request.size
    return true
  }

  /** Allocates the pending bytes, unless the request already has a lease. */
  #fetch(request: ModelRequest): Failure | undefined {
    if (request.lease !== undefined) return undefined
    const problem = this.#problem(request)
    if (problem !== undefined) return problem
    request.reserved = 0n
    this.driverAllocations += 1n
    this.#grant(request, { capacity: request.size, heldAt: 0n }, "misses")
    return undefined
  }

  #grant(request: ModelRequest, block: ModelBlock | undefined, from: "hits" | "misses"): void {
    const { list, place, size } = request
    request.lease = { size, place, block, list: list!, ended: undefined }
    list!.leases.push(request.lease)
    request.charged.clear()
    if (block === undefined) return
    this.active.push(block)
    for (const one of this.#chain(place)) one[from] += 1n
  }

  #answer(request: ModelRequest, answer: "served" | Failure): void {
    request.answer = answer
    this.#answered.push(request)
  }

  #settle(): void {
    if (this.#startsTick) this.#startIdle()
    for (let request = this.#answered.shift(); request !== undefined; request = this.#answered.shift()) {
      this.#resume(request)
    }
  }

  #resume(request: ModelRequest): void {
    const step = request.steps!.next()
    if (step.done !== true) return
    request.refusal = step.value
    this.#remove(request)
  }

  #abandon(request: ModelRequest, refusal: Refusal): void {
    request.refusal = refusal
    this.#remove(request)
  }

  /** Removes everything of an ended request. */
  #remove(request: ModelRequest): void {
    this.#leave(request)
    request.reserved = 0n
    request.charged.clear()
    for (const place of this.#chain(request.place)) this.#serve(place)
  }

  /** Asks the handlers in order, and returns whether what one freed helps the place. */
  #askHandlers(place: ModelPlace): boolean {
    for (const { victims } of place.handlers) {
      const victim = victims.find(({ lease }) => lease !== undefined && lease.ended === undefined)
      if (victim === undefined) continue
      const { block, place: where } = victim.lease!
      const served = place.hits + place.misses
      this.#end(victim.lease!, "released")
      // A handler that freed nothing here counts as one that declined, unless its release served a request here.
      if (block !== undefined && this.#chain(where).includes(place)) return true
      if (place.hits + place.misses !== served) return true
    }
    return false
  }

  /** The failure of a request that cannot be served now, or ever. */
  #problem(request: ModelRequest): Failure | undefined {
    if (this.closed) return { tag: "Released", why: "poolClosed" }
    if (this.lost) return { tag: "DeviceLost" }
    if (request.list?.closed === true) return { tag: "Released", why: "scopeClosed" }
    for (const place of [this.pool, ...this.#chain(request.place)]) {
      if (request.size <= place.limit) continue
      return { tag: "LimitExceeded", limitName: place === this.pool ? "maxBytes" : "budget" }
    }
    return undefined
  }

  /** Ends the waiting requests, one wait queue after the other. */
  #endWaiters(): void {
    this.#endAll([...this.places].sort((a, b) => a.filled - b.filled).flatMap(({ queue }) => queue))
  }

  #endAll(requests: ReadonlyArray<ModelRequest>): void {
    for (const request of requests) {
      const problem = this.#problem(request)
      if (problem === undefined) continue
      this.#leave(request)
      this.#answer(request, problem)
    }
  }

  #outOfMemory(request: ModelRequest, place: ModelPlace, waitedMillis?: number): Failure {
    const isPool = place === this.pool
    const { activeBytes, managedBytes, pendingBytes } = isPool ? this.stats : this.statsOf(place)
    return {
      tag: "OutOfMemory",
      evidence: {
        requested: request.size,
        limitName: isPool ? "maxBytes" : "budget",
        limit: place.limit,
        activeBytes,
        heldBytes: isPool ? this.heldBytes : 0n,
        managedBytes,
        pendingBytes,
        waitedMillis
      }
    }
  }

  // Places, lists and blocks

  /** From the innermost out; the pool is the last one. */
  #chain(place: ModelPlace): ReadonlyArray<ModelPlace> {
    if (place === this.pool) return [place]
    return [place, ...this.#chain(place.parent ?? this.pool)]
  }

  #free(budget: ModelPlace): bigint {
    const { managedBytes, pendingBytes } = this.statsOf(budget)
    return budget.limit - managedBytes - pendingBytes
  }

  #end(lease: ModelLease, why: NonNullable<Ended>): void {
    const { block, list, place } = lease
    lease.ended = why
    list.leases = list.leases.filter((other) => other !== lease)
    lease.block = undefined
    if (block === undefined) return
    this.active = this.active.filter((other) => other !== block)
    this.#release(block)
    this.#released += 1n
    this.#returning = block
    this.#serve(this.pool)
    this.#returning = undefined
    for (const one of this.#chain(place)) this.#serve(one)
  }

  #release(block: ModelBlock): void {
    const { maxHeldBytes } = this.#options
    const isOver = this.managedBytes + block.capacity + this.pendingBytes > this.pool.limit
    if (!this.holding || isOver || (maxHeldBytes !== undefined && block.capacity > maxHeldBytes)) {
      this.driverFrees += 1n
      return
    }
    block.heldAt = this.#tick
    this.held.push(block)
    this.#use(block)
    this.#startIdleAlarm()
    while (this.heldBytes > (maxHeldBytes ?? this.heldBytes)) this.#freeBlock(this.held[0]!)
  }

  #freeBlock(block: ModelBlock): void {
    this.held = this.held.filter((other) => other !== block)
    this.driverFrees += 1n
  }

  #use({ capacity }: ModelBlock): void {
    this.#used = [...this.#used.filter((size) => size !== capacity), capacity]
  }

  /**
   * The held block to evict next; of several of one size the one that became held last, unless the policy is by age.
   */
  #next(missing: bigint): ModelBlock {
    const sizes = this.held.map((block) => block.capacity)
    const largest = sizes.reduce(max)
    switch (this.#options.eviction) {
      case "byNeed":
        return this.#lastHeld(sizes.filter((size) => size >= missing).reduce(min, largest))!
      case "largestFirst":
        return this.#lastHeld(largest)!
      case "oldestFirst":
        return this.held[0]!
      case "leastRecentlyUsed":
        return this.#lastHeld(this.#used.find((size) => sizes.includes(size))!)!
    }
  }

  #lastHeld(capacity: bigint): ModelBlock | undefined {
    return this.held.filter((block) => block.capacity === capacity).at(-1)
  }

  // Time

  #alarm(delay: number, ring: () => void): Alarm {
    return { at: this.now + delay, order: this.#alarmsSet++, ring }
  }

  #alarms(): ReadonlyArray<Alarm> {
    const ofRequests = this.waiting.flatMap(({ timeoutAlarm, waitAlarm }) => [timeoutAlarm, waitAlarm])
    return [this.#idleAlarm, ...ofRequests].filter((alarm) => alarm !== undefined)
      .sort((a, b) => a.at - b.at || a.order - b.order)
  }

  // Idle memory: of the bytes that became idle in one tick a share may stay, smaller with every tick. Only whole blocks
  // are freed.

  get #isIdle(): boolean {
    const { idle } = this.#options
    return idle !== undefined && this.heldBytes > idle.keepBytes && !this.closed
  }

  #startIdleAlarm(): void {
    if (this.#idleAlarm !== undefined || !this.#isIdle) return
    this.#stillSteps = 0n
    this.#startsTick = true
    this.#idleAlarm = this.#alarm(this.#options.idle!.stepMillis, () => this.#idleStep())
  }

  /** Blocks released in the same turn have been idle for as long, unless they were leased again. */
  #startIdle(): void {
    this.#startsTick = false
    this.#nextTick()
    if (!this.#isIdle) this.#idleAlarm = undefined
  }

  #nextTick(): void {
    this.#idled.set(this.#tick, capacity(this.held.filter(({ heldAt }) => heldAt === this.#tick)))
    this.#tick += 1n
  }

  #idleStep(): void {
    const { stepMillis, steps } = this.#options.idle!
    this.#nextTick()
    for (let block = this.#tooIdle(); block !== undefined; block = this.#tooIdle()) this.#freeBlock(block)
    const freed = this.#released + this.driverFrees
    this.#stillSteps = freed === this.#seen ? this.#stillSteps + 1n : 0n
    this.#seen = freed
    this.#serve(this.pool)
    // After a whole time to live, less than one block above the floor is left.
    const goesOn = this.#isIdle && this.#stillSteps <= steps
    this.#idleAlarm = goesOn ? this.#alarm(stepMillis, () => this.#idleStep()) : undefined
  }

  #tooIdle(): ModelBlock | undefined {
    const { keepBytes, steps } = this.#options.idle!
    const spare = this.heldBytes - keepBytes
    return this.held.filter((block) => this.held.find(({ heldAt }) => heldAt === block.heldAt) === block)
      .find((first) => {
        const whole = this.#tick - 1n - first.heldAt
        const left = max(steps - whole, 0n)
        if (left === 0n && first !== this.held[0]) return false
        const stays = whole <= 0n ? this.heldBytes : (this.#idled.get(first.heldAt)! * left + steps - 1n) / steps
        const cohort = capacity(this.held.filter(({ heldAt }) => heldAt === first.heldAt))
        return first.capacity <= min(spare, cohort - stays)
      })
  }
}
