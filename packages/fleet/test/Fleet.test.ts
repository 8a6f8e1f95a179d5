/** A fleet within one process: reservations, jobs and data, and what ends them. */
import { Fleet, FleetJob, FleetModel } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as Host from "effect-gpu-pool/Host"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

class TooLarge extends Schema.TaggedError<TooLarge>()("TooLarge", { value: Schema.Number }) {}

const Fill = FleetJob.make("Fill", {
  input: Schema.Struct({ words: Schema.Int, value: Schema.Int }),
  output: Schema.Uint8Array,
  error: TooLarge,
  bytes: ({ words }) => 4 * words
})

const fill = FleetJob.handler(Fill, ({ value, words }) =>
  value > 255
    ? Effect.fail(new TooLarge({ value }))
    : BufferPool.use(4 * words, (x) => Effect.andThen(CommandQueue.fill(x, value), CommandQueue.read(x, Uint8Array))))

const Echo = FleetJob.make("Echo", { input: Schema.Uint8Array, output: Schema.Uint8Array, bytes: 4 })
const echo = FleetJob.handler(Echo, Effect.succeed)

const Sum = FleetJob.make("Sum", { input: FleetModel.FleetBuffer, output: Schema.Number, bytes: 4 })
const sum = FleetJob.handler(Sum, (buffer) =>
  FleetJob.CurrentHost.pipe(
    Effect.flatMap((host) => host.buffer(buffer)),
    Effect.flatMap((lease) => CommandQueue.read(lease, Uint8Array)),
    Effect.map((bytes) => bytes.reduce((sum, byte) => sum + byte, 0))
  ))

const pools = BufferPools.layer(() => Host.layer())

const local = (maxBytes: number, jobs: ReadonlyArray<FleetJob.Handler> = [fill, echo, sum]) =>
  Layer.provideMerge(Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes } }, jobs }), pools)

const freeBytes = Effect.map(
  Fleet.status,
  ({ hosts }) =>
    hosts.map(({ devices }) => devices.map(({ capacity, reservedBytes }) => capacity - reservedBytes)).flat()
)

