/**
 * A model of the buffer pool, as plain as possible: arrays, linear scans and BigInt bytes. It uses no effects and no
 * fibers. A request is a generator, which stops where it waits for the driver.
 *
 * @since 0.1.0
 */
import type { FallbackStep, Released } from "effect-gpu-pool/GpuError"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import { ModelCalls } from "./ModelCalls.ts"

/**
 * A size policy in plain arithmetic: computes what a `SizePolicy` does, without its code.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelPolicy {
  readonly blockSize: (request: bigint) => bigint
  /** How far a request may borrow, in halves of its block size. */
  readonly borrowHalves: bigint
}

/**
 * An eviction policy: returns the held block to evict next while `missing` bytes are missing, or an unknown number of
 * them. The list has at least one block, the one that became held last first. Of several fitting blocks of one family
 * and size, the pool takes the first.
 *
 * @category models
 * @since 0.1.0
 */
export type ModelEviction = (held: ReadonlyArray<ModelBlock>, missing: bigint | undefined) => ModelBlock

/**
 * The properties of the pool and its device, in bytes. For a device of unknown memory, `capacityBytes` is more than any
 * run can use.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelOptions {
  readonly policy: ModelPolicy
  readonly eviction: ModelEviction
  readonly granularity: bigint
  readonly maxBufferSize: bigint
  readonly maxBytes: bigint | undefined
  readonly capacityBytes: bigint
  readonly lateFree: boolean
}

/**
 * How a lease ended; `undefined` before.
 *
 * @category models
 * @since 0.1.0
 */
export type Ended = Released["why"] | undefined

/**
 * A scope of the model. Its newest part comes first and ends first. A part is a child scope, or all of the leases, at
 * the place of the first one.
 *
 * @category models
 * @since 0.1.0
 */
export class ModelScope {
  open = true
  readonly leases: Array<ModelLease> = []
  readonly parts: Array<ModelScope | "leases"> = []
}

/**
 * A block of device memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelBlock {
  readonly family: number
  readonly capacity: bigint
  readonly binned: boolean
  active: boolean
  /** When it became held, as a count that grows. */
  heldSince: number
  /** When a block of its family and capacity was last leased again or released, as such a count. */
  binUsedAt: number
}

/**
 * A lease; `size` is its requested size.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelLease {
  readonly size: bigint
  block: ModelBlock | undefined
  /** Undefined for a lease of `use`. */
  scope: ModelScope | undefined
  ended: Ended
}

/**
 * How a request fails, as far as the model predicts it.
 *
 * @category models
 * @since 0.1.0
 */
export type Failure =
  | { readonly tag: "OutOfMemory"; readonly evidence: Readonly<Record<string, unknown>> }
  | { readonly tag: "Released"; readonly why: Ended }
  | { readonly tag: "LimitExceeded" | "DriverError" | "DeviceLost" }

/**
 * The result of a request.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = { readonly lease: ModelLease } | { readonly failure: Failure }

interface Request {
  readonly size: bigint
  readonly family: number
  readonly scope: ModelScope | undefined
}

/**
 * A request that waits for the driver.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pending {
  readonly steps: Generator<void, Outcome>
  readonly asked: {
    readonly capacity: bigint
    readonly size: bigint
    readonly binned: boolean
    readonly family: number
  }
  /** The fiber that waited for it is interrupted. */
  abandoned: boolean
  outcome: Outcome | undefined
}

const sum = (blocks: ReadonlyArray<ModelBlock>): bigint => blocks.reduce((total, block) => total + block.capacity, 0n)
const isOpen = (scope: ModelScope | undefined): boolean => scope === undefined || scope.open
const max = (a: bigint, b: bigint): bigint => a > b ? a : b

