/**
 * Buffers, images, staging memory and streams under one limit: every waiting request is served, or fails because it
 * waits for itself.
 *
 * @internal
 */
import { BufferPool, CommandQueue, DeviceMemory, Lease, SizePolicy, StagingPool, Transfers } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, ImagePool, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ConformanceTest, expectInvariants, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { ownWork, untilAnswered } from "../pool/Waiters.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"

const test = inGroup("one limit")

/** Every pool of a memory. */
export type Pools = BufferPool.BufferPool | ImagePool.ImagePool | StagingPool.StagingPool | TestServices

type Run<E = GpuError> = Effect.Effect<void, E, Pools>

/** Bytes of a chunk, and of an image. */
export const unit = 32

const imageUsage = ImageUsage.copySrc | ImageUsage.copyDst

const chunks = { chunkSize: unit } as const

const counted = (bytes: number, owner: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: bytes }, (_, at) => (at + 7 * owner) % 251)

/** A stream of the owner's bytes, in pieces of `piece` bytes. */
const streamOf = (bytes: number, owner: number, piece: number) => {
  const all = counted(bytes, owner)
  const starts = Array.from({ length: Math.ceil(bytes / piece) }, (_, index) => index * piece)
  return Stream.map(Stream.fromIterable(starts), (at) => all.slice(at, at + piece))
}

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]))

const sent = Effect.fnUntraced(function*(lease: PooledBuffer, owner: number, piece: number) {
  yield* Transfers.upload(streamOf(lease.size, owner, piece), lease, chunks)
  Expect.numbers(
    `what owner ${owner} sent`,
    yield* CommandQueue.read(lease, Uint8Array),
    counted(lease.size, owner)
  )
})

const got = Effect.fnUntraced(function*(lease: PooledBuffer, owner: number) {
  yield* CommandQueue.write(lease, counted(lease.size, owner))
  const parts = yield* Stream.runCollect(Transfers.download(lease, chunks))
  Expect.numbers(`what owner ${owner} got`, joined(parts), counted(lease.size, owner))
})

const passed = Effect.fnUntraced(function*(units: number, owner: number, inFlight: number, takesMore: boolean) {
  const parts = yield* streamOf(units * unit, owner, unit).pipe(
    Transfers.through((chunk) =>
      takesMore
        ? Effect.tap(BufferPool.allocate(chunk.size), (copy) => CommandQueue.copy(chunk, copy))
        : Effect.void, { ...chunks, inFlight, reserve: takesMore ? 2 * unit : undefined }),
    Stream.runCollect
  )
  Expect.numbers(`what came through for owner ${owner}`, joined(parts), counted(units * unit, owner))
})

const drawn = Effect.fnUntraced(function*(owner: number) {
  const image = yield* ImagePool.allocate(ImageShape.image2d(4, 2), ImageFormat.rgba8, { usage: imageUsage })
  const data = counted(unit, owner)
  yield* Images.write(image, data)
  yield* Effect.yieldNow
  Expect.numbers(`the image of owner ${owner}`, yield* Images.read(image, Uint8Array), data)
}, Effect.scoped)

/** A job, and the bytes with which it can end. */
interface Job {
  readonly peak: number
  readonly run: Run
}

/** If the device has no images, buffers replace them. */
const jobs: ReadonlyArray<(random: Random, owner: number, hasImages: boolean) => Job> = [
  (random, owner) => {
    const size = random.pick([unit, 2 * unit])
    return { peak: size, run: BufferPool.use(size, (lease) => ownWork(lease, owner)) }
  },
  (_, owner, hasImages) => ({
    peak: unit,
    run: hasImages ? drawn(owner) : BufferPool.use(unit, (lease) => ownWork(lease, owner))
  }),
  (random, owner) => {
    const size = unit * random.integer(1, 2)
    const piece = random.pick([unit / 2, unit, size])
    return { peak: size + unit, run: BufferPool.use(size, (lease) => sent(lease, owner, piece)) }
  },
  (random, owner) => {
    const size = unit * random.integer(1, 2)
    return { peak: size + unit, run: Effect.scoped(Effect.flatMap(BufferPool.allocate(size), (x) => got(x, owner))) }
  },
  (random, owner) => {
    const takesMore = random.pick([false, true])
    const run = passed(random.integer(1, 3), owner, random.integer(1, 3), takesMore)
    return { peak: takesMore ? 3 * unit : 2 * unit, run }
  },
  (_, owner) => ({
    peak: 3 * unit,
    // Fibers of the program's own, whose requests belong to the scope of the leases.
    run: Effect.scoped(
      Effect.flatMap(
        BufferPool.allocateAll([unit, unit]),
        ([x, y]) =>
          Effect.all([sent(x, owner, unit), sent(y, owner, unit / 2)], { concurrency: "unbounded", discard: true })
      )
    )
  }),
  (_, owner) => ({
    peak: 3 * unit,
    run: BufferPool.useAll([unit, unit], ([x, y]) => Effect.andThen(sent(x, owner, unit / 2), got(y, owner)))
  }),
  (_, owner) => ({
    peak: 2 * unit,
    run: StagingPool.use(unit / 4, Uint32Array, (array) =>
      BufferPool.use(unit, (lease) => {
        // The pool may have closed while the buffer waited.
        if (array.data.length > 0) array.data.fill(owner)
        return Effect.andThen(
          StagingPool.upload(array, lease),
          Effect.map(CommandQueue.read(lease, Uint32Array), (found) =>
            Expect.numbers(`the array of owner ${owner}`, found, new Uint32Array(unit / 4).fill(owner)))
        )
      }))
  })
]

