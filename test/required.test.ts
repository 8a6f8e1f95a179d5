import { assert, describe, it } from "@effect/vitest"
import { backends } from "../scripts/backends.ts"
import { parseRequired } from "./support/required.ts"

describe("EFFECT_GPU_POOL_REQUIRE", () => {
  it("requires nothing when unset or empty", () => {
    assert.deepStrictEqual([...parseRequired(undefined), ...parseRequired(" , ")], [])
  })

  it("takes names separated by commas", () => {
    assert.deepStrictEqual([...parseRequired("webgpu, opencl,")], ["webgpu", "opencl"])
  })

  it("takes all for every backend", () => {
    assert.deepStrictEqual([...parseRequired("all")], [...backends])
  })

  it("refuses a name that it does not know, so that a misspelling cannot turn a requirement off", () => {
    assert.throws(() => parseRequired("webgpu,opencll"), /opencll; known: all, webgpu/)
  })
})
