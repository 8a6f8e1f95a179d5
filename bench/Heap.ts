/** The heap of this process once everything that can go has gone. */
import { Effect } from "effect"

/** Bytes in use, buffers outside the heap included. Compiled code and the like may settle in several collections. */
export const bytes: Effect.Effect<number> = Effect.sync(() => {
  if (globalThis.gc === undefined) throw new Error("run it with --expose-gc")
  for (let collection = 0; collection < 4; collection++) globalThis.gc()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
})
