/** The benchmark command for users: tests only that it measures, not what. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as BenchReport from "../src/bench/BenchReport.ts"
import { compare, type DeviceFigures, median } from "../src/bench/DeviceFigures.ts"
import * as Format from "../src/Format.ts"
import { none } from "../src/Output.ts"
import { commandInProcess } from "./inProcess.ts"

const { run } = commandInProcess()

describe("effect-gpu-pool bench", () => {
  it.concurrent("measures allocations and transfers of what is selected", async () => {
    const { code, stderr, stdout } = await run(["bench", "--json", "--select", "host"])
    strictEqual(code, 0, stderr)
    const { devices, version } = JSON.parse(stdout) as BenchReport.Report
    strictEqual(version, 1)
    deepStrictEqual(devices.map(({ name, selector, type, why }) => [selector, name, type, why]), [
      ["host:0:0", "process memory", "cpu", null]
    ])
    const { allocations = [], transfers = [] } = devices[0]?.figures ?? {}
    deepStrictEqual(allocations.map(({ bytes, filled }) => [bytes, filled]), [[2 ** 20, false], [2 ** 24, true]])
    for (const { pooled, ratio, unpooled } of allocations) assert.isTrue(pooled > 0 && unpooled > 0 && ratio > 0)
    deepStrictEqual(transfers.map(({ direction }) => direction), ["hostToDevice", "deviceToHost", "deviceToDevice"])
    for (const { bytes, bytesPerSecond } of transfers) assert.isTrue(bytes === 2 ** 24 && bytesPerSecond > 0)
  })

  it.concurrent("prints a section for each device", async () => {
    const { code, stderr, stdout } = await run(["bench", "--select", "host"])
    strictEqual(code, 0, stderr)
    assert.match(
      stdout,
      /^host:0:0 {2}process memory \(cpu\)\n {2}1 MiB, allocated and released +\S+ [nµm]s with the pool/
    )
    assert.match(stdout, /^ {2}16 MiB to the device +\S+ GB\/s$/m)
  })

  it.concurrent("fails for a selection without a device", async () => {
    const { code, stderr } = await run(["bench", "--select", "host:0:7"])
    strictEqual(code, 1)
    assert.include(stderr, "no such device")
  })
})

describe("what bench makes of times", () => {
  it("takes the median", () => {
    deepStrictEqual([median([3, 1, 2]), median([4, 1, 2, 3])], [2, 2.5])
  })

  // A clock that only the measured code advances: calls of 1 and of 5 ms, and a wait of 1 ms in each turn.
  it.effect("compares two ways turn by turn, each first in half of the rounds", () =>
    Effect.gen(function*() {
      let now = 0
      const order: Array<string> = []
      const takes = (name: string, nanos: number) =>
        Effect.sync(() => {
          now += nanos
          if (order.at(-1) !== name) order.push(name)
        })
      const clock = yield* Clock.Clock
      const counted: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
        currentTimeNanos: Effect.sync(() => BigInt(now)),
        currentTimeNanosUnsafe: () => BigInt(now)
      })
      const found = yield* compare(takes("one", 1e6), takes("other", 5e6), takes("wait", 1e6)).pipe(
        Effect.provideService(Clock.Clock, counted)
      )
      // 4 calls of the one and 1 of the other make 4 ms with the wait
      deepStrictEqual(found, { one: 1.25e6, other: 6e6, ratio: 4.8 })
      const turns = order.filter((name) => name !== "wait").slice(-80)
      deepStrictEqual(turns, Array.from({ length: 20 }, () => ["one", "other", "other", "one"]).flat())
    }))

  it("names the device that could not be measured, with the reason", () => {
    const listed = {
      backend: "opencl",
      platform: { index: 0, name: "p", vendor: "" },
      device: { index: 1, name: "d", vendor: "" },
      type: "gpu" as const,
      driver: "",
      memoryBytes: undefined,
      unusable: undefined
    }
    strictEqual(
      BenchReport.text(BenchReport.measured(listed, "it is lost"), none),
      "opencl:0:1  d (gpu)\n  not measured: it is lost\n"
    )
    const figures: DeviceFigures = {
      allocations: [{ bytes: 1024, filled: false, pooled: 830, unpooled: 54_000, ratio: 65.06 }],
      transfers: [{ direction: "deviceToHost", bytes: 1024, bytesPerSecond: 12.34e9 }]
    }
    strictEqual(
      BenchReport.text(BenchReport.measured(listed, figures), none),
      "opencl:0:1  d (gpu)\n  1 KiB, allocated and released  830 ns with the pool, 54 µs without: 65 times as long without the pool\n" +
        "  1 KiB from the device          12.3 GB/s\n"
    )
  })

  it.each([
    [65.06, "65 times as long without the pool"],
    [1.3, "1.3 times as long without the pool"],
    [1.04, "as long with it as without"],
    [0.99, "as long with it as without"],
    [0.5, "2.0 times as long with the pool"],
    [1234.5, "1235 times as long without the pool"]
  ])("says which side takes longer: %d", (ratio, shown) => {
    const allocation = { bytes: 1024, filled: false, pooled: 1, unpooled: 1, ratio }
    const device = { selector: "host:0:0", name: "h", type: null, why: null }
    const text = BenchReport.text({ ...device, figures: { allocations: [allocation], transfers: [] } }, none)
    assert.include(text, `1.0 ns without: ${shown}\n`)
  })

  it.each([[0.5, "0.50 ns"], [830, "830 ns"], [1e3, "1.0 µs"], [54_321, "54 µs"], [99_700, "100 µs"], [
    123_456,
    "123 µs"
  ], [
    2.5e9,
    "2.5 s"
  ]])(
    "shows %d ns as %s",
    (nanos, shown) => strictEqual(Format.duration(nanos), shown)
  )

  it.each([[0, "0 B"], [1023, "1023 B"], [1536, "1.5 KiB"], [2 ** 32, "4 GiB"], [3 * 2 ** 50, "3072 TiB"]])(
    "shows %d B as %s",
    (bytes, shown) => strictEqual(Format.bytes(bytes), shown)
  )
})
