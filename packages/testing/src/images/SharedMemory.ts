/**
 * Device memory that buffers and images share: on every driver, memory that one kind frees serves the other.
 *
 * @internal
 */
import { BufferPool, DeviceMemory, Lease, SizePolicy } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { ImageFormat, ImagePool, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import type { PooledImage } from "effect-gpu-pool/PooledImage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { type ConformanceTest, expectInvariants, inGroup, runsCommands, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectOwn, fork, ownWork, untilWaiting, writeOwn } from "../pool/Waiters.ts"

const test = inGroup("memory of several pools", { counting: true })

const shape = ImageShape.image2d(8, 4)
const bytes = 8 * 4 * 4
const limit = 2 * bytes
/** More than the limit leaves beside an image or a buffer of this size. */
const most = limit - 64

interface Pools {
  readonly buffers: BufferPool.Pool
  readonly images: ImagePool.Pool
  readonly memory: DeviceMemory.DeviceMemory["Service"]
}

const patient = { onExhausted: "wait" } as const

const pools = Layer.build(
  Layer.merge(
    BufferPool.layerShared({ sizePolicy: SizePolicy.exact, ...patient }),
    ImagePool.layerShared(patient)
  ).pipe(Layer.provideMerge(DeviceMemory.layer({ maxBytes: limit })))
)

/** Both pools and the memory close before the test reads the counters of the device. */
const onMemory = (
  name: string,
  body: (pools: Pools) => Effect.gen.Return<unknown, unknown, TestServices>
): ConformanceTest =>
  test(
    name,
    Effect.scoped(Effect.gen(function*() {
      const built = yield* pools
      const memory = Context.get(built, DeviceMemory.DeviceMemory)
      const [buffers, images] = [Context.get(built, BufferPool.BufferPool), Context.get(built, ImagePool.ImagePool)]
      yield* Effect.scoped(Effect.gen(() => body({ buffers, images, memory })))
      const stats = yield* memory.stats
      expectInvariants(stats)
      Expect.equal("leases after the test", stats.activeBlocks, 0)
      Expect.isTrue(`${stats.peakManagedBytes} bytes within ${limit}`, stats.peakManagedBytes <= limit)
    }))
  )

const usage = ImageUsage.copySrc | ImageUsage.copyDst

const image = ({ images }: Pools) => images.allocate(shape, ImageFormat.rgba8, { usage })

/** Writes an image, lets other fibers run, and checks its bytes. */
const drawn = Effect.fnUntraced(function*(image: PooledImage, owner: number) {
  const data = new Uint8Array(bytes).fill(owner)
  yield* Images.write(image, data)
  yield* Effect.yieldNow
  const found = yield* Images.read(image, Uint8Array)
  if (yield* runsCommands) Expect.numbers(`the image of owner ${owner}`, found, data)
})

const liveByKind = DeviceContext.useSync(({ driverObjects: { liveByKind: { buffer = 0, image = 0 } } }) => ({
  buffer,
  image
}))

export const tests: ReadonlyArray<ConformanceTest> = [
  onMemory("held blocks of one kind are evicted for the other", function*(all) {
    const { buffers, memory } = all
    const before = yield* liveByKind
    yield* Effect.scoped(Effect.all([image(all), image(all)]))
    yield* buffers.use(most, (lease) => ownWork(lease, 1))
    Expect.same("driver objects", yield* liveByKind, { buffer: before.buffer + 1, image: before.image })
    yield* Effect.scoped(Effect.flatMap(image(all), (lease) => drawn(lease, 2)))
    Expect.same("driver objects at the end", yield* liveByKind, { buffer: before.buffer, image: before.image + 1 })
    const { driverFrees, heldBytes } = yield* memory.stats
    Expect.same("freed blocks and held bytes", [driverFrees, heldBytes], [3, bytes])
  }),
  onMemory("a release of one kind serves a request that waits for the other", function*(all) {
    const { buffers, memory } = all
    const buffer = yield* buffers.allocate(most)
    yield* writeOwn(buffer, 1)
    const forImage = yield* fork(Effect.scoped(Effect.flatMap(image(all), (lease) => drawn(lease, 2))))
    yield* untilWaiting(1, memory.stats)
    yield* expectOwn("the buffer that was there first", buffer, 1)
    yield* Lease.release(buffer)
    yield* Fiber.join(forImage)
    const picture = yield* image(all)
    const forBuffer = yield* fork(buffers.use(most, (lease) => ownWork(lease, 3)))
    yield* untilWaiting(1, memory.stats)
    yield* drawn(picture, 4)
    yield* Lease.release(picture)
    yield* Fiber.join(forBuffer)
  })
]
