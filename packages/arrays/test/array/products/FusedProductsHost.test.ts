import { describe } from "@effect/vitest"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { Host } from "effect-gpu-pool/host"
import * as Layer from "effect/Layer"
import { fusedProductLaws } from "./FusedProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer({ granularity: 4, lateFree: true, rangeItems: 100 })))

describe("on the host", () => {
  fusedProductLaws(gpu)
})
