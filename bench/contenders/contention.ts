/** Fibers that contend for the blocks of a pool, against Effect's own semaphore with as many permits. */
import { Effect, Schema, Semaphore } from "effect"
import { BufferPool, type GpuError } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import { mean } from "simple-statistics"
import * as BareLine from "../BareLine.ts"
import * as Contender from "../Contender.ts"
import * as Crowd from "../Crowd.ts"
import * as Rounds from "../Rounds.ts"

const warmUpFibers = 1000
const warmUpRounds = 20

const holding = () => Effect.yieldNow

/** The contender that measures the cost of parked fibers alone. */
export const bareLine = "a bare line (Effect.callback)"

const pairs = Effect.gen(function*() {
  const pool = yield* BufferPool.BufferPool
  const semaphore = yield* Semaphore.make(Crowd.blocks)
  return {
    [Rounds.loop]: Effect.yieldNow,
    [bareLine]: BareLine.make(Crowd.blocks)(Effect.yieldNow),
    "pool.use": pool.use(Crowd.blockSize, holding),
    "scoped(pool.allocate)": Effect.scoped(Effect.andThen(pool.allocate(Crowd.blockSize), Effect.yieldNow)),
    "Semaphore.withPermit": semaphore.withPermit(Effect.yieldNow)
  }
})

/** For at least this long crowds of one kind run in a row; a sample is their mean. */
const sampleMillis = 500

const meanNanos = Effect.fnUntraced(function*(crowd: Effect.Effect<number, GpuError.GpuError>) {
  // Collect the garbage of other contenders now, not while this one is measured.
  globalThis.gc?.()
  const until = performance.now() + sampleMillis
  const nanos: Array<number> = []
  do nanos.push(yield* crowd)
  while (performance.now() < until)
  return mean(nanos)
})

const measure = Effect.fnUntraced(
  function*({ contenders, crowds, pairsEach, rounds }: typeof Input.Type) {
    const all = Object.entries(yield* pairs).filter(([name]) => contenders.includes(name))
    for (let round = 0; round < warmUpRounds; round++) {
      for (const [, pair] of all) yield* Crowd.nanosPerPair(warmUpFibers, pair, pairsEach)
    }
    const samples = crowds.flatMap((fibers) =>
      all.map(([name, pair]) => ({
        fibers,
        name,
        sample: meanNanos(Crowd.nanosPerPair(fibers, pair, pairsEach)),
        nanos: Array<number>()
      }))
    )
    // The first round pays for the heap that the largest crowd needs.
    for (let round = -1; round < rounds; round++) {
      for (const { nanos, sample } of samples) {
        const measured = yield* sample
        if (round >= 0) nanos.push(measured)
      }
    }
    return crowds.map((crowd) =>
      Object.fromEntries(samples.flatMap(({ fibers, name, nanos }) => fibers === crowd ? [[name, nanos]] : []))
    )
  },
  Effect.provide(BufferPool.layer({ onExhausted: "wait", maxBytes: Crowd.blocks * Crowd.blockSize })),
  Effect.provide(Host.layer())
)

const Input = Schema.Struct({
  contenders: Schema.Array(Schema.String),
  /** The numbers of fibers; all take turns. */
  crowds: Schema.Array(Schema.Int),
  /** How often each of them acquires and releases. */
  pairsEach: Schema.Int,
  rounds: Schema.Int
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  /** By crowd. */
  figures: Schema.Array(Rounds.Nanos),
  measure
})

if (import.meta.main) Contender.main(contender)
