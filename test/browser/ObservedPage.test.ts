/** The script for a page that is already running: what it is, and what it sees in Chromium. */
import { Recording } from "@effect-gpu-pool/observability"
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { pageScript } from "../../scripts/pageScript.ts"
import { describeWith } from "../support/required.ts"
import { Chromium } from "./Chromium.ts"

const script = () => pageScript(join(import.meta.dirname, "../../packages/interop/src/page.ts"))

describe("the script for a page", () => {
  it("is one small file without imports", async () => {
    const text = await script()
    assert.isAtMost(gzipSync(text).length, 6000)
    assert.notMatch(text, /\b(?:import|export)\b/)
  })
})

/** What the page runs: a device from before, and a step that forgets a buffer. The address names its lines. */
const leaking = `
globalThis.device = await (await navigator.gpu.requestAdapter()).requestDevice()
globalThis.kept = []
globalThis.step = function step() {
  kept.push(device.createBuffer({ size: 4096, usage: GPUBufferUsage.STORAGE, label: "logits" }))
  device.createBuffer({ size: 64, usage: GPUBufferUsage.STORAGE }).destroy()
}
//# sourceURL=https://example.test/leaking.js
`

describeWith(["chromium"], "the script, in Chromium", () => {
  layer(Chromium.layer, { timeout: "2 minutes" })((it) => {
    it.effect("watches a page that is already running, and saves a recording", () =>
      Effect.gen(function*() {
        const { complaints, ordinary } = yield* Chromium
        const file = yield* Effect.promise(async () => {
          await ordinary.evaluate(`(async () => {${leaking}})()`)
          await ordinary.addScriptTag({ content: await script() })
          await ordinary.evaluate(`for (let at = 0; at < 3; at++) step()`)
          const saved = ordinary.waitForEvent("download")
          await ordinary.evaluate(`gpuMemory.save()`)
          const download = await saved
          strictEqual(download.suggestedFilename(), "gpu-memory.jsonl")
          return readFileSync(await download.path(), "utf8")
        })
        const table = yield* Effect.promise(() => ordinary.evaluate<string>(`gpuMemory.table()`))
        assert.match(table, /^3 live, 12,288 B; at most 12,352 B\n/)
        assert.match(table, /3 buffers "logits", oldest .*, made at (?:globalThis\.)?step .*leaking\.js:5:20/)
        const recording = yield* Recording.fromLines(file)
        const tags = Array.from(Recording.events(recording), ({ _tag }) => _tag)
        deepStrictEqual(tags, Array.from({ length: 3 }, () => ["Leased", "Leased", "Released", "Freed"]).flat())
        yield* Effect.promise(() => ordinary.addScriptTag({ content: `gpuMemory.mine = true` }))
        yield* Effect.promise(async () => ordinary.addScriptTag({ content: await script() }))
        const seen = yield* Effect.promise(() =>
          ordinary.evaluate(
            `[gpuMemory.mine, gpuMemory.stop(), device.createBuffer.toString().includes("[native code]")]`
          )
        )
        deepStrictEqual(seen, [true, undefined, true])
        deepStrictEqual(complaints, [])
      }))
  })
})
