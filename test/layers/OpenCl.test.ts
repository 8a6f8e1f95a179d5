import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as DType from "../../src/domain/DType.ts"
import type { GpuError, Reason } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/KernelArgument.ts"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { OpenCl } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/Allocator.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as CommandQueue from "../../src/services/CommandQueue.ts"
import { DeviceContext } from "../../src/services/DeviceContext.ts"
import * as KernelCache from "../../src/services/KernelCache.ts"
import * as PooledBuffer from "../../src/services/PooledBuffer.ts"
import { describeWith } from "../support/required.ts"
import { answering, type Bends, watch, type Watched } from "../support/watchedOpenCl.ts"

const CL_DEVICE_VERSION = 0x102f
const CL_DEVICE_EXTENSIONS = 0x1030
const CL_KERNEL_WORK_GROUP_SIZE = 0x11b0

/** Runs a test on the machine's driver, watched, and proves that the closed layer leaves nothing behind. */
const onDevice = <A, E>(
  test: (watched: Watched) => Effect.Effect<A, E, OpenCl.Services | Allocator.Allocator | Scope.Scope>,
  bends?: Bends
) =>
  Effect.gen(function*() {
    const watched = yield* watch(bends)
    const layer = Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFrom(watched.api)))
    const device = yield* Effect.scoped(Effect.andThen(test(watched), DeviceContext)).pipe(Effect.provide(layer))
    deepStrictEqual(device.driverObjects.liveByKind, {})
    deepStrictEqual(watched.alive(), {})
  })

const reasonOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<Reason["_tag"], A, R> =>
  Effect.map(Effect.flip(effect), (error) => error.reason._tag)

const allocate = (bytes: number, label?: string) => Allocator.allocate(bytes, { label })

const read = (buffer: Effect.Success<ReturnType<typeof allocate>>) =>
  Effect.map(CommandQueue.read(buffer, Uint8Array), (bytes) => [...bytes])

const setCode = (code: OpenCl.Pointer, value: number): null => {
  if (code instanceof Int32Array) code[0] = value
  return null
}

