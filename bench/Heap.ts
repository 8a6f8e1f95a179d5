/** The memory that a process uses, without garbage and without what is cached. */
import { Effect } from "effect"
import { GCProfiler } from "node:v8"

/** Bytes in use, buffers outside the heap included. Compiled code and the like may settle in several collections. */
export const bytes: Effect.Effect<number> = Effect.sync(() => {
  if (globalThis.gc === undefined) throw new Error("run it with --expose-gc")
  for (let collection = 0; collection < 4; collection++) globalThis.gc()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
})

/** The bytes that an effect allocated, and the milliseconds for which the garbage collector paused it. */
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

/** Options of a process whose resident memory is what it uses, not what V8 and the C library cache. */
export const keepingLittle = {
  args: ["--min-semi-space-size=8", "--max-semi-space-size=8"],
  env: { MALLOC_MMAP_THRESHOLD_: "65536" }
}
