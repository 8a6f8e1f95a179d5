import { describe } from "@effect/vitest"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Layer from "effect/Layer"
import { elementwiseLaws } from "./ElementwiseLaws.ts"

describe("on the host", () => {
  elementwiseLaws(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))
})