/**
 * The model of a pool: its blocks, the results of its requests, and every counter.
 *
 * **Example** (A block that serves twice)
 *
 * ```ts
 * import { PoolModel } from "@effect-gpu-pool/testing/properties"
 *
 * const model = new PoolModel.PoolModel({
 *   policy: { blockSize: (request) => request, borrowHalves: 0n },
 *   eviction: (held) => held.at(-1)!,
 *   granularity: 4n,
 *   maxBufferSize: 1024n,
 *   maxBytes: undefined,
 *   capacityBytes: 4096n,
 *   lateFree: false
 * })
 * const scope = new PoolModel.ModelScope()
 * model.allocate(61, 0, scope)
 * model.closeScope(scope)
 * model.allocate(64, 0, new PoolModel.ModelScope())
 * const { activeBytes, hits, managedBytes } = model.stats
 * console.log([activeBytes, hits, managedBytes]) // => [64n, 1n, 64n]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class PoolModel {
  /** The managed blocks. */
  blocks: Array<ModelBlock> = []
  readonly leases: Array<ModelLease> = []
  readonly scopes: Array<ModelScope> = []
  readonly pending: Array<Pending> = []
  /** Which calls to allocate fail. @internal */
  readonly allocations = new ModelCalls<"OutOfMemory" | "DriverError">()
  /** Which calls to free fail. @internal */
  readonly frees = new ModelCalls<true>()
  holding = true
  closed = false
  lost = false
  /** The last request to the driver. */
  #asked: Pending["asked"] | undefined = undefined
  #late = 0n
  #pending = 0n
  /** The requested sizes within the pending bytes. */
  #pendingRequests = 0n
  /** The largest sum of requested bytes leased at one time, sampled at misses. */
  #mostLeased = 0n
  /** Blocks that were freed as outgrown, and the bytes of those that the program requested again. */
  #outgrown: Array<{ readonly family: number; readonly capacity: bigint }> = []
  #missed = 0n
  /** Grows whenever a block becomes held or a bin is used. */
  #clock = 0
  readonly #counters = {
    peakActiveBytes: 0n,
    peakActiveBlocks: 0n,
    peakManagedBytes: 0n,
    peakManagedBlocks: 0n,
    hits: 0n,
    borrows: 0n,
    misses: 0n,
    driverAllocations: 0n,
    driverFrees: 0n,
    releaseFailures: 0n,
    waiters: 0n,
    reservedBytes: 0n
  }
  readonly #options: ModelOptions

  constructor(options: ModelOptions) {
    this.#options = options
  }

  /** The held blocks, the one that became held last first. */
  get held(): ReadonlyArray<ModelBlock> {
    return this.blocks.filter((block) => !block.active).sort((a, b) => b.heldSince - a.heldSince)
  }

  get live(): ReadonlyArray<ModelLease> {
    return this.leases.filter((lease) => lease.ended === undefined)
  }

  /** The bytes that count against the device's capacity. */
  get used(): bigint {
    return sum(this.blocks) + this.#late
  }

  get stats(): Readonly<Record<keyof PoolStats, bigint>> {
    const active = this.blocks.filter((block) => block.active)
    return {
      heldBlocks: BigInt(this.held.length),
      activeBlocks: BigInt(active.length),
      managedBlocks: BigInt(this.blocks.length),
      heldBytes: sum(this.held),
      fragmentedBytes: 0n,
      activeBytes: this.#activeBytes,
      managedBytes: sum(this.blocks),
      pendingBytes: this.#pending,
      ...this.#counters
    }
  }

  get #activeBytes(): bigint {
    return this.live.reduce((total, lease) => total + lease.size, 0n)
  }

  /** Runs a request to its end with a driver that answers at once. */
  allocate(size: number, family: number, scope: ModelScope | undefined): Outcome {
    const steps = this.#request(size, family, scope)
    let step = steps.next()
    while (step.done !== true) step = steps.next()
    return step.value
  }

  /**
   * Whether these requests may make blocks of two families with the same capacity. The model does not know which of
   * them the pool evicts first, so a run leaves such requests out.
   */
  mayTie(requests: ReadonlyArray<{ readonly size: number; readonly family: number }>): boolean {
    const families = new Map<bigint, number>()
    const meets = (family: number, capacity: bigint): boolean => {
      const known = families.get(capacity) ?? family
      families.set(capacity, known)
      return known !== family
    }
    for (const { capacity, family } of [...this.blocks, ...this.pending.map(({ asked }) => asked)]) {
      meets(family, capacity)
    }
    return requests.some(({ family, size }) => {
      if (size === 0) return false
      const request = { size: BigInt(size), family, scope: undefined }
      return [this.#blockSize(request), this.#rounded(request.size)].some((capacity) => meets(family, capacity))
    })
  }

  /** Starts a request. Its first call of the driver ends when `answer` is called, later calls at once. */
  start(size: number, family: number, scope: ModelScope | undefined): Pending | Outcome {
    const steps = this.#request(size, family, scope)
    const step = steps.next()
    if (step.done === true) return step.value
    const pending: Pending = { steps, asked: this.#asked!, abandoned: false, outcome: undefined }
    this.pending.push(pending)
    return pending
  }

  /** Ends all calls of the driver that are under way. */
  answer(): void {
    for (const pending of this.pending.splice(0)) {
      if (pending.abandoned) this.#answerNobody(pending)
      else pending.outcome = this.#finish(pending.steps)
    }
  }

  /** A lease of `use` ends as soon as it is granted, because its body does nothing. */
  #finish(steps: Pending["steps"]): Outcome {
    let step = steps.next()
    while (step.done !== true) step = steps.next()
    const outcome = step.value
    if ("lease" in outcome && outcome.lease.scope === undefined) this.end(outcome.lease, "scopeClosed")
    return outcome
  }

  end(lease: ModelLease, why: NonNullable<Ended>): void {
    if (lease.ended !== undefined) return
    lease.ended = why
    const block = lease.block
    lease.block = undefined
    if (lease.scope !== undefined) lease.scope.leases.splice(lease.scope.leases.indexOf(lease), 1)
    if (block !== undefined) this.#keep(block)
  }

  closeScope(scope: ModelScope): void {
    if (!scope.open) return
    scope.open = false
    for (const part of scope.parts) {
      if (part === "leases") { while (scope.leases.length > 0) this.end(scope.leases[0]!, "scopeClosed") }
      else this.closeScope(part)
    }
  }

  transfer(lease: ModelLease, scope: ModelScope): Failure | undefined {
    if (lease.ended === undefined && scope.open) {
      if (lease.scope !== undefined) lease.scope.leases.splice(lease.scope.leases.indexOf(lease), 1)
      this.#enter(lease, scope)
    } else {
      this.end(lease, "scopeClosed")
    }
    return lease.ended === undefined ? undefined : { tag: "Released", why: lease.ended }
  }

  freeHeld(): Failure | undefined {
    while (this.held.length > 0) this.#evict(undefined)
    if (this.lost) return { tag: "DeviceLost" }
    this.#late = 0n
    return undefined
  }

  stopHolding(): Failure | undefined {
    this.holding = false
    return this.freeHeld()
  }

  close(): void {
    this.closed = true
    this.holding = false
    for (const lease of this.live) this.end(lease, "poolClosed")
    for (const block of this.held) this.#free(block)
    this.#failPending({ tag: "Released", why: "poolClosed" })
  }

  lose(): void {
    this.lost = true
    this.holding = false
    for (const block of this.held) this.#free(block)
    this.#failPending({ tag: "DeviceLost" })
  }

  #failPending(failure: Failure): void {
    for (const pending of this.pending.splice(0)) {
      this.#removePending(pending.asked)
      if (!pending.abandoned) pending.outcome = { failure }
    }
  }

  *#request(size: number, family: number, scope: ModelScope | undefined): Generator<void, Outcome> {
    const request = { size: BigInt(size), family, scope }
    if (this.closed) return { failure: { tag: "Released", why: "poolClosed" } }
    if (this.lost) return { failure: { tag: "DeviceLost" } }
    if (this.#tooLarge(request.size)) return { failure: { tag: "LimitExceeded" } }
    if (scope !== undefined) this.#register(scope)
    if (!isOpen(scope)) return { failure: { tag: "Released", why: "scopeClosed" } }
    if (size === 0) return { lease: this.#grant(request, undefined) }
    const found = this.#search(request)
    if (found !== undefined) return { lease: found }
    if (this.#tooLarge(this.#rounded(request.size))) return { failure: { tag: "LimitExceeded" } }
    return yield* this.#climb(request)
  }

  *#climb(request: Request): Generator<void, Outcome> {
    const stepsTried = new Set<FallbackStep>(this.#options.policy.borrowHalves > 0n ? ["bin", "borrow"] : ["bin"])
    const exactSize = this.#rounded(request.size)
    let capacity = this.#ownSize(request)
    let refused = false
    let reclaimedAt: bigint | undefined
    const shrink = () => {
      if (capacity === exactSize) return false
      capacity = exactSize
      refused = false
      stepsTried.add("exact")
      return true
    }
    while (true) {
      if (this.lost) return { failure: { tag: "DeviceLost" } }
      if (this.closed) return { failure: { tag: "Released", why: "poolClosed" } }
      if (!isOpen(request.scope)) return { failure: { tag: "Released", why: "scopeClosed" } }
      const found = this.#search(request)
      if (found !== undefined) return { lease: found }
      if (refused && reclaimedAt !== this.#counters.driverFrees) {
        stepsTried.add("reclaim")
        reclaimedAt = this.#counters.driverFrees
        refused = false
        this.#late = 0n
      } else if (refused) {
        const helps = sum(this.blocks) - sum(this.held) + capacity <= this.#options.capacityBytes
        if (this.held.length > 0 && helps) {
          stepsTried.add("evict")
          this.#evict(undefined)
        } else if (!shrink()) return { failure: this.#outOfMemory(request, stepsTried) }
      } else if (this.#deficit(capacity) > sum(this.held)) {
        if (!shrink()) return { failure: this.#outOfMemory(request, stepsTried) }
      } else if (this.#deficit(capacity) > 0n) {
        while (this.#deficit(capacity) > 0n) {
          stepsTried.add("evict")
          this.#evict(this.#deficit(capacity))
        }
        this.#late = 0n
      } else {
        stepsTried.add("driver")
        const own = this.#ownSize(request)
        if (own < capacity) capacity = own
        // Where requests borrow, another request can have a block of an exact size too.
        const binned = capacity === this.#blockSize(request) || this.#options.policy.borrowHalves > 0n
        const asked = { capacity, size: request.size, binned, family: request.family }
        this.#pending += capacity
        this.#pendingRequests += request.size
        this.#freeOutgrown(request, capacity)
        this.#asked = asked
        yield
        this.#removePending(asked)
        const refusal = this.#driver(capacity)
        if (refusal === "DriverError") return { failure: { tag: "DriverError" } }
        if (refusal === "OutOfMemory") refused = true
        else {
          const block = this.#add(request.family, capacity, binned)
          if (isOpen(request.scope)) {
            this.#counters.misses += 1n
            return { lease: this.#grant(request, block) }
          }
          this.#keep(block)
        }
      }
    }
  }

  #answerNobody({ asked }: Pending): void {
    this.#removePending(asked)
    if (this.#driver(asked.capacity) !== undefined) return
    this.#keep(this.#add(asked.family, asked.capacity, asked.binned))
  }

  #removePending({ capacity, size }: Pending["asked"]): void {
    this.#pending -= capacity
    this.#pendingRequests -= size
  }

  /** The size of the request's bin; near the limit, the request's own size. */
  #ownSize(request: Request): bigint {
    const block = this.#blockSize(request)
    const largest = this.#largestFor(request)
    return largest === undefined || block <= largest ? block : this.#rounded(request.size)
  }

  /**
   * The largest block that the request may have now. Padding may take half of what is left of its allowance, a twelfth
   * of the limit.
   */
  #largestFor(request: Request): bigint | undefined {
    const { maxBytes, policy } = this.#options
    if (maxBytes === undefined || policy.borrowHalves === 0n) return undefined
    const active = sum(this.blocks.filter((block) => block.active)) - this.#activeBytes
    const left = maxBytes / 12n - active - (this.#pending - this.#pendingRequests)
    return this.#rounded(request.size) + max(left, 0n) / 2n
  }

  #mostBorrowed(blockSize: bigint): bigint {
    return blockSize + blockSize * this.#options.policy.borrowHalves / 2n
  }

  /**
   * Frees smaller blocks of the family, while the pool manages more than 1.9 times the most bytes that leases asked for
   * at one time.
   */
  #freeOutgrown(request: Request, capacity: bigint): void {
    if (this.#options.policy.borrowHalves === 0n) return
    const most = this.#mostBorrowed(this.#blockSize(request))
    const again = this.#outgrown
      .filter((one) => one.family === request.family && one.capacity >= capacity && one.capacity <= most)
      .sort((a, b) => Number(a.capacity - b.capacity))[0]
    if (again !== undefined) {
      this.#missed += again.capacity
      this.#outgrown = this.#outgrown.filter((one) => one !== again)
    }
    this.#mostLeased = [this.#counters.peakActiveBytes, this.#activeBytes + this.#pendingRequests]
      .reduce(max, this.#mostLeased)
    while (sum(this.blocks) + this.#pending > this.#mostLeased * 19n / 10n + this.#missed) {
      const smaller = this.held.filter((block) => block.family === request.family && block.capacity < capacity)
      const block = smaller.find((one) => smaller.every((other) => other.capacity <= one.capacity))
      if (block === undefined) return
      this.#outgrown.push({ family: block.family, capacity: block.capacity })
      this.#free(block)
    }
  }

  #driver(capacity: bigint): "OutOfMemory" | "DriverError" | undefined {
    return this.allocations.next() ?? (this.used + capacity > this.#options.capacityBytes ? "OutOfMemory" : undefined)
  }

  #search(request: Request): ModelLease | undefined {
    const own = this.#ownSize(request)
    const largest = this.#largestFor(request)
    const borrowed = this.#mostBorrowed(own)
    const reach = largest === undefined || borrowed < largest ? borrowed : largest
    const fitting = this.held.filter(({ capacity, family }) =>
      family === request.family && (capacity === own || (reach > own && capacity >= request.size && capacity <= reach))
    )
    const block = fitting.find(({ capacity }) => capacity === own) ??
      fitting.find(({ capacity }) => fitting.every((other) => capacity <= other.capacity))
    if (block === undefined) return undefined
    this.#counters.hits += 1n
    if (block.capacity !== own) this.#counters.borrows += 1n
    this.#use(block)
    return this.#grant(request, block)
  }

  #grant(request: Request, block: ModelBlock | undefined): ModelLease {
    if (block !== undefined) block.active = true
    const lease: ModelLease = { size: request.size, block, scope: undefined, ended: undefined }
    this.leases.push(lease)
    if (request.scope !== undefined) this.#enter(lease, request.scope)
    this.#notePeaks()
    return lease
  }

  #add(family: number, capacity: bigint, binned: boolean): ModelBlock {
    const block = { family, capacity, binned, active: false, heldSince: 0, binUsedAt: 0 }
    this.blocks.push(block)
    this.#counters.driverAllocations += 1n
    this.#notePeaks()
    return block
  }

  #enter(lease: ModelLease, scope: ModelScope): void {
    lease.scope = scope
    this.#register(scope)
    scope.leases.unshift(lease)
  }

  /** A request in a scope adds the place of its leases even if it fails later, but not if it is refused at once. */
  #register(scope: ModelScope): void {
    if (!scope.parts.includes("leases")) scope.parts.unshift("leases")
  }

  /** A block without a lease becomes held, or is freed. */
  #keep(block: ModelBlock): void {
    block.active = false
    if (!this.holding || !block.binned) return this.#free(block)
    block.heldSince = ++this.#clock
    this.#use(block)
  }

  #use({ capacity, family }: ModelBlock): void {
    const bin = this.blocks.filter((block) => block.family === family && block.capacity === capacity && block.binned)
    const now = ++this.#clock
    for (const block of bin) block.binUsedAt = now
  }

  #evict(missing: bigint | undefined): void {
    this.#free(this.#options.eviction(this.held, missing))
  }

  #free(block: ModelBlock): void {
    this.blocks = this.blocks.filter((other) => other !== block)
    this.#counters.driverFrees += 1n
    if (this.#options.lateFree) this.#late += block.capacity
    if (this.frees.next() === true) this.#counters.releaseFailures += 1n
  }

  #notePeaks(): void {
    const counters = this.#counters
    counters.peakActiveBytes = max(counters.peakActiveBytes, this.#activeBytes)
    counters.peakActiveBlocks = max(counters.peakActiveBlocks, BigInt(this.blocks.length - this.held.length))
    counters.peakManagedBytes = max(counters.peakManagedBytes, sum(this.blocks))
    counters.peakManagedBlocks = max(counters.peakManagedBlocks, BigInt(this.blocks.length))
  }

  #deficit(capacity: bigint): bigint {
    const { maxBytes } = this.#options
    return maxBytes === undefined ? 0n : max(capacity + sum(this.blocks) + this.#pending - maxBytes, 0n)
  }

  #tooLarge(size: bigint): boolean {
    return size > this.#largestBlock || size > this.#options.capacityBytes
  }

  get #largestBlock(): bigint {
    const { maxBufferSize, maxBytes } = this.#options
    return maxBytes === undefined || maxBufferSize < maxBytes ? maxBufferSize : maxBytes
  }

  #rounded(size: bigint): bigint {
    const { granularity } = this.#options
    return (size + granularity - 1n) / granularity * granularity
  }

  #blockSize({ size }: Request): bigint {
    const block = this.#rounded(this.#options.policy.blockSize(size))
    return block > this.#largestBlock ? this.#rounded(size) : block
  }

  #outOfMemory(request: Request, stepsTried: ReadonlySet<FallbackStep>): Failure {
    const { activeBytes, heldBytes, managedBytes, pendingBytes } = this.stats
    return {
      tag: "OutOfMemory",
      evidence: {
        requested: request.size,
        blockSize: this.#blockSize(request),
        limit: this.#options.maxBytes,
        activeBytes,
        heldBytes,
        managedBytes,
        pendingBytes,
        largestHeldBytes: this.held.reduce((most, { capacity }) => max(most, capacity), 0n),
        stepsTried: [...stepsTried],
        holders: this.live.filter(({ block }) => block !== undefined).map(({ size }) => size)
          .sort((a, b) => Number(b - a)).slice(0, 3)
      }
    }
  }
}
