/**
 * What a pool does with requests: checks them, answers a hit in one step, and sends a miss up the ladder.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { DeviceLimits } from "../../domain/DeviceInfo.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { type PoolBlock, PoolCore } from "../../domain/PoolCore.ts"
import * as SizePolicy from "../../domain/SizePolicy.ts"
import type { AllocateOptions, Allocator } from "../Allocator.ts"
import type { CommandQueue } from "../CommandQueue.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import type { DeviceContext } from "../DeviceContext.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import type { BufferPoolOptions } from "../PoolOptions.ts"
import { climb, type LadderPool, type LeaseRequest, unavailable } from "./Ladder.ts"
import type { LeaseList } from "./LeaseList.ts"
import { LeasePool } from "./LeasePool.ts"

const operation = "BufferPool.allocate"

/** @internal */
export class PoolRequests implements LadderPool {
  readonly leases: LeasePool
  readonly allocator: Allocator["Service"]
  readonly status: DeviceContext["Service"]["status"]
  readonly inFlight = new Set<Fiber.Fiber<DeviceBuffer, GpuError>>()
  readonly #driver: CommandQueue["Service"]["driver"]
  readonly #clear: boolean
  /** What leases without a label of their own are called. */
  readonly #label: string | undefined
  readonly #limits: DeviceLimits
  /** No request above it can ever be served by the device. */
  readonly #largest: number
  readonly #policy: SizePolicy.SizePolicy
  readonly #sizeOf: (request: number) => number
  readonly #exactSizeOf: (request: number) => number

  constructor(
    options: BufferPoolOptions,
    device: DeviceContext["Service"],
    allocator: Allocator["Service"],
    driver: CommandQueue["Service"]["driver"]
  ) {
    const { defaultMaxBytes, granularity, maxBufferSize, memoryBytes = Infinity } = device.info.limits
    const maxBytes = options.maxBytes ?? defaultMaxBytes ?? Infinity
    const sizes = { granularity, maxBlockBytes: Math.min(maxBufferSize, maxBytes) }
    this.allocator = allocator
    this.status = device.status
    this.leases = new LeasePool(device.info, new PoolCore({ maxBytes }), allocator)
    this.#driver = driver
    this.#clear = options.clear === "acquire"
    this.#label = options.label
    this.#limits = device.info.limits
    this.#largest = Math.min(maxBufferSize, memoryBytes)
    this.#policy = options.sizePolicy ?? SizePolicy.defaultPolicy
    this.#sizeOf = SizePolicy.forDevice(this.#policy, sizes)
    this.#exactSizeOf = SizePolicy.forDevice(SizePolicy.exact, sizes)
  }

  allocate(size: number, options: AllocateOptions | undefined): Effect.Effect<PooledBuffer, GpuError, Scope.Scope> {
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label ?? this.#label
    const acquire = (list: LeaseList): Effect.Effect<PooledBuffer, GpuError> => {
      if (list.closed) return unavailable({ size, label }, "scopeClosed")
      const hit = this.#hit(list, size, usage, label)
      return hit === undefined ? this.#miss(this.#request(list, size, usage, label)) : Exit.succeed(hit)
    }
    return Effect.withFiber((fiber) =>
      this.#problem(size, usage, label) ??
        this.leases.withList(Context.getUnsafe(fiber.context, Scope.Scope), acquire)
    )
  }

