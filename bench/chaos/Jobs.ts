/** Jobs of the chaos: each takes memory of several kinds, by every way there is, uses it and gives it back. */
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { BufferPool, CommandQueue, DeviceMemory, Lease, LeaseHolder, StagingPool, Transfers } from "effect-gpu-pool"
import { ImagePool } from "effect-gpu-pool/images"
import * as Random from "../Random.ts"
import type { Watch } from "../soak/Watch.ts"
import { arrayBytes, compute } from "./ArrayActions.ts"
import { onOne, onTwo, randomBytes, writeAll } from "./BufferActions.ts"
import { mostImageBytes, onImage, randomImage } from "./ImageActions.ts"
import { buffer, checkBuffer, compare, type OwnedBuffer } from "./Owned.ts"
import type { Action, Services } from "./World.ts"

export interface Ground {
  readonly watch: Watch
  readonly next: () => number
  /** Whether jobs may have queues of their own in this life. */
  readonly severalQueues: boolean
}

const largest = 8 * 1024

/** Bytes of a chunk of a transfer, and of a read. */
const stagingBytes = largest

const size = (next: () => number): number => Random.logUniform(next, 4, largest)

/** Between two steps of a job others run. */
const pause = (next: () => number): Effect.Effect<void> =>
  next() < 0.95
    ? Effect.replicateEffect(Effect.yieldNow, Random.integer(next, 0, 3), { discard: true })
    : Effect.sleep(Random.integer(next, 0, 3))

const usedOnce = ({ next, watch }: Ground, owned: ReadonlyArray<OwnedBuffer>): Action => {
  const [first, second] = owned
  if (first === undefined) return Effect.void
  const isPair = second !== undefined && next() < 0.3
  const name = Random.pick(next, Object.keys(isPair ? onTwo : onOne))
  watch.count(name)
  return isPair ? onTwo[name]!(first, second, next) : onOne[name]!(Random.pick(next, owned), watch, next)
}

/** Some commands, one after the other; in the end the bytes are those of the model. */
const used = (ground: Ground, owned: ReadonlyArray<OwnedBuffer>): Action =>
  Effect.gen(function*() {
    const { next, watch } = ground
    for (const one of owned) if (next() < 0.7) yield* writeAll(one, watch, next)
    for (let steps = Random.integer(next, 1, 4); steps > 0; steps--) {
      yield* usedOnce(ground, owned)
      yield* pause(next)
    }
    for (const one of owned) if (Lease.isLive(one.lease)) yield* checkBuffer(watch, "at the end", one)
  })

type Job = (ground: Ground) => Action

const loan: Job = (ground) => BufferPool.use(size(ground.next), (lease) => used(ground, [buffer(lease)]))

const lease: Job = (ground) =>
  Effect.scoped(Effect.flatMap(BufferPool.allocate(size(ground.next)), (lease) => used(ground, [buffer(lease)])))

/** Has memory while it asks for more. */
const several: Job = (ground) =>
  Effect.scoped(Effect.gen(function*() {
    const { next } = ground
    const owned: Array<OwnedBuffer> = []
    for (let count = Random.integer(next, 2, 3); count > 0; count--) {
      owned.push(buffer(yield* BufferPool.allocate(size(next))))
      yield* usedOnce(ground, owned)
      if (next() < 0.2) yield* Lease.release(owned.pop()!.lease)
    }
    yield* used(ground, owned)
  }))

const together: Job = (ground) =>
  BufferPool.useAll(
    [size(ground.next), size(ground.next)],
    (leases) => used(ground, leases.map(buffer))
  )

const pictures: Job = ({ next, watch }) =>
  Effect.scoped(Effect.gen(function*() {
    const owned = yield* randomImage(next)
    for (let steps = Random.integer(next, 1, 3); steps > 0; steps--) {
      const name = Random.pick(next, Object.keys(onImage))
      watch.count(`image ${name}`)
      yield* onImage[name]!(owned, watch, next)
      yield* pause(next)
    }
  }))

const arrays: Job = ({ next, watch }) => compute(watch, next)

/** Two fibers of the program, each with a buffer of the same scope. */
const forked: Job = (ground) =>
  Effect.scoped(Effect.flatMap(
    BufferPool.allocateAll({ one: size(ground.next), other: size(ground.next) }),
    ({ one, other }) =>
      Effect.all([used(ground, [buffer(one)]), used(ground, [buffer(other)])], {
        concurrency: "unbounded",
        discard: true
      })
  ))

/** Each byte and 1, chunk by chunk. */
const through: Job = ({ next, watch }) => {
  const data = randomBytes(next, size(next))
  const chunkSize = 4 * Random.integer(next, 64, 2048)
  return Stream.make(data).pipe(
    Transfers.through(() => Effect.yieldNow, { chunkSize, inFlight: Random.integer(next, 1, 3) }),
    Stream.runCollect,
    Effect.map((parts) => {
      const found = new Uint8Array(parts.flatMap((part) => [...part]))
      compare(watch, "through", found, data)
    })
  )
}

