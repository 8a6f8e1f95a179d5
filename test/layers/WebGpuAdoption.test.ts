import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as SamplerOptions from "../../src/domain/images/SamplerOptions.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, SamplerArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { WebGpu, type WebGpuApi } from "../../src/webgpu.ts"
import { reasonOf } from "../support/hostPool.ts"
import { describeWith } from "../support/required.ts"

type Services = WebGpu.Services | BufferPool.BufferPool | Scope.Scope

const pooled = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))

const onGpu = <A, E>(test: Effect.Effect<A, E, Services>) =>
  Effect.gen(function*() {
    const used = Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test), device))
    const { driverObjects } = yield* Effect.provide(used, pooled)
    deepStrictEqual(driverObjects.liveByKind, {})
  })

const storage = 0x80
const copySrc = 0x4
const copyDst = 0x8
const mapRead = 0x1

/** A buffer as the program would make it on the raw device. */
const theirs = (size: number, usage = storage | copySrc | copyDst, mappedAtCreation = false) =>
  Effect.map(WebGpu.WebGpu, ({ device }) => device.createBuffer({ size, usage, mappedAtCreation, label: "theirs" }))

const bytesOf = (gpu: GPUBuffer) =>
  Effect.scoped(Effect.flatMap(WebGpu.adopt(gpu), (buffer) => CommandQueue.read(buffer, Uint8Array)))

describeWith(["webgpu"], "WebGpu.adopt", () => {
  it.live("works on a GPUBuffer of the program's, which stays the program's", () =>
    onGpu(Effect.gen(function*() {
      const { driverObjects } = yield* DeviceContext
      const gpu = yield* theirs(64)
      const before = driverObjects.live
      const buffer = yield* Effect.scoped(Effect.gen(function*() {
        const buffer = yield* WebGpu.adopt(gpu)
        deepStrictEqual([buffer.size, buffer.usage, buffer.label], [64, BufferUsage.defaultUsage, "theirs"])
        yield* CommandQueue.fill(buffer, 0x02020202)
        strictEqual(driverObjects.liveByKind["buffer"], undefined)
        return buffer
      }))
      strictEqual((yield* reasonOf(CommandQueue.fill(buffer, 0)))._tag, "Released")
      assert.isAtMost(driverObjects.live, before + 1)
      deepStrictEqual([...(yield* bytesOf(gpu))], Array.from({ length: 64 }, () => 2))
      gpu.destroy()
    })))

  it.live("takes it over when asked to, and keeps it for its regions", () =>
    onGpu(Effect.gen(function*() {
      const { driverObjects, info } = yield* DeviceContext
      const gpu = yield* theirs(2 * info.limits.regionAlignment)
      yield* Effect.scoped(Effect.gen(function*() {
        const region = yield* Effect.flatMap(Effect.scope, (outer) =>
          Effect.scoped(Effect.flatMap(
            WebGpu.adopt(gpu, { takeOver: true, label: "ours" }),
            (buffer) => Scope.provide(SubRegion.make(buffer, { size: 8 }), outer)
          )))
        yield* CommandQueue.fill(region, 0x03030303)
        deepStrictEqual([...(yield* CommandQueue.read(region, Uint8Array))], Array.from({ length: 8 }, () => 3))
        deepStrictEqual([driverObjects.liveByKind["buffer"], driverObjects.liveByKind["region"]], [1, 1])
      }))
      deepStrictEqual([driverObjects.liveByKind["buffer"], driverObjects.liveByKind["region"]], [undefined, undefined])
    })))

  it.live("is equal to the buffer whose handle it was, and counts as one with it", () =>
    onGpu(Effect.gen(function*() {
      const [lease, other] = [yield* BufferPool.allocate(64), yield* BufferPool.allocate(64)]
      const [first, second] = [
        yield* WebGpu.adopt(yield* WebGpu.handle(lease)),
        yield* WebGpu.adopt(yield* WebGpu.handle(lease))
      ]
      assert.isTrue(Equal.equals(first, second))
      assert.isFalse(Equal.equals(first, yield* WebGpu.adopt(yield* WebGpu.handle(other))))
      strictEqual((yield* reasonOf(CommandQueue.copy(lease, first)))._tag, "InvalidRequest")
    })))

  it.live("refuses what cannot be used", () =>
    onGpu(Effect.gen(function*() {
      const small = yield* theirs(2)
      const mapped = yield* theirs(16, copySrc, true)
      const onlyMapped = yield* theirs(16, mapRead)
      const readable = yield* theirs(16, copySrc)
      const refused = [
        WebGpu.adopt(small),
        WebGpu.adopt(mapped),
        WebGpu.adopt(onlyMapped),
        WebGpu.adopt(readable, { usage: BufferUsage.storage }),
        WebGpu.adopt({} as GPUBuffer),
        WebGpu.adopt(null as never)
      ]
      for (const attempt of refused) strictEqual((yield* reasonOf(attempt))._tag, "InvalidRequest")
      assert.match((yield* reasonOf(refused[3]!)).message, /leave usage out for all of them\.$/)
      for (const gpu of [small, mapped, onlyMapped, readable]) gpu.destroy()
    })))
})

