/** What docs/libraries.md says of the workloads, in Node and in pages. */
import { assert } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import type { Run } from "./Workload.ts"

export interface Figures {
  readonly library: string
  readonly file: string
  readonly results: number
  /** Buffers that the driver makes, without a pool and with one. */
  readonly creates: readonly [raw: number, pooled: number]
  /** The most bytes at a time with a pool, as a multiple of those without one. */
  readonly mostPeak: number
}

export const figures: ReadonlyArray<Figures> = [
  { library: "TypeGPU", file: "typegpu.ts", results: 20, creates: [420, 20], mostPeak: 2.5 },
  // Vertices are mapped at creation, so their buffers are the device's own.
  { library: "three.js", file: "three.ts", results: 30, creates: [180, 93], mostPeak: 1 },
  // It keeps what it has freed for arrays of the same size.
  { library: "jax-js", file: "jax.ts", results: 24, creates: [67, 45], mostPeak: 1.02 }
]

/** The same bits without a pool and with one, no error in either, and as many buffers of the driver as they should make. */
export const assertFigures = ({ creates, mostPeak, results }: Figures, raw: Run, pooled: Run): void => {
  deepStrictEqual([raw.errors, pooled.errors], [[], []])
  deepStrictEqual(pooled.results, raw.results)
  deepStrictEqual([raw.filled, new Set(raw.results).size], [results, results])
  deepStrictEqual([raw.creates, pooled.creates], creates)
  assert.isAtMost(pooled.peakBytes, raw.peakBytes * mostPeak)
  deepStrictEqual([pooled.stats!.staleUses, pooled.stats!.refused], [0, 0])
}
