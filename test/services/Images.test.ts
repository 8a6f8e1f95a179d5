/** Images on the host: memory, failures, and the ends of images and mappings. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type { GpuError, Reason } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { DeviceImage } from "../../src/services/device/DeviceImage.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"

const reasonOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<Reason["_tag"], A, R> =>
  Effect.map(Effect.flip(effect), (error) => error.reason._tag)

/** ES2024, later than the library's target. */
type Resizable = ArrayBuffer & { readonly resize: (bytes: number) => void }

const resizable = () => Reflect.construct(ArrayBuffer, [4, { maxByteLength: 8 }]) as Resizable

const square = (side: number, label?: string) =>
  Images.make(ImageShape.image2d(side, side), ImageFormat.rgba8, { label })

/** A second object for an existing image, as a backend may make it. */
class Twin extends DeviceImage {
  readonly #of: DeviceImage

  constructor(image: DeviceImage) {
    super(image.owner, { shape: image.shape, format: image.format, usage: image.usage, label: undefined })
    this.#of = image
  }

  override get identity(): object {
    return this.#of.identity
  }
}

describe("memory of images on the host", () => {
  it.effect("counts against the capacity until the image is freed", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        yield* square(8)
        strictEqual(yield* Host.usedBytes, 256)
        strictEqual(yield* reasonOf(square(9)), "OutOfMemory")
        strictEqual(yield* Host.usedBytes, 256)
      }))
      strictEqual(yield* Host.usedBytes, 0)
      yield* Effect.scoped(square(9))
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ capacityBytes: 512 }))))

  it.effect("is freed late on a device that frees late", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(square(8))
      strictEqual(yield* Host.usedBytes, 256)
      yield* CommandQueue.finish
      strictEqual(yield* Host.usedBytes, 0)
    }).pipe(Effect.provide(Host.layer({ lateFree: true }))))

  it.effect("is freed when the layer closes first", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Host.layer(), scope)
      const { driverObjects } = Context.get(context, DeviceContext)
      const outer = yield* Effect.scope
      const image = yield* Effect.provide(Scope.provide(square(8), outer), context)
      yield* Effect.provide(Scope.provide(Images.sampler(), outer), context)
      deepStrictEqual(driverObjects.liveByKind, { device: 1, image: 1, sampler: 1 })
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(driverObjects.liveByKind, {})
      const late = Effect.provide(Images.read(image), context)
      strictEqual(yield* reasonOf(late), "DeviceLost")
    }).pipe(Effect.scoped))

  it.effect("is what planned faults refuse", () => {
    const faults = Host.makeFaults()
    faults.failAllocations({ nth: 1 })
    faults.failAllocations({ nth: 2, error: "DriverError" })
    return Effect.gen(function*() {
      strictEqual(yield* reasonOf(square(1)), "OutOfMemory")
      strictEqual(yield* reasonOf(square(1)), "DriverError")
      yield* square(1)
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ faults })))
  })
})

describe("failures of commands on images", () => {
  it.effect("fail the next read, with the labels", () => {
    const faults = Host.makeFaults()
    faults.failCommands({ nth: 1, log: "broken" })
    return Effect.gen(function*() {
      const image = yield* square(2, "picture")
      yield* Images.fill(image, 0)
      const error = yield* Effect.flip(Images.read(image))
      assert.include(error.message, "fill 16 B -> picture")
      strictEqual((yield* Images.read(image)).length, 16)
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ faults })))
  })

  it.effect("of a lost device are DeviceLost, everywhere", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      const image = yield* square(2)
      const buffer = yield* MemoryObjects.fromHost(new Uint8Array(16))
      const over = yield* Images.overBuffer(buffer, ImageFormat.rgba8)
      const used = yield* Images.fromHost(new Uint8Array(8), ImageShape.image1d(2), ImageFormat.rgba8, { mode: "use" })
      faults.lose()
      strictEqual(yield* reasonOf(Images.read(over)), "DeviceLost")
      const calls: ReadonlyArray<Effect.Effect<unknown, GpuError, Images.Images | Scope.Scope>> = [
        square(1),
        Images.read(image),
        Images.write(image, new Uint8Array(16)),
        Images.fill(image, 0),
        Images.copy(image, image, { targetOrigin: [1, 1], extent: [1] }),
        Images.map(image),
        Images.overBuffer(buffer, ImageFormat.rgba8),
        Images.fromHost(new Uint8Array(4), ImageShape.image1d(1), ImageFormat.rgba8),
        Images.fromHost(new Uint8Array(8), ImageShape.image1d(2), ImageFormat.rgba8, { mode: "use" }),
        Images.hostArray(used, Uint8Array),
        Images.sampler(),
        Images.formats(ImageUsage.defaultUsage, "2d"),
        Images.largest("2d")
      ]
      for (const call of calls) strictEqual(yield* reasonOf(call), "DeviceLost")
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ faults })))
  })

  it.effect("refuse an image of another device", () =>
    Effect.gen(function*() {
      const foreign = yield* Effect.provide(square(2, "other"), yield* Layer.build(Layer.fresh(Host.layer())))
      const error = yield* Effect.flip(Images.read(foreign))
      strictEqual(error.reason._tag, "ForeignDevice")
      assert.include(error.message, "image \"other\"")
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))
})

