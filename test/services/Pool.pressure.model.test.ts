import { it } from "@effect/vitest"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"
import { alone, programsOn } from "../support/pressureRuns.ts"
import { modelled } from "../support/sizedPools.ts"

it.each(modelled)(
  "a pool of %s stays within its limits, and forgets nobody, whatever comes between",
  (kind) => fc.assert(programsOn(alone(kind)), { numRuns: runs(250) })
)
