/** Programs of other libraries, in Chromium: equal bits with a pool under their device. */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { assertFigures, figures } from "../../packages/interop/test/workloads/figures.ts"
import { inPage, pageOf } from "../../packages/interop/test/workloads/inPage.ts"
import type { Course } from "../../packages/interop/test/workloads/Workload.ts"
import { some } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"
import { type File, FreshPages } from "./Chromium.ts"

/** Onnxruntime-web fetches it from beside its script. */
const wasm = "ort-wasm-simd-threaded.asyncify.wasm"

const assets = (): Readonly<Record<string, File>> => ({
  [wasm]: {
    body: readFileSync(new URL(wasm, import.meta.resolve("onnxruntime-web/webgpu"))),
    headers: { "content-type": "application/wasm" }
  }
})

/** Most of their time goes into programs for the GPU, which Chromium compiles for its CPU: so they have few steps, and `.ci/run` alone runs all. */
const large: ReadonlyArray<{ readonly library: string; readonly file: string; readonly course: Course }> = [
  { library: "TensorFlow.js: prompts", file: "tensorflowPrompts.ts", course: { steps: 6, passesThrough: true } },
  { library: "TensorFlow.js: images", file: "tensorflowImages.ts", course: { steps: 5, passesThrough: true } },
  { library: "onnxruntime-web: KV cache", file: "onnxCache.ts", course: { steps: 4, layers: 4 } },
  { library: "onnxruntime-web: texts", file: "onnxLengths.ts", course: { steps: 4 } }
]

describeWith(["chromium"], "with a pool under the device of a page", () => {
  layer(FreshPages.layer, { timeout: "2 minutes" })((it) => {
    it.effect.each(figures)("$library computes the same bits", (expected) =>
      Effect.gen(function*() {
        const script = yield* Effect.promise(() => pageOf(expected.file))
        const raw = yield* inPage(script)
        const pooled = yield* inPage(script, {})
        deepStrictEqual([raw.complaints, pooled.complaints], [[], []])
        assertFigures(expected, raw, pooled)
      }))

    it.effect.each(some(large, 2))("$library: the same bits", ({ course, file }) =>
      Effect.gen(function*() {
        const script = yield* Effect.promise(() => pageOf(file))
        const raw = yield* inPage(script, undefined, assets(), { ...course, passesThrough: false })
        const pooled = yield* inPage(script, {}, assets(), course)
        deepStrictEqual([raw.errors, raw.complaints, pooled.errors, pooled.complaints], [[], [], [], []])
        deepStrictEqual(pooled.results, raw.results)
        deepStrictEqual([raw.filled, new Set(raw.results).size], [course.steps, course.steps])
        assert.isBelow(pooled.creates, raw.creates)
      }))
  })
})
