/** The command as its users run it: a process of its own, with its exit code and what it prints. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { commandTests } from "../../../test/support/command.ts"
import { describeWith } from "../../../test/support/required.ts"
import { commandInProcess } from "./inProcess.ts"

const { run } = commandTests()
const { home, run: runHere } = commandInProcess()

interface Report {
  readonly version: number
  readonly devices: ReadonlyArray<Record<string, unknown>>
  readonly choice: unknown
}

interface Details {
  readonly dtypes: ReadonlyArray<string>
  readonly limits: Readonly<Record<string, number | null>>
  readonly images: Readonly<
    Record<string, { readonly width: number; readonly depth: number; readonly read: ReadonlyArray<string> }>
  >
  readonly facts: Readonly<Record<string, unknown>>
}

const detailsOf = (device: Record<string, unknown> | undefined) => device?.details as Details & Record<string, unknown>

const report = (stdout: string): Report => JSON.parse(stdout) as Report

const host = {
  selector: "host:0:0",
  backend: "host",
  platform: { index: 0, name: "JavaScript", vendor: "effect-gpu-pool" },
  device: { index: 0, name: "process memory", vendor: "effect-gpu-pool" },
  type: "cpu",
  driver: "JavaScript",
  memoryBytes: null,
  usable: true,
  reason: null
}

describe("effect-gpu-pool devices", () => {
  it("prints a table with what selects each device, in a process of its own", async () => {
    const { code, stderr, stdout } = await run(["devices"])
    strictEqual(code, 0, stderr)
    assert.match(stdout, /│ select .*│ platform .*│ device .*│ type .*│ memory .*│ usable/)
    assert.match(stdout, /│ host:0:0 .*│ JavaScript .*│ process memory .*│ cpu .*│ .*│ yes/)
    assert.include(stdout, "Nothing selects a device")
  })

  it("prints a table that a narrow terminal has room for", async () => {
    const { code, stderr, stdout } = await runHere(["devices"], "", { COLUMNS: "72" })
    strictEqual(code, 0, stderr)
    const lines = stdout.split("\n").filter((line) => /^[┌│├└]/.test(line))
    assert.isAtLeast(lines.length, 5)
    for (const line of lines) assert.isAtMost(line.length, 72)
  })

  it("prints JSON whose shape is documented", async () => {
    const { code, stderr, stdout } = await runHere(["devices", "--json"])
    strictEqual(code, 0, stderr)
    const { choice, devices, version } = report(stdout)
    strictEqual(version, 1)
    deepStrictEqual(choice, { source: "default", selector: null })
    deepStrictEqual(devices.at(-1), host)
    for (const device of devices) deepStrictEqual(Object.keys(device), Object.keys(host))
  })

  it("prints only what is selected", async () => {
    const { code, stdout } = await runHere(["devices", "--json", "--select", "host"])
    strictEqual(code, 0)
    deepStrictEqual(report(stdout).devices, [host])
  })

  it("prints all that is known of each device that opens", async () => {
    const { code, stderr, stdout } = await runHere(["devices", "--json", "--verbose"])
    strictEqual(code, 0, stderr)
    const { devices } = report(stdout)
    for (const { details, usable } of devices) strictEqual(details !== null, usable)
    const { details, ...ofList } = devices.at(-1) ?? {}
    deepStrictEqual(ofList, host)
    const { dtypes, images, limits, ...others } = detailsOf({ details })
    deepStrictEqual(others, {
      vendor: "effect-gpu-pool",
      driver: "JavaScript",
      language: "host",
      missingDtypes: {},
      severalQueues: true,
      kernelImages: { maxReadImages: 16, maxWriteImages: 4, maxSamplers: 16 },
      facts: {}
    })
    assert.include(dtypes, "f32")
    deepStrictEqual([limits.maxBufferSize, limits.memoryBytes, limits.defaultMaxBytes], [2 ** 30, 2 ** 32, null])
    deepStrictEqual([images["2d"]?.width, images["2d"]?.depth], [16_384, 1])
    assert.include(images["2d"]?.read ?? [], "rgba unorm8")
  })

  it("prints a section for each device that opens", async () => {
    const { code, stderr, stdout } = await runHere(["devices", "--verbose", "--select", "host"])
    strictEqual(code, 0, stderr)
    const [, section] = stdout.split("\n\nhost:0:0  process memory\n")
    assert.match(section ?? "", /^ {2}max buffer size +1 GiB \(1,073,741,824 B\)$/m)
    assert.match(section ?? "", /^ {2}queues +several$/m)
    assert.match(section ?? "", /^ {2}images 2d +up to 16,384 × 16,384 × 1 × 1, 120 formats read, 120 written$/m)
  })

  it("says who chooses", async () => {
    const { code, stdout } = await runHere(["devices", "--json", "--select", "host"], "", {
      GPU_POOL_DEVICE: "HOST: * : 0"
    })
    strictEqual(code, 0)
    deepStrictEqual(report(stdout).choice, { source: "GPU_POOL_DEVICE", selector: "host:*:0" })
    const other = join(home, "other")
    mkdirSync(other)
    writeFileSync(join(other, ".gpu-pool-device"), "host\n")
    const ofFile = await runHere(["devices", "--select", "host"], "", { HOME: other, USERPROFILE: other })
    assert.include(ofFile.stdout, `${join(other, ".gpu-pool-device")} selects host.`)
  })

  it.each([
    ["that cannot be read", "host;metal:0", /"metal" is no backend, at character 6[^]*\n {2}host;metal:0\n {7}\^{5}/],
    ["that selects nothing", "host:0:7", /no such device; there is device 0 "process memory"/],
    ["of which a part selects nothing", "host;host:nobody", /host nobody: no such platform/]
  ])("fails for a selection %s", async (_, selection, message) => {
    const { code, stderr, stdout } = await runHere(["devices", "--json", "--select", selection])
    strictEqual(code, 1)
    strictEqual(stdout, "")
    assert.match(stderr, message)
    assert.notMatch(stderr, /\n +at /)
  })

  it("prints the list and fails where the environment's selection cannot be read", async () => {
    const { code, stderr, stdout } = await runHere(["devices", "--json"], "", { GPU_POOL_DEVICE: "cuda:0" })
    strictEqual(code, 1)
    deepStrictEqual([report(stdout).devices.at(-1), report(stdout).choice], [host, null])
    assert.match(stderr, /GPU_POOL_DEVICE: "cuda" is no backend, at character 1/)
  })

  it("prints the list and fails where the environment's selection selects nothing", async () => {
    const { code, stderr, stdout } = await runHere(["devices", "--json"], "", { GPU_POOL_DEVICE: "host:nobody" })
    strictEqual(code, 1)
    deepStrictEqual(report(stdout).devices.at(-1), host)
    deepStrictEqual(report(stdout).choice, { source: "GPU_POOL_DEVICE", selector: "host:nobody" })
    assert.include(stderr, `no such platform; there is platform 0 "JavaScript"`)
    assert.include(stderr, `The selection was "host:nobody", from GPU_POOL_DEVICE.`)
    assert.notMatch(stderr, /\n +at /)
  })

  it("prints the list where a part of the environment's selection selects a device", async () => {
    const { code, stderr } = await runHere(["devices", "--json"], "", { GPU_POOL_DEVICE: "host:nobody;host" })
    strictEqual(code, 0, stderr)
  })

  it("fails for options that it does not know, and has help and a version", async () => {
    const unknown = await runHere(["devices", "--yaml"])
    strictEqual(unknown.code, 1)
    assert.match(unknown.stderr + unknown.stdout, /--yaml/)
    const help = await runHere(["devices", "--help"])
    strictEqual(help.code, 0)
    assert.match(help.stdout, /--select/)
    const version = await runHere(["--version"])
    assert.match(version.stdout, /\d+\.\d+\.\d+/)
  })

  // These arguments need no terminal, files or processes: the command runs with `effect` alone.
  it.each([
    [["--help"], 0, /--completions[^]*devices .*List the devices/],
    [[], 0, /devices .*List the devices/],
    [["--completions", "bash"], 0, /complete .*effect-gpu-pool/],
    [["--completions", "tcsh"], 1, /tcsh/],
    [["devices", "--select", "host", "--log-level", "none"], 0, /process memory/],
    [["devices", "--select"], 1, /--select/],
    [["device"], 1, /device/],
    [["--wizard"], 1, /--wizard/]
  ])("answers %s with the exit code %s", async (args, expected, message) => {
    const { code, stderr, stdout } = await runHere(args)
    assert.match(stdout + stderr, message)
    assert.notMatch(stdout + stderr, /Service not found|\n +at /)
    strictEqual(code, expected)
  })
})

describeWith(["webgpu", "opencl"], "effect-gpu-pool devices --verbose", () => {
  it("prints what drivers report", async () => {
    const { code, stderr, stdout } = await run(["devices", "--json", "--verbose", "--select", "webgpu;opencl"])
    strictEqual(code, 0, stderr)
    const factsOf = (backend: string) =>
      detailsOf(report(stdout).devices.find((device) => device.backend === backend)).facts
    const { features, featuresInUse, limits } = factsOf("webgpu")
    assert.includeMembers(features as Array<string>, featuresInUse as Array<string>)
    assert.isAtLeast((limits as Record<string, number>).maxBindGroups ?? 0, 4)
    const { computeUnits, deviceVersion, extensions, svm } = factsOf("opencl")
    assert.match(deviceVersion as string, /^OpenCL \d/)
    assert.isAtLeast(computeUnits as number, 1)
    assert.isNotEmpty(extensions)
    assert.hasAllKeys(svm, ["coarseGrain", "fineGrain", "fineGrainSystem", "atomics", "missing"])
  })
})
