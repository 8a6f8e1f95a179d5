/**
 * What a user meets who installs the packed package in an empty folder: `node scripts/package/main.ts TARBALL`. Its
 * documents have no dead links, its command runs, and so do the programs of its README.
 */
import { commandProblems } from "./Command.ts"
import { deadLinks } from "./DeadLinks.ts"
import { type FreshInstall, withFreshInstall } from "./FreshInstall.ts"
import { readmeProblems } from "./ReadmePrograms.ts"

const linkProblems = ({ installed }: FreshInstall): ReadonlyArray<string> =>
  deadLinks(installed).map(({ file, line, target, why }) => `${file}:${line}: the link to ${target} is dead: ${why}`)

const [tarball] = process.argv.slice(2)
if (tarball === undefined) throw new Error("usage: node scripts/package/main.ts TARBALL")

const problems = await withFreshInstall(tarball, [], async (install) => [
  ...linkProblems(install),
  ...commandProblems(install),
  ...readmeProblems(install)
])
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log("package: a fresh install has no dead links, its command runs, and so do the README's programs")
