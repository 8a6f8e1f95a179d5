/**
 * What a pool does when no held block fits: the out-of-memory ladder. Bin, borrow, driver, reclaim, evict, exact size,
 * the program's handlers, waiting; the pool is searched again after every rung, since others may release meanwhile.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { GpuError, Rung } from "../../domain/GpuError.ts"
import { traced } from "../calls/Tracing.ts"
import { Lease } from "../lease/Lease.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { askDriver } from "./DriverCall.ts"
import type { Memory } from "./Memory.ts"
import { drawMore, type LeaseRequest } from "./waiting/LeaseRequest.ts"
import type { Outcome, Reservation } from "./waiting/Waiter.ts"

const withBorrowing: ReadonlyArray<Rung> = ["bin", "borrow"]

const withoutBorrowing: ReadonlyArray<Rung> = ["bin"]

/** What comes before the driver. */
export const searchRungs = ({ source }: { readonly source: Pick<PoolSource, "borrows"> }): ReadonlyArray<Rung> =>
  source.borrows ? withBorrowing : withoutBorrowing

/** What is tried next, and what was tried. */
class Climb {
  readonly rungs: Set<Rung>
  /** The block size that the driver is asked for. */
  capacity: number
  /** The driver had no memory, and nothing was freed since. */
  refused = false
  /** What the pool had got back when the driver was asked. */
  #askedAt = 0
  /** The same for the last time that it had no memory: before something came back, nobody needs to ask it again. */
  #refusedAt: number | undefined = undefined
  /** The pool's count of freed blocks when memory was last reclaimed. */
  #reclaimedAt: number | undefined = undefined
  readonly memory: Memory
  readonly request: LeaseRequest

  constructor(memory: Memory, request: LeaseRequest) {
    this.memory = memory
    this.request = request
    this.rungs = new Set(searchRungs(request))
    this.capacity = this.wanted
  }

  /** The policy's block, unless a limit, a budget, or what is set aside for others, leaves no room for it. */
  get wanted(): number {
    const { blockSize, exactSize } = this.request
    return this.memory.blocks.allowance(this.request) < blockSize ? exactSize : blockSize
  }

  /** Falls back from the block size to the requested size. False when that was tried, or is the same. */
  shrinkToExact(): boolean {
    if (this.request.exactSize === this.capacity) return false
    this.capacity = this.request.exactSize
    this.rungs.add("exact")
    return true
  }

  /** Something was freed, or may have been: everything is worth trying again. */
  restart(): void {
    this.refused = false
    this.capacity = this.wanted
    this.#reclaimedAt = undefined
  }

  /** Goes on with bytes that a release left for this request. */
  accept({ capacity, evicted, whenBack }: Reservation): Effect.Effect<void, GpuError> {
    this.refused = false
    this.capacity = capacity
    this.rungs.add("wait")
    if (evicted) this.rungs.add("evict")
    return whenBack
  }

  /** What comes before the driver can be asked, or `undefined` when nothing is left to try. */
  nextStep(): Effect.Effect<void, GpuError> | "ask" | undefined {
    if (this.refused) return this.relieve()
    const { memory: { blocks, core }, request } = this
    if (request.reserved > 0) return "ask"
    if (core.deficit(this.capacity) === 0 && blocks.mayFit(request, this.capacity)) return "ask"
    return this.makeRoom() ?? (this.shrinkToExact() ? Exit.void : undefined)
  }

  /** Evicts for a known deficit, and waits until the driver has the blocks back. `undefined` when it cannot help. */
  makeRoom(): Effect.Effect<void, GpuError> | undefined {
    const { blocks } = this.memory
    const room = blocks.makeRoom(this.request, this.capacity)
    if (room === undefined) return undefined
    this.rungs.add("evict")
    return Effect.andThen(room.failures, blocks.reclaim)
  }

