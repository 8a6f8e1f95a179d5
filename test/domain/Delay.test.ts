import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Duration from "effect/Duration"
import * as Delay from "../../src/domain/device/Delay.ts"

const millis = (delay: Duration.Duration | undefined) => delay === undefined ? undefined : Duration.toMillis(delay)

describe("a delay", () => {
  it("is a duration from 0", () => {
    strictEqual(millis(Delay.parse("2 seconds")), 2000)
    strictEqual(millis(Delay.parse(0)), 0)
    strictEqual(millis(Delay.parse(7)), 7)
  })

  it.each([NaN, -1])("is not %d", (input) => {
    strictEqual(Delay.parse(input), undefined)
  })
})
