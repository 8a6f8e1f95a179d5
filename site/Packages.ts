/** The entry points of every package, and the pages that docs/README.md lists. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { folders } from "../scripts/build.ts"

export const root = join(import.meta.dirname, "..")

export interface EntryPoint {
  /** What a program imports, as `effect-gpu-pool/webgpu`. */
  readonly name: string
  /** Relative to the repository. */
  readonly file: string
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly "effect-gpu-pool:source": string }>>
}

/** Paths of single modules, as `./BufferPool`, are left out: an entry point has each of them as a namespace. */
export const entryPoints: ReadonlyArray<EntryPoint> = folders.flatMap((folder) => {
  const { exports, name } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest
  return Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string" || /^\.\/[A-Z]/.test(path)
      ? []
      : [{ name: name + path.slice(1), file: join(folder, target["effect-gpu-pool:source"]) }]
  )
})

export interface Page {
  /** Relative to the repository. */
  readonly file: string
  readonly category: string
  /** Its name in the menu, where that is not its title. */
  readonly menu?: string
}

/** The pages of an index, each with the heading that it is under. */
export const pagesOf = (index: string, folder: string): ReadonlyArray<Page> =>
  index.split(/^## /m).slice(1).flatMap((section) => {
    const category = section.slice(0, section.indexOf("\n"))
    return [...section.matchAll(/^- \[[^\]]+\]\(([^)#]+\.md)\)/gm)].map(([, page]) => ({
      file: join(folder, page!),
      category
    }))
  })

const around: ReadonlyArray<Page> = [
  { file: "README.md", category: "Start", menu: "Overview" },
  { file: "docs/README.md", category: "Start" },
  { file: "examples/README.md", category: "Examples" },
  { file: "examples/backend/README.md", category: "Examples" },
  { file: "examples/fleet/README.md", category: "Examples" },
  { file: "CONTRIBUTING.md", category: "The library itself" },
  { file: "CHANGELOG.md", category: "The library itself" }
]

/** Every document of the site but the first page, in the order of its menu. */
export const pages: ReadonlyArray<Page> = [
  ...pagesOf(readFileSync(join(root, "docs/README.md"), "utf8"), "docs"),
  ...around
]
