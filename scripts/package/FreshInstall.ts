/**
 * The packed package, installed in an empty folder: with the packages that an install brings along, those that it must
 * have and no optional one, and with those that are named beside it. They are links into this repository's
 * node_modules, so that nothing is downloaded.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

interface Manifest {
  readonly name: string
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface FreshInstall {
  /** The folder of the user's program. */
  readonly folder: string
  /** The folder of the package in it. */
  readonly installed: string
  readonly manifest: Manifest
}

const root = join(import.meta.dirname, "../..")

const required = ({ dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} }: Manifest) => [
  ...Object.keys(dependencies),
  ...Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true)
]

const link = (folder: string, name: string): void => {
  const place = join(folder, "node_modules", name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(join(root, "node_modules", name), place, "junction")
}

/** Runs `use` in the folder, and removes it afterwards. */
export const withFreshInstall = async <A>(
  tarball: string,
  beside: ReadonlyArray<string>,
  use: (install: FreshInstall) => Promise<A>
): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "effect-gpu-pool-"))
  try {
    const installed = join(folder, "node_modules/effect-gpu-pool")
    mkdirSync(installed, { recursive: true })
    execFileSync("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"])
    writeFileSync(join(folder, "package.json"), `{ "type": "module" }\n`)
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Manifest
    for (const name of [...required(manifest), ...beside]) link(folder, name)
    return await use({ folder, installed, manifest })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
