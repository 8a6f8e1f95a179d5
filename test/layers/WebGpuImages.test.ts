import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { boxesOverlap } from "../../src/domain/data/MemorySpan.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import type { DeviceImage } from "../../src/services/device/DeviceImage.ts"
import { ImageDriver } from "../../src/services/device/ImageDriver.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"

type Services = WebGpu.Services | BufferPool.BufferPool | ImagePool.ImagePool | Scope.Scope

const pooled = Layer.merge(BufferPool.layer({ sizePolicy: SizePolicy.exact }), ImagePool.layer()).pipe(
  Layer.provideMerge(WebGpu.layer())
)

/** Each test opens a device of its own, and proves that closing it leaves nothing behind. */
const onGpu = <A, E>(test: Effect.Effect<A, E, Services>) =>
  Effect.gen(function*() {
    const used = Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test), device))
    const { driverObjects } = yield* Effect.provide(used, pooled)
    deepStrictEqual(driverObjects.liveByKind, {})
    assert.isAbove(driverObjects.created, 0)
  })

const r8 = ImageFormat.make("r", "uint8")
const wide = ImageFormat.make("rgba", "uint32")

const numbered = (bytes: number, from = 0) => Uint8Array.from({ length: bytes }, (_, at) => (at * 7 + from) % 251)

/** An image, and what it should hold. */
class Modelled {
  readonly image: DeviceImage
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly elementBytes: number

  constructor(image: DeviceImage, bytes: Uint8Array<ArrayBuffer>) {
    this.image = image
    this.bytes = bytes
    this.elementBytes = ImageFormat.elementBytes(image.format)
  }

  get extent(): ImageShape.ImageRegion["extent"] {
    return ImageShape.extent(this.image.shape)
  }

  /** The bytes of a part, packed. */
  take({ extent, origin }: ImageShape.ImageRegion): Uint8Array {
    return Uint8Array.from(
      this.#rows(origin, extent).flatMap((at) => [...this.bytes.subarray(at, at + extent[0] * this.elementBytes)])
    )
  }

  put({ extent, origin }: ImageShape.ImageRegion, part: Uint8Array): void {
    const rowBytes = extent[0] * this.elementBytes
    for (const [row, at] of this.#rows(origin, extent).entries()) {
      this.bytes.set(part.subarray(row * rowBytes, (row + 1) * rowBytes), at)
    }
  }

  /** Where the rows of a part begin. */
  #rows([x, y, z]: ImageShape.ImageOrigin, [, rows, slices]: ImageShape.ImageRegion["extent"]): ReadonlyArray<number> {
    const [width, height] = this.extent
    return Array.from({ length: rows * slices }, (_, row) => {
      const slice = z + Math.floor(row / rows)
      return ((slice * height + y + row % rows) * width + x) * this.elementBytes
    })
  }
}

interface Step {
  readonly kind: "write" | "fill" | "copy" | "toBuffer" | "fromBuffer" | "read"
  readonly from: number
  readonly to: number
  /** Shares of what there is, for origins and extents. */
  readonly shares: ReadonlyArray<number>
  readonly seed: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("write", "fill", "copy", "toBuffer", "fromBuffer", "read"),
  from: fc.nat(1),
  to: fc.nat(1),
  shares: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 9, maxLength: 9 }),
  seed: fc.nat(250)
})

/** Rows of 1, of just below, of just, and of more than 256 bytes for some element or other. */
const length = fc.constantFrom(1, 3, 16, 17, 64, 255, 256, 300)

const shape: fc.Arbitrary<ImageShape.ImageShape> = fc.oneof(
  length.map(ImageShape.image1d),
  fc.tuple(length, fc.integer({ min: 1, max: 4 })).map(([width, height]) => ImageShape.image2d(width, height)),
  fc.tuple(length, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })).map((sides) =>
    ImageShape.image2dArray(...sides)
  ),
  fc.tuple(length, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })).map((sides) =>
    ImageShape.image3d(...sides)
  )
)

const format = fc.constantFrom(
  r8,
  ImageFormat.make("rg", "uint8"),
  ImageFormat.rgba8,
  ImageFormat.make("bgra", "unorm8"),
  ImageFormat.make("rg", "uint32"),
  wide
)

type Shares = ReadonlyArray<number>

const extentOf = ({ extent }: Modelled, most: ImageShape.ImageRegion["extent"], shares: Shares) => {
  const length = (axis: 0 | 1 | 2) => 1 + Math.floor(Math.min(extent[axis], most[axis]) * shares[axis]!)
  return [length(0), length(1), length(2)] as const
}

const originOf = ({ extent: all }: Modelled, extent: ImageShape.ImageRegion["extent"], shares: Shares) => {
  const start = (axis: 0 | 1 | 2) => Math.floor((all[axis] - extent[axis] + 1) * shares[axis]!)
  return [start(0), start(1), start(2)] as const
}

