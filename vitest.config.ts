import { join } from "node:path"
import { defineConfig } from "vitest/config"

const condition = "effect-gpu-pool:source"

/**
 * These do not leave their process as it was, or ask what its heap has. For Oclgrind the loader of drivers gets another
 * environment, which it reads once; parts that cannot be loaded stay among those that `LazyModule.all` loads; and where steps are
 * counted, the engine optimizes nothing any more.
 */
const alone = "*Oclgrind|*.scale|*.memory|DeviceMemo|LazyModule|OpenClMemoryObjects|OpenClOutOfMemory|UnavailableGpu|" +
  "WebGpuTransferredMemory|PassThrough|Ort|" +
  "ReplayScale|ReadTimeline|BlockLedger|EvictionPolicy|*.evidence|*.jobLimit|Spans|PoolMetrics|PoolEvents|KernelMetrics"

const sharing = [
  `test/{domain,services,schedules,layers,conformance}/**/!(${alone}).test.ts`,
  `packages/{arrays,fleet,interop,observability,schedules,testing}/test/**/!(${alone}).test.ts`
]

const project = (name: string, isolate: boolean, include: Array<string>, exclude: Array<string>) => ({
  resolve: { conditions: [condition] },
  ssr: { resolve: { conditions: [condition] } },
  test: {
    name,
    isolate,
    setupFiles: ["test/support/loadedDeadlocks.ts", ...(isolate ? [] : ["test/support/freshHub.ts"])],
    include,
    exclude: ["**/node_modules/**", ...exclude],
    // This only ends what hangs, on however busy a machine: compilers alone can take a minute.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    env: {
      // Processes that a test starts resolve "effect-gpu-pool" to the sources, as its own process does.
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --conditions=${condition}`.trim(),
      // Hundreds of them load the same files: without it half of their time is the compilation of these.
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node")
    }
  }
})

export default defineConfig({
  test: {
    globalSetup: ["scripts/page.ts", "test/schedules/total.ts"],
    // vitest leaves one core free, which is half of a machine with two; no test is about time, so none needs it.
    maxWorkers: "100%",
    projects: [
      // To load the library for each of three hundred files takes longer than most of their tests.
      project("shared", false, sharing, []),
      project("alone", true, ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"], sharing)
    ]
  }
})
