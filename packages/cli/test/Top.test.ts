/** Live statistics: the command listens, and a program in this process connects through Effect's DevTools. */
import * as PoolEvents from "@effect-gpu-pool/observability/PoolEvents"
import * as PoolMetrics from "@effect-gpu-pool/observability/PoolMetrics"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { Host } from "effect-gpu-pool/host"
import * as DevTools from "effect/devtools/DevTools"
import type * as DevToolsSchema from "effect/devtools/DevToolsSchema"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { commandTests, type Going } from "../../../test/support/command.ts"
import { none } from "../src/Output.ts"
import * as TopReport from "../src/top/TopReport.ts"
import { memoriesOf, Watched } from "../src/top/Watched.ts"
import { commandInProcess } from "./inProcess.ts"

const { run, start } = commandTests()
const { run: runHere } = commandInProcess()

/** The address of a listening command, from its first line. */
const addressOf = async ({ stderr }: Going): Promise<string> => {
  const { value } = await stderr.next()
  const address = /ws:\/\/[^\s]+:\d+/.exec(String(value))?.[0]
  assert(address !== undefined, String(value))
  return address
}

const attributes = { memory: "frames", device: "host process memory", number: "1" }

/** A program with metrics of a pool, which runs until `until` settles. */
const program = (url: string, until: Promise<unknown>) =>
  Effect.gen(function*() {
    yield* Metric.update(Metric.gauge("gpu_pool_held_bytes", { attributes }), 4096)
    yield* Metric.update(Metric.gauge("gpu_pool_waiters", { attributes }), 2)
    yield* Metric.update(Metric.counter("gpu_pool_hits_total", { attributes, incremental: true }), 3)
    yield* Metric.update(Metric.counter("gpu_pool_misses_total", { attributes, incremental: true }), 1)
    yield* Metric.update(Metric.counter("requests", { incremental: true }), 1)
    yield* Effect.withSpan(Effect.void, "a span, which top does not show")
    yield* Effect.promise(() => until)
  }).pipe(
    Effect.provide(DevTools.layer(url)),
    Effect.provideService(Metric.MetricRegistry, new Map()),
    Effect.runPromise
  )

const frames = {
  memory: "frames",
  device: "host process memory",
  number: 1,
  hitRate: 0.75,
  heldBytes: 4096,
  waiters: 2,
  hits: 3,
  misses: 1
}

