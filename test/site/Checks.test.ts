/** The checks that the build of the site makes find what they are for, and its first page has what it is made from. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { deadLinks, namesOf, namesWithoutPage, tasksIn, tooFar } from "../../site/Checks.ts"
import { withLanguages } from "../../site/Documents.ts"
import { entriesOf, firstPage, tasksOf } from "../../site/FirstPage.ts"
import { pageOf, type Site } from "../../site/Html.ts"
import { pagesOf } from "../../site/Packages.ts"

const siteOf = (pages: Readonly<Record<string, string>>, files: ReadonlyArray<string> = []): Site => ({
  pages: new Map(Object.entries(pages).map(([file, html]) => [file, pageOf(html)])),
  files: new Set([...Object.keys(pages), ...files])
})

describe("deadLinks", () => {
  it("finds files and places that are not there, from the page's own folder", () => {
    const site = siteOf({
      "docs/a.html": `<h1 id="top">a</h1><a href="b.html">b</a><a href="../docs/c.html#x">c</a><a href="#top">t</a>`,
      "docs/c.html": `<a href="a.html#top">a</a><a href="a.html#bottom">a</a><img src="d.png"><img src="e.png">`
    }, ["docs/d.png"])
    deepStrictEqual(deadLinks(site), [
      "docs/a.html: there is no b.html",
      "docs/a.html: ../docs/c.html#x leads to no place on its page",
      "docs/c.html: a.html#bottom leads to no place on its page",
      "docs/c.html: there is no e.png"
    ])
  })

  it("finds addresses that need a server, and follows none to other sites", () => {
    const site = siteOf({
      "a.html": `<a href="/a.html">a</a><a href="https://b.example/c#d">b</a><a href="mailto:e">e</a>`
    })
    deepStrictEqual(deadLinks(site), ["a.html: /a.html begins at the root of a server"])
  })

  it("reads names with characters that an address encodes", () => {
    deepStrictEqual(deadLinks(siteOf({ "a b.html": `<h1 id="é">a</h1><a href="a%20b.html#%C3%A9">b</a>` })), [])
  })
})

const report = `# The API of p

## p

A, B
\`\`\`ts
interface Top {
    readonly inner: number;
}
\`\`\`

## p/A

\`\`\`ts
const one: number;
// as function
function function_(): void;
function one(): void;
type Two = {
    const: 1;
};
\`\`\`
`

describe("namesOf", () => {
  it("reads namespaces and declarations, each once and by its public name", () => {
    deepStrictEqual([...namesOf(report)], [["p", ["A", "B", "Top"]], ["p/A", ["one", "function", "Two"]]])
  })
})

const link = (name: string) => `<a href="p/${name}.html">${name}</a>`

describe("namesWithoutPage", () => {
  const complete = {
    "api/p.html": ["A", "B", "Top"].map(link).join(""),
    "api/p/A.html": `<a href="A/one.html">one</a><a href="A/function.html">function</a><a href="A/Two.html">Two</a>`,
    "api/p/B.html": "",
    "api/p/Top.html": ""
  }

  it("accepts what has a page each", () => {
    deepStrictEqual(namesWithoutPage(siteOf(complete), [report]), [])
  })

  it("finds a name without a link, one whose link stays on the page, and a module without a page", () => {
    const site = siteOf({
      "api/p.html": `${link("A")}<a href="#top">Top</a>`,
      "api/p/B.html": ""
    })
    deepStrictEqual(namesWithoutPage(site, [report]), [
      "api/p.html leads to no page of B",
      "api/p.html leads to no page of Top",
      "p/A has no page"
    ])
  })

  it("finds a module's page below the entry point that exports it", () => {
    const { "api/p/A.html": moved, ...others } = complete
    deepStrictEqual(namesWithoutPage(siteOf({ ...others, "api/p/sub/A.html": moved }), [report]), [])
  })
})

describe("tooFar", () => {
  const site = siteOf({
    "index.html": `<a href="docs/cookbook.html">tasks</a><a href="docs/far.html">far</a>`,
    "docs/cookbook.html": `<h2 id="1-one">1</h2><h2 id="2-two">2</h2><h2 id="other">o</h2><a href="#1-one">one</a>`,
    "docs/far.html": `<a href="farther.html">on</a>`,
    "docs/farther.html": `<a href="cookbook.html#2-two">two</a>`
  })

  it("counts clicks from the first page", () => {
    deepStrictEqual(tasksIn(site), ["docs/cookbook.html#1-one", "docs/cookbook.html#2-two"])
    deepStrictEqual(tooFar(site, tasksIn(site), 1), tasksIn(site))
    deepStrictEqual(tooFar(site, tasksIn(site), 2), ["docs/cookbook.html#2-two"])
    deepStrictEqual(tooFar(site, tasksIn(site), 3), [])
  })
})

describe("the first page", () => {
  const cookbook = "# Cookbook\n\n| memory | work |\n| - | - |\n| [1. A](#1-a) | [2. B](#2-b) |\n| [3. C](#3-c) | |\n"

  it("has a list of tasks for each column of the cookbook's table", () => {
    deepStrictEqual(tasksOf(cookbook).split("\n").filter((line) => /^[-#]/.test(line)), [
      "### Memory",
      "- [1. A](../docs/cookbook.md#1-a)",
      "- [3. C](../docs/cookbook.md#3-c)",
      "### Work",
      "- [2. B](../docs/cookbook.md#2-b)"
    ])
    assert.throws(() => tasksOf("# Cookbook\n"), /without a table/)
  })

  it("says of each entry point what its heading says first", () => {
    const source = "/**\n * What it has. And\n * more.\n *\n * @since 0.1.0\n */\n"
    deepStrictEqual(entriesOf([{ name: "p/q", file: "src/q.ts", source }]), "- [`p/q`](../src/q.ts): what it has.")
    assert.throws(
      () => entriesOf([{ name: "p/q", file: "src/q.ts", source: "export {}" }]),
      /src\/q\.ts has no heading/
    )
  })

  it("fails where the template has no place for them", () => {
    assert.throws(() => firstPage("# Title\n", cookbook, []), /no line <!--/)
  })
})

const fences = (language: string) =>
  `\`\`\`${language}\na\n\`\`\`\n\n\`\`\`\`ts\n\`\`\`\nb\n\`\`\`\n\`\`\`\`\n\n\`\`\`sh\nc\n\`\`\`\n`

it("fences without a language are plain text, and what is inside of a fence stays as it is", () => {
  strictEqual(withLanguages(fences("")), fences("text"))
})

it("pages have the headings of the index as their categories", () => {
  deepStrictEqual(
    pagesOf("# All\n\n## One\n\n- [A](a.md): a.\n\n## Two\n\n- [B](b.md): b.\n- [C](c.md): c.\n", "docs"),
    [
      { file: "docs/a.md", category: "One" },
      { file: "docs/b.md", category: "Two" },
      { file: "docs/c.md", category: "Two" }
    ]
  )
})
