/** What a page loads for an entry point. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { gzipSync } from "node:zlib"
import { bundle } from "../../../test/browser/Chromium.ts"

describe("the bundle of an entry point", () => {
  it("of TensorFlow.js has nothing of Effect, of the library and of TensorFlow.js", async () => {
    const { code, metafile } = await bundle({ entryPoints: ["packages/interop/src/tfjs.ts"] })
    deepStrictEqual(Object.keys(metafile.inputs).filter((file) => !file.startsWith("packages/interop/src/")), [])
    assert.isAtMost(gzipSync(code).length, 1500)
  })
})
