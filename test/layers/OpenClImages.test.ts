/** Images through the functions of OpenCL: the calls, the releases, and refusals of the driver. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as SamplerOptions from "../../src/domain/images/SamplerOptions.ts"
import { OpenCl, OpenClImageInfo, OpenClMemory } from "../../src/opencl.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { ImageDriver } from "../../src/services/device/ImageDriver.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { onDevice, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering } from "../support/watchedOpenCl.ts"

const CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010
const CL_DEVICE_IMAGE_SUPPORT = 0x1016
const CL_DEVICE_VERSION = 0x102f

const picture = (usage?: ImageUsage.ImageUsage) =>
  Images.make(ImageShape.image2d(3, 2), ImageFormat.rgba8, { label: "picture", usage })

const CL_R = 0x10b0
const CL_Rx = 0x10ba
const CL_UNORM_INT8 = 0x10d2
const CL_UNORM_INT16 = 0x10d3
const CL_BGRA = 0x10b6
const CL_SNORM_INT8 = 0x10d0
const CL_SNORM_INT16 = 0x10d1

describeWith(["opencl"], "OpenCL images", () => {
  it.effect("are what the driver says they are", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const image = yield* Images.make(ImageShape.image2dArray(3, 2, 4), ImageFormat.make("bgra", "unorm8"))
        const { rowPitch = 0, slicePitch = 0, ...info } = yield* OpenClImageInfo.info(image)
        deepStrictEqual(info, {
          format: { order: "bgra", type: "unorm8" },
          elementSize: 4,
          width: 3,
          height: 2,
          depth: 0,
          arraySize: 4,
          buffer: 0n,
          mipLevels: 0,
          samples: 0
        })
        assert.isAtLeast(rowPitch, 12)
        assert.isAtLeast(slicePitch, 24)
        const memory = yield* OpenClMemory.info(image)
        strictEqual(memory.type, "CL_MEM_OBJECT_IMAGE2D_ARRAY")
        strictEqual(typeof (yield* OpenCl.handle(image)), "bigint")
      })
    ))

  it.effect("have samplers that are what the driver says they are", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const sampler = yield* Images.sampler({ addressing: "mirroredRepeat", filter: "linear" })
        const { context: _, referenceCount, ...info } = yield* OpenClImageInfo.samplerInfo(sampler)
        deepStrictEqual(info, {
          addressing: "mirroredRepeat",
          filter: "linear",
          normalizedCoordinates: true,
          mipFilter: undefined,
          lodMin: undefined,
          lodMax: undefined
        })
        strictEqual(referenceCount, 1)
        strictEqual(typeof (yield* OpenClImageInfo.samplerHandle(sampler)), "bigint")
        strictEqual(watched.count("clCreateSamplerWithProperties"), 1)
        const ended = yield* Effect.scoped(Images.sampler())
        strictEqual(yield* reasonOf(OpenClImageInfo.samplerHandle(ended)), "Released")
      })
    ))

  it.effect("have samplers of the older function on OpenCL 1.2", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          for (const addressing of ["clampToEdge", "clampToBorder", "repeat", "none"] as const) {
            yield* Images.sampler({ addressing })
          }
          strictEqual(watched.count("clCreateSampler"), 4)
          strictEqual(watched.count("clCreateSamplerWithProperties"), 0)
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.2 test") })
    ))

  it.effect("are unsupported by name on a device without them", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          deepStrictEqual(yield* Images.formats(ImageUsage.sampled, "2d"), [])
          const error = yield* Effect.flip(picture())
          strictEqual(error.reason._tag, "Unsupported")
          assert.include(error.message, "buffer")
          strictEqual(yield* reasonOf(Images.sampler()), "Unsupported")
          strictEqual(watched.count("clCreateImage"), 0)
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_IMAGE_SUPPORT, 0) })
    ))

  it.effect("are unsupported on OpenCL 1.1, whose functions for them are others", () =>
    onDevice(
      () => Effect.map(reasonOf(picture()), (reason) => strictEqual(reason, "Unsupported")),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 test") })
    ))

  it.effect.each([-4, -5, -6, -40, -61])("are OutOfMemory when the driver answers %i", (code) =>
    onDevice(
      () => Effect.map(reasonOf(picture()), (reason) => strictEqual(reason, "OutOfMemory")),
      () => ({ clCreateImage: (_context, _flags, _format, _description, _host, out) => setCode(out, code) })
    ))

  it.effect("are LimitExceeded when the driver says that they are more than a buffer can have", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(picture())
          strictEqual(error.reason._tag, "LimitExceeded")
          assert.include(error.message, "Images.make: ")
          assert.include(error.message, "24 bytes are over maxBufferSize of the device")
          const given = Images.fromHost(new Uint8Array(24), ImageShape.image2d(3, 2), ImageFormat.rgba8)
          assert.include((yield* Effect.flip(given)).message, "Images.fromHost: ")
          const { create } = yield* ImageDriver
          const [shape, format, usage] = [ImageShape.image2d(3, 2), ImageFormat.rgba8, ImageUsage.defaultUsage]
          const asked = create("a test", { shape, format, usage, label: undefined })
          assert.include((yield* Effect.flip(asked)).message, "a test: ")
        }),
      (api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8n),
        clCreateImage: (_context, _flags, _format, _description, _host, out) => setCode(out, -61)
      })
    ))

  it.effect("are a DriverError, with the call, when the driver refuses for another reason", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(picture())
          strictEqual(error.reason._tag, "DriverError")
          assert.include(error.message, "clCreateImage")
        }),
      () => ({ clCreateImage: (_context, _flags, _format, _description, _host, out) => setCode(out, -30) })
    ))

  it.effect("are touched when they are made, as buffers are", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        yield* picture()
        strictEqual(watched.count("clEnqueueMigrateMemObjects"), 1)
      })
    ))

  it.effect("leave nothing behind when the touch is refused", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const { driverObjects } = yield* DeviceContext
          strictEqual(yield* reasonOf(picture()), "OutOfMemory")
          strictEqual(driverObjects.liveByKind.image ?? 0, 0)
          strictEqual(watched.count("clReleaseMemObject"), 1)
        }),
      () => ({ clEnqueueMigrateMemObjects: () => -4 })
    ))

  it.effect("are not trusted again after a command that was refused for want of memory", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const image = yield* picture()
          strictEqual(yield* reasonOf(Images.write(image, new Uint8Array(24))), "OutOfMemory")
          assert.isFalse(image.recyclable)
        }),
      () => ({ clEnqueueWriteImage: () => -4 })
    ))

  it.effect("are freed with the layer when their scope is longer", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const driver = yield* ImageDriver
        const made = yield* driver.create("a test", {
          shape: ImageShape.image2d(3, 2),
          format: ImageFormat.rgba8,
          usage: ImageUsage.defaultUsage,
          label: undefined
        })
        assert.isFalse(made.destroyed)
        yield* Images.fill(made, 1)
        const sampler = yield* driver.createSampler(SamplerOptions.resolve({ addressing: "repeat" }))
        assert.isFalse(sampler.destroyed)
      })
    ))

  it.effect("are filled by the driver, rounded although PoCL cuts off", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const image = yield* picture()
        yield* Images.fill(image, [0.25, 0.5, 0.75, 1])
        deepStrictEqual(Array.from(yield* Images.read(image)).slice(0, 4), [64, 128, 191, 255])
        strictEqual(watched.count("clEnqueueFillImage"), 1)
        strictEqual(watched.count("clEnqueueWriteImage"), 0)
      })
    ))

  it.effect("of PoCL with one half per element are not for its kernels, which read other numbers", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const half = ImageFormat.make("r", "float16")
        const has = (usage: ImageUsage.ImageUsage) =>
          Effect.map(
            Images.formats(usage, "2d"),
            (formats) => formats.some((format) => ImageFormat.equals(format, half))
          )
        deepStrictEqual(
          [yield* has(ImageUsage.sampled), yield* has(ImageUsage.storage), yield* has(ImageUsage.copySrc)],
          [false, false, true]
        )
        yield* CommandQueue.finish
      }), (api) => ({ clGetPlatformInfo: answering(api.clGetPlatformInfo, 0x0902, "Portable Computing Language") })))

  it.effect("have none of the formats that a driver lists against the standard, for no image can have them", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          for (const kind of ["2d", "3d"] as const) {
            for (const usage of [ImageUsage.sampled, ImageUsage.storage, ImageUsage.copySrc]) {
              deepStrictEqual(yield* Images.formats(usage, kind), [ImageFormat.make("bgra", "snorm8")])
            }
          }
        }),
      () => ({
        clGetSupportedImageFormats: (_context, _flags, _type, _capacity, formats, count) => {
          if (count instanceof Uint32Array) count[0] = 2
          if (formats instanceof Uint32Array) formats.set([CL_BGRA, CL_SNORM_INT16, CL_BGRA, CL_SNORM_INT8])
          return 0
        }
      })
    ))

  it.effect.each([[1, ["r", "rx"]], [2, ["r"]], [undefined, ["r"]]] as const)(
    "have orders with an x where the driver's elements have the bytes that the library counts: %j",
    ([bytes, orders]) =>
      onDevice(
        () =>
          Effect.gen(function*() {
            for (const kind of ["2d", "1dBuffer"] as const) {
              const formats = yield* Images.formats(ImageUsage.sampled, kind)
              deepStrictEqual(formats.map(({ order }) => order), [...orders])
            }
          }),
        (api) => ({
          clGetSupportedImageFormats: (_context, _flags, _type, _capacity, formats, count) => {
            if (count instanceof Uint32Array) count[0] = 2
            if (formats instanceof Uint32Array) formats.set([CL_R, CL_UNORM_INT8, CL_Rx, CL_UNORM_INT8])
            return 0
          },
          // The driver below has no such format: it makes one of as many bytes.
          clCreateImage: (context, flags, format, ...rest) => {
            const isX = format instanceof Uint32Array && format[0] === CL_Rx
            if (!isX) return api.clCreateImage(context, flags, format, ...rest)
            return bytes === undefined
              ? null
              : api.clCreateImage(
                context,
                flags,
                Uint32Array.of(CL_R, bytes === 1 ? CL_UNORM_INT8 : CL_UNORM_INT16),
                ...rest
              )
          }
        })
      )
  )
})
