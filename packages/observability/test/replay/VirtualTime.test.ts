/** A replay that repeats itself ends after a bounded number of steps. */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { VirtualTime } from "../../src/replay/simulated/VirtualTime.ts"
import { Search } from "../../src/replay/SmallestLimit.ts"

const noRequest = (): number => 0

describe("a replay comes to an end", () => {
  it("where a task makes itself anew", () => {
    const time = new VirtualTime(0, 0, 0, noRequest)
    let runs = 0
    const again = (): void => {
      runs++
      time.add(again)
    }
    again()
    time.drain()
    assert.isTrue(time.isSpent)
    assert.isAtMost(runs, 200_001)
  })

  it("where a timer sets itself again, however much time passes", () => {
    for (const millis of [0, 5e-324, 1]) {
      const time = new VirtualTime(0, 0, 1, noRequest)
      let runs = 0
      const again = (): void => {
        runs++
        time.after(millis, again)
      }
      again()
      time.finish(() => !time.isSpent)
      assert.isTrue(time.isSpent)
      assert.isAtMost(runs, 100)
    }
  })

  it("not before each event has had its steps and timers", () => {
    const time = new VirtualTime(0, 1, 4, () => 1000)
    for (let event = 0; event < 10; event++) {
      time.event()
      for (let step = 0; step < 1_200_000; step++) time.step()
    }
    assert.isFalse(time.isSpent)
    time.step()
    assert.isTrue(time.isSpent)
  })
})

/** At most 64 rounds, each with the doublings and halvings of a 53-bit number. */
const mostTries = 64 * 2 * 53

describe("the search for the smallest limit", () => {
  it("comes to an end where every second limit fails", () => {
    let tries = 0
    const attempt = (maxBytes: number) =>
      Effect.sync(() => {
        if (++tries > mostTries) throw new Error("it goes on and on")
        return { passes: maxBytes % 2 === 0 || maxBytes >= 2 ** 40, failed: undefined, peakBytes: 2 ** 40 }
      })
    const found = Effect.runSync(new Search(1, attempt).run())
    strictEqual(found?.isMonotonic, false)
    strictEqual(found === undefined ? undefined : found.maxBytes - found.failsAt, 1)
  })
})
