import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { DType } from "../../src/domain/data/DType.ts"
import type { ValueType } from "../../src/domain/data/ValueType.ts"
import type { DeviceInfo } from "../../src/domain/device/DeviceInfo.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as KernelSupport from "../../src/domain/kernel/KernelSupport.ts"
import { describedDevice } from "../support/describedDevice.ts"
import { withoutHalves } from "../support/withoutHalves.ts"

const deviceWith = (...dtypes: ReadonlyArray<DType>): DeviceInfo => describedDevice(dtypes)

const ofArgument = (dtype: DType) =>
  Kernel.make({ name: "k", args: [ScalarArg("i32", "n"), ScalarArg(dtype, "a")], body: {} })

const ofValue = (type: ValueType): Kernel.Kernel => Kernel.make({ name: "k", args: [ScalarArg(type, "a")], body: {} })

const ofBody = (dtype: DType) =>
  Kernel.make({ name: "k", args: [VectorArg("i32", "x")], body: {}, dtypes: ["i32", dtype] })

const unsupported = (kernel: Kernel.Kernel): string => {
  const problem = KernelSupport.problem(kernel, deviceWith("f32", "i32", "u32"))
  assert.strictEqual(problem?.reason._tag, "Unsupported")
  return problem?.message ?? ""
}

describe("KernelSupport.problem", () => {
  it("is none where the device has the types of arguments and of bodies", () => {
    const device = deviceWith("f32", "i32", "u32", "f16", "f64")
    for (const dtype of device.dtypes) {
      assert.isUndefined(KernelSupport.problem(ofArgument(dtype), device))
      assert.isUndefined(KernelSupport.problem(ofBody(dtype), device))
    }
  })

  it("names the type that the device lacks, what uses it, and what would have it", () => {
    assert.include(unsupported(ofArgument("f64")), `f64 (argument "a") on a device`)
    assert.include(unsupported(ofBody("f64")), "f64 (in its body) on a device")
    assert.include(unsupported(ofArgument("f16")), `f16 (argument "a") on a device`)
    assert.include(unsupported(ofBody("f16")), "Use one of f32, i32, u32, or a device that has it.")
    assert.include(unsupported(ofValue("vec3<f16>")), `f16 (argument "a", a vec3<f16>) on a device`)
  })

  it("leaves integers of up to 32 bits and truth values to the languages, by value", () => {
    for (const type of ["i8", "u16", "u32", "bool", "vec8<u8>", "vec3<f32>"] as const) {
      assert.isUndefined(KernelSupport.problem(ofValue(type), deviceWith("f32")))
    }
    for (const type of ["i64", "vec8<u64>"] as const) assert.include(unsupported(ofValue(type)), type)
  })

  it.effect("says that the runtime is what lacks halves, where it is", () =>
    withoutHalves(Effect.sync(() => {
      assert.include(unsupported(ofBody("f16")), "Float16Array")
      assert.notInclude(unsupported(ofBody("f16")), "a device that has it")
    })))
})

describe("a limit of the device", () => {
  it.each([
    ["buffers", { args: Array.from({ length: 3 }, (_, at) => VectorArg("f32", `v${at}`)) }, "3 vectors", "2 vectors"],
    ["a workgroup", { args: [], workgroupSize: 65 }, "65 items", "64 items"]
  ])("on %s is told with its unit, its name and the device's", (_, options, asked, most) => {
    const device = deviceWith("f32")
    const problem = KernelSupport.problem(Kernel.make({ name: "k", body: {}, ...options }), device)
    assert(problem?.reason._tag === "LimitExceeded")
    assert.include(problem.message, `kernel "k": ${asked} are over max`)
    assert.include(problem.message, ` of the device "${device.name}", ${most}, so`)
    assert.include(problem.message, "choose a device that takes more")
  })
})
