/** What is measured on one backend: the same job with a pool, and with every buffer from the driver and back to it. */
import { Duration, Effect, Layer } from "effect"
import { BufferPool, DeviceContext, SizePolicy } from "effect-gpu-pool"
import type { DeviceInfo, GpuError, PoolStats } from "effect-gpu-pool"
import type { Airport } from "./Airports.ts"
import type { Backend } from "./Backends.ts"
import * as NearestNeighbours from "./NearestNeighbours.ts"
import { Progress } from "./Progress.ts"
import * as Reference from "./Reference.ts"

/** One way of getting memory. */
export interface Measurement {
  /** The median of the rounds, in milliseconds. */
  readonly millis: number
  /** The pool's counters after one job. */
  readonly stats: PoolStats.PoolStats
}

/** The backend ran the job. */
export interface Measured {
  readonly _tag: "Measured"
  readonly backend: string
  readonly device: DeviceInfo.DeviceInfo
  readonly pooled: Measurement
  readonly unpooled: Measurement
  /** Against float64, over every round, in metres. */
  readonly errorMeters: number
  readonly neighbours: NearestNeighbours.Neighbours
}

/** This machine has no such device. */
export interface Missing {
  readonly _tag: "Missing"
  readonly backend: string
  readonly why: string
  readonly hint: string
}

/** The device is there, but the job did not end well. */
export interface Failed {
  readonly _tag: "Failed"
  readonly backend: string
  readonly error: GpuError.GpuError
}

export type Outcome = Measured | Missing | Failed

export interface Options {
  readonly rowsPerTile: number
  readonly rounds: number
}

const pooled = BufferPool.layer()

/**
 * The same pool, except that it keeps nothing and rounds nothing up: a lease is a buffer fresh from the driver, and its end
 * gives the buffer back. The job need not know.
 */
const unpooled = Layer.tap(
  BufferPool.layer({ sizePolicy: SizePolicy.exact }),
  (context) => Effect.provide(BufferPool.stopHolding, context)
)

/** Runs the job both ways on one backend. A machine without it is an answer, not a failure. */
export const run = Effect.fn("Comparison.run")(function*(
  backend: Backend,
  airports: ReadonlyArray<Airport>,
  reference: Reference.Reference,
  options: Options
) {
  return yield* measure(backend.name, airports, reference, options).pipe(
    Effect.provide(backend.layer),
    Effect.catchReason("GpuError", "DeviceUnavailable", (reason) => Effect.succeed(missing(backend.name, reason))),
    Effect.catchTag("GpuError", (error) => Effect.succeed<Outcome>({ _tag: "Failed", backend: backend.name, error }))
  )
})

/** A backend without a device, from the error that says so. */
export const missing = (backend: string, { hint, tried }: GpuError.DeviceUnavailable): Outcome => ({
  _tag: "Missing",
  backend,
  why: tried.map(({ device, why }) => `${device}: ${why}`).join("; "),
  hint
})

const measure = Effect.fn("Comparison.measure")(function*(
  backend: string,
  airports: ReadonlyArray<Airport>,
  reference: Reference.Reference,
  { rounds, rowsPerTile }: Options
) {
  const device = yield* DeviceContext.info
  const progress = yield* Progress
  const jobs = 2 * rounds
  return yield* progress.track(
    `${backend}, ${device.name}`,
    jobs * airports.length,
    (onRows) =>
      Effect.gen(function*() {
        yield* warmUp(airports, rowsPerTile)
        const job = timed(airports, reference, { rowsPerTile, onRows })
        // Turn by turn, so that whatever else the machine does meets both alike.
        const runs = yield* Effect.replicateEffect(
          Effect.all({
            pooled: Effect.provide(job, pooled),
            unpooled: Effect.provide(job, unpooled)
          }),
          rounds
        )
        const all = runs.flatMap((run) => [run.pooled, run.unpooled])
        const outcome: Outcome = {
          _tag: "Measured",
          backend,
          device,
          pooled: summary(runs.map((run) => run.pooled)),
          unpooled: summary(runs.map((run) => run.unpooled)),
          errorMeters: Math.max(...all.map((run) => run.errorMeters)),
          neighbours: all[0]!.neighbours
        }
        return outcome
      })
  )
})

/** One tile, so that compiling the kernels counts on neither side. */
const warmUp = (airports: ReadonlyArray<Airport>, rowsPerTile: number) =>
  NearestNeighbours.run(airports.slice(0, Math.max(2, rowsPerTile)), { rowsPerTile, onRows: () => Effect.void }).pipe(
    Effect.provide(unpooled)
  )

interface Run extends Measurement {
  readonly errorMeters: number
  readonly neighbours: NearestNeighbours.Neighbours
}

const timed = Effect.fn("Comparison.timed")(function*(
  airports: ReadonlyArray<Airport>,
  reference: Reference.Reference,
  options: NearestNeighbours.JobOptions
) {
  const [duration, neighbours] = yield* Effect.timed(NearestNeighbours.run(airports, options))
  const run: Run = {
    millis: Duration.toMillis(duration),
    stats: yield* BufferPool.stats,
    errorMeters: Reference.largestError(reference, neighbours),
    neighbours
  }
  return run
})

const summary = (runs: ReadonlyArray<Run>): Measurement => {
  const sorted = [...runs].sort((a, b) => a.millis - b.millis)
  return sorted[Math.floor(sorted.length / 2)]!
}
