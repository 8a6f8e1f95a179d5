import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { delayOf, FaultPlan } from "../../src/domain/device/FaultPlan.ts"

const next = (plan: FaultPlan<string>, calls: number) =>
  Array.from({ length: calls }, () => plan.next() ?? "-").join("")

describe("a plan of faults", () => {
  it("meets the nth call from when it was made, so many times", () => {
    const plan = new FaultPlan<string>()
    plan.add({}, "a")
    plan.add({ nth: 3, times: 2 }, "b")
    strictEqual(next(plan, 5), "a-bb-")
    plan.add({ nth: 2 }, "c")
    strictEqual(next(plan, 3), "-c-")
    strictEqual(plan.count, 8)
  })

  it("meets all calls from the nth, until it is cleared", () => {
    const plan = new FaultPlan<string>()
    plan.add({ nth: 2, times: Infinity }, "a")
    strictEqual(next(plan, 4), "-aaa")
    plan.clear()
    strictEqual(next(plan, 2), "--")
    strictEqual(plan.count, 6)
  })

  it("answers the fault that was planned first where windows overlap", () => {
    const plan = new FaultPlan<string>()
    plan.add({ nth: 2 }, "a")
    plan.add({ times: 3 }, "b")
    strictEqual(next(plan, 4), "bab-")
  })

  it.each([{ nth: 0 }, { nth: -1 }, { nth: 1.5 }, { nth: NaN }, { nth: Infinity }, { times: 0 }, { times: NaN }])(
    "refuses what no call can meet: %o",
    (window) => {
      const plan = new FaultPlan<string>()
      assert.throws(() => plan.add(window, "a"), RangeError, "is no positive integer")
      strictEqual(next(plan, 2), "--")
    }
  )

  it("refuses a delay that is none", () => {
    assert.throws(() => delayOf(-1), RangeError, "-1 is no delay")
    strictEqual(delayOf(undefined), undefined)
  })

  it("agrees with looking through all windows at each call", () => {
    const window = fc.record({ nth: fc.integer({ min: 1, max: 6 }), times: fc.integer({ min: 1, max: 4 }) })
    fc.assert(fc.property(fc.array(fc.oneof(window, fc.constant("call" as const)), { maxLength: 40 }), (steps) => {
      const plan = new FaultPlan<number>()
      const planned: Array<{ readonly nth: number; readonly times: number; readonly from: number }> = []
      let calls = 0
      const pairs = steps.flatMap((step) => {
        if (step !== "call") {
          plan.add(step, planned.length)
          planned.push({ ...step, from: calls })
          return []
        }
        calls += 1
        const first = planned.findIndex(({ from, nth, times }) => {
          const at = calls - from
          return nth <= at && at < nth + times
        })
        return [[plan.next(), first === -1 ? undefined : first]]
      })
      deepStrictEqual(pairs.map(([got]) => got), pairs.map(([, expected]) => expected))
    }))
  })
})
