/**
 * The image pool on a device: its promises depend on the driver's queue order and on its memory.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, ImagePool, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Kernels from "../commands/Kernels.ts"
import {
  type ConformanceTest,
  expectInvariants,
  inGroup,
  scaled,
  type TestOptions,
  type TestServices
} from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { interruptedAtEach } from "../pool/Interruption.ts"

const test = inGroup("image pool")

const shape = ImageShape.image2d(8, 4)
const bytes = 8 * 4 * 4
const usage = ImageUsage.copySrc | ImageUsage.copyDst

const lease = (pool: ImagePool.Pool) => pool.allocate(shape, ImageFormat.rgba8, { usage })

/** A pool that closes before the test reads the counters of the device. */
const onPool = (
  name: string,
  { images = {}, ...options }: TestOptions & { readonly images?: ImagePool.ImagePoolOptions },
  body: (pool: ImagePool.Pool) => Effect.gen.Return<unknown, unknown, TestServices>
): ConformanceTest =>
  test(name, options, function*() {
    const { driverObjects } = yield* DeviceContext
    const before = driverObjects.liveByKind["image"] ?? 0
    yield* Effect.scoped(Effect.gen(function*() {
      const pool = yield* ImagePool.make(images)
      yield* Effect.scoped(Effect.gen(() => body(pool)))
      const stats = yield* pool.stats
      expectInvariants(stats)
      Expect.equal("leases after the test", stats.activeBlocks, 0)
      Expect.equal("failed releases", stats.releaseFailures, 0)
      Expect.equal("images alive", (driverObjects.liveByKind["image"] ?? 0) - before, stats.managedBlocks)
    }))
    Expect.equal("images after the pool", driverObjects.liveByKind["image"] ?? 0, before)
  })

const all = (byte: number): Uint8Array<ArrayBuffer> => new Uint8Array(bytes).fill(byte)

export const tests: ReadonlyArray<ConformanceTest> = [
  /** The first owner's copy is recorded, and perhaps not yet submitted, when the second owner writes. */
  onPool("the next owner of an image writes after the commands of its last owner", {}, function*(pool) {
    const out = yield* BufferPool.allocate(bytes)
    for (let round = 1; round <= 20; round++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const image = yield* lease(pool)
        yield* Images.write(image, all(round))
        yield* Images.toBuffer(image, out)
      }))
      yield* pool.use(shape, ImageFormat.rgba8, (image) => Images.fill(image, 1), { usage })
      Expect.numbers(`round ${round}`, yield* CommandQueue.read(out, Uint8Array), all(round))
    }
    const { hits, misses } = yield* pool.stats
    Expect.same("hits and misses", [hits, misses], [39, 1])
  }),
  onPool("the next owner on another queue does too", {}, function*(pool) {
    const items = yield* scaled(20_000, 100)
    const [work, out] = [yield* BufferPool.allocate(4 * items), yield* BufferPool.allocate(bytes)]
    const first = yield* CommandQueue.CommandQueue
    const queue = yield* CommandQueue.make({ share: true })
    for (let round = 1; round <= 10; round++) {
      yield* first.dispatch(Kernels.busy, { y: work }, items)
      yield* pool.use(
        shape,
        ImageFormat.rgba8,
        (image) => Effect.andThen(Images.write(image, all(round)), Images.toBuffer(image, out)),
        { usage }
      )
      const next = pool.use(
        shape,
        ImageFormat.rgba8,
        (image) => Effect.andThen(Images.write(image, all(100)), Images.read(image, Uint8Array)),
        { usage }
      )
      Expect.numbers("what the next owner wrote", yield* CommandQueue.on(next, queue), all(100))
      Expect.numbers(`round ${round}`, yield* first.read(out, Uint8Array), all(round))
    }
  }),
  onPool("a pool that clears hands out zeros", { images: { clear: "acquire" } }, function*(pool) {
    const contents = Effect.scoped(Effect.gen(function*() {
      const image = yield* lease(pool)
      const found = yield* Images.read(image, Uint8Array)
      // Writes instead of a fill, because the pool itself clears with a fill.
      yield* Images.write(image, all(255))
      return found
    }))
    for (const when of ["a fresh one", "a recycled one", "once more"]) Expect.numbers(when, yield* contents, all(0))
  }),
  onPool("an ended lease fails, and disturbs no other", { counting: true }, function*(pool) {
    const image = yield* lease(pool)
    yield* Images.fill(image, 1)
    yield* Lease.release(image)
    const next = yield* lease(pool)
    const uses: ReadonlyArray<Effect.Effect<unknown, GpuError, Images.Images | Scope.Scope>> = [
      Images.fill(image, 0),
      Images.read(image),
      Images.map(image),
      Images.copy(image, next),
      Lease.release(image)
    ]
    for (const use of uses) yield* Expect.failsWith("a use of a lease that has ended", use, "Released")
    const foreign = Effect.scoped(Effect.flatMap(ImagePool.make({ maxBytes: bytes - 1 }), lease))
    yield* Expect.failsWith("an image over the limit", foreign, "LimitExceeded")
  }),
  onPool("the device may still use an image when its lease is released", { counting: true }, function*(pool) {
    const out = yield* BufferPool.allocate(bytes)
    yield* Effect.scoped(Effect.gen(function*() {
      const image = yield* lease(pool)
      yield* Images.fill(image, 1)
      yield* Images.toBuffer(image, out)
    }))
    yield* pool.freeHeld
    Expect.equal("images of the pool", (yield* pool.stats).managedBlocks, 0)
    yield* CommandQueue.finish
  }),
  onPool("an interruption at any step of a lease loses no image", {
    counting: true,
    interrupts: true,
    images: { clear: "acquire" }
  }, function*(pool) {
    const life = Effect.scoped(Effect.flatMap(lease(pool), (image) => Images.read(image)))
    yield* interruptedAtEach("a life", 60, () => life, (step) => step % 2 === 0 ? pool.freeHeld : Effect.void)
    yield* life
  })
]