describe("images", () => {
  it.effect("are made without options where a program in JavaScript passes null, as buffers are", () =>
    Effect.gen(function*() {
      const service = yield* Images.Images
      const shape = ImageShape.image2d(1, 1)
      const none = JSON.parse("null")
      const buffer = yield* BufferPool.allocate(4, none)
      for (
        const made of [
          service.make(shape, ImageFormat.rgba8, none),
          service.fromHost(new Uint8Array(4), shape, ImageFormat.rgba8, none),
          service.overBuffer(buffer, ImageFormat.rgba8, none)
        ]
      ) {
        const image = yield* made
        deepStrictEqual([image.usage, image.label], [ImageUsage.defaultUsage, undefined])
      }
      yield* service.fromArray(new Uint8Array(1), shape, none)
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))))

  it.effect("equal themselves, and what is the same driver object", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* square(2), yield* square(2)]
      assert.isTrue(Equal.equals(one, one))
      assert.isFalse(Equal.equals(one, other))
      const [twin, again] = [new Twin(one), new Twin(one)]
      assert.isTrue(Equal.equals(one, twin) && Equal.equals(twin, one) && Equal.equals(twin, again))
      strictEqual(Hash.hash(twin), Hash.hash(one))
      assert.isFalse(Equal.equals(twin, other))
      yield* Images.map(one)
      strictEqual(yield* reasonOf(Images.read(twin)), "InvalidRequest")
      strictEqual(yield* reasonOf(Images.copy(other, twin)), "InvalidRequest")
      strictEqual(yield* reasonOf(Images.map(twin, { access: "read" })), "InvalidRequest")
      const [first, second] = [yield* Images.sampler(), yield* Images.sampler()]
      assert.isFalse(Equal.equals(first, second))
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))

  it.effect("keep a shape and format that the program changes later", () =>
    Effect.gen(function*() {
      const shape = { ...ImageShape.image2d(2, 2) }
      const format = { ...ImageFormat.rgba8 }
      const image = yield* Images.make(shape, format)
      Object.assign(shape, { width: 100 })
      Object.assign(format, { order: "r" })
      strictEqual((yield* Images.read(image)).length, 16)
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))

  it.effect("of halves come as Float16Array", () =>
    Effect.gen(function*() {
      const image = yield* Images.make(ImageShape.image1d(2), ImageFormat.make("rg", "float16"))
      yield* Images.fill(image, [0.1, 65504])
      const found = yield* Images.read(image)
      strictEqual(found.constructor.name, "Float16Array")
      deepStrictEqual(Array.from(found), [0.0999755859375, 65504, 0.0999755859375, 65504])
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))

  it.effect("copy what is written before the effect completes", () =>
    Effect.gen(function*() {
      const image = yield* square(1)
      const data = Uint8Array.of(1, 2, 3, 4)
      yield* Images.write(image, data)
      data.fill(9)
      deepStrictEqual(Array.from(yield* Images.read(image)), [1, 2, 3, 4])
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))

  it.effect("leave a target alone that is detached or resized while they are read", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      const image = yield* square(1)
      faults.delay({ reads: "1 second" })
      const [detached, shrunk, grown] = [new ArrayBuffer(4), resizable(), resizable()]
      const fixed = new Uint8Array(shrunk, 0, 4)
      const readings: Array<Fiber.Fiber<GpuError, void>> = []
      for (const target of [detached, shrunk, fixed, new Uint8Array(grown)]) {
        const reading = Effect.flip(Images.readInto(image, target))
        readings.push(yield* Effect.forkChild(reading, { startImmediately: true }))
      }
      structuredClone(detached, { transfer: [detached] })
      shrunk.resize(0)
      grown.resize(8)
      yield* TestClock.adjust("1 second")
      for (const reading of readings) strictEqual((yield* Fiber.join(reading)).reason._tag, "InvalidRequest")
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ faults })))
  })
})

const data = () => new Uint8Array(16).fill(7)
const ofData = (bytes: Uint8Array<ArrayBuffer>, mode?: "use") =>
  Images.fromHost(bytes, ImageShape.image2d(2, 2), ImageFormat.rgba8, { mode })

