/** Images over buffers through the functions of OpenCL: the calls, their order, and drivers that lack them. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import { OpenCl, OpenClImageInfo, OpenClMemory, Svm } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { allocate, onDevice, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering, type Bends } from "../support/watchedOpenCl.ts"

const CL_DEVICE_VERSION = 0x102f
const CL_DEVICE_IMAGE_MAX_BUFFER_SIZE = 0x1040
const CL_INVALID_MEM_OBJECT = -38

const uint32: ImageFormat.ImageFormat = { order: "r", type: "uint32" }

const images = DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind["image"] ?? 0)

const refusing = (code: number): Bends => () => ({
  clCreateImage: (_context, _flags, _format, _description, _host, out) => setCode(out, code)
})

describeWith(["opencl"], "OpenCL images over buffers", () => {
  it.effect("are what the driver says they are, and keep the buffer's own handle", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const buffer = yield* allocate(64)
        const image = yield* Images.overBuffer(buffer, uint32, { width: 10 })
        const { buffer: beneath, width } = yield* OpenClImageInfo.info(image)
        deepStrictEqual([beneath, width], [yield* OpenCl.handle(buffer), 10])
        const { associatedMemory, type } = yield* OpenClMemory.info(image)
        deepStrictEqual([associatedMemory, type], [beneath, "CL_MEM_OBJECT_IMAGE1D_BUFFER"])
        strictEqual(yield* images, 1)
        strictEqual(watched.count("clCreateImage"), 1)
        // The memory is the buffer's, which was already verified.
        strictEqual(watched.count("clEnqueueMigrateMemObjects"), 1)
        const adopted = OpenClMemory.adoptImage(yield* OpenCl.handle(image))
        strictEqual(yield* reasonOf(adopted), "Unsupported")
      })
    ))

  it.effect("move as their buffers do, by the buffers' own commands", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const [buffer, other] = [yield* allocate(16), yield* allocate(16)]
        const [image, twin] = [yield* Images.overBuffer(buffer, uint32), yield* Images.overBuffer(other, uint32)]
        yield* Images.write(image, Uint32Array.of(1, 2, 3, 4))
        yield* Images.fill(image, 9, { extent: [1] })
        yield* Images.copy(image, twin, { targetOrigin: [1], extent: [3] })
        yield* MemoryObjects.migrate([image])
        yield* Effect.scoped(Effect.map(Images.map(twin, Uint32Array), ({ data }) => data.set([7])))
        deepStrictEqual([...(yield* Images.read(twin, Uint32Array))], [7, 9, 2, 3])
        const imageCalls = watched.calls.filter((call) => call.startsWith("clEnqueue") && call.includes("Image"))
        deepStrictEqual(imageCalls, [])
      })
    ))

  it.effect("go before the buffers that they stand on, whatever ends first", () =>
    Effect.gen(function*() {
      const outer = yield* Scope.make()
      yield* onDevice((watched) =>
        Effect.gen(function*() {
          const lease = yield* BufferPool.allocate(64)
          const image = yield* Images.overBuffer(lease, uint32)
          const handle = yield* OpenCl.handle(image)
          const lent = yield* OpenClMemory.retain(image)
          strictEqual(lent, handle)
          yield* Lease.release(lease)
          strictEqual(yield* reasonOf(OpenCl.handle(image)), "Released")
          strictEqual(yield* images, 0)
          strictEqual(watched.count("clReleaseMemObject"), 2)
          const left = yield* Scope.provide(
            Effect.flatMap(allocate(64), (buffer) => Images.overBuffer(buffer, uint32)),
            outer
          )
          yield* Images.fill(left, 1)
        }).pipe(Effect.provide(BufferPool.layer()))
      )
      yield* Scope.close(outer, Exit.void)
    }))

  it.effect("are released first when the layer closes before their scope", () => {
    const released: Array<unknown> = []
    return Effect.gen(function*() {
      const outer = yield* Scope.make()
      const handles = { image: 0n, buffer: 0n }
      yield* onDevice(
        () =>
          Effect.gen(function*() {
            const { createBuffer } = yield* DeviceContext
            const buffer = yield* createBuffer(64, 13)
            const image = yield* Scope.provide(Images.overBuffer(buffer, uint32), outer)
            handles.image = yield* OpenCl.handle(image)
            handles.buffer = yield* OpenCl.handle(buffer)
          }),
        (api) => ({
          clReleaseMemObject: (memory) => {
            released.push(memory)
            return api.clReleaseMemObject(memory)
          }
        })
      )
      deepStrictEqual(released, [handles.image, handles.buffer])
      yield* Scope.close(outer, Exit.void)
      strictEqual(released.length, 2)
    })
  })

  it.effect("are Unsupported over a region where the driver refuses that, by name", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const { info } = yield* DeviceContext
          const buffer = yield* allocate(info.limits.regionAlignment + 64)
          const region = yield* SubRegion.make(buffer, { offset: info.limits.regionAlignment })
          const error = yield* Effect.flip(Images.overBuffer(region, uint32))
          strictEqual(error.reason._tag, "Unsupported")
          assert.include(error.message, "region")
          assert.include(error.message, "whole buffer")
          strictEqual(yield* images, 0)
        }),
      () => ({ clCreateImage: (...args) => setCode(args[5], CL_INVALID_MEM_OBJECT) })
    ))

  it.effect("are LimitExceeded beyond what the device says, before the driver is asked", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          deepStrictEqual(yield* Images.largest("1dBuffer"), { width: 8, height: 1, depth: 1, layers: 1 })
          const buffer = yield* allocate(64)
          const error = yield* Effect.flip(Images.overBuffer(buffer, uint32))
          strictEqual(error.reason._tag, "LimitExceeded")
          assert.include(error.message, "the largest width of a 1dBuffer image")
          strictEqual(watched.count("clCreateImage"), 0)
          yield* Images.overBuffer(buffer, uint32, { width: 8 })
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, 8n) })
    ))

  it.effect("are Unsupported on OpenCL 1.1, and a DriverError or OutOfMemory when the driver refuses", () =>
    Effect.gen(function*() {
      const made = Effect.flatMap(allocate(64), (buffer) => Images.overBuffer(buffer, uint32))
      yield* onDevice(
        () => Effect.map(reasonOf(made), (reason) => strictEqual(reason, "Unsupported")),
        (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 test") })
      )
      for (const [code, expected] of [[CL_INVALID_MEM_OBJECT, "DriverError"], [-4, "OutOfMemory"]] as const) {
        yield* onDevice(
          () =>
            Effect.gen(function*() {
              strictEqual(yield* reasonOf(made), expected)
              strictEqual(yield* images, 0)
            }),
          refusing(code)
        )
      }
    }))

  it.effect("take their buffer's memory for lost after a command that was refused for want of it", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const lease = yield* BufferPool.allocate(64)
          const image = yield* Images.overBuffer(lease, uint32)
          strictEqual(yield* reasonOf(Images.fill(image, 1)), "OutOfMemory")
          yield* Lease.release(lease)
          strictEqual((yield* BufferPool.stats).heldBlocks, 0)
        }).pipe(Effect.provide(BufferPool.layer())),
      () => ({ clEnqueueFillBuffer: () => -4 })
    ))

  it.effect("stand on shared virtual memory too", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(64)
        const image = yield* Images.overBuffer(lease, uint32)
        yield* CommandQueue.fill(lease, 3)
        yield* Effect.scoped(Effect.map(Images.map(image, Uint32Array, { extent: [2] }), ({ data }) => data.fill(4)))
        deepStrictEqual([...(yield* Images.read(image, Uint32Array, { extent: [3] }))], [4, 4, 3])
        yield* Lease.release(lease)
        strictEqual(yield* reasonOf(Images.read(image)), "Released")
      }).pipe(Effect.provide(BufferPool.layerNoDeps()), Effect.provide(Svm.layerAllocator()))
    ))
})
