/** docs/runtimes.md and package.json name the runtimes that `npm run runtimes` installs. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const textOf = (file: string): string => readFileSync(join(import.meta.dirname, "..", file), "utf8")

interface Manifest {
  readonly engines: { readonly node: string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const manifestOf = (file: string): Manifest => JSON.parse(textOf(file)) as Manifest

const versionOf = (range: string): string => range.replace("npm:node@", "")

const installed = manifestOf("scripts/runtimes/install/package.json").dependencies
const page = textOf("docs/runtimes.md")

describe("runtimes", () => {
  it.each(Object.entries(installed))("the page names %s %s", (_, range) => {
    assert.match(versionOf(range), /^\d+\.\d+\.\d+$/)
    assert.include(page, ` ${versionOf(range)}`)
  })

  it("the oldest Node is the one that package.json asks for", () => {
    const { devDependencies, engines } = manifestOf("package.json")
    assert.strictEqual(engines.node, `>=${versionOf(installed["node-22"] ?? "")}`)
    assert.match(devDependencies.node ?? "", /^24\./)
    assert.include(page, "| Node 24 ")
  })
})
