import { assert, it } from "@effect/vitest"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"
import type { Backend } from "./Backends.ts"
import * as Campaign from "./Campaign.ts"
import { callsPerEpoch } from "./Epoch.ts"
import { isPending } from "./Pending.ts"

const seed = 1

/** A fixed number of calls, so that a run costs the same on every machine. */
const fuzz = (backend: Backend, most: number): void => {
  const epochs = runs(most, 1)
  it(`keeps its promises in ${epochs * callsPerEpoch} calls on ${backend} (seed ${seed})`, async () => {
    const { calls, findings } = await Campaign.run({ backend, seed, from: 0, to: epochs })
    const shrunk: Array<string> = []
    for (const finding of findings.filter((finding) => !isPending(finding)).slice(0, 5)) {
      shrunk.push(Campaign.format(await Campaign.shrink(finding)))
    }
    assert.strictEqual(shrunk.join("\n"), "")
    assert.isAbove(calls, epochs * callsPerEpoch * 0.7, "calls that were made")
  })
}

describeWith([], "any value anywhere, on the host", () => {
  fuzz("host", 80)
  fuzz("slow-host", 25)
})

describeWith(["webgpu"], "any value anywhere, on WebGPU", () => {
  fuzz("webgpu", 10)
})

describeWith([], "any value anywhere, on Dawn's null device", () => {
  fuzz("webgpu-null", 40)
})

describeWith(["opencl"], "any value anywhere, on OpenCL", () => {
  fuzz("opencl", 6)
})

describeWith(["oclgrind"], "any value anywhere, on Oclgrind", () => {
  fuzz("oclgrind", 3)
})
