/**
 * One conformance test. Besides its own subject, each test checks at its end that the pool's counters add up and that
 * no driver object is left.
 *
 * @since 0.1.0
 */
import { Allocator, BufferPool, CommandQueue } from "effect-gpu-pool"
import type { Services } from "effect-gpu-pool/Device"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import { QueueDriver } from "effect-gpu-pool/QueueDriver"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Kernels from "./commands/Kernels.ts"
import * as Expect from "./Expect.ts"
import { AllocatorWatch, broken, watched } from "./pool/AllocatorWatch.ts"

/**
 * The services that the layer of every backend provides.
 *
 * @category models
 * @since 0.1.0
 */
export type Device = Services

/**
 * One test, as plain data: any runner can run it. Tests on one device run one after the other.
 *
 * @category models
 * @since 0.1.0
 */
export interface ConformanceTest {
  /** The rule that the test checks, as a sentence. */
  readonly name: string
  /** The group of tests that it belongs to. */
  readonly group: string
  /** The test compares only counters, so a device that runs no commands passes it too. */
  readonly counting: boolean
  /** {@link workScale} sets how much work the test does. */
  readonly heavy: boolean
  /** Fails or dies when the backend does not conform. */
  readonly run: Effect.Effect<void, unknown, Device>
}

/**
 * The part of their work that heavy tests do, from 0 to 1; 1 when nothing is provided. A simulator takes less. Every
 * test still runs, with the least work at which it can find a mistake.
 *
 * **Example** (A hundredth of the heavy work)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Host } from "effect-gpu-pool/host"
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const quick = Conformance.runAll(Host.layer(), Conformance.tests).pipe(
 *   Effect.provideService(Conformance.workScale, 0.01)
 * )
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const workScale: Context.Reference<number> = Context.Reference<number>(
  "effect-gpu-pool/testing/workScale",
  { defaultValue: () => 1 }
)

/**
 * One random case of a test, by the numbers in the message of its failure.
 *
 * @category models
 * @since 0.1.0
 */
export interface Replay {
  readonly seed: number
  /** One of the cases that the seed makes; all of them when left out. */
  readonly case?: number | undefined
}

/**
 * The one random case to run, to look into a failure that says `seed 7: case 3: ...`; all cases when nothing is provided.
 *
 * **Example** (Running the failed case again)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Host } from "effect-gpu-pool/host"
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const suite = Conformance.tests.filter(({ name }) => name.startsWith("random expressions of f32"))
 * const again = Conformance.runAll(Host.layer(), suite).pipe(
 *   Effect.provideService(Conformance.replay, { seed: 7, case: 3 })
 * )
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const replay: Context.Reference<Replay | undefined> = Context.Reference<Replay | undefined>(
  "effect-gpu-pool/testing/replay",
  { defaultValue: () => undefined }
)

/**
 * The allocator of the tests' pools: `Allocator.layerImmediate` when nothing is provided. With it the suite tests
 * another allocator, for example one of shared memory or a decorator of your own. Every test then checks that it obeys
 * the rules of an {@link Allocator.Allocator}; a failure message begins with the broken rule.
 *
 * **Example** (The pool's tests on another allocator)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { OpenCl, Svm } from "effect-gpu-pool/opencl"
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const pools = Conformance.tests.filter(({ group }) => group === "pool")
 * const onShared = Effect.flatMap(OpenCl.OpenCl, (cl) =>
 *   Effect.forEach(pools, ({ run }) => run).pipe(
 *     Effect.provideService(
 *       Conformance.allocator,
 *       Layer.provide(Svm.layerAllocator(), Layer.succeed(OpenCl.OpenCl, cl))
 *     )
 *   ))
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const allocator: Context.Reference<Layer.Layer<Allocator.Allocator, GpuError, Device>> = Context.Reference(
  "effect-gpu-pool/testing/allocator",
  { defaultValue: (): Layer.Layer<Allocator.Allocator, GpuError, Device> => Allocator.layerImmediate }
)

/**
 * Whether the device runs commands, so that tests can compare data. False for the tests that compare only counters.
 *
 * @internal
 */
export const runsCommands: Context.Reference<boolean> = Context.Reference<boolean>(
  "effect-gpu-pool/testing/runsCommands",
  { defaultValue: () => true }
)

/** How much work a heavy test does: `amount` times the scale, but never less than `least`. @internal */
export const scaled = (amount: number, least: number): Effect.Effect<number> =>
  Effect.map(workScale, (scale) => Math.max(least, Math.round(amount * scale)))

