/**
 * Images over buffers: both have the same memory and end together.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, Lease, Mapping, MemoryObjects, SubRegion } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DeviceImage } from "effect-gpu-pool/DeviceImage"
import { ImageFormat, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import { ImageArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, inGroup, type TestOptions, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { failing, invalid, type Mistake, mistakeTests } from "../memory/BadRequests.ts"
import { interruptedAtEach } from "../pool/Interruption.ts"
import { filled } from "../pool/Leases.ts"

const test = inGroup("images over buffers")

const uint32: ImageFormat.ImageFormat = { order: "r", type: "uint32" }
const everything = ImageUsage.defaultUsage | ImageUsage.storage

/** A lease of that many bytes and an image over it. A device without such images must answer Unsupported. */
const onPair = (
  name: string,
  { bytes = 16, ...options }: TestOptions & { readonly bytes?: number },
  body: (lease: PooledBuffer, image: DeviceImage) => Effect.gen.Return<unknown, unknown, TestServices>
): ConformanceTest =>
  test(name, options, function*() {
    const lease = yield* BufferPool.allocate(bytes, { label: "numbers" })
    const over = Images.overBuffer(lease, uint32, { usage: everything })
    const formats = yield* Images.formats(everything, "1dBuffer")
    if (formats.some((format) => ImageFormat.equals(format, uint32))) yield* body(lease, yield* over)
    else yield* Expect.failsWith("a device without such images", over, "Unsupported")
  })

const copyElements = Kernels.perItem({
  name: "copy_elements",
  args: [ImageArg("source", { kind: "1dBuffer", channel: "uint" }), VectorArg("u32", "numbers", { access: "write" })],
  wgsl: "numbers[i] = textureLoad(source, i, 0).x;",
  opencl: "numbers[i] = read_imageui(source, (int) i).x + (i < (uint) get_image_width(source) ? 0 : 1);",
  item: (i, { numbers, source }) => {
    numbers[i] = source.load(i)[0]
  }
})

const writeElements = Kernels.perItem({
  name: "write_elements",
  args: [
    VectorArg("u32", "source", { access: "read" }),
    ImageArg("result", { kind: "1dBuffer", access: "write", format: uint32 })
  ],
  opencl: "write_imageui(result, (int) i, (uint4)(source[i] * 2, 0, 0, 0));",
  item: (i, { result, source }) => {
    result.store(i, 0, 0, [source[i]! * 2, 0, 0, 0])
  }
})

const over = (
  size: number,
  usage: BufferUsage.BufferUsage,
  options?: Images.OverBufferOptions,
  format: ImageFormat.ImageFormat = uint32
) => Effect.flatMap(BufferPool.allocate(size, { usage }), (lease) => Images.overBuffer(lease, format, options))

const whole = BufferUsage.defaultUsage

const mistakes: ReadonlyArray<Mistake> = [
  ...[0, -1, 1.5, NaN, Infinity, 5].map((width) => invalid(`a width of ${width}`, over(16, whole, { width }))),
  ...failing("InvalidRequest", {
    "a buffer of less than an element": over(2, whole),
    "a buffer of no bytes": over(0, whole),
    "an impossible format": over(16, whole, {}, ImageFormat.make("rgb", "uint8")),
    "an unknown usage": over(16, whole, { usage: 1024 }),
    "no usage": over(16, whole, { usage: 0 }),
    "an image for kernels over a buffer that they may not use": over(16, BufferUsage.copySrc | BufferUsage.copyDst),
    "an image to copy from over a buffer without copySrc": over(16, BufferUsage.storage | BufferUsage.copyDst),
    "an image to copy to over a buffer without copyDst": over(16, BufferUsage.storage | BufferUsage.copySrc),
    "an image that kernels write over a buffer that they may not": over(16, whole | BufferUsage.kernelReadOnly, {
      usage: ImageUsage.storage
    }),
    "an image that kernels read over a buffer that they may not": over(16, whole | BufferUsage.kernelWriteOnly, {
      usage: ImageUsage.sampled
    }),
    "its shape, for an image with its own memory": Images.make(ImageShape.image1dBuffer(4), uint32)
  }),
  ...failing("Released", {
    "an ended lease": Effect.flatMap(
      BufferPool.allocate(16),
      (lease) => Effect.andThen(Lease.release(lease), Images.overBuffer(lease, uint32))
    )
  })
]

