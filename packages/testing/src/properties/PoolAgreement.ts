/**
 * Properties that a pool agrees with its model: on the host with faults, or on any device.
 *
 * @since 0.1.0
 */
import { BufferPool, EvictionPolicy, SizePolicy } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Host from "effect-gpu-pool/Host"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { Device } from "../ConformanceTest.ts"
import { after, agree } from "./ExpectData.ts"
import * as PoolCommands from "./PoolCommands.ts"
import { type ModelBlock, type ModelEviction, type ModelPolicy, ModelScope, PoolModel } from "./PoolModel.ts"

/**
 * A size policy, and a model of it in plain arithmetic.
 *
 * @category models
 * @since 0.1.0
 */
export type PolicyPair = readonly [policy: SizePolicy.SizePolicy, model: ModelPolicy]

const log2 = (n: bigint): bigint => BigInt(n.toString(2).length - 1)

const leadingBits = (bits: bigint) => (request: bigint): bigint =>
  log2(request) <= bits ? request : request | ((1n << (log2(request) - bits)) - 1n)

const tableSizes = [8, 48, 64, 112, 256, 320, 512, 768, 1536]

/**
 * The policies of this library that properties are checked with: exact, PyOpenCL's, size classes and a table, the last
 * two with borrowing.
 *
 * **Example** (One more policy)
 *
 * ```ts
 * import { SizePolicy } from "effect-gpu-pool"
 * import { PoolAgreement } from "@effect-gpu-pool/testing/properties"
 *
 * const mine: PoolAgreement.PolicyPair = [
 *   SizePolicy.table([4096]),
 *   { blockSize: (request) => request <= 4096n ? 4096n : request, borrowHalves: 0n }
 * ]
 * const policies = [...PoolAgreement.policies, mine]
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const policies: ReadonlyArray<PolicyPair> = [
  [SizePolicy.exact, { blockSize: (request) => request, borrowHalves: 0n }],
  [SizePolicy.leadingBits(2), { blockSize: leadingBits(2n), borrowHalves: 0n }],
  [
    SizePolicy.sizeClasses(1, { borrow: 1 }),
    { blockSize: (request) => request <= 1n ? 1n : leadingBits(1n)(request - 1n) + 1n, borrowHalves: 2n }
  ],
  [
    SizePolicy.table(tableSizes, { borrow: 0.5 }),
    {
      blockSize: (request) => tableSizes.map(BigInt).find((size) => size >= request) ?? request,
      borrowHalves: 1n
    }
  ]
]

/**
 * An eviction policy, and a model of it.
 *
 * @category models
 * @since 0.1.0
 */
export type EvictionPair = readonly [policy: EvictionPolicy.EvictionPolicy, model: ModelEviction]

/** The first of the blocks with the least measure. */
const least = (blocks: ReadonlyArray<ModelBlock>, of: (block: ModelBlock) => bigint | number): ModelBlock | undefined =>
  blocks.find((block) => blocks.every((other) => of(block) <= of(other)))

const largest: ModelEviction = (held) => least(held, ({ capacity }) => -capacity)!

const byNeed: ModelEviction = (held, missing) =>
  least(held.filter(({ capacity }) => missing !== undefined && capacity >= missing), ({ capacity }) => capacity) ??
    largest(held, missing)

const oldest: ModelEviction = (held) => held.at(-1)!