  use<A, E, R>(
    size: number,
    f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
    options: AllocateOptions | undefined
  ): Effect.Effect<A, E | GpuError, R> {
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label ?? this.#label
    return Effect.suspend(() => {
      const problem = this.#problem(size, usage, label)
      if (problem !== undefined) return problem
      let hit: PooledBuffer | undefined
      let request: LeaseRequest | undefined
      // The block is taken inside, when the finalizer is on the fiber's stack already: no interruption can lose it.
      return Effect.onExitPrimitive(
        Effect.suspend((): Effect.Effect<A, E | GpuError, R> => {
          hit = this.#hit(this.leases.loans, size, usage, label)
          if (hit !== undefined) return f(hit)
          request = this.#request(this.leases.loans, size, usage, label)
          return Effect.flatMap(this.#miss(request), f)
        }),
        () => this.#endLoan(hit ?? request?.granted)
      )
    })
  }

  get borrows(): boolean {
    return this.#policy.borrow > 0
  }

  blockUsage(usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage {
    return this.#clear ? usage | BufferUsage.copyDst : usage
  }

  search(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> | undefined {
    const block = this.#takeHeld(request.size, request.blockSize, this.blockUsage(request.usage))
    return block === undefined ? undefined : this.handOut(request, block)
  }

  handOut(
    request: LeaseRequest,
    block: PoolBlock<DeviceBuffer>
  ): Effect.Effect<PooledBuffer, GpuError> {
    if (this.#clear) {
      // A failing fill is the new owner's, not the last one's.
      block.value.label = request.label
      const cleared = this.#driver.fillUnsafe(block.value, 0, block.capacity, 0)
      if (Exit.isFailure(cleared)) {
        block.value.recyclable = false
        return Effect.andThen(this.leases.recycle(block) ?? Exit.void, Exit.failCause(cleared.cause))
      }
    }
    const lease = this.leases.grant(request.list, block, request.size, request.usage, request.label)
    request.granted = lease
    return Exit.succeed(lease)
  }

  freeHeld(): Effect.Effect<void, GpuError> {
    return Effect.andThen(this.leases.freeHeld(), this.allocator.reclaim)
  }

  /** The device is lost: nothing that is held can be used again, and nobody needs to wait for its driver. */
  drop(): Effect.Effect<void> {
    this.leases.core.stopHolding()
    for (const running of this.inFlight) running.interruptUnsafe()
    return this.leases.freeHeld()
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(this.leases.close(), Fiber.interruptAll(this.inFlight))
  )

  /** Kept short for the requests that are in order, which are nearly all. */
  #problem(size: number, usage: BufferUsage.BufferUsage, label: string | undefined): GpuError | undefined {
    return !this.leases.closed && this.status.error === undefined &&
        Number.isInteger(size) && size >= 0 && size <= this.#largest && size <= this.leases.core.maxBytes &&
        usage === BufferUsage.defaultUsage
      ? undefined
      : this.#reason(size, usage, label)
  }

  #reason(size: number, usage: BufferUsage.BufferUsage, label: string | undefined): GpuError | undefined {
    if (this.leases.closed) return unavailable({ size, label }, "poolClosed")
    return this.status.error ??
      BufferRequest.sizeProblem(operation, size) ??
      BufferRequest.usageProblem(operation, usage) ??
      this.#limitProblem(size)
  }

  #limitProblem(size: number): GpuError | undefined {
    return BufferRequest.deviceProblem(operation, size, this.#limits) ??
      BufferRequest.limitProblem(operation, size, "maxBytes", this.leases.core.maxBytes)
  }

  #takeHeld(size: number, blockSize: number, usage: BufferUsage.BufferUsage): PoolBlock<DeviceBuffer> | undefined {
    const { core } = this.leases
    return core.acquireOwn(usage, blockSize, size) ??
      core.borrow(usage, blockSize, size, SizePolicy.borrowLimit(this.#policy, blockSize))
  }

  /** The whole of a hit, in one step: nothing but the lease is made. A pool that clears goes the longer way. */
  #hit(
    list: LeaseList,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined
  ): PooledBuffer | undefined {
    if (size === 0) return this.leases.grant(list, undefined, 0, usage, label)
    if (this.#clear) return undefined
    const block = this.#takeHeld(size, this.#sizeOf(size), usage)
    return block === undefined ? undefined : this.leases.grant(list, block, size, usage, label)
  }

  #request(
    list: LeaseList,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined
  ): LeaseRequest {
    const blockSize = this.#sizeOf(size)
    return { size, usage, label, blockSize, exactSize: this.#exactSizeOf(size), list, granted: undefined }
  }

  /** A pool that clears has not searched yet; most such requests are hits that need no ladder. */
  #miss(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    return this.#limitProblem(request.exactSize) ?? this.search(request) ?? climb(this, request)
  }

  /** Unless it was transferred meanwhile. */
  #endLoan(lease: PooledBuffer | undefined): Effect.Effect<void> | undefined {
    return lease === undefined || lease.list !== this.leases.loans
      ? undefined
      : this.leases.endUnsafe(lease, "scopeClosed")
  }
}
