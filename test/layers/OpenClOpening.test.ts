import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import { doctor } from "../../src/domain/device/OptionalPackage.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { libraryNames } from "../../src/layers/OpenCl/OpenClApi.ts"
import { OpenCl, Svm } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { describeWith } from "../support/required.ts"
import { answering, watch, type Watched } from "../support/watchedOpenCl.ts"

const CL_DEVICE_AVAILABLE = 0x1027
const CL_DEVICE_COMPILER_AVAILABLE = 0x1028
const CL_PLATFORM_NAME = 0x0902
const CL_DEVICE_VERSION = 0x102f

const failing = (watched: Watched, options?: OpenCl.DeviceOptions) =>
  Effect.flip(Effect.scoped(Layer.build(OpenCl.layerFrom(watched.api, options))))

it.effect("says that koffi is not installed", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(
      OpenCl.load({ koffi: () => Promise.reject(new Error("Cannot find package 'koffi'")) })
    )
    strictEqual(error.reason._tag, "DeviceUnavailable")
    assert.include(error.message, "opencl npm koffi: the package is not installed: npm install koffi")
    assert.include(error.message, doctor)
  }))

it.effect("says that koffi does not load, and not to install what is installed", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(
      OpenCl.load({ koffi: () => Promise.reject(new Error("Cannot find the native Koffi module")) })
    )
    strictEqual(error.reason._tag, "DeviceUnavailable")
    assert.include(error.message, "the package is installed and does not load: Cannot find the native Koffi module")
    assert.notInclude(error.message, "npm install")
  }))

const none = () =>
  Promise.resolve({
    config: () => ({}),
    load: (name: string) => {
      throw new Error(`${name}: no such file`)
    }
  })

it.effect("says that there is no loader of the system's, and what to install", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(OpenCl.load({ koffi: none as never }))
    strictEqual(error.reason._tag, "DeviceUnavailable")
    assert.include(error.message, "no such file")
    assert.include(error.message, "Install an OpenCL loader")
    assert.include(error.message, "ocl-icd-libopencl1")
    assert.include(error.message, doctor)
    assert.notInclude(error.message, "checkout")
    assert.notInclude(error.message, "koffi")
  }))

it.effect("opens nothing on a runtime that cannot take memory back from a program", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(withoutTransfer(OpenCl.load({ koffi: () => Promise.reject(new Error("loaded")) })))
    strictEqual(error.reason._tag, "DeviceUnavailable")
    assert.include(error.message, "opencl this runtime: it has no ArrayBuffer.prototype.transfer")
    assert.include(error.message, "Use Node 22.19 or newer")
  }))

/** As Node 20, which has no `transfer`. */
const withoutTransfer = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const known = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "transfer")!
      Reflect.deleteProperty(ArrayBuffer.prototype, "transfer")
      return known
    }),
    () => effect,
    (known) => Effect.sync(() => Reflect.defineProperty(ArrayBuffer.prototype, "transfer", known))
  )

it.effect("says which loader it could not load", () =>
  Effect.gen(function*() {
    const layer = OpenCl.layer({ library: "libNoSuchLoader.so.9" })
    const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
    strictEqual(error.reason._tag, "DeviceUnavailable")
    assert.include(error.message, "opencl libNoSuchLoader.so.9: ")
    assert.include(error.message, "Check the option library")
    assert.notInclude(error.message, "koffi")
  }))

it("knows the loader's name on every system", () => {
  deepStrictEqual(libraryNames("linux"), ["libOpenCL.so.1", "libOpenCL.so"])
  deepStrictEqual(libraryNames("win32"), ["OpenCL.dll"])
  deepStrictEqual(libraryNames("darwin"), ["/System/Library/Frameworks/OpenCL.framework/OpenCL"])
})

const of12 = (name: string) => /Fill|Migrate|Marker|clCreateImage/.test(name)

const of20 = (name: string) => /SVM|WithProperties/.test(name)

