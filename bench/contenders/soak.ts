/**
 * Random load on pools of one device for a given time: one pool after the other, each with options of its own, in
 * rounds. After each round nothing may be left over, and the process's memory is measured.
 */
import { Context, Effect, Fiber, Layer, Logger, Option, Scheduler, Schema } from "effect"
import { Allocator, BufferPool, CommandQueue, DeviceContext, SizePolicy } from "effect-gpu-pool"
import { FaultyAllocator } from "effect-gpu-pool/allocators"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Heap from "../Heap.ts"
import * as Random from "../Random.ts"
import * as Actions from "../soak/Actions.ts"
import * as Devices from "../soak/Devices.ts"
import { Figures } from "../soak/Figures.ts"
import { limitBytes, watched } from "../soak/Ground.ts"
import * as Meddling from "../soak/Meddling.ts"
import { Watch } from "../soak/Watch.ts"

/** Pools of a soak, one after the other; the first one warms up. */
const pools = 11

/** Each takes a second or more; the checks in between take time too. */
const roundsPerPool = (seconds: number): number => Math.min(10, Math.max(2, Math.round(seconds / pools)))

const fibers = 32

/** A fiber that has not ended within this time hangs. */
const waitPolicy = "30 seconds"

const Input = Schema.Struct({ backend: Backend.Name, seconds: Schema.Finite, seed: Schema.Int })

const randomOptions = (next: () => number): BufferPool.BufferPoolOptions => ({
  maxBytes: limitBytes,
  sizePolicy: Random.pick(next, [
    SizePolicy.defaultPolicy,
    SizePolicy.defaultPolicy,
    SizePolicy.exact,
    SizePolicy.leadingBits(4)
  ]),
  clear: next() < 0.3 ? "acquire" : "never",
  maxHeldBytes: Random.pick(next, [undefined, limitBytes / 2]),
  idleTimeToLive: Random.pick(next, [undefined, "50 millis"]),
  idleKeepBytes: Random.pick(next, [0, limitBytes / 16]),
  maxBypasses: Random.pick(next, [0, 1, 16]),
  deadlockTimeout: Random.pick(next, ["20 millis", "100 millis"])
})

/** A pool over the device in context, whose allocator fails at times. */
const openPool = Effect.fnUntraced(function*(options: BufferPool.BufferPoolOptions, faults: FaultyAllocator.Faults) {
  const layer = BufferPool.layerNoDeps(options).pipe(
    Layer.provide(FaultyAllocator.layer({ faults })),
    Layer.provide(Allocator.layerImmediate)
  )
  return Context.get(yield* Layer.build(layer), BufferPool.BufferPool)
})

/** How often to look whether driver calls of interrupted requests have ended. */
const looks = 200

/** Waits for the creations of interrupted requests, and frees the held blocks. Returns what is left, if anything. */
const isEmptied = Effect.fnUntraced(function*(
  pool: BufferPool.Pool,
  device: DeviceContext.DeviceContext["Service"]
) {
  for (let left = looks; left > 0; left--) {
    yield* pool.freeHeld
    const stats = yield* pool.stats
    const buffers = device.driverObjects.liveByKind["buffer"] ?? 0
    if (stats.managedBlocks + stats.pendingBytes + stats.waiters + stats.activeBytes + buffers === 0) return undefined
    if (left === 1) return { ...stats, buffers, holders: yield* pool.holders(5) }
    yield* Effect.sleep(10)
  }
})

/** Makes every third fiber yield at random steps, so that others run where it would continue. */
const oddly = <A, E, R>(effect: Effect.Effect<A, E, R>, seed: number): Effect.Effect<A, E, R> => {
  if (seed % 3 !== 0) return effect
  const next = Random.make(seed)
  const scheduler = new Scheduler.MixedScheduler()
  scheduler.shouldYield = () => next() < 0.02
  return Effect.provideService(effect, Scheduler.Scheduler, scheduler)
}

const runAll = (means: Meddling.Means, seed: number, millis: number) =>
  Effect.gen(function*() {
    yield* Effect.forkScoped(Meddling.meddle(means, Random.make(seed)))
    yield* Effect.forkScoped(Meddling.cache(means, Random.make(seed + 1)))
    const until = performance.now() + millis
    const workers = Array.from({ length: fibers }, (_, index) =>
      oddly(Actions.worker(means, Random.make(seed + 2 + index), until), seed + 2 + index))
    // Read the stats before the interruption, which ends all waits.
    const hang = Effect.gen(function*() {
      const [stats, holders] = yield* Effect.all([means.pool.stats, means.pool.holders(5)])
      means.watch.problem(`fibers hang: ${JSON.stringify({ ...stats, holders })}`)
    })
    yield* Effect.raceFirst(
      Effect.all(workers, { concurrency: "unbounded", discard: true }),
      Effect.delay(hang, waitPolicy)
    )
  }).pipe(Effect.scoped)

