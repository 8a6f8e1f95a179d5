import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { backends, parseRequired } from "../scripts/backends.ts"

const script = join(import.meta.dirname, "../scripts/backends.ts")

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

const report = (args: ReadonlyArray<string>, env: Record<string, string>) =>
  spawnSync(process.execPath, [script, ...args], { encoding: "utf8", env: { ...process.env, ...env } })

describe("scripts/backends.ts", () => {
  it("fails where a variable names what is not there, and says what", () => {
    const { status, stdout } = report(["oclgrind"], { EFFECT_GPU_POOL_OCLGRIND: "/nowhere/liboclgrind.so" })
    assert.strictEqual(status, 1)
    assert.include(stdout, "EFFECT_GPU_POOL_OCLGRIND names /nowhere/liboclgrind.so, and there is no such file")
  })

  it("fails for a backend that it does not know, and says which there are", () => {
    const { status, stderr } = report(["cuda"], {})
    assert.strictEqual(status, 1)
    assert.include(stderr, "unknown backend cuda; known: webgpu, opencl")
  })
})
