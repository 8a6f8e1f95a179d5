/** Each module has a function for each method of its service. What they do is tested by the conformance suite. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Host } from "../../src/host.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"

const lacking = (module: object, service: object): ReadonlyArray<string> =>
  Object.keys(service).filter((name) => !(name in module))

const layer = Layer.mergeAll(BufferPool.layerShared(), ImagePool.layerShared(), StagingPool.layerShared()).pipe(
  Layer.provideMerge(DeviceMemory.layer()),
  Layer.provideMerge(Host.layer()),
  Layer.merge(BufferPools.layer(() => Host.layer()))
)

describe("a module", () => {
  it.effect("lacks nothing that its service has", () =>
    Effect.gen(function*() {
      const services = [
        [BufferPool, yield* BufferPool.BufferPool],
        [ImagePool, yield* ImagePool.ImagePool],
        [StagingPool, yield* StagingPool.StagingPool],
        [DeviceMemory, yield* DeviceMemory.DeviceMemory],
        [BufferPools, yield* BufferPools.BufferPools]
      ] as const
      for (const [module, service] of services) {
        assert.isAbove(Object.keys(service).length, 6)
        deepStrictEqual(lacking(module, service), [])
      }
    }).pipe(Effect.provide(layer)))

  it.effect("of a pool has `withBudget` as well", () =>
    Effect.sync(() => {
      for (const module of [BufferPool, ImagePool, StagingPool]) assert.isFunction(module.withBudget)
    }))
})

describe("under a budget of staging memory", () => {
  it.effect("a pool that the program has made of another one is in context", () =>
    Effect.gen(function*() {
      const pool = yield* StagingPool.StagingPool
      const own = StagingPool.StagingPool.of({ ...pool })
      const wrapped = { ...pool, budget: () => Effect.succeed(own) }
      const found = StagingPool.withBudget(StagingPool.StagingPool, 64)
      assert.strictEqual(yield* Effect.provideService(found, StagingPool.StagingPool, wrapped), own)
    }).pipe(Effect.provide(layer)))
})
