/** The device report: every listed device is described and measured, and none is left open. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Devices } from "effect-gpu-pool/devices"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Report from "../../examples/report/Report.ts"

const quick = { bytes: 4096, atLeast: Duration.millis(1) }

const run = (...args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const main = join(import.meta.dirname, "../../examples/report/main.ts")
    const child = spawn(process.execPath, ["--conditions=effect-gpu-pool:source", main, ...args])
    const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")])
    return { out, error, code }
  })

describe("the device report", () => {
  it.live("lists every device, and measures those that can be opened", () =>
    Effect.gen(function*() {
      const listed = yield* Devices.list
      for (const device of listed) {
        const { lines, title } = yield* Report.of(device, quick)
        assert.include(title, device.backend)
        const names = lines.map(({ name }) => name)
        if (device.unusable === undefined) assert.includeMembers(names, ["driver", "memory", "host to device"])
        else assert.deepStrictEqual(names, ["unusable"])
      }
      assert.includeMembers(listed.map(({ backend }) => backend), ["webgpu", "opencl", "host"])
    }))

  it.live("prints a table for each selected device", () =>
    Effect.gen(function*() {
      const { code, out } = yield* run("--devices", "host", "--bytes", "4096", "--millis", "1")
      assert.strictEqual(code, 0)
      assert.match(out, /host, JavaScript/)
      assert.match(out, /device to device +│ [\d.]+ GiB\/s, \d+ µs/)
      assert.notInclude(out, "opencl")
    }))

  it.live("fails on a selection that selects nothing", () =>
    Effect.gen(function*() {
      const { code, error, out } = yield* run("--devices", "opencl:no such platform")
      assert.notStrictEqual(code, 0)
      assert.match(out + error, /no such platform/)
    }))
})
