/** The synchronous core of a pool of blocks or of an arena, with leases and free memory between them. */
import { Effect, Schema } from "effect"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import type { PoolCore } from "effect-gpu-pool/machine"
import { median } from "simple-statistics"
import * as Contender from "../Contender.ts"
import * as Random from "../Random.ts"

const family = 13
const alignment = 256
const pairs = 200_000

type Core = PoolCore.BlockCore<object>
type Block = PoolCore.PoolBlock<object>

const lease = (core: Core, size: number): Block => {
  const blockSize = core.slabs?.sizePolicy.blockSize(size) ?? Math.ceil(size / alignment) * alignment
  const block = core.acquireOwn(family, blockSize, size)
  if (block !== undefined) return block
  core.addPending(blockSize, size)
  return core.addActive(family, blockSize, {}, size)
}

const input = Schema.Struct({
  strategy: Schema.Literals(["blocks", "arena"]),
  /** How many there are, and as many free chunks between them. */
  leases: Schema.Int,
  /** What a pair does: release any lease and acquire one of another size, or acquire and release one beside them. */
  replaces: Schema.Boolean
})

type Input = typeof input.Type

const pairOf = ({ leases, replaces, strategy }: Input): () => void => {
  const { core } = strategy === "arena" ? PoolStrategy.arena() : PoolStrategy.blocks
  const made: Core = core({}, { alignment, splits: () => true, part: () => ({}) })
  const random = Random.make(1)
  const sizes = Array.from({ length: 4096 }, () => leases > 1 ? Random.integer(random, 256, 4096) : 1024)
  const all = Array.from({ length: 2 * leases }, (_, index) => lease(made, sizes[index % sizes.length]!))
  all.forEach((block, index) => {
    if (index % 2 === 1) made.release(block)
  })
  const kept = all.filter((_, index) => index % 2 === 0)
  const places = Array.from({ length: 131_071 }, () => Random.integer(random, 0, kept.length - 1))
  let at = 0
  const nextSize = () => sizes[at % sizes.length]!
  const replace = () => {
    at++
    const place = places[at % places.length]!
    made.release(kept[place]!)
    kept[place] = lease(made, nextSize())
  }
  const add = () => {
    at++
    made.release(lease(made, nextSize()))
  }
  return replaces ? replace : add
}

/** Of the processor, which other programs may have meanwhile. */
const nanosPerPair = (pair: () => void): number => {
  const from = process.threadCpuUsage()
  for (let left = pairs; left > 0; left--) pair()
  const { system, user } = process.threadCpuUsage(from)
  return (system + user) * 1000 / pairs
}

const measure = (input: Input): number => {
  const pair = pairOf(input)
  globalThis.gc?.()
  const rounds = Array.from({ length: 25 }, () => nanosPerPair(pair))
  return median(rounds.slice(5))
}

export const contender = Contender.make({
  module: import.meta.url,
  input,
  figures: Schema.Finite,
  measure: (input) => Effect.sync(() => measure(input))
})

if (import.meta.main) Contender.main(contender)