describe("effect-gpu-pool top", () => {
  it.concurrent("prints what the first program reports, and ends", async () => {
    const going = start(["top", "--port", "0", "--once", "--json"])
    const [{ value }] = await Promise.all([going.stdout.next(), program(await addressOf(going), going.ended)])
    strictEqual(await going.ended, 0)
    const { time, ...report } = JSON.parse(String(value)) as Record<string, unknown>
    strictEqual(typeof time, "number")
    deepStrictEqual(report, { version: 1, program: 1, memories: [frames] })
  })

  it.concurrent("shows the pools of a program with PoolMetrics", async () => {
    const going = start(["top", "--port", "0", "--once", "--json"])
    const gpu = BufferPool.layer({ label: "weights", maxBytes: "1 MiB" }).pipe(
      Layer.provideMerge(Host.layer()),
      Layer.provideMerge(PoolMetrics.layer()),
      Layer.provideMerge(PoolEvents.layer),
      Layer.provideMerge(DevTools.layer(await addressOf(going)))
    )
    const program = Effect.scoped(Effect.gen(function*() {
      yield* BufferPool.allocate(1000)
      yield* Effect.replicateEffect(BufferPool.use(64, () => Effect.void), 4)
      yield* Effect.promise(() => going.ended)
    }))
    const ended = program.pipe(
      Effect.provide(gpu),
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.runPromise
    )
    const { value } = await going.stdout.next()
    await ended
    const [weights] = (JSON.parse(String(value)) as { memories: ReadonlyArray<Record<string, unknown>> }).memories
    const { activeBytes, device, hits, limitBytes, memory, misses, waiters } = weights ?? {}
    deepStrictEqual({ memory, device, limitBytes, waiters }, {
      memory: "weights",
      device: "host process memory",
      limitBytes: 2 ** 20,
      waiters: 0
    })
    // the values depend on how far the program had run
    for (const count of [activeBytes, hits, misses]) strictEqual(typeof count, "number")
  })

  it.concurrent("prints a table, without control sequences where no terminal is", async () => {
    const going = start(["top", "--port=0", "--once"])
    await program(await addressOf(going), going.ended)
    const lines: Array<string> = []
    for (let next = await going.stdout.next(); next.done !== true; next = await going.stdout.next()) {
      lines.push(next.value)
    }
    assert.match(lines.join("\n"), /│ 1 +│ frames │ host process memory │ +0 B │ +4 KiB │ +│ +75\.0 % │ +│ +2 │ +0 │/)
    assert.notInclude(lines.join("\n"), "\u001b")
  })

  it.concurrent("goes on for programs that come and go, and ends by an interrupt", async () => {
    const going = start(["top", "--port", "0", "--json", "--every", "0.05"])
    const url = await addressOf(going)
    for (const number of [1, 2]) {
      const seen = new AbortController()
      const ended = program(url, once(seen.signal, "abort"))
      let reporting = 0
      // lines of an earlier program may still come
      while (reporting !== number) {
        reporting = (JSON.parse(String((await going.stdout.next()).value)) as { program: number }).program
      }
      seen.abort()
      await ended
    }
    going.child.kill("SIGINT")
    strictEqual(await going.ended, 130)
  })

  it.concurrent("ends when nobody reads it any more, as head does", async () => {
    const going = start(["top", "--port", "0", "--json", "--every", "0.05"])
    const ended = program(await addressOf(going), going.ended)
    await going.stdout.next()
    going.child.stdout.destroy()
    strictEqual(await going.ended, 141)
    await ended
  })

  it.concurrent("says once of a program without pools that it waits for another, also when programs are killed", async () => {
    const going = start(["top", "--port", "0", "--once", "--json", "--every", "0.05"])
    const url = await addressOf(going)
    const code = `import { Effect } from "effect"; import { DevTools } from "effect/devtools"
      await Effect.runPromise(Effect.provide(Effect.never, DevTools.layer(${JSON.stringify(url)})))`
    const poolless = spawn(process.execPath, ["--input-type=module", "--eval", code], { cwd: import.meta.dirname })
    strictEqual(
      (await going.stderr.next()).value,
      "Program 1 reports no pool: it needs PoolMetrics.layer(), or has opened none."
    )
    poolless.kill("SIGKILL")
    const [{ value }] = await Promise.all([going.stdout.next(), program(url, going.ended)])
    strictEqual((JSON.parse(String(value)) as { program: number }).program, 2)
    strictEqual((await going.stderr.next()).done, true)
  })

  it.concurrent("leaves out what a narrow terminal has no room for, rather than wrap lines", async () => {
    const going = start(["top", "--port=0", "--once"], { COLUMNS: "60" })
    await program(await addressOf(going), going.ended)
    const lines: Array<string> = []
    for (let next = await going.stdout.next(); next.done !== true; next = await going.stdout.next()) {
      lines.push(next.value)
    }
    assert.isAtMost(Math.max(...lines.map(({ length }) => length)), 60)
    assert.match(lines.join("\n"), /│ frames │ +0 B │ +75\.0 % │ +2 │ +0 │/)
  })

  it.concurrent("says where another one listens", async () => {
    const first = start(["top", "--port", "0"])
    const port = new URL(await addressOf(first)).port
    const { code, stderr, stdout } = await run(["top", "--port", port])
    strictEqual(code, 1)
    strictEqual(stdout, "")
    assert.include(stderr, `localhost:${port} is taken`)
    assert.notMatch(stderr, /\n +at /)
    first.child.kill("SIGTERM")
    strictEqual(await first.ended, 130)
  })

  it.concurrent.each([
    [["--port", "70000"], /--port: "70000". Expected: a port from 1 to 65535/],
    [["--every", "0"], /--every: "0". Expected: seconds above 0/],
    [["--host", "no such host"], /cannot listen at no such host/],
    [["--host", ""], /--host. Expected: an address, as localhost/]
  ])("refuses %s", async (args, message) => {
    const { code, stderr, stdout } = await runHere(["top", ...args])
    deepStrictEqual([code, stdout], [1, ""])
    assert.match(stderr, message)
    assert.notMatch(stderr, /\n +at /)
  })
})

