import { it } from "@effect/vitest"
import { alone, runPrograms } from "../support/pressureRuns.ts"
import { kinds } from "../support/sizedPools.ts"

it.each(kinds)(
  "a pool of %s stays within its limits, and forgets nobody, whatever comes between",
  (kind) => runPrograms(alone(kind), 250)
)
