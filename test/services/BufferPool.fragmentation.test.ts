import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { hasStats, hold, layer } from "../support/hostPool.ts"
import { withEvents } from "../support/poolEvents.ts"

describe("fragmentation that others fail on", () => {
  const u = 512

  it.effect("6u fits after 5u was released under a limit of 10u, and 5u after 6u", () =>
    withEvents({ pool: { maxBytes: 10 * u }, host: { capacityBytes: 10 * u } }, (events) =>
      Effect.gen(function*() {
        for (const units of [5, 6, 5, 6, 10, 1, 9]) {
          yield* BufferPool.use(units * u, (lease) => Effect.sync(() => strictEqual(lease.size, units * u)))
        }
        // Only the limit is an obstacle: the driver grants every request.
        const seen = events()
        strictEqual(seen.filter((event) => event.startsWith("allocate")).length, 7)
        yield* hasStats({ heldBytes: 10 * u, driverFrees: 5, misses: 7 })
      })))

  const GiB = 2 ** 30

  // cupy#7678: after half of the limit was released, three quarters of it could not be allocated.
  it.effect("768 MiB fit under a limit of 1 GiB of which 512 MiB are held, with any size policy (cupy#7678)", () =>
    Effect.forEach([SizePolicy.exact, SizePolicy.leadingBits(4), SizePolicy.defaultPolicy], (sizePolicy) =>
      // The same in proportion, so that nothing needs gibibytes for it.
      Effect.forEach([0.001, 0.003], (scale) => {
        const bytes = (share: number) => Math.floor(GiB * scale * share)
        return withEvents({ pool: { maxBytes: bytes(1), sizePolicy } }, (events) =>
          Effect.gen(function*() {
            yield* hold([bytes(0.5)])
            events()
            strictEqual(yield* BufferPool.use(bytes(0.75), ({ size }) => Effect.succeed(size)), bytes(0.75))
            strictEqual(events().filter((event) => event.startsWith("allocate")).length, 1)
            yield* hasStats({ driverFrees: 1, heldBlocks: 1, pendingBytes: 0 })
          }))
      }), { discard: true }))

  // cupy#1256: enough large free memory, and an error all the same.
  it.effect("60 % of a device fit beside 30 % in use, when another 30 % are held (cupy#1256)", () =>
    withEvents({ host: { capacityBytes: 1000, lateFree: true } }, (events) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(300)
        yield* hold([300])
        events()
        yield* BufferPool.use(600, () => Effect.void)
        yield* BufferPool.use(600, () => Effect.void)
        deepStrictEqual(events(), ["allocate 600", "reclaim", "allocate 600", "free 300", "reclaim", "allocate 600"])
      })))

  it.effect("6u and 7u, one after the other, never miss twice where both fit", () =>
    Effect.gen(function*() {
      for (let i = 0; i < 50; i++) {
        yield* BufferPool.use((6 + i % 2) * u, () => Effect.void)
      }
      yield* hasStats({ misses: 2, hits: 48, driverFrees: 0 })
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 13 * u } }))))

  it.effect("a checkerboard of free blocks serves one request as large as all of them", () =>
    Effect.gen(function*() {
      const leases = yield* Effect.forEach(Array.from({ length: 100 }), () => BufferPool.allocate(u))
      for (const [i, lease] of leases.entries()) if (i % 2 === 0) yield* Lease.release(lease)
      strictEqual((yield* BufferPool.allocate(50 * u)).size, 50 * u)
      yield* hasStats({ heldBlocks: 0, managedBytes: 100 * u })
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ host: { capacityBytes: 100 * u, lateFree: true }, pool: { maxBytes: 100 * u } }))
    ))

  it.effect("requests that grow step by step stay within the limit and free no more than they need", () =>
    Effect.gen(function*() {
      for (let units = 1; units <= 64; units++) {
        yield* BufferPool.use(units * u, () => Effect.void)
        const { heldBytes, managedBytes } = yield* BufferPool.stats
        strictEqual(managedBytes, heldBytes)
        assert.isAtMost(managedBytes, 64 * u)
      }
      yield* hasStats({ heldBytes: 64 * u, heldBlocks: 1 })
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 64 * u } }))))

  it.effect("a shared pool of usages gives one usage's held blocks up for another's request", () =>
    Effect.gen(function*() {
      yield* hold([50, 50])
      yield* BufferPool.use(100, () => Effect.void, { usage: BufferUsage.storage })
      yield* hasStats({ heldBytes: 100, heldBlocks: 1, driverFrees: 2 })
    }).pipe(Effect.provide(layer({ host: { capacityBytes: 100 } }))))
})
