/** Random programs of two libraries on one device with a pool: each computes what it does alone on a device without one. */
import type { InstallOptions } from "@effect-gpu-pool/interop/install"
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { runs, some } from "../../../test/support/explore.ts"
import { describeWith } from "../../../test/support/required.ts"
import { check, type Checked, pairs } from "./workloads/programs/cases.ts"
import { Programs } from "./workloads/programs/inNode.ts"
import type { LibraryName } from "./workloads/programs/libraries.ts"

const checkInNode = async (libraries: ReadonlyArray<LibraryName>, options: InstallOptions): Promise<Checked> => {
  const alone = await Programs.open({ libraries, alone: true, options: undefined })
  const together = await Programs.open({ libraries, alone: false, options })
  try {
    return await check((one) => alone.run(one), (one) => together.run(one), runs(300))
  } finally {
    alone.close()
    together.close()
  }
}

describeWith(["webgpu"], "programs of two libraries on a device with a pool", () => {
  const lists = [{ options: {}, tried: pairs }, { options: { strict: false, track: true }, tried: some(pairs) }]
  describe.each(lists)("with the options $options", ({ options, tried }) => {
    it.each(tried)("%s and %s never read each other's bytes", async (...libraries) => {
      const { hits, problem } = await checkInNode(libraries, options)
      strictEqual(problem, undefined)
      assert.isAbove(hits, 0)
    })
  })

  it("would be told apart, if they read each other's bytes", async () => {
    const { problem } = await checkInNode(["TypeGPU", "jax-js"], { clear: "never" })
    assert.include(problem, "Property failed")
  })
})
