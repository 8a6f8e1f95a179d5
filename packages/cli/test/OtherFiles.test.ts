/** Files of other tools, on command lines that read recordings. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Report } from "../src/replay/ReplayText.ts"
import { commandInProcess } from "./inProcess.ts"

const { home, run } = commandInProcess()

const rmm = `Thread,Time,Action,Pointer,Size,Stream
7,12:00:00.000000,allocate,0x7f00,256,0x0
7,12:00:00.000100,allocate,0x8f00,0,0x0
7,12:00:00.000125,free,0x7f00,256,0x0
`
const cupy = `{"hook":"alloc","device_id":0,"mem_size":512,"mem_ptr":4096}
{"hook":"malloc","device_id":0,"size":24,"mem_size":512,"mem_ptr":4096,"pmem_id":"0x1"}
{"hook":"free","device_id":0,"mem_size":512,"mem_ptr":4096,"pmem_id":"0x1"}
`
const trace = [
  { action: "segment_alloc", addr: 4096, size: 2048, stream: 0, time_us: 1 },
  { action: "alloc", addr: 4096, size: 2048, stream: 0, time_us: 2, frames: [] }
]
const torch = JSON.stringify({ allocator_settings: {}, segments: [], device_traces: [trace] }, undefined, 2)

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(home, name)
  writeFileSync(path, content)
  return path
}

describe("files of other tools", () => {
  // the file name does not say what the file contains
  it.concurrent.each([
    ["RMM", "rmm.json", rmm, /a CSV log of RMM/, 256],
    ["CuPy", "cupy.csv", cupy, /lines of CuPy's DebugPrintHook/, 24],
    ["PyTorch", "torch.txt", torch, /a snapshot of PyTorch's memory/, 2048]
  ])("are replayed, and stderr says what they are read as: %s", async (_, name, content, message, peak) => {
    const { code, stderr, stdout } = await run(["replay", file(name, content), "--json"])
    strictEqual(code, 0, stderr)
    const { failed, replayed } = JSON.parse(stdout) as Report
    deepStrictEqual([failed, replayed.leases, replayed.peakActiveBytes], [[], 1, peak])
    assert.match(stderr, message)
    assert.include(stderr, `${name} is read as`)
    strictEqual(stderr.includes("rows of 0 bytes: 1 times"), content === rmm)
  })

  it.concurrent("are drawn, from standard input too", async () => {
    const { code, stderr } = await run(["view", "-", "--output", join(home, "piped.html")], torch)
    strictEqual(code, 0, stderr)
    assert.include(stderr, "- is read as a snapshot of PyTorch's memory.")
    assert.match(readFileSync(join(home, "piped.html"), "utf8"), /^<!doctype html>/i)
  })

  it.concurrent.each([
    ["cut.csv", rmm.slice(0, -6), /a CSV log of RMM[^]*line 4/],
    ["snapshot.pickle", Uint8Array.of(0x80, 4, 0x95, 1), /a snapshot of PyTorch's memory[^]*json\.dump/],
    ["package.json", `{"name":"job"}`, /package\.json: .*line 1/]
  ])("are refused where they are wrong: %s", async (name, content, message) => {
    const { code, stderr, stdout } = await run(["replay", file(name, content)])
    deepStrictEqual([code, stdout], [1, ""])
    assert.match(stderr, message)
    assert.notMatch(stderr, /\n +at /)
  })
})
