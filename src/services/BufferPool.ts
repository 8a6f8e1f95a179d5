/**
 * The buffer pool: scoped leases on device memory that is kept and reused.
 *
 * A hit is synchronous and cheap; a miss asks the allocator; when memory runs short the pool searches, reclaims and
 * evicts before it fails. What it hands out is a {@link PooledBuffer} that belongs to the caller's scope.
 *
 * @see pyopencl.tools.MemoryPool, cupy.cuda.MemoryPool
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { GpuError } from "../domain/GpuError.ts"
import type { PoolStats } from "../domain/PoolStats.ts"
import * as Allocator from "./Allocator.ts"
import { CommandQueue } from "./CommandQueue.ts"
import { DeviceContext } from "./DeviceContext.ts"
import * as LeaseHolder from "./LeaseHolder.ts"
import { PoolRequests } from "./leasing/PoolRequests.ts"
import { type PooledBuffer, transfer } from "./PooledBuffer.ts"
import { type BufferPoolOptions, optionsProblem } from "./PoolOptions.ts"

export type { AllocateOptions } from "./Allocator.ts"
export type { BufferPoolOptions } from "./PoolOptions.ts"

/**
 * The service.
 *
 * **Example** (Looking the service up once for many leases)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const rows = Effect.gen(function*() {
 *   const pool = yield* BufferPool.BufferPool
 *   return yield* Effect.forEach([256, 512, 1024], (bytes) => pool.allocate(bytes))
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class BufferPool extends Context.Service<BufferPool, {
  /** A lease of `size` bytes until the caller's scope closes. See {@link allocate}. */
  readonly allocate: (
    size: number,
    options?: Allocator.AllocateOptions
  ) => Effect.Effect<PooledBuffer, GpuError, Scope.Scope>
  /** Lends a lease of `size` bytes to `f`, without a scope. See {@link use}. */
  readonly use: <A, E, R>(
    size: number,
    f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
    options?: Allocator.AllocateOptions
  ) => Effect.Effect<A, E | GpuError, R>
  /** The pool's counters now. */
  readonly stats: Effect.Effect<PoolStats>
  /** Gives all held blocks back, and waits until the driver has. Active leases stay. */
  readonly freeHeld: Effect.Effect<void, GpuError>
  /** From now on released blocks go straight back to the driver; frees the held ones. */
  readonly stopHolding: Effect.Effect<void, GpuError>
}>()("effect-gpu-pool/BufferPool") {}

/**
 * Builds a pool over the Allocator in context. It closes with the scope: leases that are still live become
 * BufferReleased and every block goes back. Fails with InvalidRequest for options that make no sense.
 *
 * **Example** (A second pool, for one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const job = Effect.gen(function*() {
 *   const pool = yield* BufferPool.make({ maxBytes: 1 << 20, label: "job" })
 *   const lease = yield* pool.allocate(1000)
 *   return lease.capacity
 * }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate), Effect.provide(Host.layer()))
 * await Effect.runPromise(job) // => 1024
 * ```
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
    const pool = new PoolRequests(options, device, allocator, driver)
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
    return BufferPool.of({
      allocate: (size, options) => pool.allocate(size, options),
      use: (size, f, options) => pool.use(size, f, options),
      stats: Effect.sync(() => pool.leases.core.stats()),
      freeHeld: Effect.suspend(() => pool.freeHeld()),
      stopHolding: Effect.suspend(() => {
        pool.leases.core.stopHolding()
        return pool.freeHeld()
      })
    })
  })

/**
 * A pool over whatever Allocator is in context, such as a decorated or a deferred one.
 * Building it fails with InvalidRequest for options that make no sense.
 *
 * **Example** (A pool over the deferred allocator)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const gpu = BufferPool.layerNoDeps({ maxBytes: 1 << 30 }).pipe(
 *   Layer.provide(Allocator.layerDeferred),
 *   Layer.provideMerge(Host.layer())
 * )
 * ```
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
 * const Gpu = BufferPool.layer({
 *   maxBytes: 256 * 1024 * 1024,
 *   sizePolicy: SizePolicy.sizeClasses(4, { borrow: 1 })
 * }).pipe(Layer.provideMerge(Host.layer()))
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
 * LimitExceeded (over `maxBytes`, the device's largest buffer or its memory), OutOfMemory (after the whole ladder; see
 * `isRetryable`), BufferReleased (the scope or the pool is closed), DeviceLost or DriverError.
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
  options?: Allocator.AllocateOptions
): Effect.Effect<PooledBuffer, GpuError, BufferPool | Scope.Scope> =>
  BufferPool.use((pool) => pool.allocate(size, options))

/**
 * Lends a lease of `size` bytes to `f` and takes it back when `f` has ended, however it ends. Cheaper than a scope of
 * its own around {@link allocate}.
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
  options?: Allocator.AllocateOptions
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
 * Gives all held blocks back, and waits until the driver has. Active leases stay. Fails with what the wait fails with,
 * DeviceLost or DriverError. A block that the driver does not take back fails nothing: it is counted in
 * `stats.releaseFailures`.
 *
 * **Example** (Giving memory back between two jobs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const heldAfter = Effect.scoped(BufferPool.allocate(4096)).pipe(
 *   Effect.andThen(BufferPool.freeHeld),
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map((stats) => stats.heldBytes),
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(heldAfter) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.free_held
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld: Effect.Effect<void, GpuError, BufferPool> = BufferPool.use((pool) => pool.freeHeld)

/**
 * From now on released blocks go straight back to the driver; frees the held ones.
 * Errors as {@link freeHeld}.
 *
 * **Example** (A pool that keeps nothing any more)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const heldAfter = BufferPool.stopHolding.pipe(
 *   Effect.andThen(Effect.scoped(BufferPool.allocate(4096))),
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map((stats) => stats.heldBytes),
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(heldAfter) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.stop_holding
 * @category accessors
 * @since 0.1.0
 */
export const stopHolding: Effect.Effect<void, GpuError, BufferPool> = BufferPool.use((pool) => pool.stopHolding)

/**
 * Runs an effect in a scope of its own and moves the leases that its result holds to the caller's scope; everything
 * else that it acquired is given back at once. Results are searched through tuples, arrays and records for
 * `LeaseHolder`s; leases that the inner scope does not own stay where they are. Into a closed scope they are released,
 * and the answer is BufferReleased.
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