export const tests: ReadonlyArray<ConformanceTest> = [
  onPair("buffer and image see what is written to the other, in queue order", {}, function*(lease, image) {
    Expect.same("its shape and label", [image.shape, image.label], [ImageShape.image1dBuffer(4), "numbers"])
    yield* CommandQueue.write(lease, Uint32Array.of(1, 2, 3, 4))
    Expect.numbers("what was written to the buffer", yield* Images.read(image, Uint32Array), [1, 2, 3, 4])
    yield* Images.write(image, Uint32Array.of(5, 6), { origin: [1], extent: [2] })
    Expect.numbers("what was written to the image", yield* CommandQueue.read(lease, Uint32Array), [1, 5, 6, 4])
    for (let round = 0; round < 20; round++) {
      yield* CommandQueue.fill(lease, round)
      yield* Images.fill(image, 100 + round, { origin: [2] })
    }
    Expect.numbers("the last write of both", yield* CommandQueue.read(lease, Uint32Array), [19, 19, 119, 119])
    yield* Images.copy(image, image, { sourceOrigin: [2], targetOrigin: [0], extent: [1] })
    Expect.numbers("a part of itself", yield* CommandQueue.read(lease, Uint32Array), [119, 19, 119, 119])
    const part = yield* Images.overBuffer(lease, ImageFormat.make("rgba", "uint8"), { width: 2, label: "bytes" })
    Expect.same("another format and width", [part.shape.width, part.label], [2, "bytes"])
    Expect.numbers("the same bytes", yield* Images.read(part, Uint8Array), [119, 0, 0, 0, 19, 0, 0, 0])
  }),
  onPair("an image ends with the lease under it", { counting: true }, function*(lease, image) {
    const { driverObjects } = yield* DeviceContext
    const images = driverObjects.liveByKind.image ?? 0
    yield* CommandQueue.fill(lease, 7)
    const mapped = yield* Images.map(image, Uint32Array)
    mapped.setUnsafe(8, 3)
    yield* Images.overBuffer(lease, uint32)
    yield* Lease.release(lease)
    Expect.equal("images", driverObjects.liveByKind.image ?? 0, images - 1)
    Expect.equal("what was mapped", mapped.data.length, 0)
    const error = yield* Effect.flip(Images.read(image))
    Expect.equal("a read of an ended image", error.reason._tag, "Released")
    Expect.isTrue(error.message, error.message.includes("lease that has ended"))
    yield* Expect.failsWith("its map", Images.map(image, Uint32Array), "Released")
  }),
  onPair("an image ends with its scope, and the lease stays active", {}, function*(lease) {
    const { driverObjects } = yield* DeviceContext
    const images = driverObjects.liveByKind.image ?? 0
    const scope = yield* Scope.make()
    const image = yield* Scope.provide(Images.overBuffer(lease, uint32), scope)
    yield* Images.fill(image, 9)
    yield* Scope.close(scope, Exit.void)
    Expect.equal("images", driverObjects.liveByKind.image ?? 0, images)
    yield* Expect.failsWith("a read of an ended image", Images.read(image), "Released")
    Expect.numbers("what it filled", yield* CommandQueue.read(lease, Uint32Array), [9, 9, 9, 9])
  }),
  onPair("an image over a sub-region has the sub-region's bytes, or is unsupported", {}, function*() {
    const { info } = yield* DeviceContext
    const from = info.limits.regionAlignment
    const lease = yield* filled(from + 16, 1)
    const region = yield* SubRegion.make(lease, { offset: from, size: 16 })
    const made = yield* Effect.exit(Images.overBuffer(region, uint32))
    if (Exit.isFailure(made)) {
      return yield* Expect.failsWith("a device without", Images.overBuffer(region, uint32), "Unsupported")
    }
    yield* Images.fill(made.value, 5, { origin: [1], extent: [2] })
    const found = yield* CommandQueue.read(lease, Uint32Array)
    Expect.numbers("a region's elements", found.subarray(from / 4), [1, 5, 5, 1])
    Expect.numbers("those before", found.subarray(0, from / 4), Array.from({ length: from / 4 }, () => 1))
    yield* Lease.release(lease)
    yield* Expect.failsWith("an image over an ended sub-region", Images.read(made.value), "Released")
  }),
  onPair("an image over a buffer without a pool ends with that buffer", { counting: true }, function*() {
    const scope = yield* Scope.make()
    const buffer = yield* Scope.provide(MemoryObjects.fromHost(Uint32Array.of(1, 2, 3, 4)), scope)
    const image = yield* Images.overBuffer(buffer, uint32)
    Expect.numbers("a buffer's without a pool", yield* Images.read(image, Uint32Array), [1, 2, 3, 4])
    yield* Scope.close(scope, Exit.void)
    yield* Expect.failsWith("an image over an ended buffer", Images.read(image), "Released")
  }),
  onPair("a mapping of the buffer or of the image is one of both", { bytes: 32 }, function*(lease, image) {
    yield* CommandQueue.fill(lease, 3)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Mapping.map(lease, Uint32Array, { access: "read" })
      Expect.equal("a read while the buffer is mapped", (yield* Images.read(image, Uint32Array))[0], 3)
      yield* Images.map(image, Uint32Array, { access: "read" })
      yield* Expect.refused("a fill of the image of what is mapped", Images.fill(image, 1))
      yield* Expect.refused("mapping that for writing", Images.map(image, Uint32Array, { access: "write" }))
    }))
    yield* Effect.scoped(Effect.gen(function*() {
      const half = yield* Images.map(image, Uint32Array, { origin: [4] })
      yield* Expect.refused("a read of the buffer", CommandQueue.read(lease, Uint32Array))
      yield* Expect.refused("a read of the image", Images.read(image))
      yield* Expect.refused("mapping the same bytes", Mapping.map(lease, Uint32Array, { offset: 16 }))
      const other = yield* Mapping.map(lease, Uint32Array, { shape: [4] })
      half.data.fill(5)
      other.data.fill(4)
    }))
    Expect.numbers("both halves", yield* Images.read(image, Uint32Array), [4, 4, 4, 4, 5, 5, 5, 5])
  }),
  onPair("kernels read and write it, but never in one dispatch with its buffer", {}, function*(lease, image) {
    const [other, over] = [yield* BufferPool.allocate(16), Images.overBuffer(lease, uint32, { usage: everything })]
    yield* CommandQueue.write(lease, Uint32Array.of(1, 2, 3, 4))
    yield* CommandQueue.dispatch(copyElements, { source: image, numbers: other }, 4)
    yield* CommandQueue.dispatch(writeElements, { source: other, result: image }, 4)
    Expect.numbers("doubled", yield* CommandQueue.read(lease, Uint32Array), [2, 4, 6, 8])
    yield* Expect.refused(
      "a kernel that writes the buffer of an image",
      CommandQueue.dispatch(copyElements, { source: image, numbers: lease }, 4)
    )
    yield* Expect.refused(
      "a kernel that writes the image of a buffer",
      CommandQueue.dispatch(writeElements, { source: lease, result: yield* over }, 4)
    )
    const plain = yield* Images.make(ImageShape.image1d(4), uint32, { usage: everything })
    yield* Expect.refused(
      "a kernel for images over buffers with another image",
      CommandQueue.dispatch(copyElements, { source: plain, numbers: other }, 4)
    )
  }),
  onPair("a copy within the buffer is refused", { counting: true, bytes: 32 }, function*(lease, image) {
    const twin = yield* Images.overBuffer(lease, uint32)
    yield* Expect.refused("a copy to its buffer", Images.toBuffer(image, lease, { extent: [1] }))
    yield* Expect.refused("a copy from its buffer", Images.fromBuffer(lease, image, { offset: 16, extent: [1] }))
    yield* Expect.refused(
      "a copy to another over its buffer",
      Images.copy(image, twin, { targetOrigin: [4], extent: [2] })
    )
    yield* Expect.refused("a copy to itself", Images.copy(image, image, { targetOrigin: [1], extent: [2] }))
    yield* Images.map(image, Uint32Array)
    yield* Expect.refused("moving what is mapped", MemoryObjects.migrate([twin]))
  }),
  onPair(
    "an image over a buffer may be interrupted at every step",
    { counting: true, interrupts: true },
    function*(lease) {
      const make = Effect.scoped(Effect.flatMap(Images.overBuffer(lease, uint32), (image) => Images.fill(image, 1)))
      yield* interruptedAtEach("an image over a buffer", 50, () => make)
      yield* CommandQueue.fill(lease, 2)
      yield* CommandQueue.finish
    }
  ),
  /** The messages give the room in bytes and in elements. */
  onPair("a refusal says how many elements have room", {}, function*() {
    const bytes = ImageFormat.make("r", "uint8")
    const wide = yield* Expect.refused("nine bytes of eight", over(8, whole, { width: 9 }, bytes))
    Expect.equal(
      "of a width",
      wide.problem,
      "the width 9 is not between 1 and 8, the elements of r uint8 for which the buffer's 8 bytes have room"
    )
    const none = yield* Expect.refused("no bytes", over(0, whole, {}, bytes))
    Expect.equal(
      "of no room",
      none.problem,
      "the buffer's 0 bytes have no room for an element of r uint8, which has 1"
    )
  }),
  ...mistakeTests("bad images over buffers", mistakes)
]
