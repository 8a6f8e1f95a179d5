/** TensorFlow.js and onnxruntime-web, in Node: equal bits with a pool under their device, and what it saves. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { isWhole } from "../../../test/support/explore.ts"
import { describeWith } from "../../../test/support/required.ts"
import { inNode } from "./workloads/inNode.ts"
import type { Course, Run } from "./workloads/Workload.ts"

interface Way {
  readonly hasPool: boolean
  readonly course?: Partial<Course>
}

/** Runs a workload without a pool, and in other ways, in which it computes the same bits. */
const same = async (
  file: string,
  course: Course,
  ...ways: ReadonlyArray<Way>
): Promise<readonly [raw: Run, ...others: ReadonlyArray<Run>]> => {
  const raw = await inNode(file, undefined, course)
  deepStrictEqual([raw.errors, raw.filled, new Set(raw.results).size], [[], course.steps, course.steps])
  const others: Array<Run> = []
  for (const way of ways) {
    const other = await inNode(file, way.hasPool ? {} : undefined, { ...course, ...way.course })
    deepStrictEqual([other.results, other.errors, other.stats?.staleUses ?? 0], [raw.results, [], 0])
    others.push(other)
  }
  return [raw, ...others]
}

const passing: Way = { hasPool: true, course: { passesThrough: true } }

describeWith(["webgpu"], "TensorFlow.js", () => {
  it("needs a tenth of the memory for prompts of different lengths", async () => {
    const [raw, pooled] = await same("tensorflowPrompts.ts", { steps: 100 }, passing)
    console.log(
      `prompts: ${raw.peakBytes} B, ${raw.creates} buffers; ${pooled!.peakBytes} B, ${pooled!.creates} buffers`
    )
    assert.isAtMost(10 * pooled!.peakBytes, raw.peakBytes)
    assert.isBelow(pooled!.creates, raw.creates)
  })

  it("needs a tenth of the memory for images of different sizes", async () => {
    const alone: Way = { hasPool: false, course: { passesThrough: true } }
    const [raw, pooled, , own] = await same("tensorflowImages.ts", { steps: 40 }, passing, alone, { hasPool: true })
    console.log(
      `images: ${raw.peakBytes} B, ${raw.creates} buffers; ${pooled!.peakBytes} B, ${pooled!.creates} buffers`
    )
    assert.isAtMost(10 * pooled!.peakBytes, raw.peakBytes)
    assert.isBelow(pooled!.creates, raw.creates)
    // Its own manager gives nothing back that could be lent again.
    strictEqual(own!.creates, raw.creates)
  })
})

/** Buffers that the driver has made for each token, from the fourth on: the first three make what the others take in turns. */
const perToken = ({ createsAfter }: Run, tokens: number): number =>
  (createsAfter[2 + tokens]! - createsAfter[2]!) / tokens

describeWith(["webgpu"], "onnxruntime-web", () => {
  it("asks the driver for no cache that grows within its size", async () => {
    // Each layer does the same: docs/interop.md has the figures of 24.
    const layers = isWhole ? 24 : 4
    const doubling: Way = { hasPool: true, course: { doubles: true } }
    const [raw, pooled, doubled] = await same("onnxCache.ts", { steps: 35, layers }, { hasPool: true }, doubling)
    const counts = [raw, pooled!, doubled!].map((run) =>
      `${perToken(run, 16)}, ${perToken(run, 32)} buffers a token, ${run.peakBytes} B`
    )
    console.log(`cache: ${counts.join("; ")}`)
    assert.isAtLeast(perToken(raw, 32), 2 * layers)
    assert.isAtMost(perToken(doubled!, 32), 0.1)
    // A block of the default sizes has room for 32 more rows of 512: then each of the two tensors of a layer needs two others.
    assert.isAtMost(perToken(pooled!, 16), 0.1)
    assert.isAtMost(perToken(pooled!, 32), 2 * 2 * layers / 32 + 0.25)
  })

  it("computes the same of texts of different lengths", async () => {
    const [raw, pooled] = await same("onnxLengths.ts", { steps: 24 }, { hasPool: true })
    assert.isBelow(pooled!.creates, raw.creates)
  })
})
