/**
 * `Conformance.allocator` on allocators of a program's own: every allocator that obeys the rules passes, and one that
 * breaks a rule fails with a message that names the rule and where it is documented.
 */
import { Conformance } from "@effect-gpu-pool/testing"
import { assert, describe, it } from "@effect/vitest"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { type AllocatorLayer, keepsSpare, lawful, lawless, withoutOrder } from "../support/allocators.ts"
import { type Backend, describeWith } from "../support/required.ts"
import { conformsToo } from "./conforms.ts"

/** The groups whose tests allocate from a pool; all others are the same on any allocator. */
const groups = [
  "allocator",
  "pool",
  "ended leases",
  "ownership",
  "reservations",
  "tenants",
  "queue order",
  "interruption",
  "empty buffers"
]

const onAllocator =
  (allocator: AllocatorLayer) => (test: Conformance.ConformanceTest): Conformance.ConformanceTest => ({
    ...test,
    run: Effect.provideService(test.run, Conformance.allocator, allocator)
  })

const light = Conformance.tests.filter(({ heavy }) => !heavy)
const concerned = light.filter(({ group }) => groups.includes(group))

interface Platform {
  readonly name: string
  readonly needs: ReadonlyArray<Backend>
  readonly layer: Layer.Layer<Conformance.Device, unknown>
  readonly tests: ReadonlyArray<Conformance.ConformanceTest>
}

const platforms: ReadonlyArray<Platform> = [
  { name: "the host", needs: [], layer: Host.layer(), tests: concerned },
  {
    name: "the host with late memory",
    needs: [],
    layer: Host.layer({ lateFree: true, granularity: 4 }),
    tests: concerned
  },
  { name: "OpenCL", needs: ["opencl"], layer: OpenCl.layer({ kernelCacheCapacity: 4 }), tests: concerned },
  { name: "WebGPU", needs: ["webgpu"], layer: WebGpu.layer({ kernelCacheCapacity: 4 }), tests: concerned },
  {
    name: "Dawn's null backend",
    needs: [],
    layer: WebGpu.layer({ flags: ["backend=null"] }),
    tests: Conformance.counting(concerned)
  }
]

/** The failures of the tests in the group "allocator". */
const failures = ({ layer, tests }: Platform, allocator: AllocatorLayer) =>
  Effect.map(
    Conformance.runAll(layer, tests.filter(({ group }) => group === "allocator").map(onAllocator(allocator))),
    (outcomes) => outcomes.flatMap(({ problem }) => problem === undefined ? [] : [problem])
  )

describe("an allocator that keeps a spare conforms in everything", () => {
  const suite = light.map(onAllocator(keepsSpare))
  conformsToo(Host.layer(), suite, 0.01)
})

const allocators = Object.entries(lawful)

for (const [place, platform] of platforms.entries()) {
  const { layer, name, needs, tests } = platform
  describeWith(needs, `on ${name}`, () => {
    for (const [nth, [what, allocator]] of allocators.entries()) {
      // The host has each test with every allocator. On the others a test has one, and on the next platform the next one.
      const dealt = place === 0 ? tests : tests.filter((_, at) => (at + place) % allocators.length === nth)
      describe(`an allocator that ${what} conforms`, () => {
        conformsToo(layer, dealt.map(onAllocator(allocator)), 0.01)
      })
    }

    // OpenCL keeps released memory for the commands that use it.
    const broken = needs.includes("opencl") ? lawless : [...lawless, withoutOrder]

    it.live.each(broken)(
      `the rule "%s" is broken by an allocator that %s`,
      ([rule, , allocator]) =>
        Effect.gen(function*() {
          const problems = yield* failures(platform, allocator)
          const message = `The allocator breaks the rule "${rule}": `
          assert.isTrue(problems.some((problem) => problem.includes(message)), problems.join("\n"))
          assert.include(problems.join(), "docs/allocators.md has the rules.")
        })
    )
  })
}
