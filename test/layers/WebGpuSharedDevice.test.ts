/** A GPUDevice that other code has opened: what the library does with it, and what it leaves alone. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, SamplerArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as LazyModule from "../../src/services/calls/LazyModule.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { WebGpu, WebGpuCharacteristics, WebGpuMemory } from "../../src/webgpu.ts"
import { create, held, interruptEverywhere, nothing } from "../support/nullDevice.ts"
import { type SharedDevice, sharedDevice } from "../support/sharedDevice.ts"
import type { Bends } from "../support/watchedGpu.ts"
import { withoutHalves } from "../support/withoutHalves.ts"

type Services = WebGpu.Services | Scope.Scope

const storage = 0x80
const copySrc = 0x4
const copyDst = 0x8

/** A buffer of the other code's. */
const bufferOf = ({ theirs }: SharedDevice, size = 256) =>
  theirs.createBuffer({ size, usage: storage | copySrc | copyDst, label: "theirs" })

/** Submits work on a buffer of the other code's, and returns whether the device still accepts it. */
const stillWorks = ({ theirs }: SharedDevice, buffer: GPUBuffer) =>
  Effect.promise(async () => {
    theirs.pushErrorScope("validation")
    const encoder = theirs.createCommandEncoder()
    encoder.clearBuffer(buffer)
    theirs.queue.submit([encoder.finish()])
    return await theirs.popErrorScope() === null
  })

/**
 * Runs a test on a shared device, and checks that the closed layer has left the device unchanged and no object behind.
 */
const onShared = <A, E>(
  test: (shared: SharedDevice) => Effect.Effect<A, E, Services>,
  descriptor?: GPUDeviceDescriptor,
  bends?: Bends
) =>
  Effect.gen(function*() {
    const shared = yield* sharedDevice(bends, descriptor)
    const buffer = bufferOf(shared)
    const device = yield* Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test(shared)), device))
      .pipe(Effect.provide(WebGpu.layerFromDevice(shared.given)))
    yield* Effect.promise(() => shared.theirs.queue.onSubmittedWorkDone())
    deepStrictEqual(device.driverObjects.liveByKind, {})
    deepStrictEqual(shared.offences, [])
    strictEqual(shared.undestroyed.size, 0)
    strictEqual(shared.watched.count("GPUDevice.destroy"), 0)
    assert.isTrue(yield* stillWorks(shared, buffer))
  }).pipe(Effect.scoped)

/** Effects that wait for the device. */
const jobsOn = (
  buffer: Effect.Success<ReturnType<typeof create>>
): ReadonlyArray<Effect.Effect<unknown, GpuError, WebGpu.Services>> => [
  create(4096),
  CommandQueue.read(buffer, Uint8Array),
  CommandQueue.finish
]

const kernel = Kernel.make({
  name: "all",
  args: [
    VectorArg("f32", "y"),
    ImageArg("x"),
    ImageArg("z", { access: "write", format: ImageFormat.rgba8 }),
    SamplerArg("s"),
    ScalarArg("f32", "a")
  ],
  body: {
    wgsl: `y[i] = a * textureSampleLevel(x, s, vec2<f32>(0.5), 0.0).x;
textureStore(z, vec2<u32>(0u, 0u), vec4<f32>(1.0));`
  }
})

/** One of each operation that calls the driver. */
const everything = Effect.gen(function*() {
  const buffer = yield* held(4096)
  const other = yield* MemoryObjects.fromHost(new Uint8Array(4096), { label: "from host" })
  yield* CommandQueue.write(buffer, new Uint8Array(4096))
  yield* CommandQueue.copy(buffer, other)
  yield* CommandQueue.fill(buffer, 7)
  yield* CommandQueue.writeRect(buffer, new Uint8Array(64), { region: [8, 8] })
  const rgba = { usage: ImageUsage.defaultUsage | ImageUsage.storage }
  const image = yield* Images.make(ImageShape.image2d(8, 8), ImageFormat.rgba8, rgba)
  const target = yield* Images.make(ImageShape.image2d(8, 8), ImageFormat.rgba8, rgba)
  yield* Images.write(image, new Uint8Array(256))
  yield* Images.fill(image, [0, 0.25, 0.5, 1])
  yield* Images.copy(image, target)
  yield* Images.copy(image, image, { extent: [2, 2], targetOrigin: [4, 4] })
  yield* Images.toBuffer(image, buffer)
  yield* Images.fromBuffer(buffer, image)
  const s = yield* Images.sampler({ filter: "linear" })
  yield* CommandQueue.dispatch(kernel, { y: buffer, x: image, z: target, s, a: 2 }, 64)
  yield* CommandQueue.read(buffer, Uint8Array)
  yield* Images.read(image, Uint8Array)
  for (let count = 0; count < 200; count++) yield* Effect.scoped(held(65536))
  yield* CommandQueue.finish
})

