/** How much memory a pool with default options needs: near a limit, and where sizes grow. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { BufferPool, DeviceMemory, SizePolicy } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "fast-check"
import * as HostPool from "../../bench/HostPool.ts"
import * as Traces from "../../bench/Traces.ts"
import * as Workload from "../../bench/Workload.ts"
import { hasStats, hold, layer } from "../support/hostPool.ts"

/** A pool on the memory in context. */
const openShared = Effect.map(
  Layer.build(Layer.fresh(BufferPool.layerShared())),
  (context) => Context.get(context, BufferPool.BufferPool)
)

const growing = Traces.growing.phases(0).flat()

describe("near its limit a pool", () => {
  it.effect.each([0, 1, 2])(
    "serves 10,000 mixed sizes within 1.1 times their live peak, run %s",
    (run) =>
      Effect.gen(function*() {
        const plan = Workload.plan(run)
        const maxBytes = Math.ceil(1.1 * Workload.peakLiveBytes(plan))
        const { refused, stats } = yield* HostPool.play(plan, { maxBytes })
        assert.strictEqual(refused, 0)
        assert.isAtMost(stats.peakManagedBytes, maxBytes)
        // Nine in ten requests are still hits, although few held blocks fit.
        assert.isAbove(stats.hits, 8900)
      }),
    { timeout: 120_000 }
  )

  it.effect("borrows less", () =>
    Effect.gen(function*() {
      for (const [maxBytes, capacity] of [[12_000, 1024], [9600, 608], [Infinity, 1024]] as const) {
        const taken = Effect.andThen(hold([1024]), BufferPool.allocate(600)).pipe(
          Effect.scoped,
          Effect.provide(layer({ pool: { maxBytes, sizePolicy: SizePolicy.defaultPolicy } }))
        )
        deepStrictEqual((yield* taken).capacity, capacity)
      }
    }))

  it.effect("takes the exact size, whose blocks have a bin of their own", () =>
    Effect.gen(function*() {
      yield* hold([1025])
      yield* hasStats({ heldBytes: 1025, driverAllocations: 1 })
      deepStrictEqual((yield* BufferPool.allocate(1025)).capacity, 1025)
      yield* hasStats({ hits: 1, borrows: 0 })
      yield* hold([3000])
      // The block is smaller than the policy's block size.
      deepStrictEqual((yield* BufferPool.allocate(2900)).capacity, 3000)
      yield* hasStats({ hits: 2, borrows: 1, driverAllocations: 2 })
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ pool: { maxBytes: 12_000, sizePolicy: SizePolicy.sizeClasses(0, { borrow: 1 }) } }))
    ))

  it.effect("gives none of several requests a block of its own bin that is too large by now", () =>
    Effect.gen(function*() {
      yield* hold([4097, 513])
      for (const size of [6145, 5121]) yield* BufferPool.allocate(size)
      // Of 2,000 bytes of padding 978 are left, and half of that is less than the 511 of the held block.
      const leases = yield* BufferPool.allocateAll([4097, 513])
      deepStrictEqual(leases.map(({ capacity }) => capacity), [4097, 576])
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({
        pool: { maxBytes: 24_000, maxHeldBytes: Infinity, sizePolicy: SizePolicy.sizeClasses(3, { borrow: 1 }) }
      }))
    ))

  it("serves several requests at once, whichever of them have held blocks of their own", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(129, 257, 513, 1025, 1040), { minLength: 2, maxLength: 8 }),
        fc.integer({ min: 0, max: 4000 }),
        (sizes, more) => {
          const asked = sizes.reduce((sum, size) => sum + size, 0)
          const pool = layer({
            pool: { maxBytes: Math.ceil(asked * 12 / 11) + more, sizePolicy: SizePolicy.defaultPolicy }
          })
          const all = Effect.scoped(Effect.map(
            BufferPool.allocateAll(sizes),
            (leases) => leases.map(({ size }) => size)
          ))
          return Effect.runPromise(
            Effect.gen(function*() {
              for (let times = 0; times < 3; times++) deepStrictEqual(yield* all, sizes)
            }).pipe(Effect.provide(pool))
          )
        }
      )
    ))
})

describe("where sizes grow a pool", () => {
  it.effect(
    "manages at most twice what is leased, for no more of the driver's allocations",
    () =>
      Effect.gen(function*() {
        const bounded = yield* HostPool.play(growing)
        assert.isAtMost(bounded.mostManagedToLive, 2)
        assert.isAtMost(bounded.stats.heldBytes, bounded.stats.activeBytes)
        assert.isAtMost(bounded.stats.driverAllocations, 2 * 3217)
      }),
    { timeout: 120_000 }
  )

  it.effect("keeps everything with `maxHeldBytes: Infinity`, and with a policy that borrows nothing", () =>
    Effect.gen(function*() {
      for (const options of [{ maxHeldBytes: Infinity }, { sizePolicy: SizePolicy.exact }]) {
        const { stats } = yield* HostPool.play(growing.slice(0, 96 * 20), options)
        assert.strictEqual(stats.driverFrees, 0)
        assert.isAbove(stats.managedBytes, 4 * stats.activeBytes)
      }
    }))

  it.effect("keeps what other pools on its memory hold", () =>
    Effect.gen(function*() {
      const memory = yield* DeviceMemory.DeviceMemory
      const [steady, grows] = [yield* openShared, yield* openShared]
      yield* Effect.scoped(steady.allocate(64))
      for (let step = 1; step <= 20; step++) yield* Effect.scoped(grows.allocate(Math.round(64 * 1.5 ** step)))
      const { driverFrees, managedBytes, peakActiveBytes } = yield* memory.stats
      assert.isAbove(driverFrees, 10)
      assert.isAtMost(managedBytes, 2 * peakActiveBytes)
      yield* Effect.scoped(steady.allocate(64))
      deepStrictEqual((yield* memory.stats).hits, 1)
    }).pipe(Effect.scoped, Effect.provide(DeviceMemory.layer().pipe(Layer.provideMerge(Host.layer())))))
})
