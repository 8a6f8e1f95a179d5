/** Every path that a package exports, imported from an installed copy. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { FreshInstall } from "./FreshInstall.ts"

export const entryProblems = (install: FreshInstall, name: string): ReadonlyArray<string> => {
  const { exports } = JSON.parse(readFileSync(join(install.home(name), "package.json"), "utf8")) as {
    readonly exports: object
  }
  const paths = Object.keys(exports).filter((path) => path !== "./package.json").map((path) => name + path.slice(1))
  const code = paths.map((path) => `await import("${path}")`).join("\n")
  const args = ["--input-type=module", "--eval", code]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: install.folder, encoding: "utf8" })
  return status === 0 ? [] : [`an entry point of ${name} does not load:\n${stderr}`]
}
