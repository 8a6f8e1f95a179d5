/** The search for a limit, without a replay. */
import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { Search } from "../../src/replay/SmallestLimit.ts"

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
