import { Arbitraries } from "@effect-gpu-pool/testing/properties"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import type { GpuError } from "effect-gpu-pool"
import { DeviceSelector, type ListedDevice } from "effect-gpu-pool/devices"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"

type Parsed = ReturnType<typeof DeviceSelector.parse>

const formatted = (parsed: Parsed): string => DeviceSelector.format(Result.getOrThrow(parsed))

const refusal = (parsed: Parsed): GpuError.InvalidRequest => {
  assert(Result.isFailure(parsed), "it was read")
  const { reason } = parsed.failure
  assert(reason._tag === "InvalidRequest")
  return reason
}

describe("texts of selections", () => {
  it("are read again as they were written", () => {
    fc.assert(
      fc.property(Arbitraries.selectors, (selector) => {
        deepStrictEqual(DeviceSelector.parse(DeviceSelector.format(selector)), Result.succeed(selector))
      }),
      { numRuns: runs(2000) }
    )
  })

  it("mean the same in every way of writing them", () => {
    fc.assert(
      fc.property(Arbitraries.writtenSelectors, ({ selector, text }) => {
        deepStrictEqual(DeviceSelector.parse(text), Result.succeed(selector))
      }),
      { numRuns: runs(2000) }
    )
  })

  it("are a selection or have a mistake at a place in them, whatever they are", () => {
    const anything = fc.oneof(
      fc.string(),
      fc.string({ unit: "grapheme" }),
      fc.string({
        unit: fc.constantFrom("webgpu", "opencl", "host", ":", ";", ",", `"`, "\\", "*", " ", "0", "-1", "x")
      })
    )
    fc.assert(
      fc.property(anything, (text) => {
        const parsed = DeviceSelector.parse(text)
        if (Result.isSuccess(parsed)) return deepStrictEqual(DeviceSelector.parse(formatted(parsed)), parsed)
        const { hint, position } = refusal(parsed)
        assert(position !== undefined && position >= 0 && position <= text.length)
        const [, shown, carets] = hint.split("\n")
        strictEqual(shown, `  ${text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu, " ")}`)
        assert.match(carets ?? "", /^ *\^+$/)
      }),
      // A wrong character of two UTF-16 units, which random texts seldom have.
      { numRuns: runs(3000), examples: [["\"\"\u{10000}"], ["\u{10000}:0"], ["host:\u{10000}\"\""]] }
    )
  })

  // A wrong entry, and the position of the mistake within the entry.
  const wrong: ReadonlyArray<readonly [entry: string, at: number, problem: RegExp]> = [
    ["cuda:0", 0, /"cuda" is no backend/],
    [" open cl", 1, /"open cl" is no backend/],
    [`"host"`, 0, /"host" is no backend/],
    [":0:0", 0, /the backend is missing/],
    ["", 0, /an entry is empty/],
    ["   ", 3, /an entry is empty/],
    ["opencl:0:1:2", 10, /":" is one too many/],
    ["opencl:0,1", 8, /only devices can be a list/],
    ["opencl,webgpu", 6, /only devices can be a list/],
    ["opencl:0:1, in\"tel", 14, /a quote begins in the middle/],
    [`opencl:"a" b`, 11, /a part goes on after its quotes/],
    [`opencl:*:0,""`, 11, /the name is empty/],
    ["opencl:99999999999999999999", 7, /99999999999999999999 is no index/],
    ["opencl:0:0, -9007199254740992", 12, /-9007199254740992 is no index/]
  ]

  it("are refused at the place of the first mistake", () => {
    fc.assert(
      fc.property(
        fc.option(Arbitraries.writtenSelectors, { nil: undefined }),
        fc.constantFrom(...wrong),
        fc.option(Arbitraries.writtenSelectors, { nil: undefined }),
        (before, [entry, at, problem], after) => {
          const prefix = before === undefined ? "" : `${before.text};`
          const text = `${prefix}${entry}${after === undefined ? "" : `;${after.text}`}`
          fc.pre(text.trim() !== "")
          const reason = refusal(DeviceSelector.parse(text))
          assert.match(reason.problem, problem)
          strictEqual(reason.position, prefix.length + at, text)
          assert.include(reason.problem, `at character ${prefix.length + at + 1}`)
        }
      ),
      { numRuns: runs(2000) }
    )
  })

  it("are refused at a quote that nothing closes", () => {
    fc.assert(fc.property(Arbitraries.writtenSelectors, ({ text }) => {
      const reason = refusal(DeviceSelector.parse(`${text}; opencl:"abc\\"`))
      strictEqual(reason.position, text.length + 9)
      assert.match(reason.problem, /the quote is not closed/)
    }))
  })

  it("show the mistake with carets under it, also where letters take two units or lines break", () => {
    const { message } = refusal(DeviceSelector.parse("opencl:𝔵\n;metal", { source: "GPU_POOL_DEVICE" }))
    deepStrictEqual(message.split("\n").slice(1), ["  opencl:𝔵 ;metal", "            ^^^^^"])
    assert.isTrue(message.startsWith(`GPU_POOL_DEVICE: "metal" is no backend, at character 12. Write `))
  })

  it.each(["", "  ", "\n"])("are refused when there is nothing in them: %j", (text) => {
    for (const parse of [DeviceSelector.parse, DeviceSelector.parsePyOpenClTest, DeviceSelector.parsePyOpenClContext]) {
      assert.match(refusal(parse(text)).problem, /the selection is empty/)
    }
  })
})

