/**
 * What a registry shows of every package and only the owner knows: `npm run publication` copies it from the package.json of the
 * repository to those of the packages, each with its folder. With `--check`, which runs before a publication, it fails where
 * something is missing or is not the same, and names it. CONTRIBUTING.md, "Before the first release", asks for the values.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { folders } from "./build.ts"

const root = join(import.meta.dirname, "..")

export type Manifest = Readonly<Record<string, unknown>>

/** In the order in which a package.json has them, after its keywords. `funding` may be left out. */
const fields = ["homepage", "bugs", "author", "funding", "repository"] as const

const required = fields.filter((field) => field !== "funding")

/** The text that a field must have: an address, or the name of the author. */
const textOf = (value: unknown): string => {
  if (typeof value === "string") return value
  if (typeof value !== "object" || value === null) return ""
  const { email, name, url } = value as Readonly<Record<string, unknown>>
  return [name, url, email].find((text) => typeof text === "string") ?? ""
}

/** The fields that the owner has yet to give. */
export const missingIn = (manifest: Manifest): ReadonlyArray<string> =>
  required.filter((field) => textOf(manifest[field]).trim() === "")

const repositoryOf = (repository: unknown, folder: string): unknown => {
  if (folder === "." || repository === undefined) return repository
  const address = typeof repository === "string" ? { type: "git", url: repository } : repository as object
  return { ...address, directory: folder }
}

/** The manifest of a package in a folder with the owner's fields as the repository's manifest has them. */
export const completed = (manifest: Manifest, owner: Manifest, folder: string): Manifest => {
  const values = fields.map((
    field
  ) => [field, field === "repository" ? repositoryOf(owner[field], folder) : owner[field]])
  const given = values.filter(([, value]) => value !== undefined)
  const others = Object.entries(manifest).filter(([name]) => !fields.some((field) => field === name))
  const at = others.findIndex(([name]) => name === "keywords") + 1
  return Object.fromEntries([...others.slice(0, at), ...given, ...others.slice(at)])
}

const fileOf = (folder: string): string => join(root, folder, "package.json")

const textIn = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 2)}\n`

if (import.meta.main) {
  const owner = JSON.parse(readFileSync(fileOf("."), "utf8")) as Manifest
  const problems: Array<string> = []
  if (process.argv.includes("--check") && missingIn(owner).length > 0) {
    problems.push(
      `package.json lacks ${missingIn(owner).join(", ")}. See "Before the first release" in CONTRIBUTING.md`
    )
  }
  for (const folder of folders) {
    const before = readFileSync(fileOf(folder), "utf8")
    const after = textIn(completed(JSON.parse(before) as Manifest, owner, folder))
    if (after === before) continue
    if (process.argv.includes("--check")) {
      problems.push(`${join(folder, "package.json")} has not what package.json has: run npm run publication`)
    } else writeFileSync(fileOf(folder), after)
  }
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exit(1)
}
