/** Oclgrind beside the machine's own OpenCL platforms, which are mostly in another folder. */
import { afterAll } from "@effect/vitest"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { oclgrindVendors, useOpenClDriversIn } from "./required.ts"

const system = "/etc/OpenCL/vendors"

/** Call it at the top of a test file that has a process of its own: the loader reads the folder at its first use. */
export const bothPlatforms = (): void => {
  const oclgrind = oclgrindVendors()
  mkdirSync("test-results", { recursive: true })
  const folder = mkdtempSync(join("test-results", "vendors-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  for (const vendors of [system, oclgrind]) {
    if (vendors === undefined || !existsSync(vendors)) continue
    for (const file of readdirSync(vendors).filter((file) => file.endsWith(".icd"))) {
      copyFileSync(join(vendors, file), join(folder, file))
    }
  }
  if (oclgrind !== undefined) useOpenClDriversIn(join(process.cwd(), folder))
}
