/** The backend of examples/backend conforms, on the public API alone: so does one of a program's own that is made as it is. */
import { Conformance } from "@effect-gpu-pool/testing"
import { afterAll, describe, it } from "@effect/vitest"
import * as Workers from "../../examples/backend/Workers.ts"

const layer = Workers.layer({ threads: 2 })

describe("the example of a backend conforms", () => {
  Conformance.register({ describe, it, afterAll }, layer, Conformance.suite(layer))
})
