/** Every path that a package exports, from an installed copy: imported by Node, and bundled by Vite. */
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "vite"
import type { FreshInstall } from "./FreshInstall.ts"

const pathsOf = (install: FreshInstall, name: string): ReadonlyArray<string> => {
  const { exports } = JSON.parse(readFileSync(join(install.home(name), "package.json"), "utf8")) as {
    readonly exports: object
  }
  return Object.keys(exports).filter((path) => path !== "./package.json").map((path) => name + path.slice(1))
}

export const entryProblems = (install: FreshInstall, name: string): ReadonlyArray<string> => {
  const code = pathsOf(install, name).map((path) => `await import("${path}")`).join("\n")
  const args = ["--input-type=module", "--eval", code]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: install.folder, encoding: "utf8" })
  return status === 0 ? [] : [`an entry point of ${name} does not load:\n${stderr}`]
}

/** All of them in one build for a server, which has the entry points for Node too. */
export const viteProblems = async (
  install: FreshInstall,
  names: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  const paths = names.flatMap((name) => pathsOf(install, name))
  const entry = join(install.folder, "everything.js")
  writeFileSync(entry, paths.map((path, index) => `export * as e${index} from "${path}"`).join("\n"))
  try {
    await build({
      root: install.folder,
      configFile: false,
      logLevel: "silent",
      build: { ssr: entry, write: false },
      ssr: { noExternal: true, external: ["fast-check", "koffi", "webgpu"] }
    })
    return []
  } catch (cause) {
    return [`Vite does not bundle an entry point: ${String(cause)}`]
  }
}
