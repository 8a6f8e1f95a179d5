import { describe } from "@effect/vitest"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Layer from "effect/Layer"
import { semanticsLaws } from "./SemanticsLaws.ts"

describe("on the host", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())), ["f32", "f16", "f64"])
})
