/** The backend of examples/backend, which uses only the public API, conforms. */
import { Conformance } from "@effect-gpu-pool/testing"
import { describe } from "@effect/vitest"
import * as Workers from "../../examples/backend/Workers.ts"
import { conformsToo } from "./conforms.ts"

const layer = Workers.layer({ threads: 2 })

describe("the example of a backend conforms", () => {
  conformsToo(layer, Conformance.suite(layer))
})
