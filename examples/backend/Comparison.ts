/** The same work on the host, on one thread and on several. */
import { Effect, Layer } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Mandelbrot from "./Mandelbrot.ts"
import * as Workers from "./Workers.ts"

const onHost = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()))

const onWorkers = (threads: number) => BufferPool.layer().pipe(Layer.provideMerge(Workers.layer({ threads })))

/** A line for each: what it ran on, its time, and how many times as fast as the host that is. */
export const compare = Effect.fnUntraced(function*(threads: number, options: Mandelbrot.Options) {
  const host = yield* Effect.provide(Mandelbrot.measure(options), onHost)
  const counts = threads === 1 ? [1] : [1, threads]
  const others = yield* Effect.forEach(
    counts,
    (count) =>
      Effect.map(Effect.provide(Mandelbrot.measure(options), onWorkers(count)), ({ millis, steps }) => ({
        name: count === 1 ? "workers, 1 thread" : `workers, ${count} threads`,
        millis,
        ratio: host.millis / millis,
        same: steps.every((step, i) => step === host.steps[i])
      }))
  )
  return [{ name: "host, the program's own thread", millis: host.millis, ratio: 1, same: true }, ...others]
})