describe("WebGpu.layerFromDevice", () => {
  it.live("leaves the device as it is: no handler, no listener, every call in scopes of its own", () =>
    onShared((shared) =>
      Effect.gen(function*() {
        yield* everything
        assert.isAbove(shared.watched.count("GPUQueue.submit"), 4)
        const broken = Kernel.make({ name: "broken", args: [], body: { wgsl: "nonsense" } })
        strictEqual((yield* Effect.flip(CommandQueue.dispatch(broken, {}, 1))).reason._tag, "DriverError")
        deepStrictEqual(shared.uncaptured, [])
      })
    ))

  it.live("shows the device, and no GPU or adapter, which it does not know", () =>
    onShared((shared) =>
      Effect.gen(function*() {
        const { adapter, device, gpu, info } = yield* WebGpu.WebGpu
        deepStrictEqual([gpu, adapter, device === shared.given], [undefined, undefined, true])
        strictEqual(info, (yield* DeviceContext).info)
        strictEqual(info.limits.maxBufferSize, shared.theirs.limits.maxBufferSize)
        assert.isNotEmpty(info.name)
        const { localMemoryBytes } = yield* WebGpuCharacteristics.characteristics
        strictEqual(localMemoryBytes, shared.theirs.limits.maxComputeWorkgroupStorageSize)
      })
    ))

  it.live("names no adapter where the browser does not report it", () =>
    Effect.gen(function*() {
      const { given } = yield* sharedDevice()
      const older = new Proxy(given, {
        get: (target, name) => name === "adapterInfo" ? undefined : Reflect.get(target, name, target)
      })
      const { info, simdGroupSize } = yield* Effect.gen(function*() {
        return { ...(yield* DeviceContext), ...(yield* WebGpuCharacteristics.characteristics) }
      }).pipe(Effect.provide(WebGpu.layerFromDevice(older)))
      deepStrictEqual([info.name, info.vendor, info.driver, simdGroupSize], ["unnamed adapter", "", "", undefined])
    }).pipe(Effect.scoped))

  it.live("keeps its errors from scopes and handlers of the other code, and theirs from its own", () =>
    onShared((shared) =>
      Effect.gen(function*() {
        const { theirs, uncaptured } = shared
        const buffer = yield* held(256)
        theirs.pushErrorScope("validation")
        const foreign = yield* sharedDevice()
        const wrong = yield* WebGpu.adopt(bufferOf(foreign))
        yield* CommandQueue.copy(buffer, wrong)
        const error = yield* Effect.flip(CommandQueue.finish)
        strictEqual(error.reason._tag, "DriverError")
        strictEqual(yield* Effect.promise(() => theirs.popErrorScope()), null)
        deepStrictEqual(uncaptured, [])
        theirs.createBuffer({ size: 16, usage: 0 })
        yield* CommandQueue.finish
        yield* CommandQueue.read(buffer, Uint8Array)
        strictEqual(uncaptured.length, 1)
        theirs.pushErrorScope("validation")
        theirs.createBuffer({ size: 16, usage: 0 })
        yield* CommandQueue.fill(buffer, 3)
        yield* CommandQueue.finish
        assert.isNotNull(yield* Effect.promise(() => theirs.popErrorScope()))
        strictEqual(uncaptured.length, 1)
      })
    ))

  it.live("serves several layers at once, and goes on when one of them closes", () =>
    Effect.gen(function*() {
      const shared = yield* sharedDevice()
      const build = (scope: Scope.Scope) => Layer.buildWithScope(WebGpu.layerFromDevice(shared.given), scope)
      const [one, other] = [yield* Scope.make(), yield* Scope.make()]
      const [first, second] = [yield* build(one), yield* build(other)]
      const buffer = yield* Effect.provide(create(256), first)
      const kept = yield* Effect.provide(create(256), second)
      strictEqual(
        (yield* Effect.flip(Effect.provide(CommandQueue.fill(buffer, 0), second))).reason._tag,
        "ForeignDevice"
      )
      const taken = yield* Effect.provide(
        Effect.flatMap(WebGpu.handle(buffer), (handle) => Scope.provide(WebGpu.adopt(handle), other)),
        Context.merge(first, second)
      ).pipe(Effect.flip)
      strictEqual(taken.reason._tag, "ForeignDevice")
      const handle = yield* Effect.provide(WebGpu.handle(buffer), first)
      const seen = yield* Effect.provide(Scope.provide(WebGpu.adopt(handle), other), second)
      yield* Effect.provide(Effect.andThen(CommandQueue.copy(seen, kept), CommandQueue.finish), second)
      yield* Scope.close(one, Exit.void)
      deepStrictEqual(Context.get(first, DeviceContext).driverObjects.liveByKind, {})
      strictEqual((yield* Effect.flip(Effect.provide(create(4), first))).reason._tag, "DeviceLost")
      yield* Effect.provide(Effect.andThen(CommandQueue.fill(kept, 1), CommandQueue.finish), second)
      strictEqual((yield* Effect.provide(CommandQueue.read(kept, Uint8Array), second)).length, 256)
      yield* Scope.close(other, Exit.void)
      deepStrictEqual([shared.undestroyed.size, shared.offences, shared.uncaptured], [0, [], []])
    }).pipe(Effect.scoped))

  it.live("listens once for a loss, however many layers a device sees", () =>
    Effect.gen(function*() {
      const shared = yield* sharedDevice()
      for (let count = 0; count < 100; count++) {
        yield* Layer.build(WebGpu.layerFromDevice(shared.given)).pipe(Effect.scoped)
      }
      // The check of the device reads the method once, and the layer adds one listener.
      assert.isAtMost(shared.lossListeners(), 100 + 1)
    }).pipe(Effect.scoped))

  it.live("submits what was recorded on buffers of the other code's when it closes", () =>
    Effect.gen(function*() {
      const shared = yield* sharedDevice()
      const buffer = bufferOf(shared)
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(WebGpu.layerFromDevice(shared.given), scope)
      const adopted = yield* Effect.provide(Scope.provide(WebGpu.adopt(buffer), yield* Scope.make()), context)
      const submits = shared.watched.count("GPUQueue.submit")
      const closing = Effect.andThen(
        Effect.provide(CommandQueue.fill(adopted, 0), context),
        Scope.close(scope, Exit.void)
      )
      Effect.runSync(closing)
      // The fill's submit, and one that reclaims memory.
      strictEqual(shared.watched.count("GPUQueue.submit"), submits + 2)
      assert.isTrue(yield* stillWorks(shared, buffer))
    }).pipe(Effect.scoped))

  it.live("destroys what it took over, and neither adopted buffers nor their regions", () =>
    Effect.gen(function*() {
      const shared = yield* sharedDevice()
      const [theirs, handed] = [bufferOf(shared, 1024), bufferOf(shared)]
      const outer = yield* Effect.scope
      yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        const parent = yield* Scope.provide(WebGpu.adopt(theirs), outer)
        const region = device.createRegionUnsafe({ parent, origin: 256 }, 256, parent.usage, undefined)
        assert.isTrue(Exit.isSuccess(region))
        yield* Scope.provide(WebGpu.adopt(handed, { takeOver: true }), outer)
      }).pipe(Effect.provide(WebGpu.layerFromDevice(shared.given)))
      assert.isTrue(yield* stillWorks(shared, theirs))
      assert.isFalse(yield* stillWorks(shared, handed))
    }).pipe(Effect.scoped))

  it.live("leaves nothing behind, wherever it is interrupted", () =>
    Effect.gen(function*() {
      const shared = yield* sharedDevice()
      const buffer = bufferOf(shared)
      yield* LazyModule.all
      let devices: Array<DeviceContext["Service"]> = []
      const use = Effect.gen(function*() {
        devices.push(yield* DeviceContext)
        const x = yield* held(256)
        yield* CommandQueue.dispatch(nothing, { x }, 1)
        const theirs = yield* WebGpu.adopt(buffer)
        yield* CommandQueue.copy(x, theirs)
        yield* CommandQueue.read(theirs, Uint8Array)
      })
      const program = Effect.suspend(() => Effect.scoped(Effect.provide(use, WebGpu.layerFromDevice(shared.given))))
      const steps = yield* interruptEverywhere(program, (step) => {
        for (const { driverObjects } of devices) deepStrictEqual(driverObjects.liveByKind, {}, `step ${step}`)
        devices = []
      })
      assert.isAbove(steps, 50)
      yield* Effect.promise(() => shared.theirs.queue.onSubmittedWorkDone())
      deepStrictEqual([shared.offences, shared.uncaptured, shared.undestroyed.size], [[], [], 0])
      assert.isTrue(yield* stillWorks(shared, buffer))
    }).pipe(Effect.scoped))

  it.live("closes in the middle of creations, reads and waits, which end with DeviceLost", () =>
    Effect.gen(function*() {
      const shared = yield* sharedDevice()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(WebGpu.layerFromDevice(shared.given), scope)
      const buffer = yield* Effect.provide(create(256), context)
      const waiting = yield* Effect.forEach(
        jobsOn(buffer),
        (job) => Effect.forkChild(Effect.flip(Effect.provide(job, context)), { startImmediately: true })
      )
      yield* Scope.close(scope, Exit.void)
      for (const fiber of waiting) assert.include((yield* Fiber.join(fiber)).message, "its layer is closed")
      yield* Effect.promise(() => shared.theirs.queue.onSubmittedWorkDone())
      deepStrictEqual(Context.get(context, DeviceContext).driverObjects.liveByKind, {})
      deepStrictEqual([shared.offences, shared.uncaptured, shared.undestroyed.size], [[], [], 0])
    }).pipe(Effect.scoped))
})

