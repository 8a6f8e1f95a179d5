/**
 * How often later requests bypass a waiting one, measured as any program can: by arrivals, grants and the number of
 * waiters.
 */
import { Effect, Schema } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Bypassing from "../Bypassing.ts"
import * as Contender from "../Contender.ts"
import * as Crowd from "../Crowd.ts"
import * as Random from "../Random.ts"

/** Mostly one to eight blocks, and every sixteenth time half of all blocks, which small requests tend to bypass. */
const mixedSize = (next: () => number): number =>
  Crowd.blockSize * (next() < 1 / 16 ? Crowd.blocks / 2 : 1 + Math.floor(next() * 8))

const pairsEach = 4

const Input = Schema.Struct({
  fibers: Schema.Int,
  sizes: Schema.Literals(["equal", "mixed"]),
  maxBypasses: Schema.Int,
  seeds: Schema.Array(Schema.Int)
})

const crowd = Effect.fnUntraced(function*({ fibers, sizes }: typeof Input.Type, seed: number) {
  const pool = yield* BufferPool.BufferPool
  const next = Random.make(seed)
  let arrivals = 0
  const served: Array<number> = []
  const certain: Array<number> = []
  const arrive = Effect.flatMap(pool.stats, ({ waiters }) => {
    if (arrivals - served.length === waiters) certain.push(served.length)
    const arrival = arrivals++
    return pool.use(sizes === "equal" ? Crowd.blockSize : mixedSize(next), () => {
      served.push(arrival)
      return Effect.yieldNow
    })
  })
  // After a yield a fiber has a whole slice of the scheduler, so no other runs between its number and its place in the
  // wait queue.
  yield* Crowd.nanosPerPair(fibers, Effect.andThen(Effect.yieldNow, arrive), pairsEach)
  return Bypassing.most(served, certain)
})

const measure = (input: typeof Input.Type) =>
  Effect.forEach(input.seeds, (seed) =>
    crowd(input, seed).pipe(
      Effect.provide(BufferPool.layer({
        onExhausted: "wait",
        maxBytes: Crowd.blocks * Crowd.blockSize,
        maxBypasses: input.maxBypasses
      })),
      Effect.provide(Host.layer())
    ))

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  /** The most bypasses of any request, by seed. */
  figures: Schema.Array(Schema.Int),
  measure
})

if (import.meta.main) Contender.main(contender)
