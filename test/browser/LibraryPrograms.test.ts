/** Random programs of two libraries on one device with a pool, in Chromium: each computes what it does alone, without one. */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { check, pairs } from "../../packages/interop/test/workloads/programs/cases.ts"
import { programsInPage, programsPage } from "../../packages/interop/test/workloads/programs/inPage.ts"
import { runs, some } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"
import { FreshPages } from "./Chromium.ts"

describeWith(["chromium"], "programs of two libraries on a device with a pool, in pages", () => {
  layer(FreshPages.layer, { timeout: "2 minutes" })((it) => {
    it.effect.each(some(pairs).map((libraries) => ({ libraries, names: libraries.join(" and ") })))(
      "$names never read each other's bytes",
      ({ libraries }) =>
        Effect.scoped(Effect.gen(function*() {
          const complaints: Array<string> = []
          const script = yield* Effect.promise(programsPage)
          const alone = yield* programsInPage(script, { libraries, alone: true, options: undefined }, complaints)
          const together = yield* programsInPage(script, { libraries, alone: false, options: {} }, complaints)
          const { hits, problem } = yield* Effect.promise(() => check(alone, together, runs(100)))
          strictEqual(problem, undefined)
          assert.isAbove(hits, 0)
          deepStrictEqual(complaints, [])
        }))
    )
  })
})