interface World {
  readonly images: ReadonlyArray<Modelled>
  readonly buffer: PooledBuffer
  readonly memory: Uint8Array<ArrayBuffer>
}

const bufferBytes = 65536

const worldOf = Effect.fnUntraced(function*(shapes: ReadonlyArray<ImageShape.ImageShape>, of: ImageFormat.ImageFormat) {
  const images = yield* Effect.forEach(shapes, (shape, index) =>
    Effect.gen(function*() {
      const modelled = new Modelled(yield* Images.make(shape, of), numbered(ImageFormat.imageBytes(of, shape), index))
      yield* Images.write(modelled.image, modelled.bytes)
      return modelled
    }))
  const buffer = yield* BufferPool.allocate(bufferBytes)
  const memory = numbered(bufferBytes, 5)
  yield* CommandQueue.write(buffer, memory)
  return { images, buffer, memory }
})

const apply = Effect.fnUntraced(function*({ buffer, images, memory }: World, { from, kind, seed, shares, to }: Step) {
  const target = images[to]!
  const source = images[from]!
  const extent = extentOf(target, kind === "copy" ? source.extent : target.extent, shares)
  const region = { origin: originOf(target, extent, shares.slice(3)), extent }
  const count = ImageShape.count(region) * target.elementBytes
  const offset = Math.floor((bufferBytes - count) * shares[6]! / 16) * 16
  // Copies to and from buffers have whole words.
  const fits = count % 4 === 0 && count <= bufferBytes
  if (kind === "write") {
    const data = numbered(count, seed)
    yield* Images.write(target.image, data, region)
    target.put(region, data)
  } else if (kind === "fill") {
    const driver = yield* ImageDriver
    const element = numbered(target.elementBytes, seed)
    yield* Effect.suspend(() => driver.fillUnsafe(target.image, region, element))
    target.put(region, Uint8Array.from({ length: count }, (_, at) => element[at % element.length]!))
  } else if (kind === "copy") {
    const origin = originOf(source, extent, shares.slice(6))
    if (from === to && boxesOverlap({ origin, extent }, region)) return
    yield* Images.copy(source.image, target.image, { sourceOrigin: origin, targetOrigin: region.origin, extent })
    target.put(region, source.take({ origin, extent }))
  } else if (kind === "toBuffer" && fits) {
    yield* Images.toBuffer(target.image, buffer, { ...region, offset })
    memory.set(target.take(region), offset)
  } else if (kind === "fromBuffer" && fits) {
    yield* Images.fromBuffer(buffer, target.image, { ...region, offset })
    target.put(region, memory.slice(offset, offset + count))
  } else if (kind === "read") {
    deepStrictEqual(yield* Images.read(target.image, Uint8Array, region), target.take(region))
  }
})

const compare = Effect.fnUntraced(function*({ buffer, images, memory }: World) {
  for (const { bytes, image } of images) deepStrictEqual(yield* Images.read(image, Uint8Array), bytes)
  deepStrictEqual(yield* CommandQueue.read(buffer, Uint8Array), memory)
})