const filled = (size: number, offset: number) =>
  Effect.gen(function*() {
    const x = yield* allocate(size)
    yield* CommandQueue.fill(x, 0xffffffff)
    yield* CommandQueue.fill(x, 0x04030201, { offset })
    deepStrictEqual(
      yield* read(x),
      Array.from({ length: size }, (_, i) => i < offset ? 255 : (i - offset) % 4 + 1)
    )
  })

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

  const fills: ReadonlyArray<readonly [size: number, offset: number]> = [[1, 0], [3, 0], [4, 0], [5, 0], [11, 4], [
    32,
    8
  ]]

  it.effect.each(fills)(
    "fills %i bytes from %i on, the last pattern cut",
    ([size, offset]) => onDevice(() => filled(size, offset))
  )

  it.effect.each(fills)("fills %i bytes from %i on with OpenCL 1.1, which has no fill", ([size, offset]) =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          yield* filled(size, offset)
          strictEqual(watched.count("clEnqueueFillBuffer"), 0)
          strictEqual(watched.count("clEnqueueMigrateMemObjects"), 0)
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 Old") })
    ))

  it.effect("fills more than a piece of the pattern with OpenCL 1.1", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* allocate(2 * 1024 * 1024 + 7)
          yield* CommandQueue.fill(x, 0x04030201)
          const bytes = yield* CommandQueue.read(x, Uint8Array)
          assert.isTrue(bytes.every((byte, i) => byte === i % 4 + 1))
        }),
      (api) => ({ clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_VERSION, "OpenCL 1.1 Old") })
    ))

  const created: ReadonlyArray<readonly [usage: number, flags: number]> = [
    [BufferUsage.defaultUsage, 1],
    [BufferUsage.defaultUsage | BufferUsage.kernelWriteOnly, 2],
    [BufferUsage.defaultUsage | BufferUsage.kernelReadOnly, 4],
    [BufferUsage.defaultUsage | BufferUsage.hostMemory, 17]
  ]
  it.effect.each(created)("creates memory for usage %i with flags %i", ([usage, expected]) => {
    const seen: Array<number> = []
    return onDevice(
      () =>
        Effect.gen(function*() {
          yield* Allocator.allocate(64, { usage })
          deepStrictEqual(seen, [expected])
        }),
      (api) => ({
        clCreateBuffer: (context, flags, ...rest) => {
          seen.push(flags)
          return api.clCreateBuffer(context, flags, ...rest)
        }
      })
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
        strictEqual(yield* reasonOf(exit), "ForeignBuffer")
        const own = yield* device.createBuffer(64, 13)
        assert.isTrue(Exit.isSuccess(device.destroyBufferUnsafe(own)))
        assert.isTrue(Exit.isSuccess(device.destroyBufferUnsafe(own)))
        strictEqual(watched.count("clReleaseMemObject"), 1)
      })
    ))

  it.effect("tells when the driver does not take a buffer back", () =>
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

describeWith(["opencl"], "OpenCL kernels", () => {
  const scalars = { f32: 0.5, f64: 2 ** -40, i32: -2147483648, u32: 4294967280 }

  it.effect("gets vectors, lengths, offsets and scalars of every type that the device has", () =>
    onDevice(() =>
      Effect.gen(function*() {
        for (const dtype of (yield* DeviceContext).info.dtypes) {
          const kernel = Kernel.make({
            name: "all",
            args: [
              ScalarArg(dtype, "a"),
              VectorArg(dtype, "x", { access: "read", withOffset: true }),
              VectorArg(dtype, "y"),
              VectorArg("u32", "facts", { access: "write" })
            ],
            body: {
              opencl: `y[i] = a + x[x_offset + i];
if (i == 0) { facts[0] = x_length; facts[1] = y_length; facts[2] = x_offset; facts[3] = count; }`
            }
          })
          const elements = (count: number) =>
            DType.view(dtype, new ArrayBuffer(count * DType.byteSize(dtype)), 0, count)
          const input = elements(10)
          for (let i = 0; i < 10; i++) input[i] = i
          const expected = elements(7)
          for (let i = 0; i < 7; i++) expected[i] = scalars[dtype] + 3 + i
          // A byte more than whole elements: it is not part of the length.
          const x = yield* allocate(input.byteLength + 1)
          const [y, facts] = [yield* allocate(expected.byteLength), yield* allocate(16)]
          yield* CommandQueue.write(x, input)
          yield* CommandQueue.dispatch(kernel, { a: scalars[dtype], x: { buffer: x, offset: 3 }, y, facts }, 7)
          deepStrictEqual(yield* read(y), [...new Uint8Array(expected.buffer)])
          deepStrictEqual([...(yield* CommandQueue.read(facts, Uint32Array))], [10, 7, 3, 7])
        }
      })
    ))

  it.effect("takes names that OpenCL C uses itself, and runs no item beyond the count", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const kernel = Kernel.make({
          name: "distance",
          args: [VectorArg("u32", "x")],
          body: { opencl: "x[i] = i + 1;" }
        })
        const x = yield* allocate(400)
        yield* CommandQueue.fill(x, 0)
        yield* CommandQueue.dispatch(kernel, { x }, 65)
        const out = yield* CommandQueue.read(x, Uint32Array)
        deepStrictEqual([out[63], out[64], out[65], out[99]], [64, 65, 0, 0])
      })
    ))

  it.effect("passes preamble and build options on", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const kernel = Kernel.make({
          name: "k",
          args: [VectorArg("u32", "x")],
          body: { opencl: "x[i] = twice(FACTOR);" },
          preamble: { opencl: "uint twice(uint v) { return 2 * v; }" },
          buildOptions: "-DFACTOR=21 -cl-mad-enable"
        })
        const x = yield* allocate(4)
        yield* CommandQueue.dispatch(kernel, { x }, 1)
        deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [42])
      })
    ))

  it.effect("tells a compile error with the compiler's log, and keeps no program", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const kernel = Kernel.make({ name: "broken", args: [], body: { opencl: "no_such_thing = 1;" } })
        const error = yield* Effect.flip(CommandQueue.dispatch(kernel, {}, 1))
        strictEqual(error.reason._tag, "DriverError")
        assert.include(error.message, "clBuildProgram failed (CL_BUILD_PROGRAM_FAILURE -11)")
        assert.include(error.message, "no_such_thing")
        assert.include(error.message, "kernel broken")
        deepStrictEqual((yield* DeviceContext).driverObjects.liveByKind, { context: 1, queue: 1 })
        yield* CommandQueue.finish
      })
    ))

  it.effect("gives the program back when its kernel cannot be made", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(CommandQueue.dispatch(nothing, {}, 1))
          assert.include(error.message, "clCreateKernel failed (CL_INVALID_KERNEL_NAME -46)")
          deepStrictEqual((yield* DeviceContext).driverObjects.liveByKind, { context: 1, queue: 1 })
        }),
      () => ({ clCreateKernel: (_program, _name, code) => setCode(code, -46) })
    ))

  it.effect("tells that no program could be made", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(CommandQueue.dispatch(nothing, {}, 1))
          assert.include(error.message, "clCreateProgramWithSource failed (CL_OUT_OF_HOST_MEMORY -6)")
        }),
      () => ({ clCreateProgramWithSource: (_context, _count, _sources, _lengths, code) => setCode(code, -6) })
    ))

  it.effect("tells an argument that the driver refuses", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(CommandQueue.dispatch(nothing, {}, 9))
          assert.include(error.message, "clSetKernelArg failed (CL_INVALID_ARG_SIZE -51)")
          assert.include(error.message, "dispatch nothing (9 items)")
        }),
      () => ({ clSetKernelArg: () => -51 })
    ))

  it.effect("runs in smaller groups what the device cannot run in the kernel's own", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const kernel = Kernel.make({
            name: "k",
            args: [VectorArg("u32", "x")],
            body: { opencl: "x[i] = get_local_size(0);" }
          })
          const x = yield* allocate(400)
          yield* CommandQueue.dispatch(kernel, { x }, 100)
          deepStrictEqual([...new Set(yield* CommandQueue.read(x, Uint32Array))], [16])
          strictEqual(watched.count("clCreateKernel"), 2)
          strictEqual((yield* DeviceContext).driverObjects.liveByKind["kernel"], 1)
        }),
      (api) => ({
        clGetKernelWorkGroupInfo: (kernel, _device, what, ...rest) =>
          answering(api.clGetDeviceInfo, CL_KERNEL_WORK_GROUP_SIZE, 16n)(kernel, what, ...rest)
      })
    ))

  it.effect("compiles off the event loop, one at a time, and each kernel once", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const kernels = [1, 2, 3].map((n) => Kernel.make({ name: `k${n}`, args: [], body: { opencl: "" } }))
        yield* Effect.forEach([...kernels, ...kernels], (kernel) => CommandQueue.dispatch(kernel, {}, 1), {
          concurrency: "unbounded"
        })
        const builds = watched.calls.filter((call) => call.startsWith("clBuildProgramAsync"))
        deepStrictEqual(builds, kernels.flatMap(() => ["clBuildProgramAsync", "clBuildProgramAsync ended"]))
        const stats = yield* KernelCache.KernelCache.use((cache) => cache.stats)
        strictEqual(stats.misses, 3)
      })
    ))

  it.effect("refuses what the device cannot do, by the limit's name", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { limits } = (yield* DeviceContext).info
        const wide = Kernel.make({
          name: "k",
          args: [],
          body: { opencl: "" },
          workgroupSize: limits.maxWorkgroupSize + 1
        })
        const error = yield* Effect.flip(CommandQueue.dispatch(wide, {}, 1))
        strictEqual(error.reason._tag, "LimitExceeded")
        assert.include(error.message, "maxWorkgroupSize")
        const args = Array.from({ length: limits.maxVectorArguments + 1 }, (_, i) => VectorArg("f32", `x${i}`))
        const many: Kernel.Kernel = Kernel.make({ name: "k", args, body: { opencl: "" } })
        const cache = yield* KernelCache.KernelCache
        strictEqual((yield* Effect.flip(cache.get(many))).reason._tag, "LimitExceeded")
        const bodiless = Kernel.make({ name: "k", args: [], body: { wgsl: "" } })
        strictEqual(yield* reasonOf(CommandQueue.dispatch(bodiless, {}, 1)), "Unsupported")
      })
    ))

  it.effect("takes as many vectors as it says", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { limits } = (yield* DeviceContext).info
        const args = Array.from(
          { length: limits.maxVectorArguments },
          (_, i) => VectorArg("u32", `x${i}`, { withOffset: true })
        )
        const body = args.map(({ name }, i) => `${name}[${name}_offset] = ${i};`).join("\n")
        const kernel: Kernel.Kernel = Kernel.make({ name: "k", args, body: { opencl: body } })
        const buffers = yield* Effect.forEach(args, () => allocate(4))
        yield* CommandQueue.dispatch(kernel, Object.fromEntries(buffers.map((buffer, i) => [`x${i}`, buffer])), 1)
        const values = yield* Effect.forEach(buffers, (buffer) => CommandQueue.read(buffer, Uint32Array))
        deepStrictEqual(values.map((array) => array[0]), args.map((_, i) => i))
      })
    ))

  it.effect("has doubles only where the device has", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          assert.isFalse((yield* DeviceContext).info.dtypes.has("f64"))
          const kernel = Kernel.make({ name: "k", args: [ScalarArg("f64", "a")], body: { opencl: "" } })
          const error = yield* Effect.flip(CommandQueue.dispatch(kernel, { a: 1 }, 1))
          strictEqual(error.reason._tag, "Unsupported")
          assert.include(error.message, "cl_khr_fp64")
        }),
      (api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_EXTENSIONS, "cl_khr_byte_addressable_store")
      })
    ))
})