const textureUsage = 0x1 | 0x2 | 0x4
const render = 0x10

const texture = (options?: Partial<GPUTextureDescriptor>) =>
  Effect.map(WebGpu.WebGpu, ({ device }) =>
    device.createTexture({
      size: [4, 2],
      format: "rgba8unorm",
      usage: textureUsage,
      label: "theirs",
      ...options
    }))

describeWith(["webgpu"], "WebGpu.adoptImage", () => {
  it.live("works on a texture of the program's, which stays the program's", () =>
    onGpu(Effect.gen(function*() {
      const { driverObjects } = yield* DeviceContext
      const gpu = yield* texture()
      const image = yield* Effect.scoped(Effect.gen(function*() {
        const image = yield* WebGpu.adoptImage(gpu)
        deepStrictEqual([image.shape, image.format], [ImageShape.image2d(4, 2), ImageFormat.rgba8])
        deepStrictEqual([image.usage, image.label], [ImageUsage.defaultUsage, "theirs"])
        yield* Images.fill(image, 1)
        yield* Effect.map(Images.map(image, { extent: [1] }), ({ data }) => data.fill(3))
        strictEqual(driverObjects.liveByKind["image"], undefined)
        return image
      }))
      strictEqual((yield* reasonOf(Images.read(image)))._tag, "Released")
      const again = Effect.scoped(
        Effect.flatMap(WebGpu.adoptImage(gpu, { takeOver: true }), (image) => {
          strictEqual(driverObjects.liveByKind["image"], 1)
          return Images.read(image, { extent: [2] })
        })
      )
      deepStrictEqual(Array.from(yield* again), [3, 3, 3, 3, 255, 255, 255, 255])
      strictEqual(driverObjects.liveByKind["image"], undefined)
    })))

  it.live("takes shape and format from the texture, of every kind", () =>
    onGpu(Effect.gen(function*() {
      const shapes = [
        ImageShape.image1d(5),
        ImageShape.image2d(5, 3),
        ImageShape.image2dArray(5, 3, 2),
        ImageShape.image3d(5, 3, 2)
      ]
      for (const shape of shapes) {
        for (const format of yield* Images.formats(ImageUsage.defaultUsage, shape.kind)) {
          yield* Effect.scoped(Effect.gen(function*() {
            const twin = yield* WebGpu.adoptImage(yield* WebGpu.texture(yield* Images.make(shape, format)))
            deepStrictEqual([twin.shape, twin.format], [shape, format])
          }))
        }
      }
    })))

  it.live("is equal to the image whose texture it was, and counts as one with it", () =>
    onGpu(Effect.gen(function*() {
      const [x, y] = [
        yield* Images.make(ImageShape.image2d(4, 2), ImageFormat.rgba8),
        yield* Images.make(ImageShape.image2d(4, 2), ImageFormat.rgba8)
      ]
      const twin = yield* WebGpu.adoptImage(yield* WebGpu.texture(x))
      assert.isTrue(Equal.equals(x, twin) && Equal.equals(twin, x))
      strictEqual(Hash.hash(x), Hash.hash(twin))
      assert.isFalse(Equal.equals(twin, y))
      strictEqual((yield* reasonOf(Images.copy(x, twin)))._tag, "InvalidRequest")
      yield* Images.write(x, Uint8Array.from({ length: 32 }, (_, at) => at))
      yield* Images.copy(x, twin, { targetOrigin: [2, 1], extent: [2] })
      deepStrictEqual(Array.from(yield* Images.read(x)).slice(24), [0, 1, 2, 3, 4, 5, 6, 7])
      yield* Images.map(x)
      strictEqual((yield* reasonOf(Images.read(twin)))._tag, "InvalidRequest")
    })))

  it.live("fails the commands on one that is destroyed", () =>
    onGpu(Effect.gen(function*() {
      const gpu = yield* texture()
      gpu.destroy()
      const image = yield* WebGpu.adoptImage(gpu)
      strictEqual((yield* reasonOf(Images.read(image)))._tag, "DriverError")
    })))

  it.live("refuses what no image can be", () =>
    onGpu(Effect.gen(function*() {
      const refused = [
        [yield* texture({ mipLevelCount: 2 }), "Unsupported"],
        [yield* texture({ sampleCount: 4, usage: render | 0x4 }), "Unsupported"],
        [yield* texture({ format: "depth24plus", usage: render | 0x4 }), "Unsupported"],
        [yield* texture({ usage: render }), "InvalidRequest"],
        [yield* theirs(16), "InvalidRequest"],
        [{}, "InvalidRequest"],
        [null, "InvalidRequest"]
      ] as const
      for (const [gpu, reason] of refused) {
        strictEqual((yield* reasonOf(WebGpu.adoptImage(gpu as GPUTexture)))._tag, reason)
        if (gpu !== null && "destroy" in gpu) gpu.destroy()
      }
    })))
})