describeWith(["webgpu"], "WebGpu images on a device", () => {
  it.live("do what a byte array does, whatever the rows, with buffers in between", () =>
    onGpu(Effect.gen(function*() {
      const context = yield* Effect.context<WebGpu.Services | BufferPool.BufferPool>()
      const shapes = fc.array(shape, { minLength: 2, maxLength: 2 })
      const steps = fc.array(step, { maxLength: 12 })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(shapes, format, steps, (shapes, format, steps) =>
            Effect.runPromiseWith(context)(Effect.scoped(Effect.gen(function*() {
              const world = yield* worldOf(shapes, format)
              for (const step of steps) yield* apply(world, step)
              yield* compare(world)
            })))),
          { numRuns: runs(60) }
        )
      )
    })))

  it.live("run in one order with buffers, and keep their fill patterns apart", () =>
    onGpu(Effect.gen(function*() {
      const image = yield* Images.make(ImageShape.image2d(3, 2), wide)
      const bytes = yield* BufferPool.allocate(96)
      const early = yield* BufferPool.allocate(96)
      yield* Images.fill(image, [1, 2, 3, 4])
      yield* CommandQueue.fill(bytes, 0x01010101)
      yield* Images.toBuffer(image, early)
      yield* Images.fill(image, [5, 6, 7, 8], { origin: [1, 1], extent: [2, 1] })
      yield* CommandQueue.fill(early, 0xffffffff, { size: 16 })
      yield* Images.fromBuffer(bytes, image, { origin: [2, 1] })
      const all = Array.from(yield* Images.read(image, Uint32Array))
      deepStrictEqual(all.slice(12), [1, 2, 3, 4, 5, 6, 7, 8, ...Array.from({ length: 4 }, () => 0x01010101)])
      const words = Array.from(yield* CommandQueue.read(early, Uint32Array))
      deepStrictEqual(words, [
        ...Array.from({ length: 4 }, () => 0xffffffff),
        ...Array.from({ length: 20 }, (_, at) => at % 4 + 1)
      ])
    })))

  it.live("fill rows that are longer than the pattern's memory is usually", () =>
    onGpu(Effect.gen(function*() {
      const { width } = yield* Images.largest("2d")
      const image = yield* Images.make(ImageShape.image2d(width, 9), wide)
      yield* Images.fill(image, [9, 8, 7, 6])
      const words = yield* Images.read(image, Uint32Array)
      assert.isTrue(words.every((word, at) => word === 9 - at % 4))
    })))

  it.live("are freed after what was recorded with them, by scopes and by pools", () =>
    onGpu(Effect.gen(function*() {
      const bytes = yield* BufferPool.allocate(16)
      const shape = ImageShape.image2d(2, 2)
      yield* Effect.scoped(Effect.gen(function*() {
        const image = yield* Images.fromArray(Uint32Array.of(1, 2, 3, 4), shape)
        yield* Images.toBuffer(image, bytes)
      }))
      deepStrictEqual(Array.from(yield* CommandQueue.read(bytes, Uint32Array)), [1, 2, 3, 4])
      const format = ImageFormat.make("r", "uint32")
      const first = yield* ImagePool.use(shape, format, (image) =>
        Effect.gen(function*() {
          yield* Images.write(image, Uint32Array.of(5, 6, 7, 8))
          yield* Images.toBuffer(image, bytes)
          return yield* WebGpu.texture(image)
        }))
      const next = yield* ImagePool.allocate(shape, format)
      yield* Images.write(next, Uint32Array.of(0, 0, 0, 0))
      strictEqual(yield* WebGpu.texture(next), first)
      yield* Lease.release(next)
      yield* ImagePool.freeHeld
      deepStrictEqual(Array.from(yield* CommandQueue.read(bytes, Uint32Array)), [5, 6, 7, 8])
      strictEqual((yield* Effect.flip(WebGpu.texture(next))).reason._tag, "Released")
    })))

  it.live("are cleared by a pool that clears, in queue order, fresh or recycled", () =>
    onGpu(Effect.gen(function*() {
      const pool = yield* ImagePool.make({ clear: "acquire" })
      const usage = ImageUsage.sampled | ImageUsage.copySrc
      const colours = pool.allocate(ImageShape.image3d(5, 4, 3), ImageFormat.rgba8, { usage }).pipe(
        Effect.flatMap((image) =>
          Effect.gen(function*() {
            strictEqual((yield* Effect.flip(Images.fill(image, 1))).reason._tag, "InvalidRequest")
            const colours = yield* Images.read(image, Uint8Array)
            const driver = yield* ImageDriver
            const whole = ImageShape.whole(image.shape)
            yield* Effect.suspend(() => driver.fillUnsafe(image.block!.value, whole, Uint8Array.of(1, 2, 3, 4)))
            return colours
          })
        ),
        Effect.scoped
      )
      for (const bytes of [yield* colours, yield* colours]) assert.isTrue(bytes.every((byte) => byte === 0))
      strictEqual((yield* pool.stats).hits, 1)
    })))

  it.live("say what WebGPU has not, and why", () =>
    onGpu(Effect.gen(function*() {
      const refused: ReadonlyArray<Effect.Effect<unknown, GpuError, Services>> = [
        Images.make(ImageShape.image1dArray(4, 2), ImageFormat.rgba8),
        Images.make(ImageShape.image2d(4, 2), ImageFormat.make("rgb", "unorm565")),
        Images.make(ImageShape.image2d(4, 2), ImageFormat.make("luminance", "unorm8")),
        Images.make(ImageShape.image2d(4, 2), ImageFormat.make("srgba", "unorm8"), { usage: ImageUsage.storage }),
        ImagePool.allocate(ImageShape.image1dArray(4, 2), ImageFormat.rgba8),
        Images.sampler({ addressing: "clampToBorder" }),
        Images.sampler({ normalizedCoordinates: false })
      ]
      for (const effect of refused) strictEqual((yield* Effect.flip(effect)).reason._tag, "Unsupported")
      const { width } = yield* Images.largest("1d")
      const long = Images.make(ImageShape.image1d(width + 1), ImageFormat.rgba8)
      strictEqual((yield* Effect.flip(long)).reason._tag, "LimitExceeded")
      for (const addressing of ["clampToEdge", "repeat", "mirroredRepeat", "none"] as const) {
        yield* Images.sampler({ addressing, filter: "linear" })
      }
      strictEqual((yield* DeviceContext).driverObjects.liveByKind["sampler"], 4)
    })))
})