describeWith(["opencl"], "OpenCL raw handles", () => {
  it.effect("gives the cl_mem of leases and buffers that are alive and its own", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const cl = yield* OpenCl.OpenCl
        const lease = yield* BufferPool.allocate(100)
        assert.strictEqual(typeof (yield* OpenCl.handle(lease)), "bigint")
        yield* PooledBuffer.release(lease)
        strictEqual(yield* reasonOf(cl.handleUnsafe(lease)), "BufferReleased")
        strictEqual(yield* reasonOf(OpenCl.handle(yield* BufferPool.allocate(0))), "InvalidRequest")
        const other = yield* Layer.build(OpenCl.layerFrom(watched.api))
        const foreign = yield* Effect.provide(DeviceContext.use((d) => d.createBuffer(64, 13)), other)
        strictEqual(yield* reasonOf(OpenCl.handle(foreign)), "ForeignBuffer")
      }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()))
    ))

  it.effect("counts a command of one's own as recorded work", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { api, enqueueUnsafe } = yield* OpenCl.OpenCl
        const x = yield* allocate(4)
        const memory = yield* OpenCl.handle(x)
        const data = Uint8Array.of(1, 2, 3, 4).buffer
        yield* enqueueUnsafe({
          label: "mine",
          call: "clEnqueueWriteBuffer",
          memory: data,
          enqueue: (queue, event) => api.clEnqueueWriteBuffer(queue, memory, 0, 0, 4, data, 0, null, event)
        })
        deepStrictEqual(yield* read(x), [1, 2, 3, 4])
        const error = yield* Effect.flip(enqueueUnsafe({ label: "bad", call: "clEnqueueMine", enqueue: () => -30 }))
        assert.include(error.message, "clEnqueueMine failed (CL_INVALID_VALUE -30)")
        assert.include(error.message, "bad")
        strictEqual(watched.count("clEnqueueWriteBuffer"), 1)
      })
    ))
})

const nothing = Kernel.make({ name: "nothing", args: [], body: { opencl: "" } })
