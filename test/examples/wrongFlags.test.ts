/** The programs refuse values that their flags cannot have, and say which. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { root } from "../support/packages.ts"

const flags = {
  airports: ["--rows-per-tile=0", "--airports=1", "--backend=abacus", "--rounds=x"],
  attention: ["--tokens=0", "--heads=9", "--depth=65", "--room=-1", "--backend=abacus"],
  backend: ["--threads=0", "--size=0"],
  convolution: ["--scale=0", "--radius=99", "--filter=rainbow", "--backend=abacus"],
  fleet: ["--scale=0", "--size=100"],
  kmeans: ["--points=0", "--clusters=13", "--dimensions=9", "--rounds=-1", "--backend=abacus"],
  observed: ["--port=65536", "--max-bytes=0", "--backend=cloud"],
  relief: ["--scale=0", "--altitude=91", "--backend=abacus"],
  render: ["--size=3", "--frames=0", "--lose-at=-1"],
  stream: ["--size=0", "--in-flight=-1", "--key=4294967296", "--backend=cloud"],
  svm: ["--size=3", "--generations=-1", "--memory=cloud"]
}

const cases = Object.entries(flags).flatMap(([example, flags]) => flags.map((flag) => [example, flag] as const))

describe("examples with a wrong flag", () => {
  const { stderr, stdout } = spawnSync(process.execPath, [
    join(root, "test/support/wrongFlags.ts"),
    ...cases.flatMap(([example, flag]) => [join(root, `examples/${example}/main.ts`), flag])
  ], { encoding: "utf8" })
  const outcomes = stdout === "" ? [] : JSON.parse(stdout) as ReadonlyArray<{ code: number; stderr: string }>

  it.each(cases.map((one, at) => [...one, outcomes[at]] as const))("%s refuses %s", (_, flag, outcome) => {
    const [name, value] = flag.split("=")
    assert.strictEqual(outcome?.code, 1, stderr)
    assert.include(outcome?.stderr ?? "", `Invalid value for flag ${name}: "${value}"`)
  })
})
