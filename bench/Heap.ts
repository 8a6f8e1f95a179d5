/** What a process has in memory, without what can go and without what is kept for later. */
import { Effect } from "effect"
import { GCProfiler } from "node:v8"

/** Bytes in use, buffers outside the heap included. Compiled code and the like may settle in several collections. */
export const bytes: Effect.Effect<number> = Effect.sync(() => {
  if (globalThis.gc === undefined) throw new Error("run it with --expose-gc")
  for (let collection = 0; collection < 4; collection++) globalThis.gc()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
})

/** What an effect allocated in bytes, and for how many milliseconds the garbage collector kept it waiting. */
export const watched = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<{ readonly result: A; readonly allocated: number; readonly collecting: number }, E, R> =>
  Effect.suspend(() => {
    const profiler = new GCProfiler()
    profiler.start()
    let left = process.memoryUsage().heapUsed
    return Effect.map(effect, (result) => {
      const last = process.memoryUsage().heapUsed
      let allocated = 0
      let micros = 0
      for (const { afterGC, beforeGC, cost } of profiler.stop().statistics) {
        allocated += beforeGC.heapStatistics.usedHeapSize - left
        left = afterGC.heapStatistics.usedHeapSize
        micros += cost
      }
      return { result, allocated: allocated + last - left, collecting: micros / 1000 }
    })
  })

/** A process whose resident memory tells what is in use, rather than what V8 and the C library keep for later. */
export const keepingLittle = {
  args: ["--min-semi-space-size=8", "--max-semi-space-size=8"],
  env: { MALLOC_MMAP_THRESHOLD_: "65536" }
}
