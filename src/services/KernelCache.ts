/**
 * Compiled kernels of one device, kept by source and options, freed with the device.
 *
 * This is what PyOpenCL's `first_arg_dependent_memoize` and PyCUDA's `context_dependent_memoize` are for, without their
 * leak: nothing outlives the device, and the cache is bounded.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { DeviceStatus } from "../domain/DeviceStatus.ts"
import { type GpuError, invalidRequest } from "../domain/GpuError.ts"
import { check, type Kernel } from "../domain/Kernel.ts"

/**
 * A kernel that one device can run; each backend has a subclass of its own.
 *
 * @category models
 * @since 0.1.0
 */
export abstract class CompiledKernel {
  readonly kernel: Kernel
  /** Set when the cache gave it back to the driver. */
  released = false

  constructor(kernel: Kernel) {
    this.kernel = kernel
  }
}

/**
 * Counters of a {@link KernelCache}.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelCacheStats {
  /** Kernels served without compiling. */
  readonly hits: number
  /** Kernels that had to be compiled. */
  readonly misses: number
  /** Kernels given back because the cache was full. */
  readonly evictions: number
  readonly size: number
  readonly capacity: number
}

/**
 * The service: compiled kernels of one device. Each backend's layer provides it.
 *
 * @category services
 * @since 0.1.0
 */
export class KernelCache extends Context.Service<KernelCache, {
  /**
   * The compiled form of a kernel; compiles it on the first call. Concurrent calls share one compilation, also when the
   * fiber that started it is interrupted. Fails with InvalidRequest for a malformed definition, Unsupported for a missing
   * body or element type, DriverError with the compiler's log, or DeviceLost.
   */
  readonly get: (kernel: Kernel) => Effect.Effect<CompiledKernel, GpuError>
  /** The compiled form when it is there, without a step. Counts a hit. */
  readonly getUnsafe: (kernel: Kernel) => CompiledKernel | undefined
  /** Gives every compiled kernel back to the driver. */
  readonly clear: Effect.Effect<void>
  readonly stats: Effect.Effect<KernelCacheStats>
}>()("effect-gpu-pool/KernelCache") {}

type Entry<C> = { readonly key: string; readonly compiled: C }

/**
 * How a backend compiles.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelCompiler<C extends CompiledKernel> {
  /** Everything that the result depends on: source and options. */
  readonly key: (kernel: Kernel) => string
  readonly compile: (kernel: Kernel) => Effect.Effect<C, GpuError>
  readonly release: (compiled: C) => void
}

/**
 * Builds the cache of one device. Everything is released when the scope closes; least recently used first when it is full.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <C extends CompiledKernel>(
  compiler: KernelCompiler<C>,
  options: {
    /** The device's; a lost device answers every request with its DeviceLost error. */
    readonly status: DeviceStatus
    /** How many compiled kernels are kept, 256 without it. */
    readonly capacity?: number | undefined
  }
): Effect.Effect<KernelCache["Service"], GpuError, Scope.Scope> =>
  Effect.gen(function*() {
    const capacity = options.capacity ?? 256
    if (!Number.isInteger(capacity) || capacity < 1) {
      return yield* invalidRequest(
        "KernelCache",
        `capacity ${capacity} is no positive integer`,
        "Leave it out for 256."
      )
    }
    const scope = yield* Effect.scope
    const cache = new Cache(compiler, capacity, options.status)
    yield* Scope.addFinalizer(scope, Effect.sync(() => cache.close()))
    return KernelCache.of({
      get: (kernel) => Effect.suspend(() => cache.get(kernel, scope)),
      getUnsafe: (kernel) => cache.lookup(kernel),
      clear: Effect.sync(() => cache.clear()),
      stats: Effect.sync(() => cache.stats)
    })
  })

class Cache<C extends CompiledKernel> {
  readonly #compiler: KernelCompiler<C>
  readonly #capacity: number
  /** In order of use, the least recent first: a Map keeps insertion order. */
  readonly #entries = new Map<string, Entry<C>>()
  readonly #pending = new Map<string, Deferred.Deferred<C, GpuError>>()
  /** Saves building the key again for a kernel object seen before. */
  readonly #keys = new WeakMap<Kernel, string>()
  readonly #status: DeviceStatus
  #hits = 0
  #misses = 0
  #evictions = 0

  constructor(compiler: KernelCompiler<C>, capacity: number, status: DeviceStatus) {
    this.#compiler = compiler
    this.#capacity = capacity
    this.#status = status
  }

  get stats(): KernelCacheStats {
    return {
      hits: this.#hits,
      misses: this.#misses,
      evictions: this.#evictions,
      size: this.#entries.size,
      capacity: this.#capacity
    }
  }

  lookup(kernel: Kernel): C | undefined {
    const key = this.#keys.get(kernel)
    return key === undefined ? undefined : this.#touch(key)
  }

  get(kernel: Kernel, scope: Scope.Scope): Effect.Effect<C, GpuError> {
    const problem = this.#status.error ?? check(kernel)
    if (problem !== undefined) return problem
    const key = this.#compiler.key(kernel)
    this.#keys.set(kernel, key)
    return Effect.uninterruptibleMask((restore) => this.#share(key, kernel, scope, restore))
  }

  clear(): void {
    for (const { compiled } of this.#entries.values()) this.#release(compiled)
    this.#entries.clear()
  }

  /** A cache closes with its device; in the closed scope no compilation would ever start. */
  close(): void {
    this.#status.lose("its layer is closed")
    this.clear()
  }

  #touch(key: string): C | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#hits += 1
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.compiled
  }

  /** Looks and starts in one step that cannot be interrupted, so that a pending entry always has a fiber behind it. */
  #share(
    key: string,
    kernel: Kernel,
    scope: Scope.Scope,
    restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  ): Effect.Effect<C, GpuError> {
    const compiled = this.#touch(key)
    if (compiled !== undefined) return Effect.succeed(compiled)
    const running = this.#pending.get(key)
    if (running === undefined) {
      // The scope may be closing already, and wait for other compilations before it closes this cache.
      return scope.state._tag === "Closed"
        ? this.#status.lose("its layer is closed")
        : this.#compile(key, kernel, scope, restore)
    }
    this.#hits += 1
    return restore(Deferred.await(running))
  }

  /**
   * The compilation belongs to the device's scope, so that an interrupted requester does not fail the others; it is
   * uninterruptible from its first step, or the close of the scope could end it before it answers them.
   */
  #compile(
    key: string,
    kernel: Kernel,
    scope: Scope.Scope,
    restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  ): Effect.Effect<C, GpuError> {
    this.#misses += 1
    const done = Deferred.makeUnsafe<C, GpuError>()
    this.#pending.set(key, done)
    const compile = Effect.onExit(Effect.suspend(() => this.#compiler.compile(kernel)), (exit) =>
      Effect.sync(() => {
        this.#pending.delete(key)
        if (Exit.isSuccess(exit)) this.#keep(key, exit.value)
        Deferred.doneUnsafe(done, exit)
      }))
    return Effect.andThen(
      Effect.forkIn(compile, scope, { startImmediately: true, uninterruptible: true }),
      restore(Deferred.await(done))
    )
  }

  #keep(key: string, compiled: C): void {
    this.#entries.set(key, { key, compiled })
    if (this.#entries.size <= this.#capacity) return
    for (const oldest of this.#entries.values()) {
      this.#entries.delete(oldest.key)
      this.#evictions += 1
      this.#release(oldest.compiled)
      return
    }
  }

  #release(compiled: C): void {
    compiled.released = true
    this.#compiler.release(compiled)
  }
}
