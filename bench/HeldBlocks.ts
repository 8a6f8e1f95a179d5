/** How the blocks that a pool holds are spread: over 64 bins, as a program with many sizes leaves them. */
import { Effect } from "effect"
import type { BufferPool } from "effect-gpu-pool"

/** The numbers of held blocks at which a hit is measured: it should cost the same at each. */
export const counts: ReadonlyArray<number> = [10, 1000, 100_000]

/** The size of the n-th held block, in bytes; that of the first is the one to hit. */
export const heldSize = (index: number): number => 1024 - 16 * (index % 64)

/** Makes a pool hold so many blocks. */
export const hold = (pool: BufferPool.BufferPool["Service"], blocks: number) =>
  Effect.scoped(Effect.gen(function*() {
    for (let index = 0; index < blocks; index++) yield* pool.allocate(heldSize(index))
  }))
