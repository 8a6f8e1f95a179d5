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
    strictEqual(millis(Delay.parse({ seconds: 1, milliseconds: 5 })), 1005)
    strictEqual(millis(Delay.parse({ seconds: 0 })), 0)
    strictEqual(millis(Delay.parse([1, 500_000_000])), 1500)
    strictEqual(millis(Delay.parse(Duration.seconds(2))), 2000)
  })

  it("is an object like a Temporal.Duration, whose units are getters of its class", () => {
    class Lasting {
      get years() {
        return 0
      }
      get seconds() {
        return 3
      }
    }
    strictEqual(millis(Delay.parse(new Lasting())), 3000)
  })

  it.each([
    NaN,
    -1,
    "soon" as never,
    { seconds: -1 }
  ])("is not %j", (input) => {
    strictEqual(Delay.parse(input), undefined)
  })
})
