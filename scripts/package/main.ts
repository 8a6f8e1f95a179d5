/**
 * What a user meets who installs a packed package in an empty folder: `node scripts/package/main.ts FOLDER`, which has the
 * tarballs. The library brings `effect` alone; documents have no dead links; Node imports every entry point, and Vite bundles
 * it; the programs of every README run, and so does the command.
 */
import { execFileSync } from "node:child_process"
import { commandProblems } from "./Command.ts"
import { deadLinks } from "./DeadLinks.ts"
import { entryProblems, viteProblems } from "./EntryPoints.ts"
import { type FreshInstall, withFreshInstall } from "./FreshInstall.ts"
import { readmeProblems } from "./ReadmePrograms.ts"
import { packAll, type Tarball } from "./Tarballs.ts"

const library = "effect-gpu-pool"
const command = "@effect-gpu-pool/cli"

/** The library as npm may unpack it. */
const most = { megabytes: 4.5, files: 900 }

interface Tree {
  /** Of an optional package that is not there, nothing. */
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, Tree>>
}

/** What the library brings beside `effect`. */
const treeProblems = ({ folder }: FreshInstall): ReadonlyArray<string> => {
  const args = ["ls", "--omit=dev", "--all", "--json"]
  const { dependencies = {} } = JSON.parse(execFileSync("npm", args, { cwd: folder, encoding: "utf8" })) as Tree
  return [...Object.entries(dependencies), ...Object.entries(dependencies[library]?.dependencies ?? {})]
    .filter(([name, { version }]) => version !== undefined && name !== library && name !== "effect")
    .map(([name]) => `${library} brings ${name} beside effect`)
}

const sizeProblems = ({ entryCount, unpackedSize }: Tarball): ReadonlyArray<string> => {
  const megabytes = unpackedSize / 1e6
  console.log(`package: ${library} unpacks to ${megabytes.toFixed(1)} MB and ${entryCount} files`)
  return megabytes > most.megabytes || entryCount > most.files
    ? [`${library} unpacks to more than ${most.megabytes} MB or ${most.files} files`]
    : []
}

const linkProblems = (install: FreshInstall, name: string): ReadonlyArray<string> =>
  deadLinks(install.home(name)).map(({ file, line, target, why }) =>
    `${name}/${file}:${line}: the link to ${target} is dead: ${why}`
  )

const [target] = process.argv.slice(2)
if (target === undefined) throw new Error("usage: node scripts/package/main.ts FOLDER")

const tarballs = packAll(target)
const own = tarballs.filter(({ name }) => name === library)
const schedules = tarballs.filter(({ name }) => name === "effect-schedules")
const withCommand = tarballs.filter(({ name }) =>
  [library, "@effect-gpu-pool/observability", "@effect-gpu-pool/fleet", command].includes(name)
)

/** They are tried in an install without the others. */
const tried = [library, "effect-schedules", command]

const problemsOf = (name: string) => (install: FreshInstall): ReadonlyArray<string> => [
  ...linkProblems(install, name),
  ...entryProblems(install, name),
  ...readmeProblems(install, name)
]

const problems = [
  ...own.flatMap(sizeProblems),
  ...await withFreshInstall(own, [], (install) => [...treeProblems(install), ...problemsOf(library)(install)]),
  ...await withFreshInstall(schedules, [], problemsOf("effect-schedules")),
  ...await withFreshInstall(withCommand, [], (install) => [
    ...problemsOf(command)(install),
    ...commandProblems(install, command)
  ]),
  ...await withFreshInstall(
    tarballs,
    ["fast-check"],
    async (install) => [
      ...tarballs.filter(({ name }) => !tried.includes(name)).flatMap(({ name }) => problemsOf(name)(install)),
      ...await viteProblems(install, tarballs.map(({ name }) => name))
    ]
  )
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(
  "package: in an empty folder every entry point loads in Node and Vite, the command runs, and so do the programs of every README"
)
