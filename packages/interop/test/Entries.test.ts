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

  it("of onnxruntime-web adds little to the library, and nothing of onnxruntime-web", async () => {
    const { metafile } = await bundle({ entryPoints: ["packages/interop/src/ort.ts"] })
    const inputs = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs))
    deepStrictEqual(inputs.filter(([file]) => file.includes("onnxruntime")), [])
    const own = inputs.filter(([file]) => file.startsWith("packages/interop/src/"))
    const bytes = own.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0)
    assert.isAbove(bytes, 0)
    assert.isAtMost(bytes, 5000)
  })
})