describeWith(["webgpu"], "WebGPU memory objects", () => {
  it.live("says what it has no concept of", () =>
    onGpu(Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(16)
      strictEqual((yield* reasonOf(MemoryObjects.migrate([lease])))._tag, "Unsupported")
      strictEqual((yield* reasonOf(MemoryObjects.fromHost(new Uint8Array(8), { mode: "use" })))._tag, "Unsupported")
      strictEqual((yield* reasonOf(MemoryObjects.hostArray(lease, Uint8Array)))._tag, "InvalidRequest")
    })))

  it.live("binds a region at its origin for shaders of the program's own", () =>
    onGpu(Effect.gen(function*() {
      const { limits } = (yield* DeviceContext).info
      const lease = yield* BufferPool.allocate(4 * limits.regionAlignment)
      const region = yield* SubRegion.make(lease, { offset: limits.regionAlignment, size: 6 * 4 })
      const binding = yield* WebGpu.binding(region)
      deepStrictEqual([binding.offset, binding.size], [limits.regionAlignment, 24])
      strictEqual(binding.buffer, yield* WebGpu.handle(lease))
    })))
})

const tagOf = (gpu: unknown, options?: SamplerOptions.SamplerOptions) =>
  Effect.map(reasonOf(WebGpu.adoptSampler(gpu as GPUSampler, options)), ({ _tag }) => _tag)

