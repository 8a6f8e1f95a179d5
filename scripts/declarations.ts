/**
 * Leaves the declarations that a package's users need: those of the modules that it exports, and of those that these name. The
 * others are the package's own affair. A module whose heading says `@internal` is internal as a whole: the compiler leaves out what is
 * marked itself, and knows no mark for a file.
 */
import { globSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, normalize } from "node:path"

const heading = /^\/\*\*(?:(?!\*\/)[^])*@internal/

/** The declarations that exports of a manifest lead to, relative to what is built. */
const exported = (manifest: string): ReadonlyArray<string> => {
  const { exports = {} } = JSON.parse(readFileSync(manifest, "utf8")) as {
    readonly exports?: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.values(exports).flatMap((path) => typeof path === "string" ? [] : [path.types.replace("./dist/", "")])
}

/** The declarations that others name. */
const namedIn = (built: string, file: string): ReadonlyArray<string> =>
  Array.from(
    readFileSync(join(built, file), "utf8").matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)\.[jt]s"/g),
    ([, path]) => normalize(join(dirname(file), `${path}.d.ts`))
  )

/**
 * Of the package in the folder `source`, whose build is in `built`: removes what its exports do not lead to. Fails where they lead to an
 * internal module.
 */
export const keepPublic = (source: string, built: string): void => {
  const isInternal = (file: string): boolean =>
    heading.test(readFileSync(join(source, "src", file.replace(/\.d\.ts$/, ".ts")), "utf8"))
  const reached = new Map(exported(join(source, "package.json")).map((file) => [file, "package.json"]))
  for (const [file] of reached) {
    for (const next of namedIn(built, file)) if (!reached.has(next)) reached.set(next, file)
  }
  const wrong = [...reached].filter(([file]) => isInternal(file)).map(([file, by]) => `${by} names ${file}`)
  if (wrong.length > 0) throw new Error(`public declarations name internal modules:\n${wrong.join("\n")}`)
  for (const file of globSync("**/*.d.ts", { cwd: built })) if (!reached.has(file)) rmSync(join(built, file))
}
