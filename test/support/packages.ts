/** The packages of this repository, as their manifests say. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

export const root = join(import.meta.dirname, "../..")

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: object
  readonly peerDependencies?: object
}

export interface Package {
  readonly name: string
  /** Relative to the repository. */
  readonly folder: string
  readonly exports: Manifest["exports"]
  /** The packages that an install adds or requires. */
  readonly needs: ReadonlyArray<string>
}

/** The library, and the packages around it. */
export const packages: ReadonlyArray<Package> = ["package.json", ...globSync("packages/*/package.json", { cwd: root })]
  .sort()
  .map((file) => {
    const manifest = JSON.parse(readFileSync(join(root, file), "utf8")) as Manifest
    const { dependencies = {}, exports, name, peerDependencies = {} } = manifest
    return { name, folder: dirname(file), exports, needs: Object.keys({ ...dependencies, ...peerDependencies }) }
  })

/** The source of what a program imports by the name of one of these packages, relative to the repository. */
export const sourceOf = (specifier: string): string | undefined => {
  const found = packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`))
  if (found === undefined) return undefined
  const conditions = found.exports[`.${specifier.slice(found.name.length)}`]
  return typeof conditions === "object" ? join(found.folder, conditions["effect-gpu-pool:source"]!) : undefined
}
