/** Random programs of two libraries on one device with a pool: each computes what it does alone on a device without one. */
import type { InstallOptions } from "@effect-gpu-pool/interop/install"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { runs } from "../../../test/support/explore.ts"
import { describeWith } from "../../../test/support/required.ts"
import { Programs } from "./workloads/programs/inNode.ts"
import type { LibraryName } from "./workloads/programs/libraries.ts"
import type { Case, Step } from "./workloads/programs/Program.ts"

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("make", "make", "read", "end"),
  size: fc.nat(3),
  value: fc.integer({ min: 1, max: 9 }),
  which: fc.nat(9)
})

const program = fc.array(step, { minLength: 4, maxLength: 12 })

const anyCase: fc.Arbitrary<Case> = fc.record({
  programs: fc.tuple(program, program),
  turns: fc.array(fc.nat(1), { minLength: 1, maxLength: 40 })
})

/** Runs cases until one gives other results than its programs alone, without a pool. */
const check = async (libraries: ReadonlyArray<LibraryName>, options: InstallOptions) => {
  const alone = await Programs.open({ libraries, alone: true, options: undefined })
  const together = await Programs.open({ libraries, alone: false, options })
  try {
    let hits = 0
    const details = await fc.check(
      fc.asyncProperty(anyCase, async (one) => {
        const { errors, results, stats } = await together.run(one)
        hits = stats!.hits
        deepStrictEqual([results, errors], [(await alone.run(one)).results, []])
      }),
      { numRuns: runs(300) }
    )
    return { details, hits }
  } finally {
    alone.close()
    together.close()
  }
}

const pairs: ReadonlyArray<readonly [LibraryName, LibraryName]> = [
  ["TypeGPU", "three.js"],
  ["TypeGPU", "jax-js"],
  ["three.js", "jax-js"]
]

describeWith(["webgpu"], "programs of two libraries on a device with a pool", () => {
  describe.each([{}, { strict: false, track: true }])("with the options %o", (options) => {
    it.each(pairs)("%s and %s never read each other's bytes", async (...libraries) => {
      const { details, hits } = await check(libraries, options)
      if (details.failed) throw new Error(fc.defaultReportMessage(details) ?? "a case failed")
      assert.isAbove(hits, 0)
    })
  })

  it("would be told apart, if they read each other's bytes", async () => {
    strictEqual((await check(["TypeGPU", "jax-js"], { clear: "never" })).details.failed, true)
  })
})
