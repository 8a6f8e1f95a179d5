/** A driver that uses every freedom of the standard, where PoCL never does. */
import { Conformance } from "@effect-gpu-pool/testing"
import { BufferPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { OpenCl, Svm } from "effect-gpu-pool/opencl"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { describeWith } from "../support/required.ts"
import { strict } from "../support/strictOpenCl.ts"
import { conformsToo } from "./conforms.ts"

const layer = Layer.unwrap(
  Effect.map(OpenCl.load(), (api) => OpenCl.layerFrom({ ...api, ...strict(api) }, { kernelCacheCapacity: 4 }))
)

/** The groups whose tests read, map and copy memory, or use features that a device may lack. */
const groups = [
  "transfers",
  "copies and fills",
  "rectangles",
  "regions",
  "mappings",
  "ended leases",
  "staging memory",
  "random commands",
  "one limit",
  "images",
  "images of the program's data",
  "mapped images",
  "image pool"
]

const suite = Conformance.tests.filter(({ group }) => groups.includes(group))

const onSvm = (test: Conformance.ConformanceTest): Conformance.ConformanceTest => ({
  ...test,
  run: Effect.flatMap(Effect.serviceOption(OpenCl.OpenCl), (cl) =>
    Effect.provideService(
      test.run,
      Conformance.allocator,
      Layer.provide(Svm.layerAllocator(), Layer.succeed(OpenCl.OpenCl, Option.getOrThrow(cl)))
    ))
})

describeWith(["opencl"], "OpenCL conforms on a strict driver", () => {
  conformsToo(layer, suite, 0.5)
})

const onArenas = Layer.merge(
  layer,
  Layer.succeed(BufferPool.DefaultStrategy, PoolStrategy.arena({ unitBytes: 16, slabBytes: 4096 }))
)

describeWith(["opencl"], "pools on arenas conform on a strict driver", () => {
  conformsToo(onArenas, suite.filter(({ group }) => group !== "one limit"), 0.5)
})

describeWith(["opencl"], "Shared virtual memory conforms on a strict driver", () => {
  const mappings = Conformance.tests.filter(({ group }) => group === "mappings" || group === "ended leases")
  conformsToo(layer, mappings.map(onSvm), 0.5)
})
