/** How much memory a program needs, on a command line. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { commandTests } from "../../../test/support/command.ts"
import type { Report } from "../src/plan/PlanText.ts"
import { commandInProcess } from "./inProcess.ts"

const { home, run } = commandTests()
const { run: runHere } = commandInProcess()

const effect = (module: string): string => import.meta.resolve(`effect/${module}`)
const pool = import.meta.resolve("effect-gpu-pool/BufferPool")

/** Writes a program that imports by path, because an empty folder has no packages. */
const program = (name: string, text: string): string => {
  const file = join(home, name)
  const imports = [
    `import * as Context from "${effect("Context")}"`,
    `import * as Console from "${effect("Console")}"`,
    `import * as Effect from "${effect("Effect")}"`,
    `import * as BufferPool from "${pool}"`
  ]
  writeFileSync(file, `${imports.join("\n")}\n${text}\n`)
  return file
}

const jobs = program(
  "jobs.ts",
  `const job = (label: string, bytes: number) =>
  BufferPool.use(bytes, () => Effect.yieldNow, { onExhausted: "wait", label })

export default Effect.gen(function*() {
  yield* Console.log("begins")
  const tiles = Array.from({ length: 4 }, () => job("tile", 1024))
  yield* Effect.all([job("weights", 4096), ...tiles], { concurrency: "unbounded" })
})
console.log("loaded")
export const printing = Effect.sync(() => {
  console.log("by console")
  process.stdout.write("by stdout\\n")
})
export const nothing = Effect.void
export const tooLarge = BufferPool.allocate("1 MiB" as unknown as number)
export const lacking = Effect.flatMap(Context.Service<string>("Lamp"), Effect.succeed)
export const thrown = Effect.sync(() => { throw new RangeError("no tile") })
export const number = 1`
)

describe("effect-gpu-pool plan", () => {
  it.concurrent("reports the peak, who had it, and the smallest limits", async () => {
    const { code, stderr, stdout } = await run(["plan", jobs, "--json"])
    strictEqual(code, 0, stderr)
    assert.match(stderr, /^begins$/m)
    const { dropped, holders, input, limits, peakBytes, peakManagedBytes, timeline, version } = JSON.parse(
      stdout
    ) as Report
    deepStrictEqual({ version, input, dropped, peakBytes, peakManagedBytes }, {
      version: 1,
      input: jobs,
      dropped: 0,
      peakBytes: 8192,
      peakManagedBytes: 8192
    })
    deepStrictEqual(holders.map(({ bytes, label, leases }) => [label, leases, bytes]), [
      ["weights", 1, 4096],
      ["tile", 4, 4096]
    ])
    for (const { callSite } of holders) assert.match(callSite ?? "", /jobs\.ts:\d+:\d+/)
    deepStrictEqual([limits.atAll?.maxBytes, limits.withoutWaiting?.maxBytes], [4096, 8192])
    strictEqual(Math.max(...timeline.map(({ activeBytes }) => activeBytes)), 8192)
  })

  it.concurrent.each([["several times", []], ["once", ["--once"]]])(
    "keeps what the program prints from its output: run %s",
    async (_, more) => {
      const { code, stderr, stdout } = await run(["plan", jobs, "--export", "printing", "--json", ...more])
      strictEqual(code, 0, stderr)
      strictEqual((JSON.parse(stdout) as Report).peakBytes, 0)
      for (const text of ["loaded", "by console", "by stdout"]) assert.include(stderr, text)
    }
  )

  it.concurrent("prints it for people", async () => {
    const { code, stderr, stdout } = await run(["plan", jobs])
    strictEqual(code, 0, stderr)
    assert.match(stdout, /^.*jobs\.ts: \d+ events\nmost leased +8 KiB \(8,192 B\), after \d/)
    assert.match(stdout, /^smallest limit +4 KiB \(4,096 B\)\nwithout waiting +8 KiB \(8,192 B\)$/m)
    assert.match(stdout, /│ +4 KiB │ +4 │ tile +│ .*jobs\.ts:\d+:\d+ +│/)
  })

  it("plans the export that is named, also one without leases", async () => {
    const { code, stderr, stdout } = await runHere(["plan", jobs, "--export", "nothing"])
    strictEqual(code, 0, stderr)
    assert.match(stdout, /^most leased +0 B, after 0$/m)
  })

  it.each([
    ["tooLarge", /jobs\.ts failed: GpuError: .*1 MiB/],
    ["lacking", /jobs\.ts failed: .*Lamp/],
    ["thrown", /jobs\.ts failed: RangeError: no tile, at .*jobs\.ts:\d+:\d+/],
    ["number", /exports no effect as number; it exports .*tooLarge/]
  ])("ends with 1 where the program fails: %s", async (name, message) => {
    const { code, stderr, stdout } = await runHere(["plan", jobs, "--export", name])
    deepStrictEqual([code, stdout], [1, ""])
    assert.match(stderr, message)
    assert.notMatch(stderr, /\n +at /)
  })

  it("ends with 1 where the file cannot be loaded", async () => {
    const missing = await runHere(["plan", "nowhere.ts"])
    strictEqual(missing.code, 1)
    assert.match(missing.stderr, /nowhere\.ts cannot be loaded: /)
  })
})
