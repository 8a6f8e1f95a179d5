/**
 * The limit that pools of buffers and of images share: it is never exceeded, no request waits while enough memory is
 * idle in another pool, and a pool's close does not affect the others.
 */
import { it } from "@effect/vitest"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"
import { programsOn, together } from "../support/pressureRuns.ts"

it("pools that share a memory stay within its limit, and forget nobody, whatever comes between", () =>
  fc.assert(programsOn(together), { numRuns: runs(300) }))

/** The device is lost while blocks are freed for a request, in run 131. */
it("a request that fails as it is served stays failed", () =>
  fc.assert(programsOn(together), { numRuns: 140, seed: 476053818 }))
