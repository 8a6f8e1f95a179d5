/**
 * Programs that have memory and wait for more, each retried as a whole: how long until all have ended, and how often
 * they failed.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Layer, Schema } from "effect"
import { BufferPool, type CommandQueue, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"

type Gpu = BufferPool.BufferPool | CommandQueue.CommandQueue | Device.Services

interface Crowd {
  readonly jobs: number
  readonly maxBytes: number
  readonly job: Effect.Effect<unknown, GpuError.GpuError, Gpu>
}

const leaseBytes = 1024

/** One lease, some yields, and then another. */
const twoLeases = Effect.scoped(Effect.gen(function*() {
  yield* BufferPool.allocate(leaseBytes)
  for (let turns = 0; turns < 3; turns++) yield* Effect.yieldNow
  yield* BufferPool.allocate(leaseBytes)
}))

/** Elements of an array of 1 MiB. */
const elements = 1 << 18

/** Has up to five arrays at a time. */
const arrays = Effect.scoped(Effect.gen(function*() {
  const x = yield* DeviceArray.full([elements], 3)
  const y = yield* DeviceArray.full([elements], 4)
  const squares = yield* DeviceArray.add(yield* DeviceArray.square(x), yield* DeviceArray.square(y))
  return yield* DeviceArray.toNumber(yield* DeviceArray.max(yield* DeviceArray.sqrt(squares)))
}))

const crowds: Readonly<Record<"two leases" | "arrays", Crowd>> = {
  "two leases": { jobs: 64, maxBytes: 4 * leaseBytes, job: twoLeases },
  arrays: { jobs: 32, maxBytes: 8 << 20, job: arrays }
}

/** On a host without latency no two jobs meet. */
const layers = { ...Backend.layers, host: Host.layer({ latency: "1 millis" }) }

const measure = Effect.fnUntraced(function*({ backend, crowd }: typeof Input.Type) {
  const { job, jobs, maxBytes } = crowds[crowd]
  let failures = 0
  const retried = Effect.retry(Effect.tapError(job, () => Effect.sync(() => failures++)), {
    while: (error) => error.isRetryable
  })
  const device = Layer.provideMerge(BufferPool.layer({ maxBytes, onExhausted: "wait" }), layers[backend])
  const millis = yield* Effect.provide(
    Effect.gen(function*() {
      const from = performance.now()
      yield* Effect.replicateEffect(retried, jobs, { concurrency: "unbounded", discard: true })
      return performance.now() - from
    }),
    device
  )
  return { millis, failures }
})

const Input = Schema.Struct({ backend: Backend.Name, crowd: Schema.Literals(["two leases", "arrays"]) })

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Schema.Struct({ millis: Schema.Number, failures: Schema.Number }),
  measure
})

if (import.meta.main) Contender.main(contender)