describe("A shared device that is lost", () => {
  it.live("fails the layer with DeviceLost where it was lost before", () =>
    Effect.gen(function*() {
      const { given, theirs } = yield* sharedDevice()
      theirs.destroy()
      for (let count = 0; count < 2; count++) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(WebGpu.layerFromDevice(given))))
        strictEqual(error.reason._tag, "DeviceLost")
        assert.include(error.message, "destroyed")
      }
    }).pipe(Effect.scoped))

  it.live("ends everything that waits on any layer of it, and everything later", () =>
    Effect.gen(function*() {
      const { given, offences, theirs } = yield* sharedDevice()
      const contexts = yield* Effect.forEach([1, 2], () => Layer.build(WebGpu.layerFromDevice(given)))
      const buffers = yield* Effect.forEach(contexts, (context) => Effect.provide(create(256), context))
      const waiting = yield* Effect.forEach(
        contexts.flatMap((context, at) => jobsOn(buffers[at]!).map((job) => Effect.provide(job, context))),
        (job) => Effect.forkChild(Effect.flip(job), { startImmediately: true })
      )
      theirs.destroy()
      for (const fiber of waiting) {
        const error = yield* Fiber.join(fiber)
        strictEqual(error.reason._tag, "DeviceLost")
        assert.include(error.message, "destroyed")
      }
      for (const context of contexts) {
        strictEqual((yield* Effect.flip(Effect.provide(create(4), context))).reason._tag, "DeviceLost")
      }
      deepStrictEqual(offences, [])
      return contexts.map((context) => Context.get(context, DeviceContext).driverObjects)
    }).pipe(
      Effect.scoped,
      Effect.map((objects) => objects.forEach(({ liveByKind }) => deepStrictEqual(liveByKind, {})))
    ))

  it.live("does not hang when its promises never settle", () =>
    Effect.gen(function*() {
      const { given, theirs } = yield* sharedDevice({ "GPUQueue.onSubmittedWorkDone": () => new Promise(() => {}) })
      const context = yield* Layer.build(WebGpu.layerFromDevice(given))
      const asked = yield* Deferred.make<void>()
      const finish = Effect.andThen(Deferred.succeed(asked, undefined), CommandQueue.finish)
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.provide(finish, context)), { startImmediately: true })
      yield* Deferred.await(asked)
      theirs.destroy()
      strictEqual((yield* Fiber.join(fiber)).reason._tag, "DeviceLost")
    }).pipe(Effect.scoped))
})