describe("a fleet", () => {
  it.live("runs a job, and gives its output", () =>
    Effect.gen(function*() {
      const bytes = yield* Fleet.run(Fill, { words: 2, value: 7 })
      deepStrictEqual(Array.from(bytes), [7, 0, 0, 0, 7, 0, 0, 0])
      deepStrictEqual(yield* freeBytes, [4096])
    }).pipe(Effect.provide(local(4096))))

  it.live("gives back what a job has leased when the job ends, and not when its host does", () => {
    const ended: Array<number> = []
    const Lease = FleetJob.make("Lease", { input: Schema.Int, output: Schema.Void, bytes: 4096 })
    const lease = FleetJob.handler(
      Lease,
      (n) =>
        Effect.andThen(
          Effect.addFinalizer(() => Effect.sync(() => void ended.push(n))),
          Effect.asVoid(BufferPool.allocate(4096))
        )
    )
    return Effect.gen(function*() {
      for (const n of [1, 2]) {
        yield* Fleet.run(Lease, n)
        deepStrictEqual(ended.at(-1), n)
      }
      strictEqual((yield* BufferPools.on("0", BufferPool.stats)).activeBytes, 0)
    }).pipe(Effect.provide(local(4096, [lease])))
  })

  it.live("gives the job's own error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Fleet.run(Fill, { words: 2, value: 700 }))
      assert.instanceOf(error, TooLarge)
    }).pipe(Effect.provide(local(4096))))

  it.live("moves large inputs and outputs in chunks", () =>
    Effect.gen(function*() {
      const bytes = Uint8Array.from({ length: 1_000_003 }, (_, index) => index * 7)
      deepStrictEqual(yield* Fleet.run(Echo, bytes), bytes)
    }).pipe(Effect.provide(local(4096))))

  it.live("keeps data on its host for several jobs", () =>
    Effect.gen(function*() {
      const within = yield* Fleet.reserve({ bytes: 2_000_000 })
      const buffer = yield* Fleet.allocate(within, 1_000_000)
      yield* Fleet.write(buffer, new Uint8Array(1_000_000).fill(1))
      strictEqual(yield* Fleet.run(Sum, buffer, { within }), 1_000_000)
      const read = yield* Stream.mkUint8Array(Fleet.read(buffer, { offset: 8, length: 500_000 }))
      strictEqual(read.length, 500_000)
      yield* Fleet.free(buffer)
      const error = yield* Effect.flip(Fleet.run(Sum, buffer, { within }))
      strictEqual(error.reason._tag, "Released")
    }).pipe(Effect.scoped, Effect.provide(local(4_000_000))))

  it.live("lets a reservation wait for another", () =>
    Effect.gen(function*() {
      const first = yield* Fleet.reserve({ bytes: 3000 }).pipe(
        Effect.scoped,
        Effect.as(1),
        Effect.timeoutOption("5 seconds")
      )
      assert.isTrue(first._tag === "Some")
      const opened = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const holding = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(
          Fleet.reserve({ bytes: 3000 }),
          Effect.andThen(Deferred.succeed(opened, undefined), Deferred.await(release))
        ))
      )
      yield* Deferred.await(opened)
      const failed = yield* Effect.flip(Effect.scoped(Fleet.reserve({ bytes: 3000, onExhausted: "fail" })))
      strictEqual(failed.reason._tag, "OutOfMemory")
      const second = yield* Effect.forkChild(Effect.scoped(Fleet.reserve({ bytes: 3000 })))
      yield* Effect.yieldNow
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holding)
      strictEqual((yield* Fiber.join(second)).bytes, 3000)
      deepStrictEqual(yield* freeBytes, [4096])
    }).pipe(Effect.provide(local(4096))))

  it.live("interrupts a job on its host when its caller is interrupted", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const Forever = FleetJob.make("Forever", { input: Schema.Void, output: Schema.Void, bytes: 4 })
      const forever = FleetJob.handler(Forever, () =>
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() =>
            Deferred.succeed(ended, undefined)
          )
        ))
      yield* Effect.gen(function*() {
        const running = yield* Effect.forkChild(Fleet.run(Forever, undefined))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(running)
        yield* Deferred.await(ended)
        strictEqual((yield* Fleet.reserve({ bytes: 4096 })).bytes, 4096)
      }).pipe(Effect.scoped, Effect.provide(local(4096, [forever])))
    }))

  it.live("fails with LimitExceeded for what no device can have", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Fleet.reserve({ bytes: 5000 })))
      strictEqual(error.reason._tag, "LimitExceeded")
      for (const options of [{ bytes: -1 }, { bytes: 1.5 }, { bytes: "x" as never }, { bytes: 4, where: 7 as never }]) {
        const error = yield* Effect.flip(Effect.scoped(Fleet.reserve(options)))
        strictEqual(error.reason._tag, "InvalidRequest")
      }
    }).pipe(Effect.provide(local(4096))))

  it.live("says when a host does not run a job", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Fleet.run(Echo, new Uint8Array(4)))
      strictEqual((error as { readonly reason: { readonly _tag: string } }).reason._tag, "Unsupported")
    }).pipe(Effect.provide(local(4096, []))))

  it.live("gives the outputs of many jobs in order, or as they end", () =>
    Effect.gen(function*() {
      const inputs = Array.from({ length: 50 }, (_, value) => ({ words: 1 + value % 3, value }))
      const ordered = yield* Stream.runCollect(Fleet.map(Fill, inputs, { concurrency: 8 }))
      deepStrictEqual(ordered.map((bytes) => bytes[0]), inputs.map(({ value }) => value))
      const any = yield* Stream.runCollect(
        Fleet.map(Fill, Stream.fromIterable(inputs), { concurrency: 8, ordered: false })
      )
      deepStrictEqual(new Set(any.map((bytes) => bytes[0])), new Set(inputs.map(({ value }) => value)))
      const exit = yield* Effect.exit(Stream.runDrain(Fleet.map(Fill, [{ words: 1, value: 999 }], { concurrency: 1 })))
      assert.isTrue(Exit.isFailure(exit))
      deepStrictEqual(yield* freeBytes, [64])
    }).pipe(Effect.provide(local(64))))

  it.live("runs jobs on the pool of their device, whatever pool the host's program has", () => {
    const Limit = FleetJob.make("Limit", { input: Schema.Void, output: Schema.Number, bytes: 4 })
    const limit = FleetJob.handler(Limit, () => BufferPool.maxBytes)
    const own = BufferPool.layer({ maxBytes: 7777 }).pipe(Layer.provideMerge(Host.layer()))
    const devices = BufferPools.layer(() => Host.layer(), { pool: { maxBytes: 5555 } })
    const fleet = Fleet.layerLocal({ host: "here", devices: { "0": {} }, jobs: [limit] }).pipe(
      Layer.provide(devices),
      Layer.provideMerge(own)
    )
    return Effect.gen(function*() {
      deepStrictEqual([yield* BufferPool.maxBytes, yield* Fleet.run(Limit, undefined)], [7777, 5555])
    }).pipe(Effect.provide(fleet))
  })
})
