import { Conformance } from "@effect-gpu-pool/testing"
import { BufferPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { useOclgrind } from "../support/oclgrind.ts"
import { describeWith } from "../support/required.ts"
import { conformsToo } from "./conforms.ts"

// the loader reads the environment when it is first used, and this file has a process of its own
useOclgrind()

const layer = OpenCl.layer({ platform: "oclgrind", kernelCacheCapacity: 4 })

describeWith(["oclgrind"], "OpenCL conforms on a second platform", () => {
  // Oclgrind runs commands inside clFlush, on the thread that calls it: whether a wait blocks is not in the library's hands
  const suite = Conformance.suite(layer).filter(({ group }) => group !== "event loop")
  // a simulator that checks every access of every item is a thousand times slower than a device
  conformsToo(layer, suite, 0.001)
})

describeWith(["oclgrind"], "pools on arenas conform on a second platform", () => {
  const groups = [
    "transfers",
    "copies and fills",
    "rectangles",
    "regions",
    "kernels",
    "random commands",
    "ended leases"
  ]
  const arenas = Layer.succeed(BufferPool.DefaultStrategy, PoolStrategy.arena({ unitBytes: 16, slabBytes: 4096 }))
  const suite = Conformance.tests.filter(({ group }) => groups.includes(group))
  conformsToo(Layer.merge(layer, arenas), suite, 0.001)
})

const byteGranular = OpenCl.layer({ platform: "oclgrind", byteGranular: true, kernelCacheCapacity: 4 })
const byteGroups = ["transfers", "copies and fills", "rectangles", "alignment", "random commands", "regions"]

describeWith(["oclgrind"], "OpenCL conforms on a second platform with commands at any byte", () => {
  const suite = Conformance.tests.filter(({ group }) => byteGroups.includes(group))
  conformsToo(byteGranular, suite, 0.001)
})
