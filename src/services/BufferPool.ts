/**
 * The buffer pool: scoped leases on device memory that is kept and reused.
 *
 * A hit is synchronous and cheap; a miss asks the allocator; when memory runs short the pool searches, reclaims and evicts
 * before it fails. What it hands out is a {@link PooledBuffer} that belongs to the caller's scope.
 *
 * @see pyopencl.tools.MemoryPool, cupy.cuda.MemoryPool
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as BufferRequest from "../domain/BufferRequest.ts"
import * as BufferUsage from "../domain/BufferUsage.ts"
import { type GpuError, invalidRequest } from "../domain/GpuError.ts"
import { type PoolBlock, PoolCore } from "../domain/PoolCore.ts"
import type { PoolStats } from "../domain/PoolStats.ts"
import * as SizePolicy from "../domain/SizePolicy.ts"
import * as Allocator from "./Allocator.ts"
import { CommandQueue } from "./CommandQueue.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import { DeviceContext } from "./DeviceContext.ts"
import { climb, type LadderPool, type LeaseRequest, unavailable } from "./Ladder.ts"
import * as LeaseHolder from "./LeaseHolder.ts"
import type { LeaseList } from "./LeaseList.ts"
import { LeasePool } from "./LeasePool.ts"
import { type PooledBuffer, transfer } from "./PooledBuffer.ts"

/**
 * How a pool behaves.
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferPoolOptions {
  /** From request to block size; `SizePolicy.defaultPolicy` without it. */
  readonly sizePolicy?: SizePolicy.SizePolicy | undefined
  /**
   * The most bytes that the pool may manage and reserve together. Without it the device's own default: OpenCL's global
   * memory size, no limit elsewhere.
   */
  readonly maxBytes?: number | undefined
  /**
   * Whether the next owner of recycled memory can read what the last one left. A security choice: `"never"` (the default)
   * hands memory out as it is; `"acquire"` fills the whole block with zeros, in queue order, before each lease.
   */
  readonly clear?: "never" | "acquire" | undefined
  /** The pool's name in messages and labels of its blocks. */
  readonly label?: string | undefined
}

/**
 * What one `allocate` may say.
 *
 * @category models
 * @since 0.1.0
 */
export interface AllocateOptions {
  /** `BufferUsage.defaultUsage` (storage, copySrc, copyDst) without it. */
  readonly usage?: BufferUsage.BufferUsage | undefined
  /** Shows in errors, and in lists of the largest holders. */
  readonly label?: string | undefined
}

/**
 * The service.
 *
 * @category services
 * @since 0.1.0
 */
export class BufferPool extends Context.Service<BufferPool, {
  /** A lease of `size` bytes until the caller's scope closes. See {@link allocate}. */
  readonly allocate: (size: number, options?: AllocateOptions) => Effect.Effect<PooledBuffer, GpuError, Scope.Scope>
  /** Lends a lease of `size` bytes to `f`, without a scope. See {@link use}. */
  readonly use: <A, E, R>(
    size: number,
    f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
    options?: AllocateOptions
  ) => Effect.Effect<A, E | GpuError, R>
  /** The pool's counters now. */
  readonly stats: Effect.Effect<PoolStats>
  /** Gives all held blocks back, and waits until the driver has. Active leases stay. */
  readonly freeHeld: Effect.Effect<void, GpuError>
  /** From now on released blocks go straight back to the driver; frees the held ones. */
  readonly stopHolding: Effect.Effect<void, GpuError>
}>()("effect-gpu-pool/BufferPool") {}

const operation = "BufferPool.allocate"

const optionsProblem = (options: BufferPoolOptions): GpuError | undefined => {
  const { clear, maxBytes } = options
  if (maxBytes !== undefined && maxBytes !== Infinity && !(Number.isSafeInteger(maxBytes) && maxBytes >= 0)) {
    return invalidRequest(
      "BufferPool.layer",
      `maxBytes ${maxBytes} is no whole number of bytes from 0 to 2^53 - 1`,
      "Leave it out for the device's default, or pass Infinity for no limit."
    )
  }
  if (clear !== undefined && clear !== "never" && clear !== "acquire") {
    return invalidRequest("BufferPool.layer", `clear "${String(clear)}" is unknown`, `Pass "never" or "acquire".`)
  }
  return undefined
}