/** One of these jobs, alone, under a reservation or a budget, or interrupted. */
const randomJob = (random: Random, owner: number, hasImages: boolean): Job => {
  const job = random.pick(jobs)(random, owner, hasImages)
  switch (random.integer(0, 5)) {
    case 0:
      return { peak: job.peak, run: BufferPool.reserve(job.run, job.peak) }
    case 1:
      return { peak: job.peak, run: ImagePool.reserve(job.run, job.peak) }
    case 2:
      return {
        peak: job.peak,
        run: BufferPool.reserve(BufferPool.withBudget(job.run, job.peak, { onExhausted: "wait" }), job.peak)
      }
    case 3: {
      const turns = random.integer(0, 40)
      const interrupted = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(job.run)
        yield* Effect.replicateEffect(Effect.yieldNow, turns, { discard: true })
        yield* Fiber.interrupt(fiber)
      })
      return { peak: job.peak, run: interrupted }
    }
    default:
      return job
  }
}

/** Retries a job after a deadlock with others, which has released its memory. */
const stubborn = (job: Run): Run => Effect.retry(job, { while: (error) => error.isRetryable })

/** Several fibers with some jobs each, and a limit under which each job can end when it runs alone. */
export const randomProgram = (
  random: Random,
  hasImages: boolean,
  most: { readonly fibers: number; readonly steps: number }
): { readonly limit: number; readonly run: Run } => {
  const fibers = Array.from(
    { length: random.integer(2, most.fibers) },
    (_, fiber) =>
      Array.from(
        { length: random.integer(1, most.steps) },
        (_, step) => randomJob(random, 10 * fiber + step + 1, hasImages)
      )
  )
  const limit = Math.max(...fibers.flat().map(({ peak }) => peak)) + unit * random.integer(0, 2)
  const run = Effect.forEach(fibers, (jobs) => Effect.forEach(jobs, ({ run }) => stubborn(run), { discard: true }), {
    concurrency: "unbounded",
    discard: true
  })
  return { limit, run }
}

const waits = { onExhausted: "wait" } as const

const inUse = ({ activeBlocks, activeBytes, pendingBytes, reservedBytes, waiters }: PoolStats) => [
  activeBlocks,
  activeBytes,
  pendingBytes,
  reservedBytes,
  waiters
]

/** Runs a program on pools of every kind that share so many bytes, and checks that nothing is left. */
const sharing = <A, E>(maxBytes: number, program: Effect.Effect<A, E, Pools>) =>
  Effect.scoped(Effect.gen(function*() {
    const memory = DeviceMemory.layer({ maxBytes, deadlockTimeout: "2 millis" })
    // Each pool has a limit of its own, to which its reservations are charged.
    const pools = Layer.mergeAll(
      BufferPool.layerShared({ maxBytes, sizePolicy: SizePolicy.exact, ...waits }),
      ImagePool.layerShared({ maxBytes, ...waits }),
      StagingPool.layerShared({ maxBytes, sizePolicy: SizePolicy.exact, ...waits })
    )
    const built = yield* Layer.build(Layer.provideMerge(pools, memory))
    yield* Effect.provide(program, built)
    const { stats: counters } = Context.get(built, DeviceMemory.DeviceMemory)
    yield* untilAnswered(counters)
    const stats = yield* counters
    expectInvariants(stats)
    Expect.same("in use afterwards", inUse(stats), [0, 0, 0, 0, 0])
    const ofPools = yield* Effect.all([BufferPool.stats, ImagePool.stats, StagingPool.stats]).pipe(
      Effect.provide(built)
    )
    Expect.same("in use of each pool", ofPools.flatMap(inUse), Array.from({ length: 15 }, () => 0))
    Expect.isTrue(`${stats.peakManagedBytes} bytes within ${maxBytes}`, stats.peakManagedBytes <= maxBytes)
  }))

