import { describe } from "@effect/vitest"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { Host } from "effect-gpu-pool/host"
import * as Layer from "effect/Layer"
import { convolutionLaws } from "./ConvolutionLaws.ts"
import { fusedProductLaws } from "./FusedProductsLaws.ts"
import { productLaws } from "./ProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer({ granularity: 4, lateFree: true, rangeItems: 100 })))

describe("on the host", () => {
  productLaws(gpu, { trials: 60, longest: 70 })
  fusedProductLaws(gpu)
  convolutionLaws(gpu, { trials: 60, longest: 70 })
})
