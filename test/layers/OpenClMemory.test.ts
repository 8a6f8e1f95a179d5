import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { OpenCl } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { allocate, onDevice, read, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering, watch } from "../support/watchedOpenCl.ts"

const CL_DEVICE_TYPE = 0x1000
const CL_DEVICE_VERSION = 0x102f
const CL_DEVICE_TYPE_CPU = 2
const CL_DEVICE_TYPE_GPU = 4

/** Fills a buffer from `offset` on with the pattern, and checks all bytes. */
const filled = (size: number, offset: number, pattern: Uint8Array<ArrayBuffer>) =>
  Effect.gen(function*() {
    const x = yield* allocate(size)
    yield* CommandQueue.fill(x, Uint8Array.of(255))
    yield* CommandQueue.fill(x, pattern, { offset })
    deepStrictEqual(
      yield* read(x),
      Array.from({ length: size }, (_, i) => i < offset ? 255 : pattern[(i - offset) % pattern.length]!)
    )
  })

const wide = (times: number) =>
  Effect.gen(function*() {
    const x = yield* allocate(128 * times)
    const pattern = Uint32Array.from({ length: 32 }, (_, at) => at % 2 === 0 ? at : 0x02020202 + at)
    for (const words of [32, 16, 8, 4, 2, 1]) {
      yield* CommandQueue.fill(x, pattern.subarray(0, words))
      const bytes = yield* CommandQueue.read(x, Uint8Array)
      const expected = new Uint8Array(pattern.buffer)
      assert.isTrue(bytes.every((byte, at) => byte === expected[at % (4 * words)]), `${words} words`)
    }
  })

const patternOf = (bytes: number) => Uint8Array.from({ length: bytes }, (_, at) => at + 1)

