import { describe } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { productLaws } from "./ProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer({ granularity: 4, lateFree: true, rangeItems: 100 })))

describe("on the host", () => {
  productLaws(gpu, { trials: 60, longest: 70 })
})