/** @internal */
export interface TestOptions {
  readonly counting?: boolean | undefined
  readonly heavy?: boolean | undefined
  /** The options of the test's pool. */
  readonly pool?: BufferPool.BufferPoolOptions | undefined
  /** The test interrupts fibers, so the pool may count a lease that no program received. */
  readonly interrupts?: boolean | undefined
}

/** The services of a test: a device, a pool for this test alone, and a scope that closes before the pool. @internal */
export type TestServices = Device | BufferPool.BufferPool | Scope.Scope

/** The body of a test: an effect, or the generator function of one. @internal */
export type TestBody =
  | Effect.Effect<void, unknown, TestServices>
  | (() => Effect.gen.Return<void, unknown, TestServices>)

/** @internal */
export type DefineTest = (
  name: string,
  ...test: [body: TestBody] | [options: TestOptions, body: TestBody]
) => ConformanceTest

/** Returns the function that defines the tests of one group. @internal */
export const inGroup = (group: string, common?: TestOptions): DefineTest => (name, ...test) => {
  const [own, body] = test.length === 1 ? [undefined, test[0]] : test
  const { counting = false, heavy = false, ...options }: TestOptions = { ...common, ...own }
  return { group, name, counting, heavy, run: checked(Effect.isEffect(body) ? body : Effect.gen(body), options) }
}

const checked = (
  body: Effect.Effect<void, unknown, TestServices>,
  options: Pick<TestOptions, "pool" | "interrupts">
): Effect.Effect<void, unknown, Device> =>
  Effect.gen(function*() {
    const baseline = yield* warmBaseline
    yield* withLedger(body, options)
    yield* expectNothingLeft(baseline, (yield* allocator) === Allocator.layerImmediate)
  })

const withLedger = (
  body: Effect.Effect<void, unknown, TestServices>,
  options: Pick<TestOptions, "pool" | "interrupts">
): Effect.Effect<void, unknown, Device> =>
  Effect.gen(function*() {
    const watch = new AllocatorWatch(yield* DeviceContext)
    const layer = yield* allocator
    const exit = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
      const below = yield* Layer.build(Layer.fresh(watch.layer(layer)))
      const service = Context.get(below, Allocator.Allocator)
      const context = yield* Layer.build(
        Layer.fresh(Layer.provide(BufferPool.layerNoDeps(options.pool), Layer.succeedContext(below)))
      )
      const ledger = new Ledger(Context.get(context, BufferPool.BufferPool))
      yield* Effect.scoped(body).pipe(
        Effect.provideService(BufferPool.BufferPool, ledger.service),
        Effect.provideService(watched, { service, watch, isUsual: layer === Allocator.layerImmediate })
      )
      yield* ledger.expectIdle(options.interrupts ?? false)
      return ledger
    })))
    // A broken rule of the allocator explains more than its consequences do.
    yield* watch.expectKept
    const ledger = yield* exit
    yield* ledger.expectClosed
    yield* watch.expectClosed
  })

/** A pool that counts the leases that the test received, also through budgets. */
class Ledger {
  readonly service: BufferPool.Pool
  readonly #pool: BufferPool.Pool
  #leases = 0

  constructor(pool: BufferPool.Pool) {
    this.#pool = pool
    this.service = this.#counted(pool)
  }

