/**
 * What a pool does when no held block fits: the out-of-memory ladder. Bin, borrow, driver, reclaim, evict, exact size;
 * the pool is searched again after every rung, since releases go on meanwhile.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { DeviceStatus } from "../../domain/DeviceStatus.ts"
import { BufferReleased, type GpuError, make as makeError, OutOfMemory, type Rung } from "../../domain/GpuError.ts"
import type { PoolBlock } from "../../domain/PoolCore.ts"
import type { Allocator } from "../Allocator.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import type { LeaseList } from "./LeaseList.ts"
import { allOf, type LeasePool } from "./LeasePool.ts"

/**
 * One request for a lease, from its check to its answer.
 *
 * @internal
 */
export interface LeaseRequest {
  readonly size: number
  readonly usage: BufferUsage
  readonly label: string | undefined
  /** The block that the size policy makes of it. */
  readonly blockSize: number
  /** The size without slack: the request rounded up to the device's granularity. */
  readonly exactSize: number
  /** The list that will own the lease. */
  readonly list: LeaseList
  /** Set in the step that grants it, so that `use` can end it wherever it is interrupted. */
  granted: PooledBuffer | undefined
}

/**
 * What the ladder stands on.
 *
 * @internal
 */
export interface LadderPool {
  readonly leases: LeasePool
  readonly allocator: Allocator["Service"]
  readonly status: DeviceStatus
  /** Whether its size policy looks into larger bins. */
  readonly borrows: boolean
  /** The family's usage of the blocks for a requested usage. */
  readonly blockUsage: (usage: BufferUsage) => BufferUsage
  /** A lease from a held block, if there is one now. */
  readonly search: (request: LeaseRequest) => Effect.Effect<PooledBuffer, GpuError> | undefined
  /** Turns an active block into a lease. */
  readonly handOut: (
    request: LeaseRequest,
    block: PoolBlock<DeviceBuffer>
  ) => Effect.Effect<PooledBuffer, GpuError>
  /** Driver allocations under way. */
  readonly inFlight: Set<Fiber.Fiber<DeviceBuffer, GpuError>>
}

/** What is tried next, and what was tried. */
class Climb {
  readonly rungs: Set<Rung>
  /** The block that is asked of the driver. */
  capacity: number
  /** The driver was asked and had no memory; nothing was done about it since. */
  refused = false
  /** The pool's count of freed blocks when memory was last reclaimed. */
  #reclaimedAt: number | undefined = undefined
  readonly pool: LadderPool
  readonly request: LeaseRequest

  constructor(pool: LadderPool, request: LeaseRequest) {
    this.pool = pool
    this.request = request
    this.rungs = new Set(pool.borrows ? ["bin", "borrow"] : ["bin"])
    this.capacity = request.blockSize
  }

  /** A block of the exact-size rung belongs to no bin. */
  get isExact(): boolean {
    return this.capacity !== this.request.blockSize
  }

  /** The block size was a wish; what was asked for may be less. False when that was tried, or is the same. */
  shrinkToExact(): boolean {
    if (this.isExact || this.request.exactSize === this.capacity) return false
    this.capacity = this.request.exactSize
    this.rungs.add("exact")
    return true
  }

  /**
   * Under the byte limit the deficit is known: evicts the smallest held block that covers it, else the largest ones
   * until it is covered, and waits until the driver has them back: or real memory would grow beyond the limit where
   * freed memory comes back late. Nothing is evicted when even everything held would not do; the answer is then
   * `undefined`.
   */
  makeRoom(): Effect.Effect<void, GpuError> | undefined {
    const { allocator, leases } = this.pool
    let deficit = leases.core.deficit(this.capacity)
    if (deficit > leases.core.heldBytes) return undefined
    const failures: Array<Effect.Effect<void> | undefined> = []
    while (deficit > 0) {
      const block = leases.core.evictCovering(deficit)
      if (block === undefined) return undefined
      this.rungs.add("evict")
      failures.push(leases.free(block))
      deficit = leases.core.deficit(this.capacity)
    }
    return Effect.andThen(allOf(failures), allocator.reclaim)
  }

  /**
   * The driver refused. What anybody freed since the last reclaim may not be back yet; if it is, a block is evicted; if
   * none can help, less is asked for. `undefined` when nothing is left to try.
   */
  relieve(): Effect.Effect<void, GpuError> | undefined {
    const { allocator, leases } = this.pool
    if (this.#reclaimedAt !== leases.core.driverFrees) {
      this.#reclaimedAt = leases.core.driverFrees
      this.refused = false
      this.rungs.add("reclaim")
      return allocator.reclaim
    }
    const evicted = this.evictLargest()
    if (evicted !== undefined) return evicted
    if (!this.shrinkToExact()) return undefined
    this.refused = false
    return Exit.void
  }

  /** By how much the driver lacks memory is unknown: one block, the largest, and only while it can help. */
  evictLargest(): Effect.Effect<void> | undefined {
    const { core } = this.pool.leases
    const { memoryBytes } = this.pool.leases.info.limits
    const activeCapacity = core.managedBytes - core.heldBytes
    if (memoryBytes !== undefined && activeCapacity + this.capacity > memoryBytes) return undefined
    const block = core.evictLargest()
    if (block === undefined) return undefined
    this.rungs.add("evict")
    return this.pool.leases.free(block) ?? Exit.void
  }

  /** Why nobody should wait for the lease any more. */
  endedProblem(): GpuError | undefined {
    const { pool, request } = this
    if (pool.status.error !== undefined) return pool.status.error
    if (pool.leases.closed) return unavailable(request, "poolClosed")
    return request.list.closed ? unavailable(request, "scopeClosed") : undefined
  }

