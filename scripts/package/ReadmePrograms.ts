/** The programs of a README, against the installed package: one process runs them one after the other. */
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

/** What is wrong with them; also that there are none, but of the command. */
export const readmeProblems = ({ folder, home }: FreshInstall, name: string): ReadonlyArray<string> => {
  const programs = examplesOfMarkdown(file, readFileSync(join(home(name), file), "utf8")).filter(({ runs }) => runs)
  if (programs.length === 0) return name === "@effect-gpu-pool/cli" ? [] : [`${file} of ${name} has no programs`]
  const place = join(folder, "readme", name)
  mkdirSync(place, { recursive: true })
  for (const program of programs) writeFileSync(join(place, moduleOf(program)), executable(program))
  writeFileSync(join(place, "main.ts"), mainOf(programs))
  const { status, stderr, stdout } = spawnSync(process.execPath, ["main.ts"], { cwd: place, encoding: "utf8" })
  return status === 0 ? [] : [`a program of ${file} of ${name} does not run:\n${stdout}${stderr}`]
}
