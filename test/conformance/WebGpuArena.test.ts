/**
 * The same suite on pools that split slabs: so small ones that leases have neighbours, and so small units that a lease
 * begins wherever the device lets one begin.
 */
import { Conformance } from "@effect-gpu-pool/testing"
import { describe } from "@effect/vitest"
import { BufferPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Layer from "effect/Layer"
import { describeWith } from "../support/required.ts"
import { conformsToo } from "./conforms.ts"

const onArenas = <A, E>(device: Layer.Layer<A, E>): Layer.Layer<A, E> =>
  Layer.merge(device, Layer.succeed(BufferPool.DefaultStrategy, PoolStrategy.arena({ unitBytes: 16, slabBytes: 4096 })))

const layer = onArenas(WebGpu.layer({ kernelCacheCapacity: 4 }))

describeWith(["webgpu"], "pools on arenas conform on WebGPU", () => {
  // What languages make of expressions is the same with any strategy.
  conformsToo(layer, Conformance.suite(layer).filter(({ group }) => group !== "expressions"))
})

const nullLayer = onArenas(WebGpu.layer({ flags: ["backend=null"], kernelCacheCapacity: 4 }))

describe("pools on arenas conform on Dawn's null backend in what they count", () => {
  conformsToo(nullLayer, Conformance.counting(Conformance.suite(nullLayer)))
})