describe("texts of other libraries", () => {
  it.each([
    ["0", "opencl:0"],
    ["0:0,1;intel:i5,i7", "opencl:0:0,1;opencl:intel:i5,i7"],
    ["0:0,1;intel=i5,i7", "opencl:0:0,1;opencl:intel:i5,i7"],
    ["portable computing", "opencl:portable computing"],
    [":1", "opencl:*:1"],
    ["-1:-2", "opencl:-1:-2"],
    ["*:\"x\"", `opencl:"*":"\\"x\\""`]
  ])("PYOPENCL_TEST=%s", (text, meaning) => {
    strictEqual(formatted(DeviceSelector.parsePyOpenClTest(text)), meaning)
  })

  it.each([["0:1:2", 3], ["0;;1", 2], ["a=b=c", 3], ["0,1", 1]])("PYOPENCL_TEST=%s has a mistake at %i", (text, at) => {
    const { operation, position } = refusal(DeviceSelector.parsePyOpenClTest(text))
    deepStrictEqual([operation, position], ["PYOPENCL_TEST", at])
  })

  it.each([
    ["0", "opencl:0"],
    ["portable:cpu,1", "opencl:portable:cpu,1"],
    ["a;b=c", `opencl:"a;b=c"`],
    [":", "opencl"]
  ])("PYOPENCL_CTX=%s", (text, meaning) => {
    strictEqual(formatted(DeviceSelector.parsePyOpenClContext(text)), meaning)
  })

  it("CUDA_DEVICE is a number, on platforms of NVIDIA", () => {
    deepStrictEqual(["0", " 12 ", "+3", "007"].map((text) => formatted(DeviceSelector.parseCudaDevice(text))), [
      "opencl:nvidia:0",
      "opencl:nvidia:12",
      "opencl:nvidia:3",
      "opencl:nvidia:7"
    ])
    for (const text of ["", "gpu", "-1", "1.5", "0x1", "1 2", "9007199254740992"]) {
      assert.match(refusal(DeviceSelector.parseCudaDevice(text)).operation, /^CUDA_DEVICE$/)
    }
    strictEqual(refusal(DeviceSelector.parseCudaDevice("  first")).position, 2)
  })
})

// Machines

const names = ["Intel(R) OpenCL", "NVIDIA CUDA", "Portable Computing Language", "i5", "i7", "RTX 3090", "llvmpipe", ""]
const vendors = ["Intel(R) Corporation", "NVIDIA Corporation", "The pocl project", ""]

interface Machine {
  readonly listed: ReadonlyArray<ListedDevice.ListedDevice>
}

const named = fc.record({ name: fc.constantFrom(...names), vendor: fc.constantFrom(...vendors) })
const platform = fc.record({
  self: named,
  devices: fc.array(fc.record({ self: named, usable: fc.boolean() }), { maxLength: 3 })
})

const entry = (
  backend: string,
  platform: ListedDevice.Named | undefined,
  device: ListedDevice.Named | undefined,
  unusable: string | undefined
): ListedDevice.ListedDevice => ({
  backend,
  platform,
  device,
  type: device === undefined ? undefined : "gpu",
  driver: "",
  memoryBytes: undefined,
  unusable
})

const backend = fc.record({
  name: fc.constantFrom("webgpu" as const, "opencl" as const, "host" as const),
  platforms: fc.array(platform, { maxLength: 3 })
}).map(({ name, platforms }) => {
  if (platforms.length === 0) return { name, entries: [entry(name, undefined, undefined, "its package is missing")] }
  const entries = platforms.flatMap(({ devices, self }, index) => {
    const platform = { ...self, index }
    if (devices.length === 0) return [entry(name, platform, undefined, "the platform has no device")]
    return devices.map(({ self, usable }, index) =>
      entry(name, platform, { ...self, index }, usable ? undefined : "the driver says no")
    )
  })
  return { name, entries }
})

const machines: fc.Arbitrary<Machine> = fc
  .uniqueArray(backend, { selector: ({ name }) => name, maxLength: 3 })
  .map((backends) => ({ listed: backends.flatMap(({ entries }) => entries) }))

