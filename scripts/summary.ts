/**
 * The last line of the continuous integration, `N passed, N failed` and `, N skipped` if any, from vitest's JSON report:
 * `node scripts/summary.ts report.json`. Exits non-zero unless everything ran and passed.
 */
import { readFileSync } from "node:fs"

interface Report {
  readonly success: boolean
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string }>
  }>
}

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error("usage: node scripts/summary.ts report.json")
const { success, testResults } = JSON.parse(readFileSync(path, "utf8")) as Report

const statuses = testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
// a file that fails before its tests are known has no test to count
const broken = testResults.filter(({ assertionResults, status }) =>
  status === "failed" && assertionResults.every((assertion) => assertion.status !== "failed")
)
const passed = statuses.filter((status) => status === "passed").length
const failed = statuses.filter((status) => status === "failed").length + broken.length
const skipped = statuses.length - statuses.filter((status) => status === "passed" || status === "failed").length

for (const { name } of broken) console.log(`failed before its tests ran: ${name}`)
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`)
if (!success || passed === 0 || failed > 0 || skipped > 0) process.exitCode = 1