  #counted(pool: BufferPool.Pool): BufferPool.Pool {
    const count = (size: number) => {
      if (size > 0) this.#leases += 1
    }
    return {
      ...pool,
      allocate: (size, options) => Effect.tap(pool.allocate(size, options), () => Effect.sync(() => count(size))),
      use: (size, f, options) =>
        pool.use(size, (lease) => {
          count(size)
          return f(lease)
        }, options),
      allocateAll: (sizes, options) =>
        Effect.tap(pool.allocateAll(sizes, options), () => Effect.sync(() => Object.values(sizes).forEach(count))),
      useAll: (sizes, f, options) =>
        pool.useAll(sizes, (leases) => {
          Object.values(sizes).forEach(count)
          return f(leases)
        }, options),
      reserve: (bytes, f, options) => pool.reserve(bytes, (reserved) => f(this.#counted(reserved)), options),
      budget: (limit, options) => Effect.map(pool.budget(limit, options), (budget) => this.#counted(budget))
    }
  }

  /** Checks that all leases have ended, while the pool is still open. */
  expectIdle(interrupts: boolean): Effect.Effect<void> {
    return Effect.map(this.#pool.stats, (stats) => {
      expectInvariants(stats)
      Expect.equal("active blocks after the test", stats.activeBlocks, 0)
      Expect.equal("active bytes after the test", stats.activeBytes, 0)
      Expect.equal("bytes reserved after the test", stats.reservedBytes, 0)
      Expect.equal("failed releases", stats.releaseFailures, 0)
      const granted = stats.hits + stats.misses
      if (interrupts) Expect.isTrue(`hits + misses ${granted} cover ${this.#leases} leases`, granted >= this.#leases)
      else Expect.equal("hits + misses, one per lease", granted, this.#leases)
    })
  }

  get expectClosed(): Effect.Effect<void> {
    return Effect.map(this.#pool.stats, (stats) => {
      expectInvariants(stats)
      Expect.equal("managed blocks of the closed pool", stats.managedBlocks, 0)
      Expect.equal("managed bytes of the closed pool", stats.managedBytes, 0)
      Expect.equal("pending bytes of the closed pool", stats.pendingBytes, 0)
      Expect.equal("blocks given back, of those allocated", stats.driverFrees, stats.driverAllocations)
    })
  }
}

/** Checks the rules that a pool's counters keep at all times. @internal */
export const expectInvariants = (stats: PoolStats): void => {
  for (const [name, value] of Object.entries(stats)) {
    Expect.isTrue(`${name} ${value} is a count`, Number.isSafeInteger(value) && value >= 0)
  }
  // Blocks that are parts of a slab are more than the driver's.
  Expect.isTrue("managed ≤ held + active blocks", stats.managedBlocks <= stats.heldBlocks + stats.activeBlocks)
  Expect.equal("managed = allocated - freed", stats.managedBlocks, stats.driverAllocations - stats.driverFrees)
  Expect.isTrue("active bytes fit into active blocks", stats.activeBytes <= stats.managedBytes - stats.heldBytes)
  Expect.isTrue("borrows are hits", stats.borrows <= stats.hits)
  Expect.isTrue("peaks are peaks", stats.peakManagedBytes >= stats.managedBytes)
  Expect.isTrue("peaks are peaks", stats.peakManagedBlocks >= stats.managedBlocks)
  Expect.isTrue("peaks are peaks", stats.peakActiveBytes >= stats.activeBytes)
  Expect.isTrue("peaks are peaks", stats.peakActiveBlocks >= stats.activeBlocks)
}

type ObjectCounts = Readonly<Record<string, number>>

const baselines = new WeakMap<DeviceInfo, ObjectCounts>()

/**
 * The driver objects of an idle device. A queue may keep some for reuse (a uniform ring, a fill pattern), so this runs
 * every kind of command once before it counts them.
 */
const warmBaseline: Effect.Effect<ObjectCounts, unknown, Device> = Effect.gen(function*() {
  const { info } = yield* DeviceContext
  const known = baselines.get(info)
  if (known !== undefined) return known
  yield* Effect.scoped(Effect.gen(function*() {
    const x = yield* Allocator.allocate(64)
    const y = yield* Allocator.allocate(64)
    yield* CommandQueue.write(x, new Uint8Array(64).fill(7))
    yield* CommandQueue.fill(y, 0x01010101)
    yield* CommandQueue.copy(x, y)
    yield* CommandQueue.dispatch(Kernels.iota, { y, start: 0 }, 16)
    yield* CommandQueue.read(y, Uint8Array)
  })).pipe(Effect.provide(Allocator.layerImmediate))
  const counts = yield* idleObjects
  baselines.set(info, counts)
  return counts
})

const idleObjects: Effect.Effect<ObjectCounts, unknown, Device> = Effect.gen(function*() {
  yield* CommandQueue.finish
  // What a queue keeps for some commands alone goes back under memory pressure.
  yield* QueueDriver.use((driver) => driver.reclaim)
  yield* KernelCache.use((cache) => cache.clear)
  return yield* DeviceContext.useSync((device) => device.driverObjects.liveByKind)
})

const expectNothingLeft = (baseline: ObjectCounts, isUsual: boolean): Effect.Effect<void, unknown, Device> =>
  Effect.map(idleObjects, (live) => {
    for (const [kind, count] of Object.entries(live)) {
      const before = baseline[kind] ?? 0
      const what = `${count} driver objects of the kind "${kind}" are alive, ${before} before the test`
      Expect.isTrue(isUsual || kind !== "buffer" ? what : broken("return", what), count <= before)
    }
  })
