import { defineConfig } from "vitest/config"

const condition = "effect-gpu-pool:source"

/** The configuration of a run in a process of its own, which writes no files: see DeviceTests.test.ts. */
export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: [condition] },
  ssr: { resolve: { conditions: [condition] } },
  test: { cache: false, include: ["withAndWithout.ts"], tags: [{ name: "gpu" }] }
})
