/**
 * What a pool does with requests: checks them, answers a hit in one step, and sends the others the long way. A budget
 * has requests of its own, on the memory of its pool.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import * as CallSite from "../CallSite.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import { patienceOf, type PoolAllocateOptions } from "../PoolOptions.ts"
import { type Budget, Charge } from "./Budget.ts"
import type { LastResort } from "./LastResort.ts"
import type { LeaseList } from "./LeaseList.ts"
import { type LeasePool, together } from "./LeasePool.ts"
import { type LeaseRequest, type Patience, unavailable } from "./LeaseRequest.ts"
import type { MemoryPool } from "./MemoryPool.ts"

const operation = "BufferPool.allocate"

const noted = (lease: PooledBuffer, options: PoolAllocateOptions | undefined): PooledBuffer => {
  CallSite.note(lease, options?.callSite)
  return lease
}

/** @internal */
export class PoolRequests {
  readonly memory: MemoryPool
  readonly leases: LeasePool
  readonly budget: Budget | undefined
  /** What requests do that do not say it themselves. */
  readonly patience: Patience
  /** What leases without a label of their own are called. */
  readonly label: string | undefined
  /** No request above it can ever be served by the device. */
  readonly #largest: number

  constructor(memory: MemoryPool, budget: Budget | undefined, patience: Patience, label: string | undefined) {
    const { maxBufferSize, memoryBytes = Infinity } = memory.limits
    this.memory = memory
    this.budget = budget
    this.leases = memory.leases
    this.patience = patience
    this.label = label
    this.#largest = Math.min(maxBufferSize, memoryBytes)
  }

  /** Of the budget, or of the pool. */
  get lastResort(): LastResort {
    return (this.budget ?? this.memory).lastResort
  }

  allocate(size: number, given: PoolAllocateOptions | undefined): Effect.Effect<PooledBuffer, GpuError, Scope.Scope> {
    const options: PoolAllocateOptions | undefined = CallSite.locate(given, this.allocate)
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label ?? this.label
    const acquire = (list: LeaseList): Effect.Effect<PooledBuffer, GpuError> => {
      if (list.closed) return unavailable({ size, label }, "scopeClosed")
      const hit = this.#hit(list, size, usage, label)
      if (hit !== undefined) return Exit.succeed(noted(hit, options))
      const request = this.#request(list, size, usage, label, options)
      return isGpuError(request) ? request : this.#lease(request)
    }
    return Effect.withFiber((fiber) =>
      this.#problem(size, usage, label) ??
        this.leases.withList(Context.getUnsafe(fiber.context, Scope.Scope), acquire)
    )
  }

  use<A, E, R>(
    size: number,
    f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
    given: PoolAllocateOptions | undefined
  ): Effect.Effect<A, E | GpuError, R> {
    const options: PoolAllocateOptions | undefined = CallSite.locate(given, this.use)
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label ?? this.label
    return Effect.suspend(() => {
      const problem = this.#problem(size, usage, label)
      if (problem !== undefined) return problem
      let hit: PooledBuffer | undefined
      let request: LeaseRequest | undefined
      // The block is taken inside, when the finalizer is on the fiber's stack already: no interruption can lose it.
      return Effect.onExitPrimitive(
        Effect.suspend((): Effect.Effect<A, E | GpuError, R> => {
          hit = this.#hit(this.leases.loans, size, usage, label)
          if (hit !== undefined) return f(noted(hit, options))
          const made = this.#request(this.leases.loans, size, usage, label, options)
          if (isGpuError(made)) return made
          request = made
          return Effect.flatMap(this.#start(made), f)
        }),
        (exit) => request === undefined ? this.#endLoan(hit) : this.#endRequest(request, exit)
      )
    })
  }

  /** Kept short for the requests that are in order, which are nearly all. */
  #problem(size: number, usage: BufferUsage.BufferUsage, label: string | undefined): GpuError | undefined {
    const { core, leases, status } = this.memory
    return !leases.closed && status.error === undefined &&
        Number.isInteger(size) && size >= 0 && size <= this.#largest && size <= core.maxBytes &&
        usage === BufferUsage.defaultUsage
      ? undefined
      : this.#reason(size, usage, label)
  }

  #reason(size: number, usage: BufferUsage.BufferUsage, label: string | undefined): GpuError | undefined {
    const { leases, status } = this.memory
    if (leases.closed) return unavailable({ size, label }, "poolClosed")
    return status.error ??
      BufferRequest.sizeProblem(operation, size) ??
      BufferRequest.usageProblem(operation, usage) ??
      this.memory.limitProblem(size)
  }

  /** The whole of a hit, in one step: nothing but the lease is made. Pools that clear and budgets go the longer way. */
  #hit(
    list: LeaseList,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined
  ): PooledBuffer | undefined {
    const { memory } = this
    if (size === 0) return this.leases.grant(list, undefined, 0, usage, label)
    if (!memory.mayHit || this.budget !== undefined) return undefined
    const block = memory.takeHeld(size, memory.sizeOf(size), usage)
    return block === undefined ? undefined : this.leases.grant(list, block, size, usage, label)
  }

  #request(
    list: LeaseList,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    options: PoolAllocateOptions | undefined
  ): LeaseRequest | GpuError {
    const patience = options?.onExhausted === undefined && options?.waitAtMost === undefined
      ? this.patience
      : patienceOf(operation, options, this.patience)
    if (isGpuError(patience)) return patience
    const exactSize = this.memory.exactSizeOf(size)
    const problem = this.memory.limitProblem(exactSize) ?? this.budget?.limitProblem(exactSize)
    if (problem !== undefined) return problem
    const blockSize = this.memory.sizeOf(size)
    return {
      size,
      usage,
      label,
      callSite: options?.callSite,
      blockSize: this.budget === undefined ? blockSize : this.budget.blockSize(blockSize, exactSize),
      exactSize,
      list,
      patience,
      budget: this.budget,
      charge: this.budget === undefined ? undefined : new Charge(),
      waiter: undefined,
      waitingSince: undefined,
      declinedBy: undefined,
      believed: 0,
      reserved: 0,
      granted: undefined
    }
  }

  /** A pool that clears has not searched yet; most such requests are hits that need no ladder. */
  #lease(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    const { memory } = this
    const found = this.budget === undefined && !memory.hasWaiters ? memory.search(request) : undefined
    return found ??
      Effect.onExitPrimitive(Effect.suspend(() => this.#start(request)), (exit) => memory.letGo(request, exit))
  }

  #start(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    return this.budget === undefined
      ? this.memory.lease(request)
      : Effect.flatMap(this.budget.admit(request), () => this.memory.lease(request))
  }

  #endRequest(request: LeaseRequest, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> | undefined {
    return together(this.#endLoan(request.granted), this.memory.letGo(request, exit))
  }

  /** Unless it was transferred meanwhile. */
  #endLoan(lease: PooledBuffer | undefined): Effect.Effect<void> | undefined {
    return lease === undefined || lease.list !== this.leases.loans
      ? undefined
      : this.leases.endUnsafe(lease, "scopeClosed")
  }
}
