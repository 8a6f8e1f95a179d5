/**
 * An allocator that fails where a test plans it, on any backend.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import { delayOf, FaultPlan, type FaultWindow } from "../../../domain/device/FaultPlan.ts"
import { driverError, type GpuError, isGpuError, limitExceeded, outOfMemory } from "../../../domain/GpuError.ts"
import * as CallSite from "../../calls/CallPlaces.ts"
import { Allocator } from "../Allocator.ts"

export type { FaultWindow } from "../../../domain/device/FaultPlan.ts"

/**
 * How a planned allocation fails.
 *
 * @category models
 * @since 0.1.0
 */
export type AllocationFault = "OutOfMemory" | "LimitExceeded" | "DriverError"

/**
 * The planned failures and the counts of calls, shared between a test and the allocators that it builds. The counts and
 * plans belong to the test, so they stay readable after an allocator is closed and carry over to the next one.
 *
 * Faults go by counts of calls, not by time, so a run with the same calls fails at the same place. A plan that no
 * call can meet, as with a position of 0, throws a RangeError: a test would pass for the wrong reason.
 *
 * **Example** (A driver that can't take the second buffer back)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 * import { FaultyAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const faults = FaultyAllocator.makeFaults()
 * faults.failFrees({ nth: 2 })
 * const pool = BufferPool.layerNoDeps().pipe(
 *   Layer.provide(FaultyAllocator.layer({ faults })),
 *   Layer.provide(Allocator.layerImmediate),
 *   Layer.provideMerge(Host.layer())
 * )
 * const program = Effect.scoped(Effect.all([BufferPool.allocate(64), BufferPool.allocate(4096)])).pipe(
 *   Effect.andThen(BufferPool.freeHeld),
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map((stats) => stats.releaseFailures),
 *   Effect.provide(pool)
 * )
 * await Effect.runPromise(program) // => 1
 * faults.frees // => 2
 * ```
 *
 * @category testing
 * @since 0.1.0
 */
export class Faults {
  readonly #allocations = new FaultPlan<{ readonly error: AllocationFault; readonly log: string }>()
  readonly #frees = new FaultPlan<string>()
  readonly #reclaims = new FaultPlan<string>()
  #allocationDelay: Duration.Duration | undefined

  /** Allocations that were asked for, failed ones included; one that was interrupted while delayed is not counted. */
  get allocations(): number {
    return this.#allocations.count
  }

  /** Buffers that were freed, failing frees included. */
  get frees(): number {
    return this.#frees.count
  }

  /** Reclaims that were asked for, failed ones included. */
  get reclaims(): number {
    return this.#reclaims.count
  }

  /**
   * Makes allocations fail before the driver is asked, by default with OutOfMemory. A LimitExceeded names
   * `maxBufferSize`, as the largest that a driver takes.
   */
  failAllocations(
    options?: FaultWindow & { readonly error?: AllocationFault | undefined; readonly log?: string | undefined }
  ): void {
    const { error = "OutOfMemory", log = plannedLog } = options ?? {}
    this.#allocations.add(options, { error, log })
  }

  /** Makes frees answer with DriverError. The memory is freed all the same. */
  failFrees(options?: FaultWindow & { readonly log?: string | undefined }): void {
    this.#frees.add(options, options?.log ?? plannedLog)
  }

  /** Makes reclaims fail with DriverError, before they wait for the driver. */
  failReclaims(options?: FaultWindow & { readonly log?: string | undefined }): void {
    this.#reclaims.add(options, options?.log ?? plannedLog)
  }

  /**
   * Delays allocations from now on; `undefined` ends that. The time passes on Effect's clock, so that a TestClock
   * drives it. Interruption meanwhile creates nothing.
   */
  delayAllocations(delay: Duration.Input | undefined): void {
    this.#allocationDelay = delayOf(delay)
  }

