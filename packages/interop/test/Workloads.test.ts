/** Programs of other libraries, in Node: equal bits with a pool under their device, and fewer allocations. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { describeWith } from "../../../test/support/required.ts"
import { inNode } from "./workloads/inNode.ts"

interface Library {
  readonly library: string
  readonly file: string
  readonly results: number
  /** Buffers that the driver makes: without a pool, and at most with one. */
  readonly creates: readonly [raw: number, most: number]
  /** The most bytes at a time with a pool, as a multiple of those without one. */
  readonly mostPeak: number
}

const libraries: ReadonlyArray<Library> = [
  { library: "TypeGPU", file: "typegpu.ts", results: 20, creates: [420, 24], mostPeak: 2.5 },
  // Vertices are mapped at creation, so their buffers are the device's own.
  { library: "three.js", file: "three.ts", results: 30, creates: [180, 96], mostPeak: 1 },
  // It keeps what it has freed for arrays of the same size.
  { library: "jax-js", file: "jax.ts", results: 24, creates: [67, 48], mostPeak: 1.02 }
]

describeWith(["webgpu"], "with a pool under the device", () => {
  it.each(libraries)("$library computes the same bits", async ({ creates, file, mostPeak, results }) => {
    const raw = await inNode(file)
    const pooled = await inNode(file, {})
    deepStrictEqual([raw.errors, pooled.errors], [[], []])
    deepStrictEqual(pooled.results, raw.results)
    deepStrictEqual([raw.filled, new Set(raw.results).size], [results, results])
    strictEqual(raw.creates, creates[0])
    assert.isAtMost(pooled.creates, creates[1])
    assert.isAtMost(pooled.peakBytes, raw.peakBytes * mostPeak)
    strictEqual(pooled.stats!.staleUses, 0)
  })

  it("TypeGPU finds bytes of others where reused buffers are not cleared, so these programs would tell", async () => {
    const raw = await inNode("typegpu.ts")
    const soiled = await inNode("typegpu.ts", { clear: "never" })
    assert.notDeepEqual(soiled.results, raw.results)
  })
})
