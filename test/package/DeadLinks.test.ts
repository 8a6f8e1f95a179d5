/** The check of links, and the links of this repository's documents. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { deadLinks } from "../../scripts/package/DeadLinks.ts"

const root = join(import.meta.dirname, "../..")

const found = (files: Readonly<Record<string, string>>): ReadonlyArray<string> => {
  const folder = mkdtempSync(join(tmpdir(), "effect-gpu-pool-links-"))
  try {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    return deadLinks(folder).map(({ file, line, target, why }) => `${file}:${line} ${target}: ${why}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("deadLinks", () => {
  it("finds files that are not there, from the page's own folder", () => {
    deepStrictEqual(
      found({ "docs/a.md": "Text.\n\n[b](b.md), [c](../c.md) and ![d](d.png)", "docs/d.png": "", "c.md": "" }),
      [
        "docs/a.md:3 b.md: there is no docs/b.md"
      ]
    )
  })

  it("finds headings that are not there, on this page and on others", () => {
    const page = "# One `two`, (three)\n\n## Twice\n\n## Twice\n\n```md\n# No heading\n```\n"
    const links = ["one-two-three", "twice", "twice-1", "twice-2", "no-heading"].map((anchor) => `[x](a.md#${anchor})`)
    deepStrictEqual(found({ "a.md": `${page}\n[here](#twice) [not](#nowhere)`, "b.md": links.join("\n\n") }), [
      "a.md:11 #nowhere: a.md has no heading #nowhere",
      "b.md:7 a.md#twice-2: a.md has no heading #twice-2",
      "b.md:9 a.md#no-heading: a.md has no heading #no-heading"
    ])
  })

  it("finds links out of the package, in tables and in references", () => {
    deepStrictEqual(found({ "a.md": "| a |\n| - |\n| [x](../x.md) |\n\n[y][1]\n\n[1]: y.md\n" }), [
      "a.md:3 ../x.md: it leads out of the package",
      "a.md:5 y.md: there is no y.md"
    ])
  })

  it("takes folders, and follows no link with a scheme and none in code", () => {
    deepStrictEqual(found({ "a.md": "[b](b/) [c](https://c.example/d#e) `[f](g.md)`", "b/h.ts": "" }), [])
  })
})

it("this repository's documents have no dead links", () => {
  const files = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md")).map((file) => join("docs", file))
  deepStrictEqual(deadLinks(root, ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md", ...files]), [])
})