const extracted: Job = (ground) =>
  Effect.scoped(Effect.flatMap(
    LeaseHolder.extract(Effect.gen(function*() {
      const scratch = buffer(yield* BufferPool.allocate(size(ground.next)))
      yield* usedOnce(ground, [scratch])
      return yield* BufferPool.allocate(size(ground.next))
    })),
    (lease) => used(ground, [buffer(lease)])
  ))

/** Hands a buffer to another fiber, which finds what the first one has written. */
const handedOver: Job = (ground) =>
  Effect.scoped(Effect.gen(function*() {
    const { next, watch } = ground
    const owned = buffer(yield* BufferPool.allocate(size(next)))
    yield* writeAll(owned, watch, next)
    const handed = yield* Deferred.make<void>()
    const heir = yield* Effect.forkChild(Effect.scoped(Effect.gen(function*() {
      yield* Lease.transfer(owned.lease, yield* Effect.scope)
      yield* Deferred.succeed(handed, undefined)
      yield* checkBuffer(watch, "handed over", owned)
      yield* used(ground, [owned])
    })))
    yield* Effect.raceFirst(Deferred.await(handed), Fiber.await(heir))
    // This fiber has no lease while it waits here: the pool could not see that it waits for the heir's memory.
    yield* BufferPool.use(size(next), (lease) => usedOnce(ground, [buffer(lease)]))
    yield* Fiber.join(heir)
  }))

/** An array of the program, filled and read by hand. */
const staging: Job = ({ next, watch }) =>
  Effect.scoped(Effect.gen(function*() {
    const array = yield* StagingPool.allocate([Random.integer(next, 1, 32), Random.integer(next, 1, 32)], Float32Array)
    yield* pause(next)
    if (array.data.length === 0) return
    array.setUnsafe(7, 0, 0)
    if (array.getUnsafe(0, 0) !== 7) watch.problem("a staged element lost its value")
  }))

/** Calls that only read facts of pools, and are allowed at any time. */
const looked: Job = () =>
  Effect.gen(function*() {
    yield* BufferPool.stats
    yield* ImagePool.holders(3)
    yield* DeviceMemory.holders(2)
    yield* StagingPool.maxBytes
  })

const jobs: Readonly<Record<string, Job>> = {
  loan,
  lease,
  several,
  together,
  pictures,
  arrays,
  forked,
  through,
  extracted,
  handedOver,
  staging,
  looked
}

/** As much as any of these jobs needs at a time. */
const peak = Math.max(3 * largest + stagingBytes, 3 * mostImageBytes + stagingBytes, arrayBytes)

type Around = (job: Action, ground: Ground) => Action

const around: Readonly<Record<string, Around>> = {
  plainly: (job) => job,
  reserved: (job, { next }) => Random.pick(next, [BufferPool.reserve(job, peak), ImagePool.reserve(job, peak)]),
  budgeted: (job, { next }) =>
    BufferPool.withBudget(job, Random.pick(next, [peak, largest]), { onExhausted: "wait", label: "budget" }),
  exclusively: (job) => BufferPool.exclusively(job),
  /** On a queue of its own, where the device has several. */
  onQueue: (job, { severalQueues }) =>
    !severalQueues ?
      job :
      Effect.scoped(Effect.flatMap(CommandQueue.make(), (queue) => CommandQueue.on(job, queue))).pipe(
        Effect.catchReason("GpuError", "Unsupported", () => job)
      ),
  inTime: (job, { next }) => Effect.timeoutOption(job, Random.integer(next, 0, 20)).pipe(Effect.asVoid),
  /** Interrupted at any step. */
  interrupted: (job, { next, watch }) =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(job)
      yield* pause(next)
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      if (Exit.isFailure(exit) && exit.cause.reasons.some(({ _tag }) => _tag === "Interrupt")) {
        watch.count("interrupted")
        return
      }
      yield* exit
    })
}

/**
 * Checks that every job and every way of running one has succeeded: a chaos in which everything fails would prove
 * nothing.
 */
export const demandSuccesses = (watch: Watch): void => {
  const done = Object.keys(watch.counts)
  for (const name of Object.keys(jobs)) {
    if (!done.some((what) => what.startsWith(`${name} `))) watch.problem(`no ${name} has succeeded`)
  }
  for (const way of Object.keys(around)) {
    if (!done.some((what) => what.endsWith(` ${way}`))) watch.problem(`nothing has succeeded ${way}`)
  }
  for (const what of ["compared", "replayed"]) if (!done.includes(what)) watch.problem(`nothing was ${what}`)
}

/** How often a job is retried after a deadlock. */
const mostTries = 5

/** Job after job, until the life is over. */
export const worker = (ground: Ground, isOver: () => boolean): Effect.Effect<void, never, Services> =>
  Effect.whileLoop({
    while: () => !isOver(),
    body: () => {
      const { next, watch } = ground
      const [name, way] = [Random.pick(next, Object.keys(jobs)), Random.pick(next, Object.keys(around))]
      const job = Effect.suspend(() => around[way]!(jobs[name]!(ground), ground))
      const again = Effect.retry(job, { while: (error) => error.isRetryable, times: mostTries })
      return Effect.andThen(watch.settle(`${name} ${way}`, again), Effect.yieldNow)
    },
    step: () => {}
  })
