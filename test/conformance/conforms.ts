/** The conformance suite in vitest, as much of it as `EFFECT_GPU_POOL_EXPLORE` says. */
import { Conformance } from "@effect-gpu-pool/testing"
import { afterAll, describe, it } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import { some, workScale } from "../support/explore.ts"

/** Registers every test; `most` is the part of their work that heavy tests do in `.ci/run`. */
export const conforms = <E>(
  layer: Layer.Layer<Conformance.Device, E>,
  suite: ReadonlyArray<Conformance.ConformanceTest>,
  most = 1
): void => Conformance.register({ describe, it, afterAll }, layer, suite, { workScale: most * workScale })

/**
 * For a device that runs mostly the same code as another: registers every test in `.ci/run`, and otherwise a part of
 * them.
 */
export const conformsToo = <E>(
  layer: Layer.Layer<Conformance.Device, E>,
  suite: ReadonlyArray<Conformance.ConformanceTest>,
  most = 1
): void => conforms(layer, some(suite), most)
