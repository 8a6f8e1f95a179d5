import { Conformance } from "@effect-gpu-pool/testing"
import { afterAll, assert, describe } from "@effect/vitest"
import { BufferPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { OpenCl, Svm } from "effect-gpu-pool/opencl"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { some } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"
import { conformsToo } from "./conforms.ts"

/** The groups whose tests allocate from a pool; all others are the same on any allocator. */
const groups = [
  "transfers",
  "copies and fills",
  "rectangles",
  "alignment",
  "empty buffers",
  "host access",
  "regions",
  "mappings",
  "kernels",
  "queue order",
  "random commands",
  "pool",
  "ownership",
  "tenants",
  "interruption",
  "ended leases",
  "arrays"
]

const onSvm = (options: Svm.AllocatorOptions) => (test: Conformance.ConformanceTest): Conformance.ConformanceTest => ({
  ...test,
  run: Effect.flatMap(Effect.serviceOption(OpenCl.OpenCl), (cl) =>
    Effect.provideService(
      test.run,
      Conformance.allocator,
      Layer.provide(Svm.layerAllocator(options), Layer.succeed(OpenCl.OpenCl, Option.getOrThrow(cl)))
    ))
})

const suite = Conformance.tests.filter(({ group }) => groups.includes(group))

let allocations = 0

// a small cache, so that filling it does not take hundreds of compilations
const layer = Layer.unwrap(Effect.map(OpenCl.load(), (api) =>
  OpenCl.layerFrom({
    ...api,
    clSVMAlloc: (...args) => {
      allocations += 1
      return api.clSVMAlloc(...args)
    }
  }, { kernelCacheCapacity: 4 })))

describeWith(["opencl"], "Shared virtual memory conforms", () => {
  afterAll(() => {
    assert.isAbove(allocations, some(suite).length, "the tests did not run on it")
  })

  describe("of coarse grain", () => {
    conformsToo(layer, suite.map(onSvm({})), 0.2)
  })

  describe("of coarse grain, on arenas", () => {
    const arenas = Layer.succeed(BufferPool.DefaultStrategy, PoolStrategy.arena({ unitBytes: 16, slabBytes: 4096 }))
    conformsToo(Layer.merge(layer, arenas), suite.map(onSvm({})), 0.2)
  })

  describeWith(["finegrain"], "of fine grain", () => {
    conformsToo(layer, suite.map(onSvm({ grain: "fine" })), 0.2)
  })
})
