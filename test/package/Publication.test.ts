/** What a registry shows of the packages, and what stops a publication that lacks something. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { folders } from "../../scripts/build.ts"
import { completed, type Manifest, missingIn } from "../../scripts/publication.ts"

const root = join(import.meta.dirname, "../..")

const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest & {
    readonly description?: string
    readonly keywords?: ReadonlyArray<string>
    readonly engines?: Readonly<Record<string, string>>
    readonly scripts?: Readonly<Record<string, string>>
  }

const owner = {
  name: "library",
  keywords: ["gpu"],
  homepage: "https://example.org",
  bugs: { url: "https://example.org/issues" },
  author: { name: "A. Author" },
  repository: { type: "git", url: "git+https://example.org/library.git" },
  license: "MIT"
}

describe("the packages", () => {
  it.each(folders)("%s has what a registry's page shows and is not the owner's to say", (folder) => {
    const { description = "", engines = {}, keywords = [], license, scripts = {} } = manifestOf(folder)
    assert.match(description, /^[A-Z].{20,118}[^.]$/)
    assert.isAtLeast(keywords.length, 5)
    strictEqual(new Set(keywords).size, keywords.length)
    strictEqual(license, "MIT")
    deepStrictEqual(engines, { node: ">=22.19.0" })
    deepStrictEqual(["README.md", "LICENSE"].filter((file) => !existsSync(join(root, folder, file))), [])
    const check = join(folder, scripts["prepublishOnly"]?.replace("node ", "") ?? "")
    strictEqual(check, "scripts/publication.ts --check")
  })

  it("have the owner's values as the repository has them", () => {
    for (const folder of folders) {
      deepStrictEqual(completed(manifestOf(folder), manifestOf("."), folder), manifestOf(folder))
    }
  })
})

describe("missingIn", () => {
  it("names every field that the owner has yet to give", () => {
    deepStrictEqual(missingIn({ name: "library" }), ["homepage", "bugs", "author", "repository"])
    deepStrictEqual(missingIn(owner), [])
    deepStrictEqual(missingIn({ ...owner, author: " ", bugs: {} }), ["bugs", "author"])
    deepStrictEqual(missingIn({ ...owner, author: "A. Author", repository: "github:owner/library" }), [])
    deepStrictEqual(missingIn({ ...owner, bugs: { email: "bugs@example.org" } }), [])
  })
})

describe("completed", () => {
  it("copies the owner's fields behind the keywords, the repository with the package's folder", () => {
    const before = { name: "part", keywords: ["gpu"], license: "MIT", author: "another" }
    const after = completed(before, owner, "packages/part")
    deepStrictEqual(Object.keys(after), ["name", "keywords", "homepage", "bugs", "author", "repository", "license"])
    deepStrictEqual(after, {
      ...owner,
      name: "part",
      repository: { ...owner.repository, directory: "packages/part" }
    })
    deepStrictEqual(completed(after, owner, "packages/part"), after)
  })

  it("makes an address with a folder of a repository that is a text", () => {
    const repository = "https://example.org/library.git"
    deepStrictEqual(completed({}, { repository }, "packages/part"), {
      repository: { type: "git", url: repository, directory: "packages/part" }
    })
    deepStrictEqual(completed({}, { repository }, "."), { repository })
  })

  it("leaves out what the owner has not given", () => {
    deepStrictEqual(
      completed({ name: "part", homepage: "https://old.example" }, { name: "library" }, "packages/part"),
      {
        name: "part"
      }
    )
  })
})
