/**
 * Builds the library and the packages around it: `node scripts/build.ts [--into FOLDER] [package...]`, each as a project of
 * the compiler's own, against the declarations of those before it, as its users do. What is built lies in `dist` of each
 * package, or with `--into` in the folder, as an install would put it there.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { parseArgs } from "node:util"
import { keepPublic } from "./declarations.ts"
import { setup as writePage } from "./page.ts"
import { pageScript } from "./pageScript.ts"
import { markPure } from "./pure.ts"

const root = join(import.meta.dirname, "..")

/** The packages by their folders, each after those that it imports. */
export const folders = [
  ".",
  "packages/schedules",
  "packages/arrays",
  "packages/observability",
  "packages/testing",
  "packages/interop",
  "packages/fleet",
  "packages/cli"
] as const

const nameOf = (folder: string): string =>
  (JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as { readonly name: string }).name

const compile = (project: string, args: ReadonlyArray<string>): void => {
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const { status } = spawnSync(process.execPath, [tsc, "-p", project, ...args], { stdio: "inherit" })
  if (status !== 0) throw new Error(`${relative(root, project)} does not compile`)
}

const finish = async (source: string, built: string): Promise<void> => {
  markPure(built)
  keepPublic(source, built)
  const page = join(source, "src/page.ts")
  if (existsSync(page)) writeFileSync(join(built, "page.js"), await pageScript(page))
}

const build = async (folder: string): Promise<void> => {
  const source = join(root, folder)
  rmSync(join(source, "dist"), { recursive: true, force: true })
  compile(join(source, "tsconfig.build.json"), [])
  await finish(source, join(source, "dist"))
}

/** The sources are copied first: beside them the compiler finds what was installed before, and not what is in this repository. */
const buildInto = async (target: string, folder: string): Promise<void> => {
  const installed = join(target, "node_modules", nameOf(folder))
  const copy = join(target, "packages", folder === "." ? "library" : folder.replace("packages/", ""))
  mkdirSync(installed, { recursive: true })
  for (const file of ["package.json", "tsconfig.build.json", "src"]) {
    cpSync(join(root, folder, file), join(copy, file), { recursive: true })
  }
  cpSync(join(root, folder, "package.json"), join(installed, "package.json"))
  const project = JSON.parse(readFileSync(join(copy, "tsconfig.build.json"), "utf8")) as object
  const base = folder === "." ? "tsconfig.json" : "tsconfig.build.json"
  writeFileSync(join(copy, "tsconfig.build.json"), JSON.stringify({ ...project, extends: join(root, base) }))
  compile(join(copy, "tsconfig.build.json"), ["--outDir", join(installed, "dist")])
  await finish(copy, join(installed, "dist"))
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({ options: { into: { type: "string" } }, allowPositionals: true })
  const wanted = positionals.length === 0 ? folders : positionals
  await writePage()
  for (const folder of wanted) {
    if (values.into === undefined) await build(folder)
    else await buildInto(values.into, folder)
  }
}
