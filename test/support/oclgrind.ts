import { afterAll, assert } from "@effect/vitest"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { oclgrindVendors, useOpenClDriversIn } from "./required.ts"

/**
 * Makes Oclgrind the only OpenCL platform of this process, and fails the file when it has anything to report, as an
 * access outside of a buffer. The loader reads the variable when a program first asks it for platforms, so this must run
 * before; a test file that is named for Oclgrind has a process of its own (vitest.config.ts), so one that calls it at its top affects
 * no other. Setting `process.env` reaches the loader, except in a worker thread, which has a copy of the environment.
 */
export const useOclgrind = (): void => {
  const vendors = oclgrindVendors()
  if (vendors === undefined) return
  useOpenClDriversIn(vendors)
  const folder = mkdtempSync(join(tmpdir(), "oclgrind-"))
  const log = join(folder, "log")
  process.env.OCLGRIND_LOG = log
  afterAll(() => {
    const report = existsSync(log) ? readFileSync(log, "utf8") : ""
    rmSync(folder, { recursive: true, force: true })
    assert.strictEqual(report.slice(0, 4000), "", "what Oclgrind reports")
  })
}
