/** Two host devices, the second with a GPU's alignment and late frees. */
import { describe } from "@effect/vitest"
import { Host } from "../../src/host.ts"
import { lawsOfSeveral } from "./SeveralLaws.ts"

describe("two devices of the host", () => {
  lawsOfSeveral(
    (device) => Host.layer(device === "1" ? { granularity: 4, lateFree: true, rangeItems: 7 } : {}),
    ["0", "1"]
  )
})
