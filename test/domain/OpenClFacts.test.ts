import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import {
  characterize,
  type OpenClFacts,
  usableLocalMemoryBytes
} from "../../src/domain/characterisation/OpenClFacts.ts"

const gpu: OpenClFacts = {
  type: "gpu",
  platformName: "Some OpenCL",
  platformVendor: "Someone",
  platformVersion: "OpenCL 2.1",
  deviceVendor: "Someone",
  extensions: [],
  localMemoryBytes: 65536,
  isLocalMemoryGlobal: false,
  warpSize: undefined,
  wavefrontWidth: undefined,
  computeCapability: undefined,
  preferredMultiple: 16
}

const of = (facts: Partial<OpenClFacts>) => characterize({ ...gpu, ...facts })

const has = (facts: Partial<OpenClFacts>) => of(facts).fastInaccurateBuildOptions.includes("-cl-strict-aliasing")

const nvidia = { platformName: "NVIDIA CUDA", platformVendor: "NVIDIA Corporation", deviceVendor: "NVIDIA Corporation" }

describe("what follows from a device's answers", () => {
  it.each(
    [
      [{ warpSize: 32 }, 32, []],
      [{ wavefrontWidth: 64 }, 64, []],
      [{ type: "cpu" }, 1, []],
      // "Corporation" has an ATI in it.
      [{ platformVendor: "Intel(R) Corporation", deviceVendor: "Intel(R) Corporation" }, 16, ["simdGroupSize"]],
      [nvidia, 32, ["simdGroupSize"]],
      [{ preferredMultiple: undefined }, undefined, []]
    ] as const
  )("a simd group with %o", (facts, size, guessed) => {
    const found = of(facts)
    strictEqual(found.simdGroupSize, size)
    strictEqual(found.guessed.includes("simdGroupSize"), guessed.length > 0)
  })

  it.each(
    [
      [{ type: "cpu", isLocalMemoryGlobal: true }, undefined, 1, []],
      [{ type: "cpu" }, 16, 1, ["localMemoryBanks"]],
      [{ isLocalMemoryGlobal: true }, undefined, 16, ["localMemoryBanks"]],
      [{}, 16, 16, ["localMemoryBanks"]],
      [{ ...nvidia, computeCapability: { major: 1, minor: 3 } }, 16, 16, []],
      [{ ...nvidia, computeCapability: { major: 9, minor: 0 } }, 32, 32, []]
    ] as const
  )("banks of local memory, and items that access it at once, with %o", (facts, banks, items, guessed) => {
    const found = of(facts)
    deepStrictEqual(found.localMemoryBanks, { banks, granularity: 4, simultaneousWorkItems: items })
    strictEqual(found.guessed.includes("localMemoryBanks"), guessed.length > 0)
  })

  it("early CUDA keeps arguments in local memory", () => {
    strictEqual(of({ computeCapability: { major: 1, minor: 3 } }).usableLocalMemoryBytes, 65536 - 256)
    strictEqual(of({ computeCapability: { major: 2, minor: 0 } }).usableLocalMemoryBytes, 65536)
  })

  it("early CUDA keeps 4 bytes for each argument of a kernel", () => {
    const early = of({ computeCapability: { major: 1, minor: 3 } })
    deepStrictEqual([0, 1, 10, 64, 100].map((count) => usableLocalMemoryBytes(early, count)), [
      65536,
      65532,
      65496,
      65280,
      65280
    ])
    strictEqual(usableLocalMemoryBytes(of({}), 10), 65536)
  })

  it.each([
    ["Portable Computing Language", "OpenCL 1.2 pocl 0.13", { major: 0, minor: 13 }],
    ["Portable Computing Language", "OpenCL 3.0 PoCL 3.1  Linux, None+Asserts", { major: 3, minor: 1 }],
    ["Portable Computing Language", "OpenCL 3.0", undefined],
    ["Some OpenCL", "OpenCL 3.0 PoCL 3.1", undefined]
  ])("the version of PoCL on %s, %s", (platformName, platformVersion, expected) => {
    deepStrictEqual(of({ platformName, platformVersion }).poclVersion, expected)
  })

  it.each([
    ["OpenCL 1.2 pocl 0.13", true],
    ["OpenCL 2.0 pocl 0.14", undefined],
    ["OpenCL 3.0 PoCL 3.1  Linux", false],
    ["OpenCL 2.0 something else", undefined]
  ])("struct arguments on %s", (platformVersion, expected) => {
    const platformName = "Portable Computing Language"
    strictEqual(of({ platformName, platformVersion }).hasStructArgumentCountBug, expected)
  })

  it("struct arguments on Apple's CPUs", () => {
    strictEqual(of({ platformName: "Apple", type: "cpu" }).hasStructArgumentCountBug, true)
    strictEqual(of({ platformName: "Apple", type: "gpu" }).hasStructArgumentCountBug, false)
  })

  it.each([
    ["Portable Computing Language", true],
    ["AMD Accelerated Parallel Processing", false],
    ["Intel(R) OpenCL", undefined]
  ])("a cache for source on %s", (platformName, expected) => {
    strictEqual(of({ platformName }).hasSourceBuildCache, expected)
  })

  it("strict aliasing is asked of AMD's and NVIDIA's compilers only", () => {
    assert.isTrue(has(nvidia) && has({ deviceVendor: "Advanced Micro Devices, Inc." }))
    assert.isFalse(has({}) || has({ deviceVendor: "Intel(R) Corporation" }))
  })
})
