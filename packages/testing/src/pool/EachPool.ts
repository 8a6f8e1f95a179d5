/**
 * What the modules of buffers, images and staging memory have in common: their functions, each on a pool of its own.
 *
 * @internal
 */
import { BufferPool, CommandQueue, SizePolicy, StagingPool } from "effect-gpu-pool"
import type { MemoryControls, OfPool } from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, ImagePool, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import type { PoolOptions } from "effect-gpu-pool/PoolOptions"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import {
  allocator,
  type ConformanceTest,
  type Device,
  expectInvariants,
  inGroup,
  type TestServices
} from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { onAnyDevice } from "../images/AnyDevice.ts"

const test = inGroup("pools of every kind", { counting: true })

/** A module, and how it leases a number of bytes (multiples of 16). */
interface Kind<I, P extends MemoryControls> {
  readonly name: string
  readonly module: OfPool<I, P>
  readonly layer: (options: PoolOptions) => Layer.Layer<I, GpuError, Device>
  readonly lease: (bytes: number, label?: string) => Effect.Effect<unknown, GpuError, I | Scope.Scope>
}

const buffers: Kind<BufferPool.BufferPool, BufferPool.Pool> = {
  name: "buffers",
  module: BufferPool,
  layer: (options) =>
    Layer.unwrap(
      Effect.map(allocator, (layer) =>
        Layer.provide(BufferPool.layerNoDeps({ ...options, sizePolicy: SizePolicy.exact }), layer))
    ),
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

const testsOf = <I, P extends MemoryControls>({ layer, lease, module, name }: Kind<I, P>) => {
  const { budget, freeHeld, freeHeldOf, holders, exclusively, maxBytes, onOutOfMemory, reserve, setLimit, stats } =
    module
  const { resumeHolding, statsOf, stopHolding, trimTo, withBudget } = module

  /** Runs the body on a new pool, and checks that nothing is leased at its end. */
  const on = <E>(options: PoolOptions, body: () => Effect.gen.Return<void, E, TestServices | I>) =>
    Effect.gen(function*() {
      const built = yield* Layer.build(Layer.fresh(layer(options)))
      yield* Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(body))
        const found = yield* stats
        expectInvariants(found)
        Expect.same(
          "in use afterwards",
          [found.activeBlocks, found.pendingBytes, found.reservedBytes, found.waiters],
          [0, 0, 0, 0]
        )
      }).pipe(Effect.provide(built))
    })

  const taken = (bytes: number) => Effect.scoped(lease(bytes))

  const holds = (what: string, expected: number) =>
    Effect.map(stats, ({ heldBytes }) => Expect.equal(what, heldBytes, expected))

  const two = Effect.scoped(Effect.andThen(lease(256), Effect.andThen(Effect.yieldNow, lease(256))))

  return [
    test(
      `${name}: jobs of two leases end in room for four, with \`reserve\` and with \`exclusively\``,
      on(four, function*() {
        yield* all(reserve(two, 512))
        yield* all(two.pipe(reserve("512", { label: "job" })))
        yield* all(exclusively(two))
      })
    ),
    test(
      `${name}: other requests cannot use reserved bytes, and a lease outlives its reservation`,
      on({ maxBytes: 1024 }, function*() {
        yield* reserve(
          Effect.gen(function*() {
            Expect.equal("reserved", (yield* stats).reservedBytes, 768)
            yield* lease(512)
            Expect.equal("of what is left", (yield* stats).reservedBytes, 256)
          }),
          768
        )
        const { activeBytes, reservedBytes } = yield* stats
        Expect.same("after it", [activeBytes, reservedBytes], [512, 0])
        yield* Expect.failsWith("more than there is", reserve(Effect.void, 1040), "LimitExceeded")
        yield* Expect.refused("what is no size", reserve(Effect.void, -1))
      })
    ),
    test(
      `${name}: an effect under a budget has no more than that`,
      on(four, function*() {
        const { peakActiveBytes } = yield* withBudget(Effect.andThen(all(taken(256)), stats), 512, {
          onExhausted: "wait"
        })
        Expect.isTrue(`${peakActiveBytes} bytes at a time`, peakActiveBytes > 0 && peakActiveBytes <= 512)
        Expect.equal("its limit", yield* maxBytes.pipe(withBudget("512")), 512)
        Expect.equal("that of the pool", yield* maxBytes, 1024)
        yield* Expect.failsWith("a lease over it", withBudget(taken(768), 512), "LimitExceeded")
        const tenant = yield* budget(256, { label: "tenant" })
        Expect.equal("the limit of a value", yield* tenant.maxBytes, 256)
        yield* Expect.refused("what is no limit", budget(-1))
      })
    ),
    test(
      `${name}: a handler is asked when memory has run out`,
      on({ maxBytes: 1024 }, function*() {
        const scope = yield* Scope.make()
        yield* Scope.provide(lease(1024), scope)
        yield* onOutOfMemory(({ requested }) => Effect.as(Scope.close(scope, Exit.void), requested === 512))
        yield* taken(512)
      })
    ),
    test(
      `${name}: what is held goes and stays as its functions say`,
      on({}, function*() {
        const queue = yield* CommandQueue.CommandQueue
        yield* Effect.scoped(Effect.gen(function*() {
          yield* lease(256, "small")
          yield* lease(512, "large")
          Expect.same("the largest", (yield* holders(1)).map(({ label, size }) => [label, size]), [["large", 512]])
          Expect.equal("all", (yield* holders()).length, 2)
        }))
        yield* holds("after two leases", 768)
        Expect.equal("of the queue", (yield* statsOf(queue)).heldBytes, 768)
        yield* trimTo(512)
        Expect.isTrue("trimmed", (yield* stats).heldBytes <= 512)
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
        Expect.equal("the limit", yield* maxBytes, 128)
        yield* holds("over the limit", 0)
        yield* Expect.failsWith("a lease over it", taken(256), "LimitExceeded")
      })
    )
  ]
}

export const tests: ReadonlyArray<ConformanceTest> = [
  ...testsOf(buffers),
  ...onAnyDevice(testsOf(images)),
  ...testsOf(staging)
]
