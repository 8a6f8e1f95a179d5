/** Recordings as files of other tools. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { commandTests } from "../../../test/support/command.ts"
import { recordedFrames } from "../../../test/support/recordedFrames.ts"
import type { Report } from "../src/replay/ReplayText.ts"
import { commandInProcess } from "./inProcess.ts"

const { home, run } = commandInProcess()
const { run: runAlone } = commandTests()

const frames = join(home, "frames.jsonl")
writeFileSync(frames, await recordedFrames(3))

describe("effect-gpu-pool export", () => {
  it.concurrent.each([
    ["torch", "frames.snapshot.json"],
    ["rmm", "frames.rmm.csv"],
    ["cupy", "frames.cupy.jsonl"]
  ])("writes a file of %s, which this command reads", async (format, name) => {
    const { code, stderr, stdout } = await run(["export", frames, "--format", format])
    strictEqual(code, 0, stderr)
    strictEqual(stdout.trim(), join(home, name))
    const [original, read] = await Promise.all([frames, name].map((file) => run(["replay", file, "--json"])))
    const { replayed: { leases, peakActiveBytes } } = JSON.parse(original!.stdout) as Report
    const { replayed } = JSON.parse(read!.stdout) as Report
    deepStrictEqual([replayed.leases, replayed.peakActiveBytes], [leases, peakActiveBytes])
  })

  it.concurrent("writes a trace for Perfetto and Chrome", async () => {
    const { code, stderr, stdout } = await run(["export", frames, "--format", "chrome", "-o", "t.json"])
    strictEqual(code, 0, stderr)
    strictEqual(stdout.trim(), join(home, "t.json"))
    const { traceEvents } = JSON.parse(readFileSync(join(home, "t.json"), "utf8")) as {
      readonly traceEvents: ReadonlyArray<{ readonly cat?: string; readonly ph: string }>
    }
    strictEqual(traceEvents.filter(({ cat, ph }) => cat === "lease" && ph === "b").length, 6)
  })

  it.concurrent("writes to standard output, from standard input", async () => {
    const text = readFileSync(frames, "utf8")
    const { code, stderr, stdout } = await runAlone(["export", "-", "--format", "rmm", "-o", "-"], {}, text)
    deepStrictEqual([code, stderr], [0, ""])
    assert.match(stdout, /^Thread,Time,Action,Pointer,Size,Stream\n(\d+,.*\n){12}$/)
  })

  it.concurrent("takes the next free name, and replaces a file only where it is told to", async () => {
    const copy = join(home, "copy.jsonl")
    writeFileSync(copy, readFileSync(frames))
    const args = ["export", copy, "--format", "rmm"]
    const printed = [await run(args), await run(args), await run([...args, "--overwrite"])]
    deepStrictEqual(printed.map(({ stdout }) => stdout.trim()), [
      join(home, "copy.rmm.csv"),
      join(home, "copy-2.rmm.csv"),
      join(home, "copy.rmm.csv")
    ])
    const named = await run([...args, "--output", "copy.rmm.csv"])
    deepStrictEqual([named.code, named.stdout], [1, ""])
    assert.include(named.stderr, "copy.rmm.csv exists, and this command did not write it.")
  })

  it.concurrent.each([
    [["nowhere.jsonl", "--format", "rmm"], /nowhere\.jsonl cannot be read: ENOENT/],
    [["frames.jsonl", "--format", "pickle"], /pickle/],
    [["frames.jsonl"], /--format/],
    [["frames.jsonl", "--format", "rmm", "-o", "no/such/folder.csv"], /folder\.csv cannot be written: ENOENT/]
  ])("refuses %j", async (args, message) => {
    const { code, stderr, stdout } = await run(["export", ...args])
    deepStrictEqual([code, stdout], [1, ""])
    assert.match(stderr, message)
    assert.notMatch(stderr, /\n +at /)
    strictEqual(existsSync(join(home, "nowhere.rmm.csv")), false)
  })
})
