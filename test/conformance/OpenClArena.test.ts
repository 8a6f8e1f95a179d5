/** The same suite on pools that split slabs, whose leases are sub-buffers only where something needs one. */
import { Conformance } from "@effect-gpu-pool/testing"
import { BufferPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { describeWith } from "../support/required.ts"
import { conformsToo } from "./conforms.ts"

const arenas = Layer.succeed(BufferPool.DefaultStrategy, PoolStrategy.arena({ unitBytes: 16, slabBytes: 2048 }))

// a small cache, so that filling it does not take hundreds of compilations
const layer = Layer.merge(OpenCl.layer({ kernelCacheCapacity: 4 }), arenas)

/**
 * Without the groups whose limits are smaller than a part of a slab is on this device, without images over leases, since PoCL makes
 * images over whole buffers only, and without what languages make of expressions, which is the same with any strategy.
 */
const others = ["expressions", "images over buffers", "one limit", "reservations", "streamed transfers"]

describeWith(["opencl"], "pools on arenas conform on OpenCL", () => {
  conformsToo(layer, Conformance.suite(layer).filter(({ group }) => !others.includes(group)), 0.5)
})