/**
 * The eviction policies of this library that properties are checked with: by need, largest first, oldest first, least
 * recently used, and one with different orders for a known and an unknown number of missing bytes.
 *
 * **Example** (One more policy)
 *
 * ```ts
 * import { EvictionPolicy } from "effect-gpu-pool"
 * import { PoolAgreement } from "@effect-gpu-pool/testing/properties"
 *
 * const [[, byNeed], , [, oldestFirst]] = PoolAgreement.evictions
 * const mine: PoolAgreement.EvictionPair = [
 *   { name: "by need, else by age", whenKnown: "byNeed", whenUnknown: "oldestFirst" },
 *   (held, missing) => missing === undefined ? oldestFirst(held, missing) : byNeed(held, missing)
 * ]
 * const evictions = [...PoolAgreement.evictions, mine]
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const evictions: readonly [
  byNeed: EvictionPair,
  largestFirst: EvictionPair,
  oldestFirst: EvictionPair,
  leastRecentlyUsed: EvictionPair,
  ...others: Array<EvictionPair>
] = [
  [EvictionPolicy.byNeed, byNeed],
  [EvictionPolicy.largestFirst, largest],
  [EvictionPolicy.oldestFirst, oldest],
  [EvictionPolicy.leastRecentlyUsed, (held) => least(held, ({ binUsedAt }) => binUsedAt)!],
  [
    { name: "oldestFirst, else byNeed", whenKnown: "oldestFirst", whenUnknown: "byNeed" },
    (held, missing) => missing === undefined ? byNeed(held, missing) : oldest(held, missing)
  ]
]

/**
 * How many commands a property tries, and with which policies.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** {@link policies} when left out. */
  readonly policies?: ReadonlyArray<PolicyPair> | undefined
  /** {@link evictions} when left out. */
  readonly evictions?: ReadonlyArray<EvictionPair> | undefined
  /** The most commands of one run; 80 when left out. */
  readonly maxCommands?: number | undefined
}

interface Settings {
  /** Whether the property made the device, so that the model knows its memory. */
  readonly own: boolean
  readonly policy: PolicyPair
  readonly eviction: EvictionPair
  readonly maxBytes: number | undefined
  readonly clear: "never" | "acquire"
  readonly granularity: number
  readonly capacityBytes: number
  readonly lateFree: boolean
}

/** A property for `fc.assert`. */
type Property = fc.IAsyncPropertyWithHooks<[Settings, Iterable<PoolCommands.Command>]>

const maxBufferSize = 3200

const settingsOf = (
  options: Options | undefined,
  device: { readonly [Key in "own" | "granularity" | "capacityBytes" | "lateFree"]: fc.Arbitrary<Settings[Key]> }
): fc.Arbitrary<Settings> =>
  fc.record({
    policy: fc.constantFrom(...options?.policies ?? policies),
    eviction: fc.constantFrom(...options?.evictions ?? evictions),
    maxBytes: fc.constantFrom(undefined, 1500, 3000),
    clear: fc.constantFrom("never", "acquire"),
    ...device
  })

/**
 * A property: after every command, and whatever fails, a pool on a host device has the counters of its model. When
 * everything is closed, no driver object is left. For `fc.assert`.
 *
 * **Example** (A few short runs)
 *
 * ```ts
 * import { PoolAgreement } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * await fc.assert(PoolAgreement.onHost({ maxCommands: 20 }), { numRuns: 10, seed: 1 })
 * ```
 *
 * @category properties
 * @since 0.1.0
 */
export const onHost = (options?: Options): Property =>
  property(
    settingsOf(options, {
      own: fc.constant(true),
      granularity: fc.constantFrom(1, 4),
      capacityBytes: fc.constantFrom(1600, 3200, 1_000_000),
      lateFree: fc.boolean()
    }),
    [...PoolCommands.portable, ...PoolCommands.onHost],
    options,
    ({ capacityBytes, granularity, lateFree }) => Host.layer({ capacityBytes, granularity, lateFree, maxBufferSize })
  )

/**
 * A property: after every command, a pool on a device of any backend has the counters of its model. The pool is the
 * library's, so the property tests the backend's device, queue and allocations. Each run opens the device anew. For
 * `fc.assert`.
 *
 * **Example** (On a host that frees memory late)
 *
 * ```ts
 * import { Host } from "effect-gpu-pool/host"
 * import { PoolAgreement } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * const late = Host.layer({ granularity: 4, lateFree: true })
 * await fc.assert(PoolAgreement.on(late, { maxCommands: 20 }), { numRuns: 10, seed: 1 })
 * ```
 *
 * @category properties
 * @since 0.1.0
 */