/**
 * Builds a pool over the Allocator in context. It closes with the scope: leases that are still live become BufferReleased
 * and every block goes back.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: BufferPoolOptions = {}
): Effect.Effect<
  BufferPool["Service"],
  GpuError,
  Scope.Scope | Allocator.Allocator | DeviceContext | CommandQueue
> =>
  Effect.gen(function*() {
    const problem = optionsProblem(options)
    if (problem !== undefined) return yield* problem
    const device = yield* DeviceContext
    const allocator = yield* Allocator.Allocator
    const { driver } = yield* CommandQueue
    const pool = new Pool(options, device, allocator, driver)
    if (!allocator.immediate) {
      yield* Effect.logWarning(
        "The buffer pool's allocator is deferred: out-of-memory shows at first use, where the pool cannot answer it. " +
          "Provide Allocator.layerImmediate, or use BufferPool.layer."
      )
    }
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const forgetLoss = device.status.onLost(() => {
      run(pool.drop())
    })
    yield* Effect.addFinalizer(() => Effect.andThen(Effect.sync(forgetLoss), pool.close))
    return pool.service
  })

/** The pool's side of the effects: requests, and the ladder's footing. */
class Pool implements LadderPool {
  readonly leases: LeasePool
  readonly allocator: Allocator.Allocator["Service"]
  readonly status: DeviceContext["Service"]["status"]
  readonly inFlight = new Set<Fiber.Fiber<DeviceBuffer, GpuError>>()
  readonly #driver: CommandQueue["Service"]["driver"]
  readonly #clear: boolean
  readonly #maxBufferSize: number
  readonly #policy: SizePolicy.SizePolicy
  readonly #sizeOf: (request: number) => number
  readonly #exactSizeOf: (request: number) => number

  constructor(
    options: BufferPoolOptions,
    device: DeviceContext["Service"],
    allocator: Allocator.Allocator["Service"],
    driver: CommandQueue["Service"]["driver"]
  ) {
    const { defaultMaxBytes, granularity, maxBufferSize } = device.info.limits
    const maxBytes = options.maxBytes ?? defaultMaxBytes ?? Infinity
    const sizes = { granularity, maxBlockBytes: Math.min(maxBufferSize, maxBytes) }
    this.allocator = allocator
    this.status = device.status
    this.leases = new LeasePool(device.info, new PoolCore({ maxBytes }), allocator)
    this.#driver = driver
    this.#clear = options.clear === "acquire"
    this.#maxBufferSize = maxBufferSize
    this.#policy = options.sizePolicy ?? SizePolicy.defaultPolicy
    this.#sizeOf = SizePolicy.forDevice(this.#policy, sizes)
    this.#exactSizeOf = SizePolicy.forDevice(SizePolicy.exact, sizes)
  }

  get service(): BufferPool["Service"] {
    return BufferPool.of({
      allocate: (size, options) => this.allocate(size, options),
      use: (size, f, options) => this.use(size, f, options),
      stats: Effect.sync(() => this.leases.core.stats()),
      freeHeld: Effect.suspend(() => this.freeHeld()),
      stopHolding: Effect.suspend(() => {
        this.leases.core.stopHolding()
        return this.freeHeld()
      })
    })
  }

