/** The packages that examples/README.md tells people to install are those that the examples import. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { importedModules } from "../support/imports.ts"

const root = join(import.meta.dirname, "../../examples")

const textOf = (file: string): string => readFileSync(join(root, file), "utf8")

const packageOf = (specifier: string): string =>
  specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

/** The packages that a program and the files that it imports need. Data files are found by their package. */
const packagesOf = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(file)) return new Set()
  seen.add(file)
  const code = textOf(file)
  const resolved = Array.from(code.matchAll(/import\.meta\.resolve\("([^"]+)"\)/g), ([, name = ""]) => name)
  const specifiers = importedModules(file, code).map(({ specifier }) => specifier)
  const others = specifiers.filter((specifier) => specifier.startsWith("."))
    .map((specifier) => normalize(join(dirname(file), specifier)))
  const packages = [...resolved, ...specifiers.filter((specifier) => !/^(\.|node:)/.test(specifier))].map(packageOf)
  return new Set([...packages, ...others.flatMap((other) => [...packagesOf(other, seen)])])
}

/** The packages of a folder: of its files that no other one imports, as `main.ts`, too. */
const packagesIn = (folder: string): ReadonlySet<string> =>
  new Set(
    readdirSync(join(root, folder)).filter((file) => file.endsWith(".ts")).flatMap((
      file
    ) => [...packagesOf(join(folder, file))])
  )

const programs = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) =>
  name
)
const common = ["@effect/platform-node", "effect", "effect-gpu-pool"]
const lines = textOf("README.md").split("\n")

describe("examples/README.md", () => {
  it.each(programs)("names the packages of %s", (program) => {
    const row = lines.find((line) => line.startsWith(`| [${program}](`))?.split("|")[2] ?? ""
    const told = Array.from(row.matchAll(/`([^`]+)`/g), ([, name = ""]) => name)
    deepStrictEqual(told, [...packagesIn(program)].filter((name) => !common.includes(name)).sort())
  })

  it("installs the packages of all of them", () => {
    const install = lines.find((line) => line.startsWith("npm install effect-gpu-pool")) ?? ""
    const imported = new Set(programs.flatMap((program) => [...packagesIn(program)]))
    deepStrictEqual(install.split(" ").slice(2).sort(), [...imported].sort())
  })
})