/** A loader that lacks some functions of the system's. */
const lacking = (isMissing: (name: string) => boolean) =>
  Effect.gen(function*() {
    const koffi = (yield* Effect.promise(() => import("koffi"))).default
    const load: typeof koffi.load = (...args) => {
      const library = koffi.load(...args)
      const func: typeof library.func = (...args: ReadonlyArray<unknown>) => {
        const [name] = args
        if (isMissing(String(name))) throw new Error(`Cannot find function '${name}' in shared library`)
        return Reflect.apply(library.func, library, args)
      }
      return { ...library, func }
    }
    return yield* OpenCl.load({ koffi: () => Promise.resolve({ ...koffi, load }) })
  })

describeWith(["opencl"], "Opening an OpenCL device", () => {
  it.effect("needs a loader with the functions of OpenCL 1.1, and says which it lacks", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(lacking((name) => name === "clEnqueueCopyBufferRect"))
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "Cannot find function 'clEnqueueCopyBufferRect'")
    }))

  it.effect("needs a loader with those of 1.2 for a device that has them", () =>
    Effect.gen(function*() {
      const api = yield* lacking((name) => of12(name) || of20(name))
      const error = yield* Effect.flip(Effect.scoped(Layer.build(OpenCl.layerFrom(api))))
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "the OpenCL loader lacks functions of OpenCL 1.2, which the device has")
    }))

  it.live("needs none of 1.2 for a device of 1.1", () =>
    Effect.gen(function*() {
      const api = yield* lacking((name) => of12(name) || of20(name))
      const clGetDeviceInfo = answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 Old")
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(8)
        yield* CommandQueue.fill(x, 7)
        deepStrictEqual([...yield* CommandQueue.read(x, Uint32Array)], [7, 7])
      }).pipe(
        Effect.scoped,
        Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layerFrom({ ...api, clGetDeviceInfo }))))
      )
    }))

  it.live("needs none of 2.0, but for shared virtual memory", () =>
    Effect.gen(function*() {
      const api = yield* lacking(of20)
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(8)
        yield* CommandQueue.fill(x, 7)
        deepStrictEqual([...yield* CommandQueue.read(x, Uint32Array)], [7, 7])
        const shared = Effect.scoped(Effect.provide(BufferPool.allocate(8), Svm.layerPool()))
        const error = yield* Effect.flip(shared)
        strictEqual(error.reason._tag, "Unsupported")
        assert.include(error.message, "the OpenCL loader has no functions of OpenCL 2.0")
      }).pipe(Effect.scoped, Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layerFrom(api)))))
    }))

  it.effect("lists platforms and devices as plain data", () =>
    Effect.gen(function*() {
      const platforms = yield* OpenCl.devices
      const devices = platforms.flatMap((platform) => platform.devices)
      assert.isAbove(devices.length, 0)
      for (const device of devices) {
        assert.isNotEmpty(device.name)
        assert.match(device.version, /^OpenCL \d/)
        assert.isAbove(device.globalMemoryBytes, 0)
        assert.isAbove(device.maxAllocationBytes, 0)
        assert.isAbove(device.maxWorkgroupSize, 0)
      }
    }))

  it.effect("takes platform and device by index and by a part of the name in any case", () =>
    Effect.gen(function*() {
      const platforms = yield* OpenCl.devices
      const platform = platforms.find(({ devices }) => devices.length > 0)!
      const device = platform.devices[0]!
      for (
        const options of [
          {},
          { platform: platform.index, device: device.index },
          { platform: platform.name.toUpperCase(), device: device.name.toLowerCase().slice(2, 8) },
          { device: device.name }
        ]
      ) {
        const opened = yield* Effect.provide(OpenCl.OpenCl, OpenCl.layer(options))
        deepStrictEqual([opened.platform.name, opened.device.name], [platform.name, device.name])
      }
    }))

  it.effect("describes the device by what the driver says", () =>
    Effect.gen(function*() {
      const { info } = yield* DeviceContext
      const { device } = yield* OpenCl.OpenCl
      strictEqual(info.backend, "opencl")
      strictEqual(info.limits.maxBufferSize, device.maxAllocationBytes)
      strictEqual(info.limits.defaultMaxBytes, device.globalMemoryBytes)
      strictEqual(info.limits.granularity, 1)
      assert.isAtLeast(info.limits.maxVectorArguments, 8)
    }).pipe(Effect.provide(OpenCl.layer())))

  it.effect("says what it tried when no name fits", () =>
    Effect.gen(function*() {
      const watched = yield* watch()
      const [platform] = (yield* OpenCl.devices).filter(({ devices }) => devices.length > 0)
      const byPlatform = yield* failing(watched, { platform: "no such platform" })
      strictEqual(byPlatform.reason._tag, "DeviceUnavailable")
      assert.include(
        byPlatform.message,
        `platform ${platform!.index} "${platform!.name}": not the platform asked for, "no such platform"`
      )
      assert.match(
        byPlatform.message,
        /No platform has "no such platform" in its name: there (is platform|are platforms) 0 "/
      )
      assert.include(byPlatform.message, `${platform!.index} "${platform!.name.slice(0, 40)}`)
      assert.notInclude(byPlatform.message, "koffi")
      const byIndex = yield* failing(watched, { platform: 17 })
      assert.match(byIndex.message, /No platform has the index 17: there (is platform|are platforms) 0 "/)
      const byDevice = yield* failing(watched, { platform: platform!.index, device: 17 })
      assert.include(byDevice.message, `"${platform!.devices[0]!.name}": not the device asked for, 17`)
      assert.match(byDevice.message, /No device has the index 17: there (is device|are devices) 0 "/)
      assert.include(byDevice.message, "Pass one of these")
      assert.notInclude(byDevice.message, "koffi")
      deepStrictEqual(watched.alive(), {})
    }))

  it.effect("refuses selectors that are neither a text nor an index", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(OpenCl.layer({ platform: 7n as never }))))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "the platform 7n is neither an index nor a name")
    }))

  it.effect("says that there is no platform", () =>
    Effect.gen(function*() {
      const watched = yield* watch(() => ({
        clGetPlatformIDsAsync: (_capacity, _ids, _count, callback) => callback(null, -1001)
      }))
      const error = yield* failing(watched)
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "it finds no platform")
      assert.include(error.message, "Install an OpenCL driver")
      assert.include(error.message, doctor)
      assert.notInclude(error.message, "koffi")
    }))

  it.effect("skips a platform without devices, as Clover's", () =>
    Effect.gen(function*() {
      const watched = yield* watch(() => ({ clGetDeviceIDs: () => -1 }))
      const error = yield* failing(watched)
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "the platform has no device")
      assert.include(error.message, "The driver is installed and finds no device")
    }))

  it.effect("reports a loader that fails to list", () =>
    Effect.gen(function*() {
      const platforms = yield* watch(() => ({
        clGetPlatformIDsAsync: (_capacity, _ids, _count, callback) => callback(null, -6)
      }))
      assert.include((yield* failing(platforms)).message, "clGetPlatformIDs failed (CL_OUT_OF_HOST_MEMORY -6)")
      const devices = yield* watch(() => ({ clGetDeviceIDs: () => -32 }))
      assert.include((yield* failing(devices)).message, "clGetDeviceIDs failed (CL_INVALID_PLATFORM -32)")
    }))

  it.effect("leaves out devices that cannot run kernels", () =>
    Effect.gen(function*() {
      const absent = yield* watch((api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_AVAILABLE, 0)
      }))
      const unavailable = (yield* failing(absent)).message
      assert.include(unavailable, "not available")
      assert.include(unavailable, "Choose another one")
      const compilerless = yield* watch((api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_COMPILER_AVAILABLE, 0)
      }))
      assert.include((yield* failing(compilerless)).message, "no compiler")
      deepStrictEqual(absent.alive(), {})
    }))

  it.effect("opens the next device when one cannot be opened", () =>
    Effect.gen(function*() {
      let queues = 0
      const watched = yield* watch((api) => ({
        clGetPlatformIDsAsync: (capacity, ids, count, callback) =>
          api.clGetPlatformIDsAsync(capacity === 0 ? 0 : capacity / 2, ids, count, (error, code) => {
            // The machine's platforms, twice.
            if (count instanceof Uint32Array) count[0]! *= 2
            if (ids instanceof BigUint64Array) ids.copyWithin(ids.length / 2, 0, ids.length / 2)
            callback(error, code)
          }),
        clCreateCommandQueue: (context, device, properties, code) => {
          if (queues++ > 0) return api.clCreateCommandQueue(context, device, properties, code)
          if (code instanceof Int32Array) code[0] = -5
          return null
        }
      }))
      const opened = yield* Effect.provide(DeviceContext, OpenCl.layerFrom(watched.api))
      strictEqual(opened.driverObjects.live, 0)
      strictEqual(watched.count("clCreateContext"), 2)
      deepStrictEqual(watched.alive(), {})
    }))

  it.effect("gives the context back when no queue can be made, and says both", () =>
    Effect.gen(function*() {
      const watched = yield* watch((api) => ({
        clGetPlatformInfo: answering(api.clGetPlatformInfo, CL_PLATFORM_NAME, "A Platform"),
        clCreateCommandQueue: (_context, _device, _properties, code) => {
          if (code instanceof Int32Array) code[0] = -6
          return null
        }
      }))
      const error = yield* failing(watched)
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "A Platform")
      assert.include(error.message, "clCreateCommandQueue: CL_OUT_OF_HOST_MEMORY -6")
      assert.include(error.message, "The driver lists the device and does not open it")
      deepStrictEqual(watched.alive(), {})
    }))

  it.effect("gives everything back when a later step fails", () =>
    Effect.gen(function*() {
      const watched = yield* watch()
      const opened = Layer.build(OpenCl.layerFrom(watched.api))
      strictEqual(yield* Effect.flip(Effect.scoped(Effect.andThen(opened, Effect.fail("later")))), "later")
      strictEqual(watched.count("clCreateContext"), 1)
      deepStrictEqual(watched.alive(), {})
    }))

  it.effect("frees what a program left: buffers, kernels, work under way", () =>
    Effect.gen(function*() {
      const watched = yield* watch()
      const device = yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        yield* CommandQueue.fill(yield* device.createBuffer(1024, 13), 7)
        yield* CommandQueue.dispatch(nothing, {}, 64)
        return device
      }).pipe(Effect.provide(OpenCl.layerFrom(watched.api)))
      deepStrictEqual(watched.alive(), {})
      deepStrictEqual(device.driverObjects.liveByKind, {})
      assert.isAbove(device.driverObjects.created, 4)
      strictEqual(device.status.error?.reason._tag, "DeviceLost")
    }))

  it.live("leaves nothing behind, wherever it is interrupted", () =>
    Effect.gen(function*() {
      let through = false
      let steps = 0
      const seen: Array<DriverObjects> = []
      for (; !through; steps++) {
        const watched = yield* watch()
        const program = job(seen).pipe(Effect.provide(OpenCl.layerFrom(watched.api)))
        const exit = yield* Fiber.await(
          Effect.runFork(Effect.provideService(program, Scheduler.Scheduler, new InterruptAt(steps)))
        )
        deepStrictEqual(watched.alive(), {})
        for (const objects of seen.splice(0)) deepStrictEqual(objects.liveByKind, {})
        through = exit._tag === "Success"
      }
      assert.isAbove(steps, 50)
    }))
})

const nothing = Kernel.make({ name: "nothing", args: [], body: { opencl: "" } })

const job = (seen: Array<DriverObjects>) =>
  Effect.gen(function*() {
    seen.push((yield* DeviceContext).driverObjects)
    const x = yield* Allocator.allocate(64)
    yield* CommandQueue.fill(x, 1)
    yield* CommandQueue.dispatch(nothing, {}, 64)
    yield* CommandQueue.read(x, Uint8Array)
    yield* CommandQueue.finish
  }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate))

/** Interrupts a fiber at one step of its run, before or after whatever it waits for. */
class InterruptAt extends Scheduler.MixedScheduler {
  constructor(step: number) {
    super()
    this.shouldYield = (fiber) => {
      if (step-- !== 0) return false
      fiber.interruptUnsafe()
      return true
    }
  }
}
