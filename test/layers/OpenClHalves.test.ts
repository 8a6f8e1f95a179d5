/**
 * Halves on OpenCL. The CPU drivers of the tests lack cl_khr_fp16, but PoCL's compiler has the same type under the name
 * _Float16. So this device claims the extension and replaces `half` by that name, and runs the generated code.
 */
import { Conformance } from "@effect-gpu-pool/testing"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { DType } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { OpenCl } from "../../src/opencl.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { onDevice } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { answering, type Bends } from "../support/watchedOpenCl.ts"
import { withoutHalves } from "../support/withoutHalves.ts"

const CL_DEVICE_EXTENSIONS = 0x1030

const withExtension: Bends = (api) => ({
  clGetDeviceInfo: answering(api.clGetDeviceInfo, CL_DEVICE_EXTENSIONS, "cl_khr_fp16 cl_khr_fp64"),
  clCreateProgramWithSource: (context, count, sources, lengths, code) =>
    api.clCreateProgramWithSource(
      context,
      count,
      sources.map((source) => source.replaceAll(/\bhalf\b/g, "_Float16")),
      lengths,
      code
    )
})

const layer = Layer.unwrap(Effect.map(OpenCl.load(), (api) => OpenCl.layerFrom({ ...api, ...withExtension(api) })))

const tests = Conformance.tests.filter(({ name }) => /\bhalves\b|half an element|nearest half/.test(name))

describeWith(["opencl"], "OpenCL with halves", () => {
  it("has tests", () => {
    strictEqual(tests.length, 5)
  })

  Conformance.register({ describe, it, afterAll }, layer, tests)

  it.effect("has them only where the device and the runtime have", () => {
    const dtypes = Effect.map(DeviceContext, ({ info }) => [...info.dtypes])
    return Effect.gen(function*() {
      const without = Effect.map(dtypes, (has) => assert.sameMembers(has, DType.all.filter((type) => type !== "f16")))
      yield* onDevice(() => without)
      yield* onDevice(() => Effect.map(dtypes, (has) => assert.sameMembers(has, [...DType.all])), withExtension)
      yield* withoutHalves(onDevice(() => without, withExtension))
    })
  })
})