describeWith(["webgpu"], "WebGpu.adoptSampler", () => {
  const sampleOnce = Kernel.make({
    name: "sample_once",
    args: [ImageArg("picture"), SamplerArg("how"), VectorArg("f32", "color", { access: "write" })],
    body: { wgsl: "color[i] = textureSampleLevel(picture, how, vec2<f32>(1.25, 0.5), 0.0).x;" }
  })

  it.live("reads through the program's GPUSampler, which stays the program's", () =>
    onGpu(Effect.gen(function*() {
      const [{ device }, { driverObjects }] = [yield* WebGpu.WebGpu, yield* DeviceContext]
      const gpu = device.createSampler({ addressModeU: "repeat" })
      const picture = yield* Images.fromArray(Uint8Array.of(51, 102), ImageShape.image2d(2, 1), { normalized: true })
      const color = yield* BufferPool.allocate(4)
      const how = yield* Effect.scoped(Effect.gen(function*() {
        const how = yield* WebGpu.adoptSampler(gpu, { addressing: "repeat" })
        deepStrictEqual(how.options, SamplerOptions.resolve({ addressing: "repeat" }))
        strictEqual(driverObjects.liveByKind["sampler"], undefined)
        yield* CommandQueue.dispatch(sampleOnce, { picture, how, color }, 1)
        assert.closeTo((yield* CommandQueue.read(color, Float32Array))[0]!, 0.2, 1e-6)
        return how
      }))
      const late = yield* reasonOf(CommandQueue.dispatch(sampleOnce, { picture, how, color }, 1))
      strictEqual(late._tag, "Released")
      const [x, y] = [yield* WebGpu.adoptSampler(gpu), yield* WebGpu.adoptSampler(gpu)]
      assert.isTrue(Equal.equals(x, y) && Hash.hash(x) === Hash.hash(y))
      assert.isFalse(Equal.equals(x, yield* WebGpu.adoptSampler(device.createSampler())))
    })))

  it.live("refuses what is no GPUSampler, and options that go with none", () =>
    onGpu(Effect.gen(function*() {
      const { device } = yield* WebGpu.WebGpu
      const texture = device.createTexture({ size: [1], format: "r8unorm", usage: 4 })
      for (const bad of [null, undefined, 5, {}, "sampler", texture, Symbol("sampler")]) {
        strictEqual(yield* tagOf(bad), "InvalidRequest")
      }
      texture.destroy()
      const gpu = device.createSampler()
      strictEqual(yield* tagOf(gpu, { lodMin: 2, lodMax: 1 }), "InvalidRequest")
      strictEqual(yield* tagOf(gpu, { addressing: "clampToBorder" }), "Unsupported")
      strictEqual(yield* tagOf(gpu, { normalizedCoordinates: false }), "Unsupported")
    })))

  it.live("takes a double of one by its tag", () =>
    onGpu(Effect.gen(function*() {
      const double: WebGpuApi.Sampler = { label: "a double", [Symbol.toStringTag]: "GPUSampler" }
      deepStrictEqual((yield* WebGpu.adoptSampler(double)).options, SamplerOptions.resolve({}))
      strictEqual(yield* tagOf({ label: "no sampler" }), "InvalidRequest")
    })))

  it.live("keeps what the options cannot say", () =>
    onGpu(Effect.gen(function*() {
      const { device } = yield* WebGpu.WebGpu
      const how = yield* WebGpu.adoptSampler(
        device.createSampler({ maxAnisotropy: 4, magFilter: "linear", minFilter: "linear", mipmapFilter: "linear" }),
        { filter: "linear" }
      )
      const picture = yield* Images.fromArray(Uint8Array.of(51, 51), ImageShape.image2d(2, 1), { normalized: true })
      const color = yield* BufferPool.allocate(4)
      yield* CommandQueue.dispatch(sampleOnce, { picture, how, color }, 1)
      assert.closeTo((yield* CommandQueue.read(color, Float32Array))[0]!, 0.2, 1e-6)
    })))

  it.live("is no use on a lost device", () =>
    Effect.gen(function*() {
      const lost = yield* Effect.scoped(Effect.gen(function*() {
        const [{ device }, { status }] = [yield* WebGpu.WebGpu, yield* DeviceContext]
        const gpu = device.createSampler()
        status.lose("a test")
        return yield* reasonOf(WebGpu.adoptSampler(gpu))
      })).pipe(Effect.provide(WebGpu.layer()))
      strictEqual(lost._tag, "DeviceLost")
    }))
})