/** Load for a while; then checks that everything has been released. */
const round = Effect.fnUntraced(function*(
  means: Meddling.Means,
  device: DeviceContext.DeviceContext["Service"],
  seed: number,
  millis: number
) {
  yield* runAll(means, seed, millis)
  means.faults.clear()
  means.faults.delayAllocations(undefined)
  yield* means.pool.resumeHolding
  yield* Meddling.setLimit(means, limitBytes, false)
  const left = yield* isEmptied(means.pool, device)
  if (left !== undefined) means.watch.problem(`left after a round: ${JSON.stringify(left)}`)
  return { heap: yield* Heap.bytes, resident: process.memoryUsage.rss() }
})

/** A device of its own that is lost, or whose pool is closed, under load: all fibers end, and nothing is left of it. */
const sideshow = Effect.fnUntraced(function*(device: Devices.SoakDevice, seed: number, watch: Watch) {
  const next = Random.make(seed)
  const faults = FaultyAllocator.makeFaults()
  const side = new Watch(["Released", "DeviceLost"])
  const objects = yield* Effect.gen(function*() {
    const services = yield* Layer.build(Layer.fresh(device.layer))
    const { driverObjects } = Context.get(services, DeviceContext.DeviceContext)
    const queue = Context.get(services, CommandQueue.CommandQueue)
    const until = performance.now() + 60
    const running = yield* Effect.scoped(Effect.gen(function*() {
      const pool = yield* openPool(randomOptions(next), faults)
      const ground = { ...watched(pool, side), queue, watch: side, clears: false }
      const workers = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, index) => index),
        (index) => Effect.forkChild(Actions.worker(ground, Random.make(seed + index), until))
      )
      yield* Effect.sleep(20)
      if (next() < 0.5) device.lose()
      return workers
    })).pipe(Effect.provideContext(services))
    const ended = yield* Effect.timeoutOption(Fiber.joinAll(running), waitPolicy)
    if (Option.isNone(ended)) side.problem("fibers hang after their pool was closed")
    return driverObjects
  }).pipe(Effect.scoped)
  if (objects.live !== 0) side.problem(`left of a second device: ${JSON.stringify(objects.liveByKind)}`)
  watch.include(side)
})

/** The figures of one pool's rounds. */
const lifetime = Effect.fnUntraced(function*(seed: number, seconds: number, watch: Watch) {
  const device = yield* DeviceContext.DeviceContext
  const queue = yield* CommandQueue.CommandQueue
  const next = Random.make(seed)
  const options = randomOptions(next)
  const faults = FaultyAllocator.makeFaults()
  const pool = yield* openPool(options, faults)
  const { memoryBytes } = device.info.limits
  const means = { ...watched(pool, watch), queue, watch, clears: options.clear === "acquire", faults, memoryBytes }
  watch.limitIs(limitBytes, 0)
  const rounds = roundsPerPool(seconds)
  return yield* Effect.forEach(
    Array.from({ length: rounds }, (_, number) => seed + 100 * (number + 1)),
    (seed) => round(means, device, seed, seconds * 1000 / (pools * rounds))
  )
}, Effect.scoped)

const soak = Effect.fnUntraced(function*({ backend, seconds, seed }: typeof Input.Type) {
  const watch = new Watch()
  const [device, second] = [Devices.open[backend](), Devices.open[backend]()]
  const { objects, samples } = yield* Effect.gen(function*() {
    const services = yield* Layer.build(device.layer)
    const samples = yield* Effect.forEach(Array.from({ length: pools }, (_, index) => index), (index) =>
      Effect.andThen(
        sideshow(second, seed + 10_000 * index + 5000, watch),
        lifetime(seed + 10_000 * index, seconds, watch)
      )).pipe(Effect.provideContext(services))
    return {
      samples: samples.slice(1).flat(),
      objects: Context.get(services, DeviceContext.DeviceContext).driverObjects
    }
  }).pipe(Effect.scoped)
  return {
    counts: watch.counts,
    problems: watch.problems,
    problemCount: watch.problemCount,
    excessBytes: watch.excessBytes,
    heapBytes: samples.map(({ heap }) => heap),
    residentBytes: samples.map(({ resident }) => resident),
    left: objects.liveByKind
  }
  // Faults while blocks are given back are logged, and here there are many.
}, Effect.provide(Logger.layer([])))

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Figures,
  measure: soak,
  process: Heap.keepingLittle
})

if (import.meta.main) Contender.main(contender)