const parts: fc.Arbitrary<DeviceSelector.Part> = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: -4, max: 4 }),
  fc.constantFrom("intel", "NVIDIA", "i", "3090", "pocl", "corporation", "nobody")
)
const wanted: fc.Arbitrary<DeviceSelector.DeviceSelector> = fc.array(
  fc.record({
    backend: fc.constantFrom("webgpu" as const, "opencl" as const, "host" as const),
    platform: parts,
    devices: fc.tuple(parts, fc.array(parts, { maxLength: 2 })).map(([first, others]) => [first, ...others] as const)
  }),
  { minLength: 1, maxLength: 3 }
).map(([first, ...others]) => [first!, ...others] as const)

/** The meaning of a part, for one item and its number of siblings. */
const fits = (part: DeviceSelector.Part, item: ListedDevice.Named, count: number): boolean =>
  part === undefined ||
  part === item.index ||
  (typeof part === "number" && part + count === item.index) ||
  (typeof part === "string" && [item.name, item.vendor].some((text) => text.toUpperCase().includes(part.toUpperCase())))

const reference = (selector: DeviceSelector.DeviceSelector, { listed }: Machine) => {
  const devices: Array<ListedDevice.ListedDevice> = []
  let misses = 0
  for (const { backend, devices: list, platform } of selector) {
    const platforms = new Set(listed.filter((one) => one.backend === backend).map((one) => one.platform?.index))
    for (const part of list) {
      const found = listed.filter((one) => {
        if (one.backend !== backend || one.device === undefined || one.platform === undefined) return false
        const beside = listed.filter((other) =>
          other.backend === backend && other.platform?.index === one.platform?.index
        )
        return one.unusable === undefined && fits(platform, one.platform, platforms.size) &&
          fits(part, one.device, beside.length)
      })
      if (found.length === 0) misses++
      devices.push(...found.filter((one) => !devices.includes(one)))
    }
  }
  return { devices, misses }
}

describe("selecting", () => {
  it("finds the devices that a selection means, and no others", () => {
    fc.assert(
      fc.property(wanted, machines, (selector, machine) => {
        const { devices, misses } = DeviceSelector.select(selector, machine.listed)
        const expected = reference(selector, machine)
        deepStrictEqual(devices, expected.devices)
        strictEqual(misses.length, expected.misses)
        for (const { backend, selector: part, why } of misses) {
          assert.isNotEmpty(why)
          assert.isTrue(part.startsWith(backend))
          assert.isTrue(Result.isSuccess(DeviceSelector.parse(part)))
        }
      }),
      { numRuns: runs(3000) }
    )
  })

  it("finds each device by what its listing says", () => {
    fc.assert(fc.property(machines, ({ listed }) => {
      for (const device of listed.filter(({ unusable }) => unusable === undefined)) {
        deepStrictEqual(DeviceSelector.select(DeviceSelector.of(device), listed), { devices: [device], misses: [] })
      }
    }))
  })

  it("takes as many steps as there are parts and devices", () => {
    let reads = 0
    const platform = { index: 0, name: "many", vendor: "" }
    const listed = Array.from({ length: 500 }, (_, index) => ({
      ...entry("opencl", undefined, { index, name: "one", vendor: "" }, undefined),
      get platform() {
        reads++
        return platform
      }
    }))
    const { devices } = DeviceSelector.select(
      [{ backend: "opencl", platform: undefined, devices: [-1, "one"] }],
      listed
    )
    strictEqual(devices.length, 500)
    assert.isBelow(reads, 500 * 20)
  })

  const pocl = { index: 0, name: "Portable Computing Language", vendor: "The pocl project" }
  const machine = [
    entry("webgpu", undefined, undefined, "npm webgpu: the package is not installed"),
    entry("opencl", pocl, { index: 0, name: "Xeon 3090", vendor: "GenuineIntel" }, undefined),
    entry("opencl", pocl, { index: 1, name: "Broken", vendor: "" }, "it has no compiler for kernels")
  ]

  it.each([
    ["webgpu", "npm webgpu: the package is not installed"],
    ["host", "this machine has no host platform"],
    ["opencl:1", `no such platform; there is platform 0 "Portable Computing Language"`],
    ["opencl:xeon", "A device has that name: a device is the third part, as opencl:*:xeon"],
    ["opencl:0:2", `no such device; there are devices 0 "Xeon 3090", 1 "Broken"`],
    ["opencl:0:3090", `"3090" in quotes is a part of a name`],
    ["opencl:0:broken", "it has no compiler for kernels"]
  ])("says why %s selects nothing", (text, why) => {
    const selector = Result.getOrThrow(DeviceSelector.parse(text))
    const { devices, misses } = DeviceSelector.select(selector, machine)
    deepStrictEqual(devices, [])
    assert.include(misses[0]?.why, why)
    strictEqual(misses[0]?.selector, text)
  })
})
