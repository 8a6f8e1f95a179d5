/**
 * The compiled kernels of one device: each is checked, compiled once for all callers, and released when there are too
 * many.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { type DeviceInfo, format } from "../../domain/device/DeviceInfo.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import type { Kernel, KernelSource } from "../../domain/kernel/Kernel.ts"
import { keyOf, sourceIn } from "../../domain/kernel/KernelSource.ts"
import { checked } from "../../domain/kernel/KernelSupport.ts"
import type { LanguageWriter } from "../../domain/language/LanguageWriter.ts"
import { inSpan } from "../calls/Spans.ts"

/** As `KernelCache.CompiledKernel`. */
interface Compiled {
  released: boolean
}

/** As `KernelCache.KernelCompiler`. */
interface Compiler<C> {
  readonly writer: Effect.Effect<LanguageWriter, GpuError>
  readonly compile: (kernel: Kernel, source: KernelSource) => Effect.Effect<C, GpuError>
  readonly release: (compiled: C) => void
}

type Entry<C> = { readonly key: string; readonly compiled: C; lastUse: number }

export class CompiledKernels<C extends Compiled> {
  readonly #compiler: Compiler<C>
  readonly #capacity: number
  /**
   * Each entry has the time of its last use. Keeping the entries sorted by it would cost every dispatch more than the
   * search at an eviction costs.
   */
  readonly #entries = new Map<string, Entry<C>>()
  readonly #pending = new Map<string, Deferred.Deferred<C, GpuError>>()
  /** Saves building the key again for a kernel object seen before. */
  readonly #keys = new WeakMap<Kernel, string>()
  readonly #status: DeviceStatus
  readonly #info: DeviceInfo
  readonly #scope: Scope.Scope
  /** Counts uses. */
  #clock = 0
  #hits = 0
  #misses = 0
  #evictions = 0

  constructor(
    compiler: Compiler<C>,
    capacity: number,
    device: { readonly status: DeviceStatus; readonly info: DeviceInfo },
    scope: Scope.Scope
  ) {
    this.#scope = scope
    this.#compiler = compiler
    this.#capacity = capacity
    this.#status = device.status
    this.#info = device.info
  }

  get stats() {
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

  get(given: Kernel): Effect.Effect<C, GpuError> {
    const kernel = this.#status.error ?? checked(given, this.#info)
    if (isGpuError(kernel)) return kernel
    return Effect.flatMap(this.#compiler.writer, (writer) => {
      const source = sourceIn(kernel, writer, this.#info.backend)
      if (isGpuError(source)) {
        this.#misses += 1
        return source
      }
      const key = keyOf(kernel, source)
      this.#keys.set(given, key)
      return Effect.withFiber((asker) => this.#share(key, kernel, source, asker))
    })
  }

  clear(): void {
    for (const { compiled } of this.#entries.values()) this.#release(compiled)
    this.#entries.clear()
  }

  #touch(key: string): C | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#hits += 1
    entry.lastUse = ++this.#clock
    return entry.compiled
  }

  /**
   * Looks up the kernel, or starts its compilation, in one step, so that every pending entry has a fiber that compiles
   * it.
   */
  #share(
    key: string,
    kernel: Kernel,
    source: KernelSource,
    asker: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<C, GpuError> {
    const compiled = this.#touch(key)
    if (compiled !== undefined) return Effect.succeed(compiled)
    const running = this.#pending.get(key)
    if (running === undefined) {
      // The scope may be closing already, and wait for other compilations before it closes this cache.
      return this.#scope.state._tag === "Closed"
        ? this.#status.lose("its layer is closed")
        : Deferred.await(this.#compile(key, kernel, source, asker))
    }
    this.#hits += 1
    return Deferred.await(running)
  }

  /**
   * Starts synchronously, since a step later the scope may be closed, where nothing starts. The compilation belongs to
   * the device's scope, which waits for it when it closes, so an interrupted fiber does not fail others that wait. It
   * is uninterruptible from its first step: else closing the scope could end it before it completes `done`.
   */
  #compile(
    key: string,
    kernel: Kernel,
    source: KernelSource,
    asker: Fiber.Fiber<unknown, unknown>
  ): Deferred.Deferred<C, GpuError> {
    this.#misses += 1
    const done = Deferred.makeUnsafe<C, GpuError>()
    this.#pending.set(key, done)
    const running = Scope.forkUnsafe(this.#scope)
    Effect.runSync(Scope.addFinalizer(running, Effect.exit(Deferred.await(done))))
    const compiled = Effect.suspend(() => this.#compiler.compile(kernel, source))
    const traced = inSpan(compiled, "gpu.kernel.compile", () => ({
      "gpu.device": format(this.#info),
      "gpu.kernel.name": kernel.name
    }))
    const compile = Effect.onExit(traced, (exit) =>
      Effect.sync(() => {
        this.#pending.delete(key)
        if (Exit.isSuccess(exit)) this.#keep(key, exit.value)
        Deferred.doneUnsafe(done, exit)
        // Removes the finalizer, which waits for this compilation.
        Scope.closeUnsafe(running, Exit.void)
      }))
    Effect.runForkWith(asker.context)(compile, { uninterruptible: true })
    return done
  }

  #keep(key: string, compiled: C): void {
    this.#entries.set(key, { key, compiled, lastUse: ++this.#clock })
    if (this.#entries.size <= this.#capacity) return
    const oldest = this.#leastRecent()
    if (oldest === undefined) return
    this.#entries.delete(oldest.key)
    this.#evictions += 1
    this.#release(oldest.compiled)
  }

  #leastRecent(): Entry<C> | undefined {
    let oldest: Entry<C> | undefined
    for (const entry of this.#entries.values()) {
      if (oldest === undefined || entry.lastUse < oldest.lastUse) oldest = entry
    }
    return oldest
  }

  #release(compiled: C): void {
    compiled.released = true
    this.#compiler.release(compiled)
  }
}