describe("images of the program's data", () => {
  it.effect("are made as memory allows, and say which data changed meanwhile", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      faults.delay({ allocations: "1 second" })
      const bytes = data()
      const making = yield* Effect.forkChild(Effect.flip(Effect.scoped(ofData(bytes))), { startImmediately: true })
      structuredClone(bytes, { transfer: [bytes.buffer] })
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(making)
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "had 16 bytes and has 0 now")
      faults.delay({})
      faults.failAllocations({ nth: 1 })
      strictEqual(yield* reasonOf(ofData(data())), "OutOfMemory")
      faults.failAllocations({ nth: 1, error: "DriverError" })
      strictEqual(yield* reasonOf(ofData(data(), "use")), "DriverError")
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ faults })))
  })

  it.effect("count as images, and take no memory of the device's where it is the program's", () =>
    Effect.gen(function*() {
      const { driverObjects } = yield* DeviceContext
      const image = yield* ofData(data(), "use")
      deepStrictEqual(driverObjects.liveByKind, { device: 1, image: 1 })
      deepStrictEqual([...(yield* Images.hostArray(image, Uint8Array))], [...data()])
      strictEqual(yield* reasonOf(ofData(data())), "OutOfMemory")
      yield* Effect.scoped(Effect.map(Images.map(image, Uint8Array, { access: "write" }), ({ data }) => data.fill(1)))
      deepStrictEqual([...(yield* Images.hostArray(image, Uint8Array))], [...new Uint8Array(16).fill(1)])
      yield* Images.map(image, Uint8Array)
      strictEqual(yield* reasonOf(Images.hostArray(image, Uint8Array)), "InvalidRequest")
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ capacityBytes: 8 }))))
})

describe("a mapping of an image", () => {
  it.effect("is written back before commands that follow its end", () =>
    Effect.gen(function*() {
      const [image, copy] = [yield* square(1), yield* square(1)]
      const mapped = yield* Images.map(image)
      mapped.data.fill(6)
      yield* Mapping.unmap(mapped)
      yield* Images.copy(image, copy)
      deepStrictEqual(Array.from(yield* Images.read(copy)), [6, 6, 6, 6])
      strictEqual(yield* reasonOf(Mapping.unmap(mapped)), "Released")
      assert.throws(() => mapped.getUnsafe(0, 0, 0), /has ended/)
      assert.throws(() => mapped.setUnsafe(1, 0, 0, 0), /has ended/)
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))

  it.effect("ends when it is interrupted while the device is busy, and writes nothing", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      const image = yield* square(1)
      yield* Images.fill(image, 0)
      faults.delay({ reads: "1 second" })
      const fiber = yield* Effect.forkChild(Effect.scoped(Images.map(image)), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      faults.delay({})
      strictEqual(image.attached?.size ?? 0, 0)
      deepStrictEqual(Array.from(yield* Images.read(image)), [0, 0, 0, 0])
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ faults })))
  })

  it.effect("is not written back to a lost device", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      const mapped = yield* Effect.scoped(Effect.gen(function*() {
        const image = yield* square(1)
        const mapped = yield* Images.map(image)
        faults.lose()
        return mapped
      }))
      strictEqual(mapped.data.length, 0)
    }).pipe(Effect.provide(Host.layer({ faults })))
  })

  it.effect("whose memory went elsewhere ends all the same, and says that nothing was written back", () =>
    Effect.gen(function*() {
      for (const access of ["read", "write", "readwrite"] as const) {
        const [image, other] = [yield* square(1), yield* square(1)]
        const [mapped, left] = [yield* Images.map(image, { access }), yield* Images.map(other, { access })]
        for (const { data } of [mapped, left]) structuredClone(data.buffer, { transfer: [data.buffer] })
        const ended = yield* Effect.exit(Mapping.unmap(mapped))
        strictEqual(Exit.isSuccess(ended), access === "read")
        if (access !== "read") strictEqual(yield* reasonOf(ended), "InvalidRequest")
        strictEqual(image.attached?.size, 0)
      }
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))

  it.effect("names the shape by the kind", () =>
    Effect.gen(function*() {
      const shapes: ReadonlyArray<readonly [ImageShape.ImageShape, ReadonlyArray<number>]> = [
        [ImageShape.image1d(5), [5, 4]],
        [ImageShape.image1dArray(5, 2), [2, 5, 4]],
        [ImageShape.image2d(5, 3), [3, 5, 4]],
        [ImageShape.image2dArray(5, 3, 2), [2, 3, 5, 4]],
        [ImageShape.image3d(5, 3, 2), [2, 3, 5, 4]]
      ]
      for (const [shape, expected] of shapes) {
        const image = yield* Images.make(shape, ImageFormat.rgba8)
        deepStrictEqual((yield* Images.map(image)).shape, expected)
      }
      const packed = yield* Images.make(ImageShape.image2d(5, 3), ImageFormat.make("rgb", "unorm565"))
      deepStrictEqual((yield* Images.map(packed)).shape, [3, 5])
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))
})
