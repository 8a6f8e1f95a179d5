import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Exit from "effect/Exit"
import { invalidRequest } from "../../src/domain/GpuError.ts"
import { OwnFailure } from "./OddValues.ts"
import { ofExit, ofThrown, ofUncaught } from "./Verdict.ts"

const engine = (): unknown => {
  try {
    return Reflect.get(undefined as never, "x")
  } catch (thrown) {
    return thrown
  }
}

describe("a verdict", () => {
  it("takes typed errors, and what is the program's own", () => {
    strictEqual(ofExit(Exit.void), undefined)
    strictEqual(ofExit(Exit.fail(invalidRequest("Op", "it is wrong", "Mend it."))), undefined)
    strictEqual(ofExit(Exit.fail(new OwnFailure("own"))), undefined)
    strictEqual(ofExit(Exit.die(new OwnFailure("own"))), undefined)
    strictEqual(ofExit(Exit.die(new Error("Service not found: effect-gpu-pool/OpenCl"))), undefined)
  })

  it("refuses defects, other failures, and messages that forge lines or never end", () => {
    strictEqual(ofExit(Exit.die(new Error("Op.run: no")))?.kind, "defect")
    strictEqual(ofExit(Exit.fail("untyped"))?.kind, "untyped failure")
    const forging = { ...invalidRequest("Op", "x", "y"), message: "Op: x\u001b[31m" }
    strictEqual(ofExit(Exit.fail(forging))?.kind, "message")
    const endless = { ...invalidRequest("Op", "x", "y"), message: "x".repeat(30_000) }
    strictEqual(ofExit(Exit.fail(endless))?.kind, "message")
    strictEqual(ofUncaught(engine())?.kind, "uncaught")
  })

  it("lets a value of another type than declared meet the engine, where that ends no process", () => {
    strictEqual(ofExit(Exit.die(engine())), undefined)
    strictEqual(ofThrown(engine()), undefined)
    strictEqual(ofThrown(new Error("Op.run: no"))?.kind, "thrown")
  })
})