  /**
   * Where callers' handlers and waiting for a release belong, once they exist: when it succeeds, something was freed,
   * and the climb starts at the bin again.
   */
  lastResort(): Effect.Effect<void, GpuError> {
    return this.outOfMemory()
  }

  outOfMemory(): GpuError {
    const { core } = this.pool.leases
    return makeError(
      new OutOfMemory({
        requested: this.request.size,
        blockSize: this.request.blockSize,
        pooled: true,
        limit: core.maxBytes,
        activeBytes: core.activeBytes,
        heldBytes: core.heldBytes,
        managedBytes: core.managedBytes,
        reservedBytes: core.reservedBytes,
        largestHeldBytes: core.largestHeld,
        rungs: [...this.rungs],
        holders: this.pool.leases.largestHolders(3)
      })
    )
  }
}

/**
 * The error of asking for a lease in a scope or pool that is closed.
 *
 * @internal
 */
export const unavailable = (
  request: { readonly size: number; readonly label: string | undefined },
  why: BufferReleased["why"]
): GpuError =>
  makeError(new BufferReleased({ operation: "BufferPool.allocate", label: request.label, size: request.size, why }))

/**
 * Climbs until there is a lease or nothing left to try.
 *
 * @internal
 */
export const climb = Effect.fnUntraced(function*(
  pool: LadderPool,
  request: LeaseRequest
): Effect.fn.Return<PooledBuffer, GpuError> {
  const state = new Climb(pool, request)
  while (true) {
    const problem = state.endedProblem()
    if (problem !== undefined) return yield* problem
    const found = pool.search(request)
    if (found !== undefined) return yield* found
    if (state.refused) {
      yield* state.relieve() ?? state.lastResort()
      continue
    }
    if (pool.leases.core.deficit(state.capacity) > 0) {
      const room = state.makeRoom()
      if (room !== undefined) yield* room
      else if (!state.shrinkToExact()) yield* state.lastResort()
      continue
    }
    const answer = yield* Effect.result(askDriver(state))
    if (Result.isFailure(answer)) {
      if (answer.failure.reason._tag !== "OutOfMemory") return yield* answer.failure
      state.refused = true
    } else if (answer.success !== undefined) {
      return yield* answer.success
    }
  }
})

/** What came of asking the driver: a block handed out, or nothing, and then the pool should be searched again. */
type Answer = Effect.Effect<PooledBuffer, GpuError> | undefined

/**
 * Asks the driver for a block and turns it into the lease. The bytes are reserved before, in the step in which they
 * were found to fit.
 *
 * The driver call runs on a fiber of its own: when the requester is interrupted meanwhile, a block that proves valid is
 * kept as held.
 */
const askDriver = (state: Climb): Effect.Effect<Answer, GpuError> =>
  Effect.withFiber((fiber) => {
    const { pool, request } = state
    const { capacity, isExact } = state
    if (!pool.leases.core.reserve(capacity)) return Exit.succeed(undefined)
    state.rungs.add("driver")
    // Uninterruptible from its start: an interruption may cut the driver's waiting short, and never loses its answer.
    const running = Effect.runForkWith(fiber.context)(
      pool.allocator.allocate(capacity, { usage: pool.blockUsage(request.usage), label: request.label }),
      { uninterruptible: true }
    )
    const settle = (exit: Exit.Exit<DeviceBuffer, GpuError>, awaited: boolean) =>
      Exit.isSuccess(exit)
        ? keep(pool, request, exit.value, capacity, isExact, awaited)
        : refuse(pool, request, exit, capacity)
    const done = running.pollUnsafe()
    if (done !== undefined) return settle(done, true)
    let resume: ((answer: Effect.Effect<Answer, GpuError>) => void) | undefined
    let early: Effect.Effect<Answer, GpuError> | undefined
    pool.inFlight.add(running)
    running.addObserver((exit) => {
      pool.inFlight.delete(running)
      const answer = settle(exit, resume !== undefined)
      if (resume === undefined) early = answer
      else resume(answer)
    })
    return Effect.callback((register) => {
      // The run loop may have yielded before this step, and the driver answered: then its block is held by now.
      if (early !== undefined) return register(early)
      resume = register
      return Effect.sync(() => {
        resume = undefined
      })
    })
  })

/** The driver gave a block: it becomes a lease, or held when nobody waits for it, or it goes back. */
const keep = (
  pool: LadderPool,
  request: LeaseRequest,
  buffer: DeviceBuffer,
  capacity: number,
  isExact: boolean,
  awaited: boolean
): Effect.Effect<Answer, GpuError> => {
  const { core } = pool.leases
  const family = pool.blockUsage(request.usage)
  const wanted = awaited && !pool.leases.closed && !request.list.closed
  if (wanted) {
    const block = isExact
      ? core.addActiveUnbinned(capacity, buffer, request.size)
      : core.addActive(family, capacity, buffer, request.size)
    return Exit.succeed(pool.handOut(request, block))
  }
  const block = isExact ? core.addDetached(capacity, buffer) : core.addHeld(family, capacity, buffer)
  return block.state === "held" ? Exit.succeed(undefined) : Effect.as(pool.leases.free(block) ?? Exit.void, undefined)
}

const refuse = (
  pool: LadderPool,
  request: LeaseRequest,
  exit: Exit.Failure<DeviceBuffer, GpuError>,
  capacity: number
): Effect.Effect<never, GpuError> => {
  pool.leases.core.unreserve(capacity)
  if (!Cause.hasInterruptsOnly(exit.cause)) return Exit.failCause(exit.cause)
  // The pool's close, or the loss of the device, interrupts the driver calls under way.
  return pool.leases.closed ? unavailable(request, "poolClosed") : pool.status.error ?? Exit.failCause(exit.cause)
}
