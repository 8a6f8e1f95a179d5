/** The hint that a lease should not share a slab with others, on the backend where that matters. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { Allocator, BufferPool, BufferUsage, GpuError, Lease } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { BufferLike } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"
import { decorated } from "../support/hostPool.ts"

const slabBytes = 4096

const onNull = <A, E>(
  test: Effect.Effect<A, E, BufferPool.BufferPool | WebGpu.Services | Scope.Scope>,
  options: BufferPool.BufferPoolOptions = {}
) => {
  const pool = BufferPool.layer({ strategy: PoolStrategy.arena({ slabBytes, growth: 0 }), ...options })
  const gpu = pool.pipe(Layer.provideMerge(WebGpu.layer({ flags: ["backend=null"] })))
  return Effect.provide(Effect.scoped(test), gpu)
}

const slabOf = (lease: BufferPool.PooledBuffer) => BufferLike.deviceBuffer(lease)!.allocation

const allocations = Effect.map(BufferPool.stats, ({ driverAllocations }) => driverAllocations)

describe("a lease that should be apart from others, on WebGPU", () => {
  it.live("is in another slab, of which there is one more at most", () =>
    onNull(Effect.gen(function*() {
      const first = yield* BufferPool.allocate(256)
      const second = yield* BufferPool.allocate(256, { apart: [first] })
      assert.notStrictEqual(slabOf(second), slabOf(first))
      const third = yield* BufferPool.allocate(256, { apart: [second] })
      const fourth = yield* BufferPool.allocate(256, { apart: [first, third] })
      strictEqual(slabOf(third), slabOf(first))
      strictEqual(slabOf(fourth), slabOf(second))
      strictEqual(yield* allocations, 2)
      const fifth = yield* BufferPool.allocate(256, { apart: [first, second] })
      strictEqual(yield* allocations, 3)
      assert.isFalse([first, second].map(slabOf).includes(slabOf(fifth)))
    })))

  it.live("is so as a loan, and as one of several", () =>
    onNull(Effect.gen(function*() {
      const first = yield* BufferPool.allocate(256)
      yield* BufferPool.use(256, (lease) => Effect.sync(() => assert.notStrictEqual(slabOf(lease), slabOf(first))), {
        apart: [first]
      })
      const both = yield* BufferPool.allocateAll([256, 256], { apart: [first] })
      for (const lease of both) assert.notStrictEqual(slabOf(lease), slabOf(first))
      yield* BufferPool.useAll([256], ([lease]) =>
        Effect.sync(() => assert.notStrictEqual(slabOf(lease!), slabOf(first))), { apart: [first] })
    })))

  it.live("shares a slab where the limit has no room for another", () =>
    onNull(
      Effect.gen(function*() {
        const first = yield* BufferPool.allocate(256)
        const second = yield* BufferPool.allocate(256, { apart: [first] })
        const third = yield* BufferPool.allocate(256, { apart: [first, second] })
        assert.isTrue([first, second].map(slabOf).includes(slabOf(third)))
        strictEqual(yield* allocations, 2)
      }),
      { maxBytes: 2 * slabBytes }
    ))

  it.live("takes a held slab rather than a new one, if it has the usage", () =>
    onNull(Effect.gen(function*() {
      yield* Effect.scoped(Effect.andThen(BufferPool.allocate(4000), BufferPool.allocate(4000)))
      strictEqual(yield* allocations, 2)
      const first = yield* BufferPool.allocate(256)
      const second = yield* BufferPool.allocate(256, { apart: [first] })
      assert.notStrictEqual(slabOf(second), slabOf(first))
      strictEqual(yield* allocations, 2)
      yield* BufferPool.allocate(256, { apart: [first], usage: BufferUsage.storage | BufferUsage.uniform })
      strictEqual(yield* allocations, 3)
    })))

  it.live("waits as others do, and is served as soon as any memory is free", () =>
    onNull(
      Effect.gen(function*() {
        const first = yield* BufferPool.allocate(2048)
        const second = yield* BufferPool.allocate(2048)
        const waiting = yield* Effect.forkChild(BufferPool.allocate(1024, { apart: [first] }), {
          startImmediately: true
        })
        strictEqual((yield* BufferPool.stats).waiters, 1)
        yield* Lease.release(second)
        strictEqual(slabOf(yield* Fiber.join(waiting)), slabOf(first))
      }),
      { maxBytes: slabBytes, onExhausted: "wait" }
    ))

  it.live("may name leases that have ended, leases of no bytes, buffers without a pool and those of other pools", () =>
    onNull(Effect.gen(function*() {
      const [gone, empty] = [yield* BufferPool.allocate(256), yield* BufferPool.allocate(0)]
      yield* Lease.release(gone)
      const other = yield* BufferPool.make({ strategy: PoolStrategy.arena({ slabBytes }) }).pipe(
        Effect.flatMap((pool) => pool.allocate(256)),
        Effect.provide(Allocator.layerImmediate)
      )
      yield* BufferPool.allocate(256, { apart: [gone, empty, other] })
      strictEqual(yield* allocations, 1)
    })))

  it.live("shares a slab where the allocator answers that another one is over a limit of its own", () => {
    const limited = decorated((allocator) => {
      let made = 0
      return {
        ...allocator,
        allocate: (bytes, options) =>
          made++ === 0 ? allocator.allocate(bytes, options) : Effect.fail(GpuError.limitExceeded({
            operation: "allocate",
            requested: bytes,
            limitName: "limit",
            limit: slabBytes
          }))
      }
    })
    const pool = BufferPool.layerNoDeps({ strategy: PoolStrategy.arena({ slabBytes, growth: 0 }) })
    const gpu = pool.pipe(Layer.provide(limited), Layer.provideMerge(WebGpu.layer({ flags: ["backend=null"] })))
    return Effect.gen(function*() {
      const first = yield* BufferPool.allocate(256)
      strictEqual(slabOf(yield* BufferPool.allocate(256, { apart: [first] })), slabOf(first))
      strictEqual(yield* allocations, 1)
    }).pipe(Effect.scoped, Effect.provide(gpu))
  })

  it.live("is InvalidRequest if it is no array of buffers, whatever the pool keeps", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<unknown> = [7, "x", {}, [null], [7], [{}], new Set()]
      for (const strategy of [PoolStrategy.arena(), PoolStrategy.blocks]) {
        for (const apart of wrong) {
          const options = { apart: apart as ReadonlyArray<BufferPool.PooledBuffer> }
          const asked = [
            BufferPool.allocate(256, options),
            BufferPool.use(256, () => Effect.void, options),
            BufferPool.allocateAll([256, 256], options)
          ]
          for (const one of asked) {
            strictEqual((yield* Effect.flip(onNull(one, { strategy }))).reason._tag, "InvalidRequest")
          }
        }
      }
    }))

  it.live("is served whenever one without the hint is, in random programs under a limit", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.integer({ min: -3, max: 9 }), fc.nat(20), fc.nat(20)), { maxLength: 60 }),
          (program) => {
            const outcome = (hints: boolean) =>
              Effect.gen(function*() {
                const live: Array<BufferPool.PooledBuffer> = []
                for (const [units, x, y] of program) {
                  if (units <= 0) {
                    const [lease] = live.splice(x % Math.max(1, live.length), 1)
                    if (lease !== undefined) yield* Lease.release(lease)
                    continue
                  }
                  const apart = hints && live.length > 0 ? [live[x % live.length]!, live[y % live.length]!] : []
                  const free = (yield* BufferPool.stats).managedBytes
                  const lease = yield* Effect.result(BufferPool.allocate(units * 256, { apart }))
                  assert.isAtMost(free, 4 * slabBytes)
                  if (lease._tag === "Success") live.push(lease.success)
                  else assert.isAbove((yield* BufferPool.stats).activeBytes + units * 256, slabBytes)
                }
                const { activeBlocks, pendingBytes } = yield* BufferPool.stats
                deepStrictEqual([activeBlocks, pendingBytes], [live.length, 0])
              })
            return Effect.runPromise(onNull(outcome(true), { maxBytes: 4 * slabBytes }))
          }
        ),
        { numRuns: runs(200) }
      )
    ))
})

const onHost = (options: BufferPool.BufferPoolOptions): Effect.Effect<number, GpuError.GpuError> =>
  Effect.gen(function*() {
    const first = yield* BufferPool.allocate(256)
    yield* BufferPool.allocate(256, { apart: [first] })
    return yield* allocations
  }).pipe(Effect.scoped, Effect.provide(BufferPool.layer(options).pipe(Layer.provideMerge(Host.layer()))))

describe("the same hint", () => {
  it.live("has no effect where one command may read and write one buffer, nor on blocks", () =>
    Effect.gen(function*() {
      strictEqual(yield* onHost({ strategy: PoolStrategy.arena({ slabBytes }) }), 1)
      strictEqual(yield* onHost({}), 2)
    }))
})
