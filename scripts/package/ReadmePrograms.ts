/** The programs of the README, against the installed package: one process runs them one after the other. */
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Example, examplesOfMarkdown, executable } from "../../test/support/examples.ts"
import type { FreshInstall } from "./FreshInstall.ts"

const file = "README.md"

const moduleOf = ({ line }: Example): string => `./${file}+${line}.ts`

const mainOf = (examples: ReadonlyArray<Example>): string =>
  examples.map((example) =>
    `await import("${moduleOf(example)}").catch((cause) => {
  throw new Error("${file}:${example.line} fails", { cause })
})`
  ).join("\n")

/** What is wrong with them; also that there are none. */
export const readmeProblems = ({ folder, installed }: FreshInstall): ReadonlyArray<string> => {
  const programs = examplesOfMarkdown(file, readFileSync(join(installed, file), "utf8")).filter(({ runs }) => runs)
  if (programs.length === 0) return [`${file} has no programs`]
  const place = join(folder, "readme")
  mkdirSync(place)
  for (const program of programs) writeFileSync(join(place, moduleOf(program)), executable(program))
  writeFileSync(join(place, "main.ts"), mainOf(programs))
  const { status, stderr, stdout } = spawnSync(process.execPath, ["main.ts"], { cwd: place, encoding: "utf8" })
  return status === 0 ? [] : [`a program of ${file} does not run:\n${stdout}${stderr}`]
}
