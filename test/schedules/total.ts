/** Prints at the end of a test run how many schedules its explored scenes took. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** Where each explored program adds a line with its number of schedules. */
    readonly scheduleCounts: string
  }
}

export const setup = (project: TestProject): () => void => {
  const folder = mkdtempSync(join(tmpdir(), "effect-gpu-pool-schedules-"))
  const counts = join(folder, "counts")
  writeFileSync(counts, "")
  project.provide("scheduleCounts", counts)
  return () => {
    const lines = readFileSync(counts, "utf8").split("\n").filter((line) => line !== "")
    rmSync(folder, { recursive: true })
    if (lines.length === 0) return
    const sum = lines.reduce((total, line) => total + Number(line), 0)
    console.log(`\n${sum.toLocaleString("en")} schedules of ${lines.length} programs explored`)
  }
}