export const on = <E>(device: Layer.Layer<Device, E>, options?: Options): Property =>
  property(
    // A pool's limit stands for the device's memory, which a test cannot set. So the model's device has enough.
    settingsOf(options, {
      own: fc.constant(false),
      granularity: fc.constant(0),
      capacityBytes: fc.constant(2 ** 40),
      lateFree: fc.constant(false)
    }),
    PoolCommands.portable,
    options,
    () => device
  )

const property = <E>(
  settings: fc.Arbitrary<Settings>,
  commands: ReadonlyArray<fc.Arbitrary<PoolCommands.Command>>,
  options: Options | undefined,
  device: (settings: Settings) => Layer.Layer<Device, E>
): Property =>
  fc.asyncProperty(
    settings,
    fc.commands([...commands], { maxCommands: options?.maxCommands ?? 80, size: "max" }),
    (given, steps) =>
      Effect.gen(function*() {
        const { close, model, real } = yield* open(given, device(given))
        yield* Effect.promise(() => fc.asyncModelRun(() => ({ model, real }), steps))
        yield* close
      }).pipe(Effect.provide([TestClock.layer(), Logger.layer([])]), Effect.runPromise)
  )

interface OpenedDevice {
  readonly model: PoolModel
  readonly real: PoolCommands.RealPool
  /** Closes everything, however the run ended, and checks that no driver object is left. */
  readonly close: Effect.Effect<void, GpuError>
}

const open = Effect.fnUntraced(function*<E>(
  given: Settings,
  device: Layer.Layer<Device, E>
): Effect.fn.Return<OpenedDevice, E | GpuError> {
  const deviceScope = Scope.makeUnsafe()
  const poolScope = Scope.makeUnsafe()
  const opened = yield* Layer.buildWithScope(Layer.fresh(device), deviceScope)
  const { driverObjects, info } = Context.get(opened, DeviceContext)
  const { limits } = info
  const otherBuffers = driverObjects.liveByKind["buffer"] ?? 0
  const [sizePolicy, modelPolicy] = given.policy
  const [eviction, modelEviction] = given.eviction
  const pools = BufferPool.layer({ sizePolicy, eviction, clear: given.clear, maxBytes: given.maxBytes ?? Infinity })
  const context = yield* Layer.buildWithScope(
    Layer.fresh(Layer.provideMerge(pools, Layer.succeedContext(opened))),
    poolScope
  )
  const model = new PoolModel({
    policy: modelPolicy,
    eviction: modelEviction,
    granularity: BigInt(limits.granularity),
    maxBufferSize: BigInt(limits.maxBufferSize),
    maxBytes: given.maxBytes === undefined ? undefined : BigInt(given.maxBytes),
    capacityBytes: BigInt(given.capacityBytes),
    lateFree: given.lateFree
  })
  model.scopes.push(new ModelScope(), new ModelScope())
  const ambient = yield* Effect.context<never>()
  const host = Context.getOption(opened, Host.Host)
  const closePool = Scope.close(poolScope, Exit.void)
  const real: PoolCommands.RealPool = {
    pool: Context.get(context, BufferPool.BufferPool),
    driverObjects,
    otherBuffers,
    closePool,
    run: (command) => Effect.runPromiseWith(ambient)(Effect.provideContext(command, context)),
    scopes: model.scopes.map(() => Scope.makeUnsafe()),
    leases: [],
    pending: [],
    commands: [],
    host: host._tag === "None" || !given.own
      ? undefined
      : { faults: host.value.faults, usedBytes: host.value.usedBytes }
  }
  const close = after(
    real.commands,
    Effect.gen(function*() {
      yield* Fiber.interruptAll(real.pending.map(({ fiber }) => fiber))
      yield* closePool
      for (const scope of real.scopes) yield* Scope.close(scope, Exit.void)
      const { activeBytes, managedBlocks, pendingBytes } = yield* real.pool.stats
      agree({ managedBlocks: 0, activeBytes: 0, pendingBytes: 0 }, { managedBlocks, activeBytes, pendingBytes })
      yield* Scope.close(deviceScope, Exit.void)
      agree({ "driver objects": 0 }, { "driver objects": driverObjects.live })
    })
  )
  return { model, real, close }
})
