/** Pools of shared virtual memory against pools of buffers, on one OpenCL device: leases on a hit, and round trips of data. */
import { Context, Effect, Layer, Schema } from "effect"
import { BufferPool, CommandQueue, type GpuError, Kernel, KernelArgument } from "effect-gpu-pool"
import { OpenCl, Svm } from "effect-gpu-pool/opencl"
import * as Contender from "../Contender.ts"
import { heldSize, hold } from "../HeldBlocks.ts"
import * as Rounds from "../Rounds.ts"

const calls = 10_000

/** Bytes of the round trips, and how many fill a turn. */
export const trips: ReadonlyArray<{ readonly bytes: number; readonly calls: number }> = [
  { bytes: 64 * 1024, calls: 50 },
  { bytes: 4 * 1024 * 1024, calls: 4 },
  { bytes: 64 * 1024 * 1024, calls: 1 }
]

const increment = Kernel.make({
  name: "increment",
  args: [KernelArgument.VectorArg("f32", "x")],
  body: { opencl: "x[i] += 1.0f;" }
})

type Device = OpenCl.Services

const poolOf = (layer: Layer.Layer<BufferPool.BufferPool, GpuError.GpuError, Device>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, BufferPool.BufferPool))

const nothing = () => Effect.void

/** By the names under which a program would look for them. */
const hits = (pools: Readonly<Record<string, BufferPool.Pool>>) => {
  const size = heldSize(0)
  const timed = Object.entries(pools).flatMap(([name, pool]) => [
    [`scoped(pool.allocate), ${name}`, { effect: Effect.scoped(pool.allocate(size)), calls }] as const,
    [`pool.use, ${name}`, { effect: pool.use(size, nothing), calls }] as const
  ])
  return Rounds.interleave<GpuError.GpuError, never>(
    { [Rounds.loop]: { effect: Effect.void, calls }, ...Object.fromEntries(timed) },
    { warmUp: 20, measured: 50 }
  )
}

/** Data that the program makes, a kernel changes, and the program reads again: through copies, and in place. */
const roundTrips = (buffers: BufferPool.Pool, shared: BufferPool.Pool, bytes: number, calls: number) => {
  const count = bytes / 4
  const copied = Effect.suspend(() => {
    const made = new Float32Array(count)
    return buffers.use(bytes, (x) =>
      Effect.gen(function*() {
        for (let i = 0; i < count; i++) made[i] = i
        yield* CommandQueue.write(x, made)
        yield* CommandQueue.dispatch(increment, { x }, count)
        return total(yield* CommandQueue.read(x, Float32Array))
      }))
  })
  const inPlace = shared.use(bytes, (x) =>
    Effect.scoped(Effect.gen(function*() {
      const { data } = yield* Svm.view(x, Float32Array)
      for (let i = 0; i < count; i++) data[i] = i
      yield* CommandQueue.dispatch(increment, { x }, count)
      yield* CommandQueue.finish
      return total(data)
    })))
  return Rounds.interleave<GpuError.GpuError, Device>(
    { "write and read": { effect: copied, calls }, "a view": { effect: inPlace, calls } },
    { warmUp: 5, measured: 11 }
  )
}

const total = (data: Float32Array): number => {
  let sum = 0
  for (let i = 0; i < data.length; i++) sum += data[i]!
  return sum
}

const measure = Effect.gen(function*() {
  const buffers = yield* poolOf(BufferPool.layer())
  const coarse = yield* poolOf(Svm.layerPool())
  const { fineGrain } = yield* Svm.capabilities
  const fine = fineGrain ? yield* poolOf(Svm.layerPool({ grain: "fine" })) : undefined
  const pools = { buffers, "shared memory": coarse }
  for (const pool of Object.values(pools)) yield* hold(pool, 10)
  return {
    hits: yield* hits(pools),
    trips: fine === undefined
      ? []
      : yield* Effect.forEach(trips, ({ bytes, calls }) => roundTrips(buffers, fine, bytes, calls))
  }
}).pipe(Effect.scoped, Effect.provide(OpenCl.layer()))

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({}),
  figures: Schema.Struct({ hits: Rounds.Nanos, trips: Schema.Array(Rounds.Nanos) }),
  measure: () => measure
})

if (import.meta.main) Contender.main(contender)