const endless = { width: Infinity, height: Infinity }

const counter = (id: string, count: number, own: Record<string, string> = {}): DevToolsSchema.Metric => ({
  id,
  type: "Counter",
  description: undefined,
  attributes: { ...attributes, ...own },
  state: { count, incremental: true }
})

const snapshot = (...metrics: ReadonlyArray<DevToolsSchema.Metric>): DevToolsSchema.MetricsSnapshot => ({
  _tag: "MetricsSnapshot",
  metrics
})

const named = (memory: string, number: number) => ({
  memory,
  device: "webgpu NVIDIA GeForce RTX 4090 (Driver 550.54, Vulkan 1.3)",
  number,
  counts: { hits: 1 }
})

describe("what top reads", () => {
  it("adds counters that are reported by reason, and keeps memories apart", () => {
    const memories = memoriesOf(snapshot(
      counter("gpu_pool_refusals_total", 2, { reason: "OutOfMemory" }),
      counter("gpu_pool_refusals_total", 3, { reason: "DriverError" }),
      counter("gpu_pool_out_of_memory_total", 1, { number: "2" }),
      counter("other_total", 1)
    ))
    deepStrictEqual(memories.map(({ counts, number }) => [number, counts]), [[1, { refusals: 5 }], [2, {
      outOfMemory: 1
    }]])
  })

  it("counts what is reported, by any name and without what is no number", () => {
    const memories = memoriesOf(snapshot(
      counter("gpu_pool_constructor_total", 2),
      counter("gpu_pool_hit_rate", 5),
      counter("gpu_pool_memory", 6),
      counter("gpu_pool_hits_total", NaN),
      counter("gpu_pool_misses_total", Infinity)
    ))
    deepStrictEqual(Object.entries(memories[0]!.counts), [["constructor", 2], ["hitRate", 5], ["memory", 6]])
    const text = TopReport.json({ program: 1, time: 0, memories })
    deepStrictEqual(JSON.parse(text), {
      version: 1,
      time: 0,
      program: 1,
      memories: [{ constructor: 2, memory: "frames", device: "host process memory", number: 1, hitRate: null }]
    })
  })

  it("says how fast a memory leases, from the second time on", () => {
    const watched = new Watched()
    const answer = (program: number, time: number, hits: number) =>
      watched.add({ program, time, memories: memoriesOf(snapshot(counter("gpu_pool_hits_total", hits))) })
    const program = watched.connect()
    answer(program, 1000, 10)
    deepStrictEqual(watched.memories.map(({ leasesPerSecond }) => leasesPerSecond), [undefined])
    answer(program, 1500, 40)
    deepStrictEqual(watched.memories.map(({ leasesPerSecond }) => leasesPerSecond), [60])
    watched.disconnect(program)
    strictEqual(watched.connect(), 2)
    deepStrictEqual(watched.memories, [])
    strictEqual(TopReport.text(watched, none, endless), "No program is connected.")
  })

  it("draws as many memories as the screen has lines for, those that manage the most", () => {
    const watched = new Watched()
    const answer = (program: number, count: number) =>
      watched.add({
        program,
        time: 0,
        memories: Array.from({ length: count }, (_, at) => ({
          memory: `pool ${at}`,
          device: "d",
          number: 1,
          // the largest counts come in the middle
          counts: { managedBytes: Math.min(at, count - at) }
        }))
      })
    answer(watched.connect(), 60_000)
    const lines = (height: number) => TopReport.text(watched, none, { width: Infinity, height }).split("\n")
    deepStrictEqual([24, 50, 2, Infinity].map((height) => lines(height).length), [23, 49, 6, 105])
    const pools = lines(16).flatMap((line) => /pool (\d+)/.exec(line)?.[1] ?? [])
    deepStrictEqual(pools, ["29995", "29996", "29997", "29998", "29999", "30000", "30001", "30002", "30003", "30004"])
    strictEqual(lines(16).at(-1), "and 59,990 smaller ones, which --json has too")
    for (let program = 2; program < 62; program++) answer(program, 0)
    assert.include(lines(24).at(-1), "Programs 2, 3, 4, 5, 6, 7, 8, 9, and 52 more report no pool")
    strictEqual(lines(24).length, 23)
  })

  it("cuts names before it leaves out columns, and the numbers of equal labels never", () => {
    const watched = new Watched()
    const label = "camera/left/frames of the second exposure"
    watched.add({
      program: watched.connect(),
      time: 0,
      memories: [named(`${label}, raw`, 1), named(`${label}, raw`, 12), named(`${label}, developed`, 1)]
    })
    const shown = (width: number) =>
      TopReport.text(watched, none, { width, height: Infinity }).split("\n").slice(3, -1).map((row) =>
        row.split("│").slice(2, 4).map((cell) => cell.trim())
      )
    deepStrictEqual(shown(Infinity), [
      [`${label}, raw`, "webgpu NVIDIA GeForce RTX 4090 (Driver…"],
      [`${label}, raw 12`, "webgpu NVIDIA GeForce RTX 4090 (Driver…"],
      [`${label}, developed`, "webgpu NVIDIA GeForce RTX 4090 (Driver…"]
    ])
    deepStrictEqual(shown(130), [
      ["camera/left/fr…re, raw", "webgpu NVIDIA…"],
      ["camera/left/…e, raw 12", "webgpu NVIDIA…"],
      ["camera/left/fr…veloped", "webgpu NVIDIA…"]
    ])
    for (let width = 60; width < 200; width++) {
      const rows = TopReport.text(watched, none, { width, height: Infinity }).split("\n")
      assert.isAtMost(Math.max(...rows.map(({ length }) => length)), width)
      strictEqual(new Set(rows.slice(3, -1)).size, 3)
    }
  })

  it("has a column of hosts where a program names its own", () => {
    const watched = new Watched()
    const attributes = { memory: "frames", device: "d", number: "1" }
    const add = (host: Readonly<Record<string, string>>) =>
      watched.add({
        program: watched.connect(),
        time: 0,
        memories: memoriesOf(snapshot(counter("gpu_pool_hits_total", 1, { ...attributes, ...host })))
      })
    const cells = () =>
      TopReport.text(watched, none, endless).split("\n").filter((row) => row.startsWith("│")).map((row) =>
        row.split("│").slice(1, 4).map((cell) => cell.trim())
      )
    add({})
    deepStrictEqual(cells(), [["program", "memory", "device"], ["1", "frames", "d"]])
    add({ host: "render-2" })
    deepStrictEqual(cells(), [["program", "host", "memory"], ["1", "", "frames"], ["2", "render-2", "frames"]])
    const [first, second] = watched.programs.map((answer) =>
      JSON.parse(TopReport.json(answer)) as {
        readonly memories: ReadonlyArray<{ readonly host?: string }>
      }
    )
    deepStrictEqual([first, second].map((answer) => answer!.memories[0]!.host), [undefined, "render-2"])
  })

  it("says what a program lacks that reports no pool, and shows no text of others as it is", () => {
    const watched = new Watched()
    watched.add({ program: watched.connect(), time: 0, memories: [] })
    assert.include(TopReport.text(watched, none, endless), "Program 1 reports no pool: it needs PoolMetrics.layer()")
    const memory = "a\u001b[2Jb"
    watched.add({
      program: 1,
      time: 1,
      memories: memoriesOf(snapshot(counter("gpu_pool_hits_total", 1, { memory })))
    })
    assert.include(TopReport.text(watched, none, endless), "a\\u001b[2Jb")
  })
})