  allocate(size: number, options: AllocateOptions | undefined): Effect.Effect<PooledBuffer, GpuError, Scope.Scope> {
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label
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
    const label = options?.label
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

  blockUsage(usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage {
    return this.#clear ? usage | BufferUsage.copyDst : usage
  }

  search(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> | undefined {
    const block = this.#takeHeld(request.size, request.blockSize, request.usage)
    return block === undefined ? undefined : this.handOut(request, block)
  }

  handOut(
    request: LeaseRequest,
    block: PoolBlock<DeviceBuffer>
  ): Effect.Effect<PooledBuffer, GpuError> {
    if (this.#clear) {
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
        Number.isInteger(size) && size >= 0 && size <= this.#maxBufferSize && size <= this.leases.core.maxBytes &&
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
    return BufferRequest.limitProblem(operation, size, "maxBufferSize", this.#maxBufferSize) ??
      BufferRequest.limitProblem(operation, size, "maxBytes", this.leases.core.maxBytes)
  }

  #takeHeld(size: number, blockSize: number, usage: BufferUsage.BufferUsage): PoolBlock<DeviceBuffer> | undefined {
    return this.leases.core.acquire(
      this.blockUsage(usage),
      blockSize,
      size,
      SizePolicy.borrowLimit(this.#policy, blockSize)
    )
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

/**
 * A pool over whatever Allocator is in context, such as a decorated or a deferred one.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNoDeps = (
  options?: BufferPoolOptions
): Layer.Layer<BufferPool, GpuError, Allocator.Allocator | DeviceContext | CommandQueue> =>
  Layer.effect(BufferPool, make(options))

/**
 * A pool over the immediate allocator of the backend in context.
 *
 * **Example** (A pool of at most 256 MiB)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, CommandQueue, SizePolicy } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const Gpu = BufferPool.layer({ maxBytes: 256 * 1024 * 1024, sizePolicy: SizePolicy.sizeClasses(4, { borrow: 1 }) }).pipe(
 *   Layer.provideMerge(Host.layer())
 * )
 *
 * const program = Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(4096)
 *   yield* CommandQueue.write(x, new Float32Array(1024).fill(2))
 *   return (yield* CommandQueue.read(x, Float32Array))[0]
 * }).pipe(Effect.scoped, Effect.provide(Gpu))
 *
 * await Effect.runPromise(program) // => 2
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options?: BufferPoolOptions
): Layer.Layer<BufferPool, GpuError, DeviceContext | CommandQueue> =>
  Layer.provide(layerNoDeps(options), Allocator.layerImmediate)

/**
 * A lease of `size` bytes until the caller's scope closes. A size of 0 gives a legal lease that takes no device memory.
 *
 * Fails with InvalidRequest (a size that is negative, fractional, NaN or above 2^53 - 1; an impossible usage),
 * LimitExceeded (over `maxBytes` or the device's largest buffer), OutOfMemory (after the whole ladder; see `isRetryable`),
 * BufferReleased (the scope or the pool is closed), DeviceLost or DriverError.
 *
 * **Example** (Retrying while others hold the memory)
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const patient = BufferPool.allocate(1 << 20, { label: "frame" }).pipe(
 *   Effect.retry({ while: (error) => error.isRetryable, schedule: Schedule.spaced("5 millis") })
 * )
 * ```
 *
 * @see pyopencl.tools.MemoryPool.allocate
 * @category accessors
 * @since 0.1.0
 */
export const allocate = (
  size: number,
  options?: AllocateOptions
): Effect.Effect<PooledBuffer, GpuError, BufferPool | Scope.Scope> =>
  BufferPool.use((pool) => pool.allocate(size, options))

/**
 * Lends a lease of `size` bytes to `f` and takes it back when `f` has ended, however it ends. Cheaper than a scope of its
 * own around {@link allocate}.
 *
 * **Example** (Scratch memory for one step)
 *
 * ```ts
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const step = BufferPool.use(1024, (scratch) => CommandQueue.fill(scratch, 0))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const use = <A, E, R>(
  size: number,
  f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
  options?: AllocateOptions
): Effect.Effect<A, E | GpuError, R | BufferPool> => BufferPool.use((pool) => pool.use(size, f, options))

/**
 * The pool's counters now.
 *
 * **Example** (Watching reuse)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const report = Effect.map(BufferPool.stats, (s) => `${s.hits} hits, ${s.misses} misses, ${s.heldBytes} B held`)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const stats: Effect.Effect<PoolStats, never, BufferPool> = BufferPool.use((pool) => pool.stats)

/**
 * Gives all held blocks back, and waits until the driver has. Active leases stay.
 *
 * @see pyopencl.tools.MemoryPool.free_held
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld: Effect.Effect<void, GpuError, BufferPool> = BufferPool.use((pool) => pool.freeHeld)

/**
 * From now on released blocks go straight back to the driver; frees the held ones.
 *
 * @see pyopencl.tools.MemoryPool.stop_holding
 * @category accessors
 * @since 0.1.0
 */
export const stopHolding: Effect.Effect<void, GpuError, BufferPool> = BufferPool.use((pool) => pool.stopHolding)

/**
 * Runs an effect in a scope of its own and moves the leases that its result holds to the caller's scope; everything else
 * that it acquired is given back at once. Results are searched through tuples, arrays and records for `LeaseHolder`s;
 * leases that the inner scope does not own stay where they are. Into a closed scope they are released, and the answer is
 * BufferReleased.
 *
 * **Example** (Keeping the result, dropping the intermediates)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const sum = BufferPool.extract(Effect.gen(function*() {
 *   const scratch = yield* BufferPool.allocate(1 << 20)
 *   const out = yield* BufferPool.allocate(4096)
 *   yield* CommandQueue.copy(scratch, out, { size: 4096 })
 *   return out
 * }))
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const extract = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, Exclude<R, Scope.Scope> | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.scope, (outer) => {
      const inner = Scope.makeUnsafe()
      const moved = Effect.flatMap(
        restore(Scope.provide(effect, inner)),
        (result) => Effect.as(moveLeases(result, inner, outer), result)
      )
      return Effect.onExit(moved, (exit) => Scope.close(inner, exit))
    })
  )

const moveLeases = (result: unknown, inner: Scope.Scope, outer: Scope.Scope): Effect.Effect<void, GpuError> =>
  Effect.forEach(
    LeaseHolder.leases(result),
    (lease) => lease.list?.scope === inner ? transfer(lease, outer) : Exit.void,
    { discard: true }
  )