  /**
   * The driver refused. Memory that was freed since the last reclaim may not be back yet, so it reclaims. Else it
   * evicts a block; if none can help, it asks for the exact size. `undefined` when nothing is left to try. */
  relieve(): Effect.Effect<void, GpuError> | undefined {
    const { blocks, core } = this.memory
    if (this.#reclaimedAt !== core.driverFrees) {
      this.#reclaimedAt = core.driverFrees
      this.refused = false
      this.rungs.add("reclaim")
      return blocks.reclaim
    }
    const evicted = this.evictNext()
    if (evicted !== undefined) return evicted
    if (!this.shrinkToExact()) return undefined
    this.refused = false
    return Exit.void
  }

  /** By how much the driver lacks memory is unknown: one block, the policy's next, and only while it can help. */
  evictNext(): Effect.Effect<void> | undefined {
    const { blocks, core } = this.memory
    const { memoryBytes } = blocks.limits
    const activeCapacity = core.managedBytes - core.heldBytes
    if (memoryBytes !== undefined && activeCapacity + this.capacity > memoryBytes) return undefined
    const block = core.evictNext()
    if (block === undefined) return undefined
    blocks.events?.roomNeeded(this.request, 0)
    this.rungs.add("evict")
    return blocks.free(block, "evicted") ?? Exit.void
  }

  /** Handlers, then waiting: the lease or the bytes that the request got, or `undefined` to begin again at the bin. */
  lastResort(): Effect.Effect<Outcome, GpuError> {
    const { memory, request } = this
    const { blocks } = memory
    const seen = blocks.progress
    return memory.lastResort.take({
      request,
      rungs: this.rungs,
      missing: () => this.refused ? 0 : memory.missing(request),
      refusal: this.#refusedAt === seen ? { seen, isPast: () => blocks.progress !== seen } : undefined,
      mayWait: () => memory.mayWait(request, this.refused)
    })
  }

  /** Bytes under the limit, reserved for what the driver gives; false when they are not there. */
  reserve(): boolean {
    const { memory: { blocks }, request } = this
    if (request.reserved > 0) {
      this.capacity = request.reserved
    } else {
      // Others may have used the budget since the block was chosen; the exact size it has at least.
      this.capacity = Math.min(this.capacity, this.wanted)
      if (!blocks.reserve(request, this.capacity)) return false
    }
    request.charge?.resize(this.capacity)
    this.#askedAt = blocks.progress
    this.rungs.add("driver")
    return true
  }

  /**
   * A request that waited before keeps its place in line, or those behind it would get the memory that it tries for.
   */
  refuse(): void {
    this.refused = true
    this.#refusedAt = this.#askedAt
    this.memory.line.keepPlace(this.request)
  }
}

/**
 * Climbs until there is a lease or nothing left to try. It starts with what the request was given in line already, if
 * it waited there.
 */
export const climb = Effect.fnUntraced(function*(
  memory: Memory,
  request: LeaseRequest,
  given: Outcome | "exhausted"
): Effect.fn.Return<Lease, GpuError> {
  const state = new Climb(memory, request)
  let outcome = given === "exhausted" ? yield* state.lastResort() : given
  while (true) {
    if (outcome instanceof Lease) return outcome
    if (outcome !== undefined) yield* state.accept(outcome)
    outcome = undefined
    const problem = memory.problem(request)
    if (problem !== undefined) return yield* memory.lines.refuse(request, problem)
    if (request.reserved === 0) drawMore(request)
    const found = request.reserved > 0 ? undefined : memory.blocks.search(request)
    if (found !== undefined) return yield* found
    const step = state.nextStep()
    if (step === undefined) {
      outcome = yield* state.lastResort()
      if (outcome === undefined) state.restart()
    } else if (step !== "ask") {
      yield* step
    } else if (state.reserve()) {
      const asked = askDriver(memory, request)
      const answer = yield* Effect.result(traced(request.maker.context, asked, "miss", request, memory))
      if (Result.isFailure(answer)) {
        const { _tag } = answer.failure.reason
        if (_tag === "OutOfMemory") state.refuse()
        // An allocator may have a limit of its own, which the policy's block is over and the request is not.
        else if (_tag !== "LimitExceeded" || !state.shrinkToExact()) return yield* answer.failure
      } else if (answer.success !== undefined) {
        return yield* answer.success
      }
    }
  }
})
