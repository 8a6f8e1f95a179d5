import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as DType from "../../src/domain/data/DType.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl } from "../../src/opencl.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice, read, reasonOf, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering, type Bends } from "../support/watchedOpenCl.ts"

const CL_DEVICE_EXTENSIONS = 0x1030
const CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017

const CL_DEVICE_PROFILE = 0x102e
const CL_KERNEL_WORK_GROUP_SIZE = 0x11b0

const sum = (a: number | bigint | boolean, b: number) => typeof a === "bigint" ? a + BigInt(b) : Number(a) + b

/** A device of the embedded profile. */
const embedded = (extensions: string): Bends => (api) => ({
  clGetDeviceInfo: answering(
    answering(api.clGetDeviceInfo, CL_DEVICE_PROFILE, "EMBEDDED_PROFILE"),
    CL_DEVICE_EXTENSIONS,
    extensions
  )
})

describeWith(["opencl"], "OpenCL kernels", () => {
  const scalars: { readonly [D in Exclude<DType.DType, "c64">]: number | bigint | boolean } = {
    f16: 0.5,
    f32: 0.5,
    f64: 2 ** -40,
    i32: -2147483648,
    u32: 4294967280,
    i8: -128,
    u8: 240,
    i16: -32768,
    u16: 65520,
    i64: -(2n ** 63n),
    u64: 2n ** 64n - 16n,
    bool: true
  }

  // Complex numbers are vectors of two f32, as of any short vectors: packages/testing/src/values.
  it.effect("gets vectors, lengths, offsets and scalars of every type that the device has", () =>
    onDevice(() =>
      Effect.gen(function*() {
        for (const dtype of (yield* DeviceContext).info.dtypes) {
          if (dtype === "c64") continue
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
            DType.viewUnsafe(dtype, new ArrayBuffer(count * DType.byteSize(dtype)), 0, count)
          const isLong = dtype === "i64" || dtype === "u64"
          const asElement = (value: number) => isLong ? BigInt(value) : dtype === "bool" ? value % 2 : value
          const input = elements(10)
          for (let i = 0; i < 10; i++) input[i] = asElement(i)
          const expected = elements(7)
          for (let i = 0; i < 7; i++) expected[i] = sum(scalars[dtype], dtype === "bool" ? (3 + i) % 2 : 3 + i)
          // A byte more than whole elements: it is not part of the length.
          const x = yield* allocate(input.byteLength + (DType.byteSize(dtype) > 1 ? 1 : 0))
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

  it.effect("reports a compile error with the compiler's log, and keeps no program", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const kernel = Kernel.make({ name: "broken", args: [], body: { opencl: "no_such_thing = 1;" } })
        const error = yield* Effect.flip(CommandQueue.dispatch(kernel, {}, 1))
        strictEqual(error.reason._tag, "DriverError")
        assert.include(error.message, "clBuildProgram failed (CL_BUILD_PROGRAM_FAILURE -11)")
        assert.include(error.message, "no_such_thing")
        assert.include(error.message, "kernel broken")
        assert.match(error.message, /The source that was compiled:\n[^]*\n> +\d+ \| no_such_thing = 1;\n[^]*\nCorrect/)
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

  it.effect("reports that no program could be made", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(CommandQueue.dispatch(nothing, {}, 1))
          assert.include(error.message, "clCreateProgramWithSource failed (CL_OUT_OF_HOST_MEMORY -6)")
        }),
      () => ({ clCreateProgramWithSource: (_context, _count, _sources, _lengths, code) => setCode(code, -6) })
    ))

  it.effect("reports an argument that the driver refuses", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(CommandQueue.dispatch(nothing, {}, 9))
          assert.include(error.message, "clSetKernelArg failed (CL_INVALID_ARG_SIZE -51)")
          assert.include(error.message, "dispatch nothing (9 items)")
        }),
      () => ({ clSetKernelArg: () => -51 })
    ))

  it.effect("sets again only what has changed since the kernel's last dispatch", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const kernel = Kernel.make({
          name: "k",
          args: [VectorArg("f32", "x", { withOffset: true }), ScalarArg("f32", "a")],
          body: { opencl: "x[x_offset + i] = a;" }
        })
        const [x, y] = [yield* allocate(16), yield* allocate(16)]
        const setBy = Effect.fnUntraced(function*(buffer: typeof x, offset: number, a: number, count: number) {
          const before = watched.count("clSetKernelArg")
          yield* CommandQueue.dispatch(kernel, { x: { buffer, offset }, a }, count)
          return watched.count("clSetKernelArg") - before
        })
        strictEqual(yield* setBy(x, 0, 1, 4), 5)
        strictEqual(yield* setBy(x, 0, 1, 4), 0)
        strictEqual(yield* setBy(x, 0, 0, 4), 1)
        strictEqual(yield* setBy(x, 0, -0, 4), 1)
        strictEqual(yield* setBy(y, 1, -0, 3), 3)
        deepStrictEqual([...(yield* CommandQueue.read(x, Float32Array))], [-0, -0, -0, -0])
        deepStrictEqual([...(yield* CommandQueue.read(y, Float32Array))].slice(1), [-0, -0, -0])
      })
    ))

  it.effect("sets memory again that has the handle of memory which is gone", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const kernel = Kernel.make({ name: "k", args: [VectorArg("u32", "x")], body: { opencl: "x[i] = count;" } })
        for (const count of [1, 2, 3]) {
          const before = watched.count("clSetKernelArg")
          const found = yield* Effect.scoped(Effect.gen(function*() {
            const x = yield* allocate(16)
            yield* CommandQueue.dispatch(kernel, { x }, count)
            return yield* CommandQueue.read(x, Uint32Array)
          }))
          strictEqual(found[0], count)
          strictEqual(watched.count("clSetKernelArg") - before, count === 1 ? 3 : 2)
        }
      })
    ))

  it.effect("sets everything that a refusal has left open", () => {
    let refuses = true
    return onDevice(
      () =>
        Effect.gen(function*() {
          const kernel = Kernel.make({ name: "k", args: [VectorArg("u32", "x")], body: { opencl: "x[i] = count;" } })
          const x = yield* allocate(16)
          yield* Effect.flip(CommandQueue.dispatch(kernel, { x }, 4))
          refuses = false
          yield* CommandQueue.dispatch(kernel, { x }, 4)
          deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [4, 4, 4, 4])
        }),
      (api) => ({
        clSetKernelArg: (kernel, index, bytes, value) =>
          refuses && index === 1 ? -51 : api.clSetKernelArg(kernel, index, bytes, value)
      })
    )
  })

  it.effect("refuses more parameters than the device takes before it compiles", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { maxParameterBytes } = (yield* OpenCl.OpenCl).device
        const cache = yield* KernelCache.KernelCache
        // The number of items is a parameter too.
        const most = maxParameterBytes / 4 - 1
        const error = yield* Effect.flip(cache.get(withScalars(most + 1)))
        strictEqual(error.reason._tag, "LimitExceeded")
        assert.include(error.message, `${maxParameterBytes + 4} bytes are over maxParameterBytes of the device`)
        strictEqual(watched.count("clBuildProgramAsync"), 0)
        yield* cache.get(withScalars(most))
      })
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

  it.effect("reaches the compiler with as many vectors as the device takes, and that may be thousands", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const { limits } = (yield* DeviceContext).info
          strictEqual(limits.maxVectorArguments, 2031)
          const args = Array.from(
            { length: limits.maxVectorArguments },
            (_, i) => VectorArg("u32", `x${i}`, { withOffset: true })
          )
          const kernel: Kernel.Kernel = Kernel.make({ name: "k", args, body: { opencl: "x0[i] = 1;" } })
          const cache = yield* KernelCache.KernelCache
          yield* Effect.exit(cache.get(kernel))
          strictEqual(watched.count("clBuildProgramAsync"), 1)
        }),
      (api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_MAX_PARAMETER_SIZE, 32764n)
      })
    ))

  it.effect("has 64-bit integers in the embedded profile only by its extension", () => {
    const kernel = Kernel.make({ name: "k", args: [VectorArg("i64", "x")], body: { opencl: "x[i] = 1;" } })
    const get = Effect.flatMap(KernelCache.KernelCache, (cache) => cache.get(kernel))
    return Effect.gen(function*() {
      const refused = Effect.map(Effect.flip(get), ({ message, reason }) => {
        strictEqual(reason._tag, "Unsupported")
        assert.include(message, "It needs cles_khr_int64, which the device lacks: use i32 or u32")
      })
      yield* onDevice(() => refused, embedded(""))
      yield* onDevice(() => Effect.asVoid(get), embedded("cles_khr_int64"))
    })
  })

  it.effect("has halves and doubles only where the device has, and says which extension they need", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          for (const [dtype, extension] of [["f16", "cl_khr_fp16"], ["f64", "cl_khr_fp64"]] as const) {
            assert.isFalse((yield* DeviceContext).info.dtypes.has(dtype))
            const kernel = Kernel.make({ name: "k", args: [ScalarArg(dtype, "a")], body: { opencl: "" } })
            const error = yield* Effect.flip(CommandQueue.dispatch(kernel, { a: 1 }, 1))
            strictEqual(error.reason._tag, "Unsupported")
            assert.include(error.message, `${dtype} (argument "a")`)
            assert.include(
              error.message,
              `It needs ${extension}, which the device lacks: use f32, or a device that has it.`
            )
          }
        }),
      (api) => ({
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_EXTENSIONS, "cl_khr_byte_addressable_store")
      })
    ))
})

const nothing = Kernel.make({ name: "nothing", args: [], body: { opencl: "" } })

const withScalars = (count: number): Kernel.Kernel =>
  Kernel.make({
    name: `k${count}`,
    args: Array.from({ length: count }, (_, i) => ScalarArg("u32", `s${i}`)),
    body: { opencl: "" }
  })
