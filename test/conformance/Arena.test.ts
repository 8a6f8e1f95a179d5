/** The same suite on pools that split slabs: a program cannot tell the strategies apart, save by the counters. */
import { Conformance } from "@effect-gpu-pool/testing"
import { describe } from "@effect/vitest"
import { BufferPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { Host } from "effect-gpu-pool/host"
import * as Layer from "effect/Layer"
import { conforms } from "./conforms.ts"

const onArenas = <A, E>(device: Layer.Layer<A, E>): Layer.Layer<A, E> =>
  Layer.merge(device, Layer.succeed(BufferPool.DefaultStrategy, PoolStrategy.arena({ unitBytes: 16, slabBytes: 256 })))

const layer = onArenas(Host.layer({ maxBindingSize: 128 * 1024 * 1024 }))

describe("pools on arenas conform on the host", () => {
  // What languages make of expressions is the same with any strategy.
  conforms(layer, Conformance.suite(layer).filter(({ group }) => group !== "expressions"))
})
