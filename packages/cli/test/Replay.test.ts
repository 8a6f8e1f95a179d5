/** The `replay` command. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { recordedFailure, recordedFrames } from "../../../test/support/recordedFrames.ts"
import * as ReplayText from "../src/replay/ReplayText.ts"
import { commandInProcess } from "./inProcess.ts"

type Report = ReplayText.Report

const { home, run } = commandInProcess()

const frames = join(home, "frames.jsonl")
writeFileSync(frames, await recordedFrames(20))

const replayed = async (...options: ReadonlyArray<string>) => {
  const { code, stderr, stdout } = await run(["replay", frames, "--json", ...options])
  return { code, stderr, report: JSON.parse(stdout) as Report }
}

describe("effect-gpu-pool replay", () => {
  it.concurrent("counts what was recorded", async () => {
    const { code, report, stderr } = await replayed()
    strictEqual(code, 0, stderr)
    const { changed, dropped, failed, input, recorded, replayed: counts, version } = report
    deepStrictEqual({ version, input, changed, recorded, failed, dropped }, {
      version: 1,
      input: frames,
      changed: {},
      recorded: null,
      failed: [],
      dropped: 0
    })
    deepStrictEqual([counts.leases, counts.failed, counts.differsAt], [40, 0, undefined])
    strictEqual(counts.hits + counts.misses, 40)
    strictEqual(counts.peakActiveBytes, 100_000 + 3000 * 19 + 1_000_000)
  })

  it.concurrent("compares it with another policy, limit and order", async () => {
    const changes = ["--policy", "exact", "--max-bytes", "4 MiB", "--eviction", "largestFirst"]
    const { code, report, stderr } = await replayed(...changes)
    strictEqual(code, 0, stderr)
    deepStrictEqual(report.changed, { policy: "exact", maxBytes: "4 MiB", eviction: "largestFirst" })
    // each frame has weights of another size, which fit only the image's block, and exact sizes never borrow
    strictEqual(report.replayed.hits, 19)
    assert.isAtMost(report.replayed.peakManagedBytes, 4 * 2 ** 20)
    assert.isAbove(report.recorded?.hits ?? 0, report.replayed.hits)
  })

  it.concurrent("compares it with an arena, whose slabs serve every size", async () => {
    const { code, report, stderr } = await replayed("--strategy", "arena")
    strictEqual(code, 0, stderr)
    deepStrictEqual(report.changed, { strategy: "arena" })
    assert.isAbove(report.replayed.hits, report.recorded?.hits ?? 0)
  })

  it.concurrent("fails where a request gets nothing, and names the first", async () => {
    const { code, report, stderr } = await replayed("--max-bytes", "1 MiB")
    strictEqual(code, 2)
    deepStrictEqual([report.failed.length, report.replayed.failed, report.recorded?.failed], [20, 20, 0])
    deepStrictEqual([report.failed[0]?.label, report.failed[0]?.size], ["image", 1_000_000])
    assert.match(stderr, /Request \d+ failed: 976\.6 KiB "image" of BufferPool: OutOfMemory\. 19 more failed\./)
    assert.notMatch(stderr, /\n +at /)
  })

  it.concurrent("names a request that is larger than the limit", async () => {
    const { code, report, stderr } = await replayed("--max-bytes", "500000")
    strictEqual(code, 2)
    deepStrictEqual(report.failed.map(({ label, why }) => [label, why]).at(0), ["image", "LimitExceeded"])
    assert.match(stderr, /Request \d+ failed: 976\.6 KiB "image" of BufferPool: LimitExceeded\. 19 more failed\./)
  })

  it.concurrent("has room under a larger limit for what was larger than the recorded one, and counts it", async () => {
    const tooLarge = join(home, "too-large.jsonl")
    writeFileSync(tooLarge, await recordedFrames(2, "900 kB"))
    const [same, larger, bisected] = await Promise.all([
      run(["replay", tooLarge, "--json"]),
      run(["replay", tooLarge, "--json", "--max-bytes", "2 MB"]),
      run(["replay", tooLarge, "--json", "--bisect"])
    ])
    deepStrictEqual([same.code, larger.code, bisected.code], [2, 0, 0])
    assert.match(same.stderr, /Request \d+ failed: 976\.6 KiB "image" of BufferPool: LimitExceeded\. 1 more failed\./)
    const { failed, recorded, replayed: counts } = JSON.parse(larger.stdout) as Report
    deepStrictEqual([failed, recorded?.failed, recorded?.differsAt, counts.leases], [[], 2, undefined, 4])
    const { limits } = JSON.parse(bisected.stdout) as Report
    // both weights have a block of 106,496 bytes
    strictEqual(limits?.atAll?.maxBytes, 106_496 + 1_000_000)
  })

  it.concurrent("prints a table of both", async () => {
    const { code, stderr, stdout } = await run(["replay", frames, "--policy", "exact"])
    strictEqual(code, 0, stderr)
    assert.match(stdout, /^.*frames\.jsonl: \d+ events\n/)
    assert.match(stdout, /│ +│ as recorded │ policy exact │/)
    assert.match(stdout, /│ leases +│ +40 │ +40 │/)
    assert.match(stdout, /│ failed +│ +0 │ +0 │/)
  })

  it.concurrent("says where a replay does other things than the recording", async () => {
    const limited = join(home, "limited.jsonl")
    const [heading, ...others] = (await recordedFrames(2)).split("\n")
    writeFileSync(limited, [heading!.replace(/"maxBytes":\d+/, `"maxBytes":100`), ...others].join("\n"))
    const { stdout } = await run(["replay", limited])
    const { replayed: { differsAt } } = JSON.parse((await run(["replay", limited, "--json"])).stdout) as Report
    assert.include(
      stdout,
      differsAt === 0
        ? "\nThe replay differs from the recording from the first event on.\n"
        : `\nAs recorded up to event ${differsAt} of `
    )
  })

  it("never speaks of the first 0 events", () => {
    deepStrictEqual([undefined, 0, 1, 1199].map((differsAt) => ReplayText.difference({ differsAt }, 1200)), [
      "",
      "The replay differs from the recording from the first event on.",
      "As recorded up to event 1 of 1,200; the replay differs from there on.",
      "As recorded up to event 1,199 of 1,200; the replay differs from there on."
    ])
  })

  it.concurrent("changes the memory alone that is named", async () => {
    const { code, report } = await replayed("--memory", "frames", "--policy", "exact")
    deepStrictEqual([code, report.replayed.hits], [0, 19])
    const other = await run(["replay", frames, "--memory", "weights", "--policy", "exact"])
    strictEqual(other.code, 1)
    assert.include(other.stderr, `no memory of the recording is "weights"`)
  })

  it.concurrent("finds the smallest limit, and replays under it", async () => {
    const { code, report, stderr } = await replayed("--bisect")
    strictEqual(code, 0, stderr)
    const { atAll, withoutWaiting } = report.limits ?? {}
    const maxBytes = atAll?.maxBytes ?? 0
    deepStrictEqual([report.changed, report.failed, withoutWaiting], [{ maxBytes: `${maxBytes} B` }, [], atAll])
    assert.isAtLeast(maxBytes, 100_000 + 3000 * 19 + 1_000_000)
    strictEqual(atAll?.failsAt, maxBytes - 1)
    assert.isAtMost(report.replayed.peakManagedBytes, maxBytes)
    const [passes, fails] = await Promise.all([
      replayed("--max-bytes", String(maxBytes)),
      replayed("--max-bytes", String(maxBytes - 1))
    ])
    deepStrictEqual([passes.code, fails.code, fails.report.limits], [0, 2, null])
    strictEqual(fails.report.failed[0]?.request, atAll?.failed?.request)
  })

  it.concurrent("shows the smallest limits in the table, of another policy too", async () => {
    const { code, stderr, stdout } = await run(["replay", frames, "--bisect", "--policy", "exact"])
    strictEqual(code, 0, stderr)
    assert.match(stdout, /│ policy exact, maxBytes 1157000 B │/)
    assert.match(stdout, /│ smallest limit +│ +│ +1\.1 MiB \(1,157,000 B\) │/)
    assert.match(stdout, /│ without waiting +│ +│ +1\.1 MiB \(1,157,000 B\) │/)
  })

  it.concurrent("says with --bisect when the recording ends in the failure", async () => {
    const failed = join(home, "failed.jsonl")
    writeFileSync(failed, await recordedFailure())
    const [bisected, asJson, other] = await Promise.all([
      run(["replay", failed, "--bisect"]),
      run(["replay", failed, "--bisect", "--json"]),
      run(["replay", frames, "--bisect"])
    ])
    strictEqual(bisected.code, 0, bisected.stderr)
    assert.match(
      bisected.stdout,
      /\nThe recording ends in the failure of request \d+ \(976\.6 KiB "image" of BufferPool\): no request got memory after it\. /
    )
    assert.include(bisected.stdout, "it may need more than these limits.")
    strictEqual((JSON.parse(asJson.stdout) as Report).endsIn?.label, "image")
    assert.notInclude(other.stdout, "ends in the failure")
  })

  it.concurrent.each([
    [["--bisect", "--max-bytes", "1 MiB"], /--max-bytes gives one/],
    [["--policy", "best"], /"best" is no size policy/],
    [["--max-bytes", "much"], /much/],
    [["--eviction", "newest"], /newest/],
    [["--strategy", "slabs"], /slabs/]
  ])("refuses %s", async (options, message) => {
    const { code, stderr, stdout } = await run(["replay", frames, ...options])
    strictEqual(code, 1)
    assert.match(stderr + stdout, message)
    assert.notMatch(stderr, /\n +at /)
  })
})
