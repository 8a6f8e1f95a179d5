/** What is measured on one backend: the same job in every form, with memory from a pool and without one. */
import { Duration, Effect, Layer } from "effect"
import { BufferPool, DeviceContext, type GpuError, type PoolStats, SizePolicy } from "effect-gpu-pool"
import type { DeviceInfo } from "effect-gpu-pool/backend"
import type { Airport } from "./Airports.ts"
import type { Backend } from "./Backends.ts"
import * as Form from "./Form.ts"
import * as NearestNeighbours from "./NearestNeighbours.ts"
import { Progress } from "./Progress.ts"
import * as Reference from "./Reference.ts"

const pooled = BufferPool.layer()

/**
 * The same pool, except that it keeps nothing and rounds nothing up: a lease is a buffer fresh from the driver, and its
 * end frees that. The job need not know.
 */
const unpooled = Layer.tap(
  BufferPool.layer({ sizePolicy: SizePolicy.exact }),
  (context) => Effect.provide(BufferPool.stopHolding, context)
)

/** The ways to run the job, each with one improvement over the one before. */
export const ways = [
  { name: "eager, no pool", form: Form.eager, pool: unpooled },
  { name: "eager", form: Form.eager, pool: pooled },
  { name: "scoped", form: Form.scoped, pool: pooled },
  { name: "fused", form: Form.fused, pool: pooled }
] as const

type Way = typeof ways[number]

/** The job, run one way. */
export interface Measurement {
  readonly way: Way["name"]
  /** The median of the rounds, in milliseconds. */
  readonly millis: number
  /** The pool's counters after one job. */
  readonly stats: PoolStats.PoolStats
  /** The largest of all rounds against float64, in metres. */
  readonly errorMeters: number
}

/** The results of a backend that ran the job. */
export interface Measured {
  readonly _tag: "Measured"
  readonly backend: string
  readonly device: DeviceInfo.DeviceInfo
  /** One for each of {@link ways}. */
  readonly measurements: ReadonlyArray<Measurement>
  readonly neighbours: NearestNeighbours.Neighbours
}

/** This machine has no such device. */
export interface Missing {
  readonly _tag: "Missing"
  readonly backend: string
  readonly why: string
  readonly hint: string
}

/** The device is there, but the job failed. */
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

/** Runs the job in all ways on one backend. A machine without it is an answer, not a failure. */
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
  hint: `${hint} In this repository \`npm run drivers\` installs drivers on Debian and Ubuntu.`
})

const measure = Effect.fn("Comparison.measure")(function*(
  backend: string,
  airports: ReadonlyArray<Airport>,
  reference: Reference.Reference,
  { rounds, rowsPerTile }: Options
) {
  const device = yield* DeviceContext.info
  const progress = yield* Progress
  return yield* progress.track(
    `${backend}, ${device.name}`,
    rounds * ways.length * airports.length,
    (onRows) =>
      Effect.gen(function*() {
        // One tile, so that compiling the kernels counts nowhere.
        const few = airports.slice(0, Math.max(2, rowsPerTile))
        yield* Effect.forEach(ways, (way) => job(few, way, { rowsPerTile, onRows: () => Effect.void }))
        // In alternation, so that other load on the machine affects all ways alike.
        const turn = Effect.forEach(ways, (way) => timed(airports, way, reference, { rowsPerTile, onRows }))
        const runs = (yield* Effect.replicateEffect(turn, rounds)).flat()
        const outcome: Outcome = {
          _tag: "Measured",
          backend,
          device,
          measurements: ways.map(({ name }) => summary(runs.filter(({ way }) => way === name))),
          neighbours: runs[0]!.neighbours
        }
        return outcome
      })
  )
})

type Watched = Omit<NearestNeighbours.JobOptions, "form">

/** Runs the job one way, and returns what the pool counted. */
const job = (airports: ReadonlyArray<Airport>, { form, pool }: Way, options: Watched) =>
  Effect.gen(function*() {
    const [duration, neighbours] = yield* Effect.timed(NearestNeighbours.run(airports, { ...options, form }))
    return { millis: Duration.toMillis(duration), neighbours, stats: yield* BufferPool.stats }
  }).pipe(Effect.provide(pool))

interface Run extends Measurement {
  readonly neighbours: NearestNeighbours.Neighbours
}

const timed = (airports: ReadonlyArray<Airport>, way: Way, reference: Reference.Reference, options: Watched) =>
  Effect.map(job(airports, way, options), (run): Run => ({
    ...run,
    way: way.name,
    errorMeters: Reference.largestError(reference, run.neighbours)
  }))

/** The run of median time of one way, with the largest error of all its runs. */
const summary = (runs: ReadonlyArray<Run>): Measurement => {
  const sorted = [...runs].sort((a, b) => a.millis - b.millis)
  const { millis, stats, way } = sorted[Math.floor(sorted.length / 2)]!
  return { way, millis, stats, errorMeters: Math.max(...runs.map(({ errorMeters }) => errorMeters)) }
}