const half = Kernel.make({ name: "half", args: [VectorArg("f16", "x")], body: { wgsl: "" } })

describe("A shared device without a feature", () => {
  it.live("refuses kernels with f16, and names the feature to request", () =>
    onShared(() =>
      Effect.gen(function*() {
        const x = yield* held(256)
        const error = yield* Effect.flip(CommandQueue.dispatch(half, { x }, 1))
        strictEqual(error.reason._tag, "Unsupported")
        assert.include(error.message, "f16")
        assert.include(error.message, "without the feature shader-f16: name it in requiredFeatures of requestDevice")
      })
    ))

  it.live("runs them where it was requested", () =>
    onShared(() => Effect.flatMap(held(256), (x) => CommandQueue.dispatch(half, { x }, 1)), {
      requiredFeatures: ["shader-f16"]
    }))

  it.live("does not ask for it where the runtime has no halves", () =>
    withoutHalves(onShared(() =>
      Effect.gen(function*() {
        const x = yield* held(256)
        const error = yield* Effect.flip(CommandQueue.dispatch(half, { x }, 1))
        assert.include(error.message, "Float16Array")
        assert.notInclude(error.message, "requiredFeatures")
      })
    )))

  it.live("refuses images, kernels that write them and filtering, and names the feature of each", () =>
    onShared(() =>
      Effect.gen(function*() {
        const shape = ImageShape.image2d(8, 8)
        const bgra: ImageFormat.ImageFormat = { order: "bgra", type: "unorm8" }
        const make = (format: ImageFormat.ImageFormat, usage?: ImageUsage.ImageUsage) =>
          Effect.flip(Images.make(shape, format, { usage }))
        const normalised = yield* make({ order: "r", type: "unorm16" })
        strictEqual(normalised.reason._tag, "Unsupported")
        assert.include(normalised.message, "without the feature texture-formats-tier1: name it in requiredFeatures")
        assert.include((yield* make(bgra, ImageUsage.storage)).message, "without the feature bgra8unorm-storage")
        const never = yield* make({ order: "srgba", type: "unorm8" }, ImageUsage.storage)
        assert.notInclude(never.message, "requiredFeatures")
        const flat = yield* Effect.flip(Images.make(ImageShape.image1dArray(8, 2), { order: "r", type: "unorm16" }))
        assert.notInclude(flat.message, "requiredFeatures")
        const writing = Kernel.make({
          name: "writing",
          args: [ImageArg("z", { access: "write", format: bgra })],
          body: { wgsl: "" }
        })
        const z = yield* Images.make(shape, ImageFormat.rgba8)
        const written = yield* Effect.flip(CommandQueue.dispatch(writing, { z }, 1))
        assert.include(written.message, "without the feature bgra8unorm-storage")
        const x = yield* Images.make(shape, { order: "r", type: "float32" })
        const sampling = Kernel.make({
          name: "sampling",
          args: [ImageArg("x"), SamplerArg("s"), VectorArg("f32", "y")],
          body: { wgsl: "y[i] = textureSampleLevel(x, s, vec2<f32>(0.5), 0.0).x;" }
        })
        const s = yield* Images.sampler({ filter: "linear" })
        const sampled = yield* Effect.flip(CommandQueue.dispatch(sampling, { x, s, y: yield* held(64) }, 1))
        assert.include(sampled.message, "without the feature float32-filterable")
      })
    ))
})

