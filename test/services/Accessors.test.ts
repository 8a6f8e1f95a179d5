/** Each module has a function for each method of its service, and does with the pool in context what it says. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import type { PoolOptions } from "../../src/domain/pool/PoolOptions.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import type { Services } from "../../src/services/backend/Device.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import type { OfPool } from "../../src/services/pool/Accessors.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import type { MemoryControls } from "../../src/services/pool/Pool.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { tagOf } from "../support/hostPool.ts"

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

/** A module, and how it leases a number of bytes (multiples of 16). */
interface Kind<I, P extends MemoryControls> {
  readonly name: string
  readonly module: OfPool<I, P>
  readonly layer: (options: PoolOptions) => Layer.Layer<I, GpuError, Services>
  readonly lease: (bytes: number, label?: string) => Effect.Effect<unknown, GpuError, I | Scope.Scope>
}

const buffers: Kind<BufferPool.BufferPool, BufferPool.Pool> = {
  name: "buffers",
  module: BufferPool,
  layer: (options) => BufferPool.layer({ ...options, sizePolicy: SizePolicy.exact }),
  lease: (bytes, label) => BufferPool.allocate(bytes, { label })
}

const images: Kind<ImagePool.ImagePool, ImagePool.Pool> = {
  name: "images",
  module: ImagePool,
  layer: ImagePool.layer,
  lease: (bytes, label) =>
    ImagePool.allocate(ImageShape.image2d(bytes / 16, 4), ImageFormat.rgba8, {
      usage: ImageUsage.copySrc | ImageUsage.copyDst,
      label
    })
}

const staging: Kind<StagingPool.StagingPool, StagingPool.Pool> = {
  name: "staging memory",
  module: StagingPool,
  layer: (options) => StagingPool.layer({ ...options, sizePolicy: SizePolicy.exact }),
  lease: (bytes, label) => StagingPool.allocate(bytes, Uint8Array, { direction: "download", label })
}

/** Room for four leases of 256 bytes. */
const four: PoolOptions = { maxBytes: 1024, onExhausted: "wait", deadlockTimeout: "5 millis" }

const all = <E, R>(job: Effect.Effect<unknown, E, R>) =>
  Effect.replicateEffect(job, 16, { concurrency: "unbounded", discard: true })

const tests = <I, P extends MemoryControls>({ layer, lease, module, name }: Kind<I, P>) => {
  const { budget, freeHeld, freeHeldOf, holders, exclusively, maxBytes, onOutOfMemory, reserve, setLimit, stats } =
    module
  const { resumeHolding, statsOf, stopHolding, trimTo, withBudget } = module

  /** Runs the body on a new pool, and checks that nothing is leased at its end. */
  const on = (options: PoolOptions, body: () => Effect.gen.Return<void, unknown, I | Services | Scope.Scope>) => () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(body))
      const found = yield* stats
      deepStrictEqual([found.activeBlocks, found.pendingBytes, found.reservedBytes, found.waiters], [0, 0, 0, 0])
    }).pipe(Effect.provide(Layer.provideMerge(layer(options), Host.layer())))

  const taken = (bytes: number) => Effect.scoped(lease(bytes))

  const holds = (what: string, expected: number) =>
    Effect.map(stats, ({ heldBytes }) => strictEqual(heldBytes, expected, what))

  const two = Effect.scoped(Effect.andThen(lease(256), Effect.andThen(Effect.yieldNow, lease(256))))

  describe(`the functions of ${name}`, () => {
    it.live(
      "jobs of two leases end in room for four, with `reserve` and with `exclusively`",
      on(four, function*() {
        yield* all(reserve(two, 512))
        yield* all(two.pipe(reserve("512", { label: "job" })))
        yield* all(exclusively(two))
      })
    )

    it.live(
      "other requests cannot use reserved bytes, and a lease outlives its reservation",
      on({ maxBytes: 1024 }, function*() {
        yield* reserve(
          Effect.gen(function*() {
            strictEqual((yield* stats).reservedBytes, 768)
            yield* lease(512)
            strictEqual((yield* stats).reservedBytes, 256)
          }),
          768
        )
        const { activeBytes, reservedBytes } = yield* stats
        deepStrictEqual([activeBytes, reservedBytes], [512, 0])
        strictEqual(yield* tagOf(reserve(Effect.void, 1040)), "LimitExceeded")
        strictEqual(yield* tagOf(reserve(Effect.void, -1)), "InvalidRequest")
      })
    )

    it.live(
      "an effect under a budget has no more than that",
      on(four, function*() {
        const { peakActiveBytes } = yield* withBudget(Effect.andThen(all(taken(256)), stats), 512, {
          onExhausted: "wait"
        })
        assert.isTrue(peakActiveBytes > 0 && peakActiveBytes <= 512)
        strictEqual(yield* maxBytes.pipe(withBudget("512")), 512)
        strictEqual(yield* maxBytes, 1024)
        strictEqual(yield* tagOf(withBudget(taken(768), 512)), "LimitExceeded")
        const tenant = yield* budget(256, { label: "tenant" })
        strictEqual(yield* tenant.maxBytes, 256)
        strictEqual(yield* tagOf(budget(-1)), "InvalidRequest")
      })
    )

    it.live(
      "a handler is asked when memory has run out",
      on({ maxBytes: 1024 }, function*() {
        const scope = yield* Scope.make()
        yield* Scope.provide(lease(1024), scope)
        yield* onOutOfMemory(({ requested }) => Effect.as(Scope.close(scope, Exit.void), requested === 512))
        yield* taken(512)
      })
    )

    it.live(
      "what is held goes and stays as its functions say",
      on({}, function*() {
        const queue = yield* CommandQueue.CommandQueue
        yield* Effect.scoped(Effect.gen(function*() {
          yield* lease(256, "small")
          yield* lease(512, "large")
          deepStrictEqual((yield* holders(1)).map(({ label, size }) => [label, size]), [["large", 512]])
          strictEqual((yield* holders()).length, 2)
        }))
        yield* holds("after two leases", 768)
        strictEqual((yield* statsOf(queue)).heldBytes, 768)
        yield* trimTo(512)
        assert.isTrue((yield* stats).heldBytes <= 512)
        yield* freeHeldOf(queue)
        yield* holds("without those of the queue", 0)
        yield* taken(256)
        yield* freeHeld
        yield* holds("freed", 0)
        yield* stopHolding
        yield* taken(256)
        yield* holds("without holding", 0)
        yield* resumeHolding
        yield* taken(256)
        yield* holds("holding again", 256)
        yield* setLimit({ maxBytes: 128 })
        strictEqual(yield* maxBytes, 128)
        yield* holds("over the limit", 0)
        strictEqual(yield* tagOf(taken(256)), "LimitExceeded")
      })
    )
  })
}

tests(buffers)
tests(images)
tests(staging)
