/** Programs of other libraries, in Chromium: equal bits with a pool under their device. */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { inPage, pageOf } from "../../packages/interop/test/workloads/inPage.ts"
import { describeWith } from "../support/required.ts"
import { FreshPages } from "./Chromium.ts"

const libraries = [
  { library: "TypeGPU", file: "typegpu.ts" },
  { library: "three.js", file: "three.ts" },
  { library: "jax-js", file: "jax.ts" }
]

describeWith(["chromium"], "with a pool under the device of a page", () => {
  layer(FreshPages.layer, { timeout: "2 minutes" })((it) => {
    it.effect.each(libraries)("$library computes the same bits", ({ file }) =>
      Effect.gen(function*() {
        const script = yield* Effect.promise(() => pageOf(file))
        const raw = yield* inPage(script)
        const pooled = yield* inPage(script, {})
        deepStrictEqual([raw.errors, raw.complaints, pooled.errors, pooled.complaints], [[], [], [], []])
        deepStrictEqual(pooled.results, raw.results)
        assert.isAtLeast(new Set(raw.results).size, 20)
        assert.isBelow(pooled.creates, raw.creates)
      }))
  })
})
