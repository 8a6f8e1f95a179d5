import { PoolAgreement } from "@effect-gpu-pool/testing/properties"
import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { SizePolicy } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"

it(
  "agrees with a naive model in every counter, after every command",
  () => fc.assert(PoolAgreement.onHost(), { numRuns: runs(300) }),
  60_000
)

describe("the agreement itself", () => {
  it("runs on a device of any layer", () =>
    fc.assert(PoolAgreement.on(Host.layer({ granularity: 4, lateFree: true })), { numRuns: runs(50) }))

  it("finds a policy that does not do what its model says", async () => {
    const wrong: PoolAgreement.PolicyPair = [
      SizePolicy.table([64]),
      { blockSize: (request) => request, borrowHalves: 0n }
    ]
    const { failed } = await fc.check(PoolAgreement.onHost({ policies: [wrong] }), { numRuns: 20 })
    strictEqual(failed, true)
  })

  const { evictions } = PoolAgreement
  const crossed = evictions.map(([policy], own) => {
    const [other, model] = evictions[(own + 1) % evictions.length]!
    return { policy, other, model }
  })
  it.each(crossed)("finds that eviction $policy.name is not $other.name", async ({ model, policy }) => {
    const property = PoolAgreement.onHost({ evictions: [[policy, model]] })
    const { failed } = await fc.check(property, { numRuns: 2000, seed: 1, endOnFailure: true })
    strictEqual(failed, true)
  })
})

describe("a policy of a program's own", () => {
  // Blocks of both usages have one size here, which the commands keep apart.
  it("is held against what it is meant to compute", () => {
    const pages: PoolAgreement.PolicyPair = [
      SizePolicy.table([512, 1024]),
      { blockSize: (request) => request <= 512n ? 512n : request <= 1024n ? 1024n : request, borrowHalves: 0n }
    ]
    return fc.assert(PoolAgreement.onHost({ policies: [pages] }), { numRuns: runs(200) })
  })
})

describeWith(["opencl"], "a pool on OpenCL", () => {
  it("agrees with the model", () => fc.assert(PoolAgreement.on(OpenCl.layer()), { numRuns: runs(50) }))
})

describeWith(["webgpu"], "a pool on WebGPU", () => {
  it("agrees with the model", () => fc.assert(PoolAgreement.on(WebGpu.layer()), { numRuns: runs(25) }))
})
