/**
 * Dawn's null backend runs no commands, so it runs only the tests that compare counters. It is also the only driver
 * here that refuses memory without harm: after 512 MiB comes a GPUOutOfMemoryError.
 */
import { Conformance } from "@effect-gpu-pool/testing"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, DeviceContext, GpuError, Lease, type PoolStats, SizePolicy } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { conformsToo } from "./conforms.ts"

const layer = WebGpu.layer({ flags: ["backend=null"], kernelCacheCapacity: 4 })

describe("WebGPU on Dawn's null backend conforms in what it counts", () => {
  conformsToo(layer, Conformance.counting(Conformance.suite(layer)))
})

const MiB = 2 ** 20

type Services = BufferPool.BufferPool | DeviceContext.DeviceContext | Scope.Scope

/** Runs a program on a device and pool of its own, and proves that both leave nothing behind. */
const onNull = <E>(
  program: Effect.Effect<void, E, Services>,
  sizePolicy: SizePolicy.SizePolicy = SizePolicy.exact
) =>
  Effect.gen(function*() {
    const driverObjects = yield* Effect.gen(function*() {
      const { driverObjects } = yield* DeviceContext.DeviceContext
      const pool = Layer.fresh(BufferPool.layer({ sizePolicy }))
      yield* Effect.scoped(program).pipe(Effect.provide(pool))
      strictEqual(driverObjects.liveByKind.buffer ?? 0, 0)
      return driverObjects
    }).pipe(Effect.provide(Layer.fresh(layer)))
    deepStrictEqual(driverObjects.liveByKind, {})
  })

const held = (count: number, bytes: number) =>
  Effect.scoped(Effect.forEach(Array.from({ length: count }), () => BufferPool.allocate(bytes), { discard: true }))

const expectStats = (expected: Partial<PoolStats.PoolStats>) =>
  Effect.map(BufferPool.stats, (stats) => {
    deepStrictEqual({ ...stats, ...expected }, stats)
    strictEqual(stats.pendingBytes, 0)
  })

const outOfMemory = Effect.fnUntraced(function*(bytes: number) {
  const error = yield* Effect.flip(BufferPool.allocate(bytes, { label: "too much" }))
  assert.instanceOf(error.reason, GpuError.OutOfMemory)
  return { error, reason: error.reason }
})

describe("out of memory for real", () => {
  it.live("evicts held blocks, largest first, only until the request fits", () =>
    onNull(Effect.gen(function*() {
      yield* held(3, 100 * MiB)
      yield* held(1, 150 * MiB)
      yield* Effect.scoped(Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(200 * MiB)
        strictEqual(lease.capacity, 200 * MiB)
        yield* expectStats({ heldBytes: 300 * MiB, heldBlocks: 3, driverFrees: 1, activeBytes: 200 * MiB })
      }))
      yield* expectStats({ heldBytes: 500 * MiB, heldBlocks: 4 })
    })))

  it.live("fails with evidence when all memory is leased, and recovers after a release", () =>
    onNull(Effect.gen(function*() {
      const leases = yield* Effect.forEach(
        [100, 100, 60, 120, 110],
        (size) => BufferPool.allocate(size * MiB, { label: `${size} MiB` })
      )
      const { error, reason } = yield* outOfMemory(64 * MiB)
      strictEqual(error.isRetryable, true)
      const holders = reason.holders.map(({ label, size }) => [label, size / MiB])
      const holderGroups = reason.holderGroups.map(({ bytes, label, leases }) => [label, leases, bytes / MiB])
      deepStrictEqual({ ...reason, holders, holderGroups }, {
        _tag: "OutOfMemory",
        requested: 64 * MiB,
        blockSize: 64 * MiB,
        limitName: "maxBytes",
        limit: Infinity,
        activeBytes: 490 * MiB,
        heldBytes: 0,
        managedBytes: 490 * MiB,
        pendingBytes: 0,
        reservedBytes: 0,
        largestHeldBytes: 0,
        pooled: true,
        stepsTried: ["bin", "driver", "reclaim"],
        waitedMillis: undefined,
        deadlock: [],
        holders: [["120 MiB", 120], ["110 MiB", 110], ["100 MiB", 100]],
        holderGroups: [["100 MiB", 2, 200], ["120 MiB", 1, 120], ["110 MiB", 1, 110], ["60 MiB", 1, 60]]
      })
      yield* Lease.release(leases[2]!)
      yield* Effect.scoped(BufferPool.allocate(64 * MiB))
      yield* expectStats({ driverFrees: 1, heldBytes: 64 * MiB, activeBytes: 430 * MiB })
    })))

  it.live("gives up everything that it holds before it fails", () =>
    onNull(Effect.gen(function*() {
      yield* BufferPool.allocate(250 * MiB)
      yield* BufferPool.allocate(150 * MiB)
      yield* held(2, 50 * MiB)
      const { reason } = yield* outOfMemory(200 * MiB)
      deepStrictEqual(reason.stepsTried, ["bin", "driver", "reclaim", "evict"])
      strictEqual(reason.heldBytes, 0)
      yield* expectStats({ heldBlocks: 0, managedBytes: 400 * MiB, driverFrees: 2 })
    })))

  it.live("asks for the exact size in the end", () =>
    onNull(
      Effect.gen(function*() {
        yield* BufferPool.allocate(256 * MiB)
        yield* BufferPool.allocate(128 * MiB)
        yield* Effect.scoped(Effect.gen(function*() {
          const lease = yield* BufferPool.allocate(100 * MiB)
          strictEqual(lease.capacity, 128 * MiB)
        }))
        yield* BufferPool.freeHeld
        yield* BufferPool.allocate(16 * MiB)
        const lease = yield* BufferPool.allocate(100 * MiB)
        strictEqual(lease.capacity, 100 * MiB)
        yield* Lease.release(lease)
        yield* expectStats({ heldBlocks: 0, managedBytes: 400 * MiB })
      }),
      SizePolicy.sizeClasses(0)
    ))

  it.live("serves every fiber in the end when it retries what is retryable", () =>
    onNull(Effect.gen(function*() {
      const turns = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => (40 + index) * MiB),
        (bytes) =>
          BufferPool.use(bytes, () => Effect.as(Effect.yieldNow, bytes)).pipe(
            Effect.tapError(() => Effect.yieldNow),
            Effect.retry({ while: (error) => error.isRetryable })
          ),
        { concurrency: "unbounded" }
      )
      strictEqual(turns.length, 40)
      const { activeBlocks, peakManagedBytes } = yield* BufferPool.stats
      strictEqual(activeBlocks, 0)
      assert.isAtMost(peakManagedBytes, 512 * MiB)
    })))

  it.live("leaves nothing behind when a scope fails with it half-way", () =>
    onNull(Effect.gen(function*() {
      const exit = yield* Effect.exit(
        Effect.scoped(Effect.forEach([200, 200, 200], (size) => BufferPool.allocate(size * MiB)))
      )
      assert.isTrue(Exit.isFailure(exit))
      yield* expectStats({ activeBlocks: 0, heldBlocks: 2, heldBytes: 400 * MiB })
      yield* BufferPool.freeHeld
      yield* Effect.scoped(BufferPool.allocate(256 * MiB))
    })))
})
