/** Recorded copies on one of Dawn's devices: straight on it, and by the queue with and without a lease. */
import { Effect, Layer, Schema } from "effect"
import { BufferPool, CommandQueue, type GpuError } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Contender from "../Contender.ts"
import * as Rounds from "../Rounds.ts"

/** Copies in one submit. */
const copies = 64
const submits = 100
const size = 4096
const bytes = 256

/** COPY_SRC and COPY_DST; Node has no global `GPUBufferUsage`. */
const usage = 0x04 | 0x08

const submitOf = <A, E, R>(copy: Effect.Effect<A, E, R>) => {
  const all = Effect.gen(function*() {
    for (let index = 0; index < copies; index++) yield* copy
    yield* CommandQueue.flush
  })
  return { effect: all, calls: submits, each: copies }
}

const Device = Schema.Literals(["null", "driver"])

export type Device = typeof Device.Type

/** Dawn's null device does nothing for a command. */
const devices: { readonly [D in Device]: WebGpu.Options } = { null: { flags: ["backend=null"] }, driver: {} }

const filters = ["validation", "internal", "out-of-memory"] as const

/** Raw calls: by themselves, and each in a step of Effect, with a lease, and in error scopes as those of the queue. */
const raw = Effect.map(Effect.all([WebGpu.WebGpu, BufferPool.BufferPool]), ([{ device }, pool]) => {
  const [source, target] = [device.createBuffer({ size, usage }), device.createBuffer({ size, usage })]
  let encoder = device.createCommandEncoder()
  const copy = (): void => encoder.copyBufferToBuffer(source, 0, target, 0, bytes)
  const begin = (): void => {
    encoder = device.createCommandEncoder()
  }
  const submit = (): void => device.queue.submit([encoder.finish()])
  const all = Effect.sync(() => {
    begin()
    for (let index = 0; index < copies; index++) copy()
    submit()
  })
  const step = Effect.sync(copy)
  const leased = (lease: Effect.Effect<void, GpuError.GpuError>) => {
    const effect = Effect.gen(function*() {
      begin()
      for (let index = 0; index < copies; index++) yield* lease
      yield* Effect.sync(() => {
        for (const filter of filters) device.pushErrorScope(filter)
        submit()
        void Promise.all(filters.map(() => device.popErrorScope()))
      })
    })
    return { effect, calls: submits, each: copies }
  }
  return {
    "raw calls": { effect: all, calls: submits, each: copies },
    "pool.use and raw call": leased(pool.use(size, () => step)),
    "scoped(pool.allocate) and raw call": leased(Effect.scoped(Effect.andThen(pool.allocate(size), step)))
  }
})

const measure = Effect.gen(function*() {
  const pool = yield* BufferPool.BufferPool
  const queue = yield* CommandQueue.CommandQueue
  const source = yield* pool.allocate(size)
  const target = yield* pool.allocate(size)
  const copy = (to: BufferPool.PooledBuffer) => queue.copy(source, to, { size: bytes })
  return yield* Rounds.interleave({
    [Rounds.loop]: { effect: Effect.void, calls: copies * submits },
    ...yield* raw,
    copy: submitOf(copy(target)),
    "pool.use and copy": submitOf(pool.use(size, copy)),
    "scoped(pool.allocate) and copy": submitOf(Effect.scoped(Effect.flatMap(pool.allocate(size), copy))),
    "pool.use": submitOf(pool.use(size, () => Effect.void)),
    "pool.use with options": submitOf(pool.use(size, () => Effect.void, { label: "scratch" }))
  }, { warmUp: 10, measured: 30 })
}).pipe(
  Effect.scoped
)

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ device: Device }),
  figures: Rounds.Nanos,
  measure: ({ device }) =>
    Effect.provide(measure, BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer(devices[device]))))
})

if (import.meta.main) Contender.main(contender)
