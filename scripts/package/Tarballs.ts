/** Packs the library and the packages around it, as they are built. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { folders } from "../build.ts"

const root = join(import.meta.dirname, "../..")

export interface Tarball {
  readonly name: string
  readonly file: string
  /** Bytes, and how many files, when it is unpacked. */
  readonly unpackedSize: number
  readonly entryCount: number
}

/** Writes them into a folder. */
export const packAll = (target: string): ReadonlyArray<Tarball> =>
  folders.map((folder) => {
    const args = ["pack", "--json", "--silent", "--ignore-scripts", "--workspaces=false", "--pack-destination", target]
    const [packed] = JSON.parse(
      execFileSync("npm", args, { cwd: join(root, folder), encoding: "utf8" })
    ) as ReadonlyArray<Omit<Tarball, "file"> & { readonly filename: string }>
    const { entryCount, filename, name, unpackedSize } = packed!
    return { name, file: join(target, filename), unpackedSize, entryCount }
  })
