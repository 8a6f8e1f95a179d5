import { defineConfig } from "vitest/config"

const condition = "effect-gpu-pool:source"

export default defineConfig({
  resolve: { conditions: [condition] },
  ssr: { resolve: { conditions: [condition] } },
  test: {
    include: ["test/**/*.test.ts"],
    // processes that a test starts resolve "effect-gpu-pool" to the sources, as its own process does
    env: { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --conditions=${condition}`.trim() }
  }
})
