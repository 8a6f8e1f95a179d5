import { describe } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { reductionLaws } from "./ReductionLaws.ts"
import { scanLaws } from "./ScanLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer({ granularity: 4, lateFree: true, rangeItems: 100 })))

describe("on the host", () => {
  reductionLaws(gpu)
  scanLaws(gpu)
})