const hasImages = Effect.map(
  Images.formats(imageUsage, "2d"),
  (formats) => formats.some((format) => Equal.equals(format, ImageFormat.rgba8))
)

/** A job that has the whole limit, and whose stream requests more, on the program's fiber or on its own fibers. */
const alone: Readonly<Record<string, Run>> = {
  "a loan": BufferPool.use(4 * unit, (x) => sent(x, 1, unit)),
  "a lease of a scope": Effect.scoped(Effect.flatMap(BufferPool.allocate(4 * unit), (x) => sent(x, 1, unit))),
  "leases that were taken together": BufferPool.useAll([2 * unit, 2 * unit], ([x]) => sent(x, 1, unit)),
  "a whole reservation": BufferPool.reserve(BufferPool.use(4 * unit, (x) => sent(x, 1, unit)), 4 * unit),
  "a loan for two streams at once": BufferPool.use(
    4 * unit,
    (x) => Effect.all([sent(x, 1, unit), sent(x, 1, unit)], { concurrency: "unbounded", discard: true })
  ),
  "a stream from another buffer": BufferPool.useAll(
    [2 * unit, 2 * unit],
    ([x, y]) => Effect.asVoid(Transfers.upload(Transfers.download(x, chunks), y, chunks))
  )
}

/** Reads on fibers that only the buffer connects with its lease. */
const readTwice = (x: PooledBuffer) =>
  Effect.replicateEffect(CommandQueue.read(x, Uint8Array), 2, { concurrency: "unbounded", discard: true })

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a stream that waits for the memory of its own job fails, and a retry does not help", function*() {
    for (const [name, run] of Object.entries(alone)) {
      yield* sharing(
        4 * unit,
        Effect.gen(function*() {
          const error = yield* Effect.flip(run)
          const { deadlock } = yield* Expect.failsWith(name, Effect.fail(error), "OutOfMemory")
          Expect.same(`${name}: what waits`, deadlock.map(({ holdsBytes }) => holdsBytes), [4 * unit])
          Expect.isTrue(error.message, !error.isRetryable)
        })
      )
    }
  }),
  test("a reservation of any pool is for the streams in it too", function*() {
    for (const reserve of [BufferPool.reserve(3 * unit), ImagePool.reserve(3 * unit)]) {
      yield* sharing(
        3 * unit,
        Effect.forEach(
          [1, 2, 3],
          (owner) => reserve(BufferPool.use(2 * unit, (x) => Effect.andThen(sent(x, owner, unit), got(x, owner)))),
          {
            concurrency: "unbounded"
          }
        )
      )
    }
  }),
  test("a lease of another pool outlives the reservation that it drew from", function*() {
    const most = 4 * unit
    yield* sharing(
      most,
      Effect.gen(function*() {
        const outer = yield* Effect.scope
        const array = yield* BufferPool.reserve(
          Scope.provide(StagingPool.allocate(unit / 4, Uint32Array, { direction: "download" }), outer),
          2 * unit
        )
        const { pendingBytes, reservedBytes } = yield* BufferPool.stats
        Expect.same("what is left of the reservation", [pendingBytes, reservedBytes], [0, 0])
        yield* BufferPool.use(3 * unit, (lease) => ownWork(lease, 1))
        yield* Lease.release(array.lease)
        yield* BufferPool.use(most, (lease) => ownWork(lease, 2))
      }).pipe(Effect.scoped)
    )
  }),
  test("a read of all memory takes some of its own", function*() {
    yield* sharing(4 * unit, BufferPool.use(4 * unit, (x) => got(x, 1)))
    yield* sharing(4 * unit, BufferPool.use(4 * unit, readTwice))
  }),
  test("a stream passes through memory for one chunk, however many may be on their way", function*() {
    yield* sharing(2 * unit, passed(8, 1, 4, false))
    yield* sharing(3 * unit, passed(8, 2, 4, true))
    yield* sharing(2 * unit, BufferPool.reserve(passed(8, 3, 4, false), 2 * unit))
    const tooSmall = yield* Effect.flip(sharing(2 * unit - 4, passed(8, 4, 1, false)))
    const { limit } = yield* Expect.failsWith("too little for one", Effect.fail(tooSmall), "LimitExceeded")
    Expect.equal("the limit", limit, 2 * unit - 4)
  }),
  test("random programs of all that takes memory end, each with its own bytes", { heavy: true }, function*() {
    const images = yield* hasImages
    yield* forSeeds(seeds(yield* scaled(60, 6)), (random) => {
      const { limit, run } = randomProgram(random, images, { fibers: 6, steps: 3 })
      return sharing(limit, run)
    })
  })
]
