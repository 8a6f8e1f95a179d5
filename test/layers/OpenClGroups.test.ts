/** Kernels for workgroups, and sources of the program's own, with drivers that answer otherwise than PoCL does. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as GroupKernel from "../../src/domain/kernel/GroupKernel.ts"
import { ImageArg, LocalArg, SamplerArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as SourceKernel from "../../src/domain/kernel/SourceKernel.ts"
import type { OpenClApi } from "../../src/layers/OpenCl/OpenClApi.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { allocate, onDevice } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering } from "../support/watchedOpenCl.ts"

const CL_KERNEL_WORK_GROUP_SIZE = 0x11b0
const CL_KERNEL_LOCAL_MEM_SIZE = 0x11b2
const CL_DEVICE_LOCAL_MEM_SIZE = 0x1023
const CL_KERNEL_ARG_INFO_NOT_AVAILABLE = -19

const ofGroups = GroupKernel.make({
  name: "places",
  args: [VectorArg("u32", "x")],
  workgroupSize: [8, 4],
  body: { opencl: "if (local_index == 0) x[0] = get_local_size(0) * 100 + get_local_size(1);" }
})

const options = {
  name: "sourced",
  args: [VectorArg("u32", "x"), LocalArg("u32", "part", 8), ScalarArg("u32", "a")],
  workgroupSize: 8
} as const

const sourced = SourceKernel.make({
  ...options,
  source: {
    opencl: `__kernel void sourced(__global uint *x, __local uint *part, uint a) {
      part[get_local_id(0)] = a + get_local_id(0);
      barrier(CLK_LOCAL_MEM_FENCE);
      x[get_global_id(0)] = part[7 - get_local_id(0)];
    }`
  }
})

/** A source with an image and a sampler, by its parameters. */
const reading = (parameters: string) =>
  SourceKernel.make({
    name: "reading",
    args: [ImageArg("picture"), SamplerArg("smooth")],
    workgroupSize: 1,
    source: { opencl: `__kernel void reading(${parameters}) { }` }
  })

/** A driver that answers this for every kernel. */
const ofKernels = (property: number, answer: bigint) => (api: OpenClApi): Partial<OpenClApi> => ({
  clGetKernelWorkGroupInfo: (kernel, device, what, ...rest) =>
    what === property
      ? answering(api.clGetDeviceInfo, property, answer)(kernel, what, ...rest)
      : api.clGetKernelWorkGroupInfo(kernel, device, what, ...rest)
})

const refusal = (kernel: typeof ofGroups | typeof sourced) =>
  Effect.map(Effect.flip(KernelCache.get(kernel)), (error) => error.reason)

describeWith(["opencl"], "OpenCL kernels for workgroups", () => {
  it.effect("run in groups of their own size", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const x = yield* allocate(4)
        yield* CommandQueue.dispatch(ofGroups, { x }, [3, 9])
        deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [804])
        strictEqual(watched.count("clCreateKernel"), 1)
      })
    ))

  it.effect("are refused where the device runs this kernel only in smaller groups", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const reason = yield* refusal(ofGroups)
          assert(reason._tag === "LimitExceeded")
          deepStrictEqual([reason.limitName, reason.requested, reason.limit], ["CL_KERNEL_WORK_GROUP_SIZE", 32, 16])
          strictEqual(watched.count("clReleaseKernel"), 1)
          strictEqual((yield* DeviceContext).driverObjects.liveByKind["kernel"] ?? 0, 0)
        }),
      ofKernels(CL_KERNEL_WORK_GROUP_SIZE, 16n)
    ))

  it.effect("are refused where the source's own local memory leaves too little for that of the arguments", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const reason = yield* refusal(sourced)
          assert(reason._tag === "LimitExceeded")
          deepStrictEqual([reason.limitName, reason.requested, reason.limit], ["maxLocalBytes", 1033, 1024])
        }),
      (api) => ({
        ...ofKernels(CL_KERNEL_LOCAL_MEM_SIZE, 1001n)(api),
        clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_LOCAL_MEM_SIZE, 1024n)
      })
    ))

  it.effect("are refused as sources that have no kernel of their name", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const reason = yield* refusal(SourceKernel.make({
          ...options,
          source: { opencl: "__kernel void other() { } void sourced() { }" }
        }))
        assert(reason._tag === "InvalidRequest")
        assert.include(reason.message, `no __kernel function of the name "sourced"`)
        strictEqual(watched.count("clReleaseProgram"), 1)
      })
    ))

  it.effect("are Unsupported as sources where the driver does not say what parameters a kernel has", () =>
    onDevice(
      (watched) =>
        Effect.gen(function*() {
          const reason = yield* refusal(sourced)
          assert(reason._tag === "Unsupported")
          assert.include(reason.message, "does not say what parameters")
          strictEqual(watched.count("clReleaseKernel"), 1)
        }),
      () => ({ clGetKernelArgInfo: () => CL_KERNEL_ARG_INFO_NOT_AVAILABLE })
    ))

  it.effect("get their local memory once, and scalars that change", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const x = yield* allocate(32)
        yield* CommandQueue.dispatch(sourced, { x, a: 10 }, 8)
        strictEqual(watched.count("clSetKernelArg"), 3)
        yield* CommandQueue.dispatch(sourced, { x, a: 20 }, 8)
        strictEqual(watched.count("clSetKernelArg"), 4)
        deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [27, 26, 25, 24, 23, 22, 21, 20])
      })
    ))

  it.effect("take images and samplers in sources, and refuse other kinds of them", () =>
    onDevice(() =>
      Effect.gen(function*() {
        yield* KernelCache.get(reading("read_only image2d_t picture, sampler_t smooth"))
        for (
          const wrong of [
            "write_only image2d_t picture, sampler_t smooth",
            "read_only image3d_t picture, sampler_t smooth",
            "sampler_t smooth, read_only image2d_t picture",
            "__global float *picture, sampler_t smooth",
            "read_only image2d_t picture, ulong smooth"
          ]
        ) {
          const { reason } = yield* Effect.flip(KernelCache.get(reading(wrong)))
          strictEqual(reason._tag, "InvalidRequest", wrong)
        }
      })
    ))
})
