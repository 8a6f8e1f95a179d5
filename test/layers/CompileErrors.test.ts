/**
 * A compile error shows the lines of the source that the compiler got, which for generated kernels the program never
 * saw. The compilers here report errors at a line of our choice.
 */
import { DeviceArray, ElementwiseKernel, Expr, ReductionKernel, ScanKernel } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { KernelCache } from "../../src/backend.ts"
import { BufferPool, type CommandQueue, type GpuError, KernelArgument } from "../../src/index.ts"
import { OpenCl } from "../../src/opencl.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { describeWith } from "../support/required.ts"
import { watchedGpu } from "../support/watchedGpu.ts"
import { watch } from "../support/watchedOpenCl.ts"

type Services = BufferPool.BufferPool | CommandQueue.CommandQueue | KernelCache.KernelCache | Scope.Scope

const x = KernelArgument.VectorArg("f32", "x", { access: "read" })
const sum = { name: "sum", args: [x], neutral: 0, combine: Expr.add<"f32"> } as const

const elementwise = ElementwiseKernel.make({
  name: "double",
  args: [x, KernelArgument.VectorArg("f32", "y", { access: "write" })],
  outputs: (inputs) => ({ y: Expr.multiply(inputs.x, 2) })
})

const generated: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, Services>]> = [
  ["of expressions", KernelCache.get(elementwise)],
  [
    "of a reduction",
    BufferPool.use(
      64,
      (lease) =>
        Effect.scoped(
          ReductionKernel.run(ReductionKernel.make({ ...sum, map: (inputs) => inputs.x }), { x: lease }, 16)
        )
    )
  ],
  [
    "of a scan",
    BufferPool.use(
      64,
      (lease) => Effect.scoped(ScanKernel.run(ScanKernel.make({ ...sum, map: (inputs) => inputs.x }), { x: lease }, 16))
    )
  ],
  [
    "of fused arrays",
    Effect.gen(function*() {
      const ones = yield* DeviceArray.fromHost(Float32Array.of(1, 1))
      return yield* DeviceArray.lazy(Effect.flatMap(DeviceArray.add(ones, 1), DeviceArray.sqrt))
    })
  ]
]

const refusedLine = 5

const tellsTheSource = (error: unknown, source: string): void => {
  const { message, reason } = error as GpuError.GpuError
  assert(reason._tag === "DriverError", String(error))
  const lines = source.split("\n")
  const shown = [3, 4, 5, 6, 7].flatMap((number) =>
    number > lines.length ? [] : [`${number === refusedLine ? ">" : " "} ${number} | ${lines[number - 1]}`.trimEnd()]
  )
  strictEqual(reason.source, shown.join("\n"))
  assert.include(message, `The source that was compiled:\n${shown.join("\n")}\n`)
  assert.include(message, "refused here")
}

describeWith(["opencl"], "A kernel that an OpenCL compiler refuses", () => {
  it.effect.each(generated)("%s is reported with its source", ([, compile]) =>
    Effect.gen(function*() {
      let source = ""
      const log = new TextEncoder().encode(`kernel.cl:${refusedLine}:1: error: refused here`)
      const watched = yield* watch((api) => ({
        clCreateProgramWithSource: (context, count, sources, lengths, code) => {
          source = sources[0]!
          return api.clCreateProgramWithSource(context, count, sources, lengths, code)
        },
        clBuildProgramAsync: (_program, _count, _devices, _options, _notify, _data, callback) => callback(null, -11),
        clGetProgramBuildInfo: (_program, _device, _what, _bytes, value, needed) => {
          if (needed instanceof BigUint64Array) needed[0] = BigInt(log.length)
          if (value instanceof Uint8Array) value.set(log)
          return 0
        }
      }))
      const layer = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layerFrom(watched.api)))
      tellsTheSource(yield* Effect.flip(Effect.provide(Effect.scoped(compile), layer)), source)
    }))
})

describe("A kernel that a WebGPU device refuses", () => {
  it.live.each(generated)("%s is reported with its source", ([, compile]) =>
    Effect.gen(function*() {
      let source = ""
      const messages = [{ type: "error", lineNum: refusedLine, linePos: 1, message: "refused here" }]
      const { gpu } = watchedGpu({
        "GPUDevice.createShaderModule": (proceed, descriptor) => {
          source = (descriptor as GPUShaderModuleDescriptor).code
          const module = proceed() as GPUShaderModule
          return Object.defineProperty(module, "getCompilationInfo", { value: () => Promise.resolve({ messages }) })
        }
      })
      const layer = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layerFrom(gpu)))
      tellsTheSource(yield* Effect.flip(Effect.provide(Effect.scoped(compile), layer)), source)
    }))
})
