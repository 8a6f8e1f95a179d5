/** The synchronous heart of a pool by itself: acquire on a hit, release. */
import { Effect, Schema } from "effect"
import { PoolCore } from "effect-gpu-pool/machine"
import { median } from "simple-statistics"
import * as Contender from "../Contender.ts"
import { heldSize } from "../HeldBlocks.ts"

const family = 13
const pairs = 500_000

const coreHolding = (held: number): PoolCore.PoolCore<object> => {
  const core = new PoolCore.PoolCore<object>()
  for (let index = 0; index < held; index++) {
    const size = heldSize(index)
    core.addPending(size)
    core.addHeld(family, size, {})
  }
  return core
}

const nanosPerPair = (core: PoolCore.PoolCore<object>): number => {
  const size = heldSize(0)
  const from = performance.now()
  for (let pair = 0; pair < pairs; pair++) {
    const block = core.acquire(family, size, size, 2 * size)
    if (block === undefined) throw new Error("the core holds no block of this size")
    core.release(block)
  }
  return (performance.now() - from) * 1e6 / pairs
}

const measure = (held: number): number => {
  const core = coreHolding(held)
  globalThis.gc?.()
  const rounds = Array.from({ length: 15 }, () => nanosPerPair(core))
  return median(rounds.slice(5))
}

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ held: Schema.Int }),
  figures: Schema.Finite,
  measure: ({ held }) => Effect.sync(() => measure(held))
})

if (import.meta.main) Contender.main(contender)
