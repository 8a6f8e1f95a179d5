/** Programs of other libraries, in Node: equal bits with a pool under their device, and fewer allocations. */
import { assert, it } from "@effect/vitest"
import { describeWith } from "../../../test/support/required.ts"
import { assertFigures, figures } from "./workloads/figures.ts"
import { inNode } from "./workloads/inNode.ts"

describeWith(["webgpu"], "with a pool under the device", () => {
  it.each(figures)("$library computes the same bits", async (expected) => {
    assertFigures(expected, await inNode(expected.file), await inNode(expected.file, {}))
  })

  it("TypeGPU finds bytes of others where reused buffers are not cleared, so these programs would tell", async () => {
    const raw = await inNode("typegpu.ts")
    const soiled = await inNode("typegpu.ts", { clear: "never" })
    assert.notDeepEqual(soiled.results, raw.results)
  })
})
