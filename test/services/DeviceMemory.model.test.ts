/**
 * The limit that pools of buffers and of images share: never a byte over it, no waiter sleeps while memory that fits it is
 * idle in another pool, and a pool that closes takes nothing of the others with it.
 */
import { it } from "@effect/vitest"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"
import { programsOn, together } from "../support/pressureRuns.ts"

it("pools that share a memory stay within its limit, and forget nobody, whatever comes between", () =>
  fc.assert(programsOn(together), { numRuns: runs(300) }))
