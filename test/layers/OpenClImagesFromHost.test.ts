/** Images of the program's data through the functions of OpenCL. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import { hostPitches } from "../../src/layers/OpenCl/images/OpenClImageLayout.ts"
import { OpenCl, OpenClImageInfo, OpenClMemory } from "../../src/opencl.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import { allocate, onDevice, onHostMemory, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering, blockQueue } from "../support/watchedOpenCl.ts"

const CL_PLATFORM_NAME = 0x0902

const float32 = ImageFormat.make("r", "float32")
const square = ImageShape.image2d(2, 2)

const make = (mode: "copy" | "use") => Images.fromHost(new Float32Array(4), square, float32, { mode })

const images = DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind["image"] ?? 0)

describeWith(["opencl"], "OpenCL images of the program's data", () => {
  it.effect("are made of it in one call, by what becomes of the data", () =>
    onHostMemory((watched) =>
      Effect.gen(function*() {
        const data = Float32Array.of(1, 2, 3, 4)
        const copy = yield* Images.fromHost(data, square, float32, { usage: ImageUsage.sampled | ImageUsage.copySrc })
        deepStrictEqual((yield* OpenClMemory.info(copy)).flags, [
          "CL_MEM_READ_ONLY",
          "CL_MEM_ALLOC_HOST_PTR",
          "CL_MEM_COPY_HOST_PTR"
        ])
        const image = yield* Images.fromHost(data, square, float32, { mode: "use" })
        const { flags, hostPointer } = yield* OpenClMemory.info(image)
        deepStrictEqual(flags, ["CL_MEM_READ_ONLY", "CL_MEM_USE_HOST_PTR"])
        assert(hostPointer !== undefined && hostPointer !== 0n)
        deepStrictEqual([watched.count("clCreateImage"), watched.count("clEnqueueWriteImage")], [2, 0])
        strictEqual(yield* images, 2)
        yield* Images.fill(image, 9)
        deepStrictEqual([...(yield* Images.hostArray(image, Float32Array))], [9, 9, 9, 9])
        deepStrictEqual([...(yield* Images.read(copy))], [1, 2, 3, 4])
      })
    ))

  it.effect("pass the pitches of rows to the driver, where these lie apart", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const data = new Float32Array(64)
          const options = { mode: "use", rowPitch: 32, slicePitch: 96 } as const
          const volume = yield* Images.fromHost(data, ImageShape.image3d(2, 2, 2), float32, options)
          const { rowPitch, slicePitch } = yield* OpenClImageInfo.info(volume)
          deepStrictEqual([rowPitch, slicePitch], [32, 96])
          const inPlace = yield* Images.map(volume, Float32Array, { access: "read", layout: "driver" })
          deepStrictEqual([inPlace.rowPitch, inPlace.slicePitch, inPlace.strides], [32, 96, [24, 8, 1]])
        }),
      (api) => ({
        clGetPlatformInfo: answering(api.clGetPlatformInfo, CL_PLATFORM_NAME, "a driver that goes by pitches")
      })
    ))

  it.effect("are Unsupported with gaps between slices on NVIDIA's driver, which ignores them", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const data = new Float32Array(64)
          const volume = ImageShape.image3d(2, 2, 2)
          const layers = ImageShape.image2dArray(2, 2, 2)
          const gaps = { mode: "use", rowPitch: 32, slicePitch: 96 } as const
          for (const shape of [volume, layers]) {
            const error = yield* Effect.flip(Images.fromHost(data, shape, float32, gaps))
            strictEqual(error.reason._tag, "Unsupported")
            assert.include(error.message, "an image that uses host memory with gaps between slices")
            yield* Images.fromHost(data, shape, float32, { ...gaps, mode: "copy" })
            yield* Images.fromHost(data, shape, float32, { mode: "use", rowPitch: 32, slicePitch: 64 })
          }
          yield* Images.fromHost(data, ImageShape.image3d(2, 2, 1), float32, gaps)
          yield* Images.fromHost(data, ImageShape.image1dArray(2, 2), float32, { mode: "use", rowPitch: 32 })
          yield* Images.fromHost(data, square, float32, { mode: "use", rowPitch: 32 })
        }),
      (api) => ({ clGetPlatformInfo: answering(api.clGetPlatformInfo, CL_PLATFORM_NAME, "NVIDIA CUDA") })
    ))

  it.effect("have the pitches that each kind has", () =>
    Effect.sync(() => {
      const pitches = { rowPitch: 32, slicePitch: 96 }
      deepStrictEqual(hostPitches("1d", pitches), { rowPitch: 32, slicePitch: 0 })
      deepStrictEqual(hostPitches("2d", pitches), { rowPitch: 32, slicePitch: 0 })
      deepStrictEqual(hostPitches("1dArray", pitches), { rowPitch: 96, slicePitch: 96 })
      deepStrictEqual(hostPitches("2dArray", pitches), pitches)
      deepStrictEqual(hostPitches("3d", pitches), pitches)
    }))

  it.live("keep the data until the commands on it have ended", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const end = yield* blockQueue(yield* OpenCl.handle(yield* allocate(4)))
        const copy = yield* Images.make(square, float32)
        yield* Effect.scoped(Effect.gen(function*() {
          const image = yield* Images.fromHost(Float32Array.of(1, 2, 3, 4), square, float32, { mode: "use" })
          yield* Images.fill(image, 5, { extent: [1] })
          yield* Images.copy(image, copy)
        }))
        end()
        deepStrictEqual([...(yield* Images.read(copy))], [5, 2, 3, 4])
      })
    ))

  it.effect("share their data with an image that is adopted by the handle", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const data = Float32Array.of(1, 2, 3, 4)
        const image = yield* Images.fromHost(data, square, float32, { mode: "use" })
        const twin = yield* OpenClMemory.adoptImage(yield* OpenClMemory.retain(image))
        yield* Images.fill(twin, 6)
        const seen = yield* Images.hostArray(twin, Float32Array)
        deepStrictEqual([seen.buffer === data.buffer, ...data], [true, 6, 6, 6, 6])
      })
    ))

  it.effect("leave nothing when the driver refuses, or the device is lost", () =>
    Effect.gen(function*() {
      for (const [code, tag] of [[-6, "OutOfMemory"], [-37, "DriverError"]] as const) {
        yield* onDevice(
          () =>
            Effect.gen(function*() {
              strictEqual(yield* reasonOf(make("copy")), tag)
              strictEqual(yield* reasonOf(make("use")), tag)
              strictEqual(yield* images, 0)
            }),
          () => ({ clCreateImage: (_context, _flags, _format, _description, _host, out) => setCode(out, code) })
        )
      }
      yield* onDevice((watched) =>
        Effect.gen(function*() {
          const image = yield* make("use")
          const { status } = yield* DeviceContext
          status.lose("unplugged")
          strictEqual(yield* reasonOf(make("use")), "DeviceLost")
          strictEqual(yield* reasonOf(Images.hostArray(image, Float32Array)), "DeviceLost")
          strictEqual(watched.count("clCreateImage"), 1)
        })
      )
    }))

  it.effect("go with the layer when their scope is longer", () =>
    Effect.gen(function*() {
      const outer = yield* Scope.make()
      const data = new Float32Array(4)
      yield* onDevice(() => Scope.provide(Images.fromHost(data, square, float32, { mode: "use" }), outer))
      yield* Scope.close(outer, Exit.void)
      strictEqual(data.length, 4)
    }))
})
