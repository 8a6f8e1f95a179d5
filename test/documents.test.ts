/** Rules for the documents: a short README, an index of all pages, and one meaning for each word. */
import { Conformance } from "@effect-gpu-pool/testing"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { globSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const textOf = (file: string): string => readFileSync(join(root, file), "utf8")

const pages = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md") && file !== "README.md").sort()

/** The pages that an index lists: one line for each, as `- [Title](page.md): what it is about.` */
const listed = (index: string): ReadonlyArray<string> =>
  [...index.matchAll(/^- \[[^\]]+\]\(([^)#]+\.md)\): /gm)].map(([, page]) => page!).sort()

/** The words of the glossary's tables; a cell may have several. */
const wordsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^\| ([^|]+?) +\| /gm)].flatMap(([, cell]) => cell!.split(", ")).filter((word) =>
    word !== "word" && !word.startsWith("---")
  )

const glossary = (): string => {
  const [, rest = ""] = textOf("CONTRIBUTING.md").split("\n## Glossary\n")
  return rest.split("\n## ")[0]!
}

const twice = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.filter((word, at) => words.indexOf(word) !== at)

describe("the documents", () => {
  it("the README has at most 200 lines", () => {
    assert.isAtMost(textOf("README.md").trimEnd().split("\n").length, 200)
  })

  it("the README keeps its two commands for newcomers", () => {
    const commands = textOf("README.md").split("\n").filter((line) => line.startsWith("npm ci "))
    deepStrictEqual(commands, ["npm ci && npm run demo", "npm ci && npm run drivers && npm test"])
  })

  it("the index lists every page of docs once", () => {
    deepStrictEqual(listed(textOf("docs/README.md")), pages)
  })

  it("finds a page that the index lacks, and one that it has twice", () => {
    deepStrictEqual(listed("- [A](a.md): one.\n- [A](a.md): again.\n[B](b.md): no entry.\n"), ["a.md", "a.md"])
  })

  it("no example gives a device to a pool alone: a second layer for the queue would be a second device", () => {
    const examples = [
      "README.md",
      ...globSync(["docs/*.md", "src/**/*.ts", "packages/*/src/**/*.ts", "examples/**/*.{md,ts}"], { cwd: root })
    ].filter((file) => /Layer\.provide\((?:Host|WebGpu|OpenCl)\.layer/.test(textOf(file)))
    deepStrictEqual(examples, [])
  })

  it("the table of the conformance suite has every group; those of wrong requests are one", () => {
    const listed = textOf("docs/conformance.md").split("\n").filter((line) => line.startsWith("| ")).map((line) =>
      line.split("|")[1]
    ).join()
    const groups = new Set(
      Conformance.tests.map(({ group }) => group).filter((group) => !/^(?:wrong|bad|unknown) /.test(group))
    )
    deepStrictEqual(Array.from(groups).filter((group) => !listed.includes(group)), [])
  })

  it("the glossary gives each word one meaning", () => {
    const words = wordsOf(glossary())
    assert.isAtLeast(words.length, 20)
    assert.isAtMost(words.length, 40)
    deepStrictEqual(twice(words), [])
  })

  it("finds a word that stands there twice", () => {
    deepStrictEqual(twice(wordsOf("| word | meaning |\n| --- | --- |\n| hit, miss | a |\n| miss | b |\n")), ["miss"])
  })
})
