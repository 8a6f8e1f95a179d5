/** A small pool: what it shares with every other one, and what it refuses. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import type { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { logsTo } from "../support/hostPool.ts"

type Services = BufferPool.BufferPool | CommandQueue.CommandQueue | DeviceContext | Host.Host | Scope.Scope

const onHost = <A, E>(test: Effect.Effect<A, E, Services>, options?: BufferPool.SmallPoolOptions) =>
  Effect.gen(function*() {
    const used = Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test), device))
    const layer = BufferPool.layerSmall(options).pipe(Layer.provideMerge(Host.layer({ capacityBytes: 4096 })))
    const { driverObjects } = yield* Effect.provide(used, layer)
    deepStrictEqual(driverObjects.liveByKind, {})
  })

interface Step {
  readonly size: number
  /** Whether its lease ends at once. */
  readonly ends: boolean
}

/** What a pool answers to requests one after the other, and its counters after each. */
const answersTo = (steps: ReadonlyArray<Step>) =>
  Effect.scoped(
    Effect.forEach(steps, ({ ends, size }) => {
      const asked = BufferPool.allocate(size)
      const answer = Effect.match(ends ? Effect.scoped(asked) : asked, {
        onFailure: ({ message }) => message,
        onSuccess: ({ capacity }) => capacity
      })
      return Effect.zip(answer, BufferPool.stats)
    })
  )

describe("a small pool", () => {
  it.effect("reuses memory, also under use", () =>
    onHost(Effect.gen(function*() {
      yield* Effect.scoped(BufferPool.allocate(64))
      yield* BufferPool.use(64, (x) => CommandQueue.write(x, new Float32Array(16)))
      const { heldBlocks, hits, misses } = yield* BufferPool.stats
      deepStrictEqual({ heldBlocks, hits, misses }, { heldBlocks: 1, hits: 1, misses: 1 })
      yield* BufferPool.freeHeld
      strictEqual((yield* BufferPool.stats).managedBytes, 0)
    })))

  it.effect("evicts under its limit, and fails with who has the memory", () =>
    onHost(
      Effect.gen(function*() {
        yield* Effect.scoped(BufferPool.allocate(512))
        const held = yield* BufferPool.allocate(1024, { label: "most" })
        const error = yield* Effect.flip(BufferPool.allocate(64))
        assert(error.reason._tag === "OutOfMemory")
        deepStrictEqual(error.reason.holders.map(({ label }) => label), ["most"])
        strictEqual(held.size, 1024)
        yield* BufferPool.setLimit(2048)
        yield* BufferPool.allocate(64)
      }),
      { maxBytes: 1024 }
    ))

  it.effect("answers and counts as a BufferPool does", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ size: fc.integer({ min: 0, max: 1500 }), ends: fc.boolean() }), { maxLength: 30 }),
          fc.constantFrom({}, { maxBytes: 2048 }, { maxHeldBytes: 600 }),
          async (steps, options) => {
            const run = (layer: Layer.Layer<BufferPool.BufferPool, GpuError, DeviceContext | QueueDriver>) =>
              Effect.runPromise(
                Effect.provide(answersTo(steps), layer.pipe(Layer.provide(Host.layer({ capacityBytes: 3000 }))))
              )
            deepStrictEqual(await run(BufferPool.layerSmall(options)), await run(BufferPool.layer(options)))
          }
        ),
        { numRuns: 50 }
      )
    ))

  it.effect("refuses what it leaves out, and says which pool has it", () =>
    onHost(Effect.gen(function*() {
      const refused: ReadonlyArray<Effect.Effect<unknown, GpuError, Services>> = [
        BufferPool.allocateAll([64, 64]),
        BufferPool.useAll([64], () => Effect.void),
        BufferPool.reserve(Effect.void, 64),
        BufferPool.withBudget(Effect.void, 64),
        BufferPool.onOutOfMemory(() => Effect.succeed(false)),
        BufferPool.allocate(64, { onExhausted: "wait" }),
        BufferPool.allocate(64, { waitAtMost: "1 second" })
      ]
      for (const effect of refused) {
        const error = yield* Effect.flip(effect)
        strictEqual(error.reason._tag, "Unsupported")
        assert.include(error.message, "Open the pool by BufferPool.layer.")
      }
      yield* BufferPool.allocate(64, { onExhausted: "fail" })
      strictEqual(yield* BufferPool.exclusively(Effect.succeed(1)), 1)
      assert.include((yield* Effect.flip(BufferPool.budget(64))).message, "BufferPool.budget: ")
      assert.include((yield* Effect.flip(BufferPool.withBudget(Effect.void, 64))).message, "BufferPool.withBudget: ")
    })))

  it.effect("counts a block that could not be freed, and warns of it on the console", () => {
    const logged: Array<string> = []
    const printed: Array<unknown> = []
    return onHost(Effect.gen(function*() {
      yield* BufferPool.stopHolding
      yield* Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.allocate(64)
        const { faults } = yield* Host.Host
        faults.failFrees({ times: 1 })
      }))
      strictEqual((yield* BufferPool.stats).releaseFailures, 1)
      assert.match(String(printed), /^A block of the BufferPool could not be freed: .*destroyBuffer/)
      deepStrictEqual([printed.length, logged], [1, []])
    })).pipe(
      Effect.provideService(Console.Console, { ...console, warn: (...args) => void printed.push(...args) }),
      Effect.provide(logsTo(logged))
    )
  })

  it.effect("has no options of waiting", () =>
    Effect.gen(function*() {
      const options: object = { onExhausted: "wait" }
      const error = yield* Effect.flip(
        Effect.scoped(Layer.build(BufferPool.layerSmall(options).pipe(Layer.provide(Host.layer()))))
      )
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "there is no option \"onExhausted\"")
    }))
})