  /** Forgets every planned fault and the delay. The counts stay. */
  clear(): void {
    for (const plan of [this.#allocations, this.#frees, this.#reclaims]) plan.clear()
    this.#allocationDelay = undefined
  }

  /** @internal */
  get allocationDelay(): Duration.Duration | undefined {
    return this.#allocationDelay
  }

  /** Counts an allocation and returns the planned error, if any. @internal */
  nextAllocation(bytes: number): GpuError | undefined {
    const fault = this.#allocations.next()
    if (fault === undefined) return undefined
    switch (fault.error) {
      case "OutOfMemory":
        return outOfMemory(bytes)
      case "LimitExceeded":
        return limitExceeded({
          operation: "Allocator.allocate",
          requested: bytes,
          limitName: "maxBufferSize",
          limit: Math.max(0, bytes - 1)
        })
      case "DriverError":
        return planned("allocate", fault.log)
    }
  }

  /** @internal */
  nextFree(): GpuError | undefined {
    const log = this.#frees.next()
    return log === undefined ? undefined : planned("freeUnsafe", log)
  }

  /** @internal */
  nextReclaim(): GpuError | undefined {
    const log = this.#reclaims.next()
    return log === undefined ? undefined : planned("reclaim", log)
  }
}

const plannedLog = "a planned fault"

const planned = (call: string, log: string): GpuError =>
  driverError({ backend: "FaultyAllocator", call, log, hint: "A test planned this: clear() of its faults ends it." })

/**
 * A controller without planned faults.
 *
 * **Example** (Proving that memory comes back, on any backend)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 * import { FaultyAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const faults = FaultyAllocator.makeFaults()
 * await Effect.runPromise(
 *   Effect.scoped(Allocator.allocate(64)).pipe(
 *     Effect.provide(FaultyAllocator.layer({ faults }).pipe(Layer.provide(Allocator.layerImmediate))),
 *     Effect.provide(Host.layer())
 *   )
 * )
 * const counts = [faults.allocations, faults.frees]
 * counts // => [1, 1]
 * ```
 *
 * @category testing
 * @since 0.1.0
 */
export const makeFaults = (): Faults => new Faults()

/**
 * The service by which a program plans the faults of its allocator. Where several such allocators are stacked, it
 * belongs to the outermost.
 *
 * **Example** (A test that meets a full device)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { FaultyAllocator } from "effect-gpu-pool/allocators"
 *
 * const whileFull = Effect.gen(function*() {
 *   const faults = yield* FaultyAllocator.AllocatorFaults
 *   faults.failAllocations({ times: Infinity })
 *   const error = yield* Effect.flip(BufferPool.allocate(4096))
 *   faults.clear()
 *   return error.reason._tag
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class AllocatorFaults extends Context.Service<AllocatorFaults, Faults>()("effect-gpu-pool/AllocatorFaults") {}

/**
 * Where a faulty allocator takes its plans from.
 *
 * @category models
 * @since 0.1.0
 */
export interface FaultyOptions extends Schema.Schema.Type<typeof faultyOptions> {}

const faultyOptions = Schema.Struct({
  /** Faults of {@link makeFaults} that are shared with a test; its own ones when left out. */
  faults: LayerOptions.data(
    Schema.instanceOf(Faults),
    "controller of faults",
    "Pass what FaultyAllocator.makeFaults made."
  )
})

const decorate = (inner: Allocator["Service"], faults: Faults): Allocator["Service"] => {
  const allocate: Allocator["Service"]["allocate"] = (bytes, options) => {
    const located = CallSite.locate(options, allocate)
    const create = Effect.suspend(() => faults.nextAllocation(bytes) ?? inner.allocate(bytes, located))
    return Effect.uninterruptible(Effect.suspend(() => {
      const delay = faults.allocationDelay
      // The delay comes before the driver call, where an interruption loses nothing.
      return delay === undefined ? create : Effect.andThen(Effect.interruptible(Effect.sleep(delay)), create)
    }))
  }
  return {
    ...inner,
    allocate,
    freeUnsafe: (buffer) => {
      const fault = faults.nextFree()
      const freed = inner.freeUnsafe(buffer)
      return fault === undefined || Exit.isFailure(freed) ? freed : Exit.fail(fault)
    },
    reclaim: Effect.suspend(() => faults.nextReclaim() ?? inner.reclaim)
  }
}

/**
 * Makes the Allocator in context fail as planned: OutOfMemory, LimitExceeded or DriverError for allocations,
 * DriverError for frees and reclaims; and delays them, on Effect's clock. It fails nothing until a fault is planned, in
 * its `faults` or later.
 *
 * **Example** (A pool that has to give up)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 * import { FaultyAllocator } from "effect-gpu-pool/allocators"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const pool = BufferPool.layerNoDeps().pipe(
 *   Layer.provideMerge(FaultyAllocator.layer()),
 *   Layer.provide(Allocator.layerImmediate),
 *   Layer.provideMerge(Host.layer())
 * )
 * const program = Effect.gen(function*() {
 *   const faults = yield* FaultyAllocator.AllocatorFaults
 *   faults.failAllocations({ error: "DriverError", log: "out of luck" })
 *   return yield* Effect.flip(BufferPool.allocate(4096))
 * }).pipe(Effect.scoped, Effect.provide(pool))
 * const error = await Effect.runPromise(program)
 * error.reason._tag // => "DriverError"
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: FaultyOptions = {}
): Layer.Layer<Allocator | AllocatorFaults, GpuError, Allocator> =>
  Layer.fresh(Layer.effectContext(Effect.flatMap(Allocator, (inner) => {
    const read = LayerOptions.read("FaultyAllocator.layer", faultyOptions, options)
    if (isGpuError(read)) return read
    const { faults = makeFaults() } = read
    return Effect.succeed(Context.make(Allocator, decorate(inner, faults)).pipe(Context.add(AllocatorFaults, faults)))
  })))
