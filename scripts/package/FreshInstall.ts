/**
 * Packed packages, installed by npm in an empty folder, with what an install brings along: what they must have, and no
 * optional package but those that are named. npm has them in its cache from the install of this repository.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Tarball } from "./Tarballs.ts"

interface Manifest {
  readonly name: string
  readonly version: string
  readonly bin?: Readonly<Record<string, string>>
}

export interface FreshInstall {
  /** The folder of the user's program. */
  readonly folder: string
  /** The folder of an installed package. */
  readonly home: (name: string) => string
  readonly manifest: (name: string) => Manifest
}

const root = join(import.meta.dirname, "../..")

/** Of a package that this repository has, with the version that it has. */
const versioned = (name: string): string => {
  const { version } = JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")) as Manifest
  return `${name}@${version}`
}

/** Runs `use` in the folder, and removes it afterwards. */
export const withFreshInstall = async <A>(
  tarballs: ReadonlyArray<Tarball>,
  beside: ReadonlyArray<string>,
  use: (install: FreshInstall) => A | Promise<A>
): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "effect-gpu-pool-"))
  try {
    writeFileSync(join(folder, "package.json"), `{ "type": "module" }\n`)
    const wanted = [...tarballs.map(({ file }) => file), ...["effect", ...beside].map(versioned)]
    const quietly = ["--prefer-offline", "--no-audit", "--no-fund", "--silent"]
    execFileSync("npm", ["install", ...quietly, ...wanted], { cwd: folder, stdio: ["ignore", "inherit", "inherit"] })
    const home = (name: string) => join(folder, "node_modules", name)
    const manifest = (name: string) => JSON.parse(readFileSync(join(home(name), "package.json"), "utf8")) as Manifest
    return await use({ folder, home, manifest })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