const failing = (device: unknown, options?: object) =>
  Effect.flip(Effect.scoped(Layer.build(WebGpu.layerFromDevice(device as never, options))))

describe("A GPUDevice of other code", () => {
  it.live("takes no options that it cannot have", () =>
    Effect.gen(function*() {
      const { given } = yield* sharedDevice()
      strictEqual((yield* failing(given, { label: "x" })).reason._tag, "InvalidRequest")
      strictEqual((yield* failing(given, { kernelCacheCapacity: 0 })).reason._tag, "InvalidRequest")
      strictEqual((yield* failing(given, { byteGranular: true })).reason._tag, "Unsupported")
    }).pipe(Effect.scoped))

  it.live("is refused where it is none, as a promise of one", () =>
    Effect.gen(function*() {
      for (const [layer, name] of [[WebGpu, "WebGpu"], [WebGpuMemory, "WebGpuMemory"]] as const) {
        for (const given of [undefined, null, {}, Promise.resolve({})]) {
          const built = Layer.build(
            Layer.effectDiscard(Effect.void).pipe(
              Layer.provide(layer.layerFromDevice(given as never))
            )
          )
          const { message, reason } = yield* Effect.flip(Effect.scoped(built))
          strictEqual(reason._tag, "InvalidRequest")
          assert.match(
            message,
            new RegExp(`^${name}\\.layerFromDevice: .* was given for a GPUDevice\\. Pass the GPUDevice itself`)
          )
        }
      }
    }))

  it.live("is a double with what WebGpuApi lists, for which destroy and onuncapturederror do not count", () =>
    onShared(() =>
      Effect.asVoid(BufferPool.use(64, (x) => CommandQueue.fill(x, 1)).pipe(Effect.provide(BufferPool.layer())))
    ))
})