describeWith(["opencl"], "OpenCL memory", () => {
  it.effect("writes, copies and reads at offsets", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const [x, y] = [yield* allocate(16), yield* allocate(16)]
        yield* CommandQueue.fill(y, 0)
        yield* CommandQueue.write(x, Uint8Array.from({ length: 16 }, (_, i) => i))
        yield* CommandQueue.write(x, Uint8Array.of(90, 91, 92, 93), { offset: 4 })
        yield* CommandQueue.copy(x, y, { sourceOffset: 4, targetOffset: 8, size: 8 })
        deepStrictEqual(yield* read(y), [0, 0, 0, 0, 0, 0, 0, 0, 90, 91, 92, 93, 8, 9, 10, 11])
        deepStrictEqual([...(yield* CommandQueue.read(x, Uint8Array, { offset: 12 }))], [12, 13, 14, 15])
      })
    ))

  const fills: ReadonlyArray<readonly [size: number, offset: number, pattern: number]> = [
    [1, 0, 1],
    [3, 0, 1],
    [4, 0, 4],
    [5, 0, 1],
    [6, 0, 2],
    [11, 4, 1],
    [14, 4, 2],
    [32, 8, 8]
  ]
  it.effect.each(fills)(
    "fills %i bytes from %i on with a pattern of %i",
    ([size, offset, bytes]) =>
      onDevice((watched) =>
        Effect.gen(function*() {
          yield* filled(size, offset, patternOf(bytes))
          // A write would be the host's, which a buffer may not allow.
          strictEqual(watched.count("clEnqueueFillBuffer"), 2)
          strictEqual(watched.count("clEnqueueWriteBuffer"), 0)
        })
      )
  )

  it.effect.each(fills)(
    "fills %i bytes from %i on with a pattern of %i with OpenCL 1.1, which has no fill",
    ([size, offset, bytes]) =>
      onDevice(
        (watched) =>
          Effect.gen(function*() {
            yield* filled(size, offset, patternOf(bytes))
            strictEqual(watched.count("clEnqueueFillBuffer"), 0)
            strictEqual(watched.count("clEnqueueMigrateMemObjects"), 0)
          }),
        (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 Old") })
      )
  )

  it.effect("fills longer patterns by the device, in one command", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        yield* wide(3)
        deepStrictEqual((["clEnqueueFillBuffer", "clEnqueueWriteBuffer"] as const).map((name) => watched.count(name)), [
          6,
          0
        ])
      })
    ))

  it.effect("fills longer patterns with OpenCL 1.1, in pieces", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          yield* wide(1)
          yield* wide(2 * 8 * 1024 + 3)
          strictEqual(watched.count("clEnqueueFillBuffer"), 0)
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 Old") })
    ))

  it.effect("fills more than a piece of the pattern with OpenCL 1.1", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* allocate(2 * 1024 * 1024 + 6)
          yield* CommandQueue.fill(x, Uint8Array.of(1, 2))
          const bytes = yield* CommandQueue.read(x, Uint8Array)
          assert.isTrue(bytes.every((byte, i) => byte === i % 2 + 1))
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 Old") })
    ))

  const [CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY] = [1, 2, 4]
  const CL_MEM_ALLOC_HOST_PTR = 16
  const CL_MEM_USE_HOST_PTR = 8
  const CL_MEM_COPY_HOST_PTR = 32
  const [CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_NO_ACCESS] = [128, 256, 512]

  const created: ReadonlyArray<readonly [usage: number, flags: number]> = [
    [BufferUsage.defaultUsage, CL_MEM_READ_WRITE],
    [BufferUsage.defaultUsage | BufferUsage.kernelWriteOnly, CL_MEM_WRITE_ONLY],
    [BufferUsage.defaultUsage | BufferUsage.kernelReadOnly, CL_MEM_READ_ONLY],
    [BufferUsage.defaultUsage | BufferUsage.hostMemory, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR]
  ]
  const devices: ReadonlyArray<readonly [type: number, hostMemory: boolean | undefined, flag: number]> = [
    [CL_DEVICE_TYPE_CPU, undefined, CL_MEM_ALLOC_HOST_PTR],
    [CL_DEVICE_TYPE_CPU, false, 0],
    [CL_DEVICE_TYPE_GPU, undefined, 0],
    [CL_DEVICE_TYPE_GPU, true, CL_MEM_ALLOC_HOST_PTR]
  ]
  it.effect.each(devices)(
    "creates memory by usage, on a device of type %i with hostMemory %s",
    ([type, hostMemory, flag]) => {
      const seen: Array<number> = []
      return onDevice(
        () =>
          Effect.gen(function*() {
            for (const [usage] of created) yield* Allocator.allocate(64, { usage })
            yield* MemoryObjects.fromHost(new Uint8Array(64))
            yield* MemoryObjects.fromHost(new Uint8Array(64), { mode: "use" })
            yield* Images.make(ImageShape.image2d(4, 4), ImageFormat.rgba8)
            deepStrictEqual(seen, [
              ...created.map(([, flags]) => flags | flag),
              CL_MEM_READ_WRITE | flag | CL_MEM_COPY_HOST_PTR,
              CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
              CL_MEM_READ_ONLY | flag
            ])
          }),
        (api) => ({
          clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_TYPE, BigInt(type)),
          clCreateBuffer: (context, flags, ...rest) => {
            seen.push(flags)
            return api.clCreateBuffer(context, flags, ...rest)
          },
          clCreateImage: (context, flags, ...rest) => {
            seen.push(flags)
            return api.clCreateImage(context, flags, ...rest)
          }
        }),
        {},
        { hostMemory }
      )
    }
  )

  const { defaultUsage, hostNoAccess, hostReadOnly, hostWriteOnly } = BufferUsage
  const hostAccess: ReadonlyArray<readonly [usage: number, flag: number]> = [
    [hostReadOnly, CL_MEM_HOST_READ_ONLY],
    [hostWriteOnly, CL_MEM_HOST_WRITE_ONLY],
    [hostNoAccess, CL_MEM_HOST_NO_ACCESS]
  ]

  it.effect.each(
    [
      ["1.2", 1],
      ["1.1", 0]
    ] as const
  )("tells a driver of OpenCL %s what the host may do, if it can be told", ([version, told]) => {
    const seen: Array<number> = []
    return onDevice(
      () =>
        Effect.gen(function*() {
          for (const [usage, flag] of hostAccess) {
            const buffer = yield* Allocator.allocate(64, { usage: defaultUsage | usage })
            yield* MemoryObjects.fromHost(new Uint8Array(64), { usage: defaultUsage | usage })
            yield* MemoryObjects.fromHost(new Uint8Array(64), { mode: "use", usage: defaultUsage | usage })
            yield* SubRegion.make(buffer, {})
            yield* SubRegion.make(buffer, {}, { usage: defaultUsage | hostNoAccess })
            const region = usage === hostNoAccess ? 0 : CL_MEM_HOST_NO_ACCESS
            const flags = [
              CL_MEM_READ_WRITE | flag * told,
              CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR | flag * told,
              CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR | flag * told,
              0,
              region * told
            ]
            deepStrictEqual(seen.splice(0), flags)
            strictEqual(buffer.usage, defaultUsage | usage)
          }
        }),
      (api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, `OpenCL ${version} Old`),
        clCreateBuffer: (context, flags, ...rest) => {
          seen.push(flags)
          return api.clCreateBuffer(context, flags, ...rest)
        },
        clCreateSubBuffer: (buffer, flags, ...rest) => {
          seen.push(flags)
          return api.clCreateSubBuffer(buffer, flags, ...rest)
        }
      }),
      {},
      { hostMemory: false }
    )
  })

  it.effect.each([-4, -5, -6, -61])("takes code %i of a creation for a lack of memory", (code) =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(allocate(64))
          strictEqual(error.reason._tag, "OutOfMemory")
          assert.include(error.message, "64 bytes")
        }),
      () => ({ clCreateBuffer: (_context, _flags, _bytes, _host, out) => setCode(out, code) })
    ))

  it.effect("names any other code of a creation", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(allocate(64))
          strictEqual(error.reason._tag, "DriverError")
          assert.include(error.message, "clCreateBuffer failed (CL_INVALID_VALUE -30)")
        }),
      () => ({ clCreateBuffer: (_context, _flags, _bytes, _host, out) => setCode(out, -30) })
    ))

  it.effect("retries the exact size when the driver refuses only the rounded one", () => {
    const asked: Array<number> = []
    return onDevice(
      () =>
        Effect.gen(function*() {
          const lease = yield* BufferPool.allocate(1000)
          deepStrictEqual([lease.size, lease.capacity], [1000, 1000])
          deepStrictEqual([...new Set(asked)], [1023, 1000])
        }).pipe(Effect.scoped, Effect.provide(BufferPool.layer({ sizePolicy: SizePolicy.leadingBits(4) }))),
      (api) => ({
        clCreateBuffer: (context, flags, bytes, host, out) => {
          asked.push(bytes)
          return bytes > 1000 ? setCode(out, -61) : api.clCreateBuffer(context, flags, bytes, host, out)
        }
      })
    )
  })

  it.effect.each([-4, -5, -6])(
    "gives a buffer back whose residency check fails with %i, as PyOpenCL does not",
    (code) =>
      onDevice(
        (watched) =>
          Effect.gen(function*() {
            strictEqual(yield* reasonOf(allocate(64)), "OutOfMemory")
            strictEqual(watched.count("clCreateBuffer"), 1)
            strictEqual(watched.count("clReleaseMemObject"), 1)
            deepStrictEqual((yield* DeviceContext).driverObjects.liveByKind, { context: 1, queue: 1 })
          }),
        () => ({ clEnqueueMigrateMemObjects: () => code })
      )
  )

  it.effect.each([-4, -5, -6])("takes code %i of an enqueue for a lack of memory", (code) =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* allocate(64)
          strictEqual(yield* reasonOf(CommandQueue.write(x, new Uint8Array(64))), "OutOfMemory")
          strictEqual(yield* reasonOf(CommandQueue.read(x, Uint8Array)), "OutOfMemory")
        }),
      () => ({ clEnqueueWriteBuffer: () => code, clEnqueueReadBuffer: () => code })
    ))

  it.effect("names the command that could not be enqueued", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const [x, y] = [yield* allocate(64, "from"), yield* allocate(64)]
          const error = yield* Effect.flip(CommandQueue.copy(x, y))
          strictEqual(error.reason._tag, "DriverError")
          assert.include(error.message, "clEnqueueCopyBuffer failed (CL_MEM_COPY_OVERLAP -8)")
          assert.include(error.message, "copy 64 B from -> (no label)")
        }),
      () => ({ clEnqueueCopyBuffer: () => -8 })
    ))

  it.effect("refuses to destroy another device's buffer, and destroys its own once", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const other = yield* Layer.build(OpenCl.layerFrom(watched.api))
        const foreign = yield* Effect.provide(DeviceContext.use((d) => d.createBuffer(64, 13)), other)
        const exit = device.destroyBufferUnsafe(foreign)
        strictEqual(yield* reasonOf(exit), "ForeignDevice")
        const own = yield* device.createBuffer(64, 13)
        assert.isTrue(Exit.isSuccess(device.destroyBufferUnsafe(own)))
        assert.isTrue(Exit.isSuccess(device.destroyBufferUnsafe(own)))
        strictEqual(watched.count("clReleaseMemObject"), 1)
      })
    ))

  it.effect("fails when the driver does not free a buffer", () =>
    Effect.gen(function*() {
      const watched = yield* watch(() => ({ clReleaseMemObject: () => -38 }))
      yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        const error = yield* Effect.flip(device.destroyBufferUnsafe(yield* device.createBuffer(64, 13)))
        assert.include(error.message, "clReleaseMemObject failed (CL_INVALID_MEM_OBJECT -38)")
        deepStrictEqual(device.driverObjects.liveByKind, { context: 1, queue: 1, buffer: 1 })
      }).pipe(Effect.provide(OpenCl.layerFrom(watched.api)))
    }))
})
