/** Times and bytes as the page of the viewer writes them. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { momentText, parseMillis, spanText } from "../../src/viewer/page/model/Format.ts"

const times = fc.oneof(fc.nat(10_000), fc.nat(400_000_000), fc.double({ min: 0, max: 1e9, noNaN: true }))
const steps = fc.constantFrom(1e-6, 1e-3, 0.1, 1, 100, 1000, 60_000)

describe("a moment", () => {
  it("is read back to the step at which it was written", () => {
    fc.assert(fc.property(times, steps, (millis, step) => {
      const read = parseMillis(momentText(millis, step))
      assert(read !== undefined)
      assert.closeTo(read, millis, step * 0.501 + 1e-6)
    }))
  })

  it("has no digit beyond its step, and none that is 0 at its end", () => {
    fc.assert(fc.property(times, (millis) => {
      const text = momentText(millis, 1)
      assert.notMatch(text, /\.\d{4}|\.\d*0 |\d\.\d+ ms|µs/)
    }))
  })

  it.each([
    [0, 1, "0 ms"],
    [0, 1e-3, "0 ms"],
    [0.25, 1e-3, "250 µs"],
    [12, 1, "12 ms"],
    [999.9996, 1e-3, "1 s"],
    [2345, 1, "2.345 s"],
    [2345, 100, "2.3 s"],
    [59_999.7, 1, "1 min"],
    [74_256, 1, "1 min 14.256 s"],
    [3_723_456, 1, "1 h 2 min 3.456 s"],
    [3_600_000, 60_000, "1 h"],
    [90_061_000, 1000, "1 d 1 h 1 min 1 s"],
    [-1500, 1, "−1.5 s"]
  ])("of %d ms to %d ms is %s", (millis, step, text) => strictEqual(momentText(millis, step), text))

  it.each([
    ["1 h 2 min 3.5 s", 3_723_500],
    ["2000 ms", 2000],
    ["1,5", 15_000],
    ["90", 90_000],
    [" 3m ", 180_000],
    ["1 x", undefined],
    ["s 1", undefined],
    ["", undefined],
    ["1 s and", undefined]
  ])("is read from %j", (text, millis) => strictEqual(parseMillis(text), millis))
})

describe("a span", () => {
  it("has three digits, or two units, and never more than the clock tells", () => {
    const shown = [0, 0.1234, 4, 12.3456, 256, 1234, 59_999, 74_256, 3_723_456, 90_061_000]
    deepStrictEqual(shown.map((millis) => spanText(millis, 1)), [
      "0 ms",
      "0 ms",
      "4 ms",
      "12 ms",
      "256 ms",
      "1.23 s",
      "1 min",
      "1 min 14 s",
      "1 h 2 min",
      "1 d 1 h"
    ])
    deepStrictEqual([0.1234, 12.3456].map((millis) => spanText(millis, 1e-3)), ["123 µs", "12.3 ms"])
  })
})
