/** What a process has in memory, without what can go and without what is kept for later. */
import { Effect } from "effect"

/** Bytes in use, buffers outside the heap included. Compiled code and the like may settle in several collections. */
export const bytes: Effect.Effect<number> = Effect.sync(() => {
  if (globalThis.gc === undefined) throw new Error("run it with --expose-gc")
  for (let collection = 0; collection < 4; collection++) globalThis.gc()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
})

/** A process whose resident memory tells what is in use, rather than what V8 and the C library keep for later. */
export const keepingLittle = {
  args: ["--min-semi-space-size=8", "--max-semi-space-size=8"],
  env: { MALLOC_MMAP_THRESHOLD_: "65536" }
}
