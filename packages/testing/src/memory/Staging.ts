/**
 * Staging memory: uploads arrive, downloads have the results of all commands before them, and no owner gets memory that
 * the device or another owner still uses.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease, Mapping, StagingPool } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import {
  type ConformanceTest,
  expectInvariants,
  inGroup,
  runsCommands,
  scaled,
  type TestServices
} from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { interruptedAtEach } from "../pool/Interruption.ts"
import { written } from "../pool/Leases.ts"
import { untilAnswered } from "../pool/Waiters.ts"
import { actAt } from "../StoppedFiber.ts"

const test = inGroup("staging memory")

type Services = TestServices | StagingPool.StagingPool

/** Runs a program with a staging pool, in a scope of its own, and checks that nothing is leased at its end. */
export const staged = <A, E>(
  program: Effect.Effect<A, E, Services>,
  options?: StagingPool.StagingPoolOptions
): Effect.Effect<A, E | GpuError, TestServices> =>
  Effect.gen(function*() {
    const context = yield* Layer.build(StagingPool.layer(options))
    return yield* Effect.provide(
      Effect.gen(function*() {
        const result = yield* Effect.scoped(program)
        yield* untilAnswered(StagingPool.stats)
        const stats = yield* StagingPool.stats
        expectInvariants(stats)
        Expect.equal("leased staging blocks", stats.activeBlocks, 0)
        return result
      }),
      context
    )
  })

/** Bytes that count up from a number. */
export const counted = (bytes: number, from: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: bytes }, (_, at) => (from + at) % 251)

const uploads = Effect.gen(function*() {
  const x = yield* written(counted(64, 0))
  const rows = yield* StagingPool.allocate([2, 4], Float32Array)
  rows.data.set([0, 1, 2, 3, 4, 5, 6, 7])
  rows.setUnsafe(60, 1, 2)
  yield* StagingPool.upload(rows, x, { offset: 32 })
  const columns = yield* StagingPool.allocate([2, 3], Int32Array, { order: "F", direction: "upload" })
  Expect.same("the strides of columns", columns.strides, [1, 2])
  columns.data.fill(-1)
  columns.setUnsafe(9, 1, 2)
  yield* StagingPool.upload(columns, x)
  const both = yield* CommandQueue.read(x, Int32Array)
  Expect.numbers("columns", both.subarray(0, 6), [-1, -1, -1, -1, -1, 9])
  Expect.numbers("rows", new Float32Array(both.buffer, 32), [0, 1, 2, 3, 4, 5, 60, 7])
  rows.data.fill(3)
  yield* StagingPool.upload(rows, x, { offset: 32 })
  Expect.numbers("rows again", yield* CommandQueue.read(x, Float32Array, { offset: 32 }), new Float32Array(8).fill(3))
})

const downloads = Effect.gen(function*() {
  const x = yield* written(counted(64, 7))
  const array = yield* StagingPool.allocate(8, Uint32Array, { direction: "download" })
  const first = array.data
  Expect.numbers("elements before the first download", first, new Uint32Array(8))
  yield* CommandQueue.fill(x, 5, { offset: 32, size: 16 })
  yield* StagingPool.download(x, array, { offset: 32 })
  Expect.numbers("the second half", array.data.subarray(0, 4), [5, 5, 5, 5])
  Expect.equal("the elements before it", first.length, 0)
  const before = array.data
  yield* StagingPool.download(x, array)
  Expect.equal("the elements of the first download", before.length, 0)
  Expect.numbers("the first half", new Uint8Array(array.data.slice().buffer), counted(32, 7))
  const { data, lease } = array
  yield* Lease.release(lease)
  Expect.equal("the elements of a released array", data.length, 0)
  yield* Expect.failsWith("a download to it", StagingPool.download(x, array), "Released")
})

/** As in PyCUDA, a program reads into a page-locked array like into any other. */
const readsInto = Effect.gen(function*() {
  const x = yield* written(counted(32, 7))
  const array = yield* StagingPool.allocate([2, 4], Uint32Array, { direction: "download" })
  const { data } = array
  Expect.numbers("the elements of a fresh array", data, new Uint32Array(8))
  Expect.equal("one of them", array.getUnsafe(1, 3), 0)
  array.setUnsafe(5, 1, 3)
  Expect.equal("one that was stored", array.getUnsafe(1, 3), 5)
  yield* CommandQueue.readInto(x, array.data)
  Expect.numbers("what was read", new Uint8Array(data.buffer), counted(32, 7))
  yield* CommandQueue.fill(x, 9)
  yield* CommandQueue.readInto(x, array.data)
  Expect.numbers("what was read again", data, new Uint32Array(8).fill(9))
  yield* Expect.refused("a download from past the end", StagingPool.download(x, array, { offset: 4 }))
  Expect.numbers("what a refused download leaves", array.data, new Uint32Array(8).fill(9))
  yield* CommandQueue.fill(x, 10)
  yield* StagingPool.download(x, array)
  Expect.numbers("what was downloaded", array.data, new Uint32Array(8).fill(10))
  yield* Expect.refused("a read into the array of before", CommandQueue.readInto(x, data))
  yield* Expect.refused("a download from past it", StagingPool.download(x, array, { offset: 4 }))
  Expect.numbers("what a refused download of a mapped array leaves", array.data, new Uint32Array(8).fill(10))
  yield* CommandQueue.fill(x, 11)
  yield* CommandQueue.readInto(x, array.data)
  Expect.numbers("what was read into a mapped array", array.data, new Uint32Array(8).fill(11))
})

/** Elements that have ended are refused as a target: a read into them would have room for no byte, and succeed. */
const endedElements = Effect.gen(function*() {
  const x = yield* written(counted(32, 7))
  for (const first of ["untouched", "read into", "downloaded"] as const) {
    const array = yield* StagingPool.allocate(8, Uint32Array, { direction: "download" })
    if (first === "read into") yield* CommandQueue.readInto(x, array.data)
    if (first === "downloaded") yield* StagingPool.download(x, array)
    const data = first === "untouched" ? undefined : array.data
    yield* Lease.release(array.lease)
    Expect.equal(`elements of a released array, ${first}`, (data ?? array.data).length, 0)
    yield* Expect.refused(`a read into it, ${first}`, CommandQueue.readInto(x, array.data))
    yield* Expect.failsWith(`an element of it, ${first}`, Expect.thrownBy(() => array.getUnsafe(0)), "Released")
    yield* Expect.failsWith(`a store to it, ${first}`, Expect.thrownBy(() => array.setUnsafe(1, 0)), "Released")
  }
})

/** The number of requests to the staging pool. */
const asked = Effect.map(StagingPool.stats, ({ hits, misses }) => hits + misses)

const reads = Effect.gen(function*() {
  const { info: { traits } } = yield* DeviceContext
  const x = yield* written(counted(100, 1))
  for (let time = 1; time <= 3; time++) {
    Expect.numbers("a read", yield* CommandQueue.read(x, Uint8Array), counted(100, 1))
    Expect.equal("requests for staging memory", yield* asked, traits.readsStaged ? time : 0)
  }
  const part = yield* CommandQueue.read(x, Uint16Array, { offset: 8, length: 6 })
  Expect.numbers("a part", new Uint8Array(part.buffer), counted(12, 9))
  const target = new Uint8Array(12)
  yield* CommandQueue.readInto(x, target, { offset: 88 })
  Expect.numbers("the end", target, counted(12, 89))
  const { activeBlocks, misses } = yield* StagingPool.stats
  Expect.equal("leased after the reads", activeBlocks, 0)
  Expect.isTrue(`${misses} blocks were made`, misses <= 2)
})

/** A read larger than the pool's limit allocates its own memory, as without the pool. */
const largeReads = Effect.gen(function*() {
  const x = yield* written(counted(4096, 1))
  Expect.numbers("a read", yield* CommandQueue.read(x, Uint8Array), counted(4096, 1))
  const sum = yield* CommandQueue.readView(x, Uint8Array, (view) => Effect.sync(() => view.length))
  Expect.equal("bytes of a view", sum, 4096)
})

const views = Effect.gen(function*() {
  const x = yield* written(counted(96, 3))
  let lent: Uint8Array | undefined
  const sum = yield* CommandQueue.readView(x, Uint8Array, (view) =>
    Effect.gen(function*() {
      lent = view
      Expect.numbers("the view", view, counted(96, 3))
      yield* Expect.refused("a write meanwhile", CommandQueue.write(x, new Uint8Array(4)))
      yield* Expect.refused("a mapping to write", Effect.scoped(Mapping.map(x, Uint8Array)))
      Expect.numbers("a read meanwhile", yield* CommandQueue.read(x, Uint8Array, { length: 4 }), counted(4, 3))
      return view.length
    }))
  Expect.equal("the result", sum, 96)
  Expect.equal("the view after its end", lent?.length, 0)
  yield* CommandQueue.fill(x, 0)
  const part = { offset: 4, length: 3 }
  const zeros = yield* CommandQueue.readView(x, Float32Array, (view) => Effect.sync(() => [...view]), part)
  Expect.same("a part", zeros, [0, 0, 0])
  const failure = yield* Effect.flip(CommandQueue.readView(x, Uint8Array, () => Effect.fail("enough")))
  Expect.equal("the failure of the program's own", String(failure), "enough")
  const none = yield* CommandQueue.readView(x, Uint8Array, (view) => Effect.sync(() => view.length), { length: 0 })
  Expect.equal("a view of nothing", none, 0)
})

const releasedViews = Effect.gen(function*() {
  const x = yield* written(counted(32, 0))
  yield* CommandQueue.readView(x, Uint8Array, (view) =>
    Effect.gen(function*() {
      yield* Lease.release(x)
      Expect.equal("the view of a released lease", view.length, 0)
    }))
  const y = yield* BufferPool.allocate(32)
  yield* CommandQueue.fill(y, 1)
  Expect.numbers("the next owner's", yield* CommandQueue.read(y, Uint32Array), new Uint32Array(8).fill(1))
})

/** The source ends while the read waits for staging memory. */
const waitingReads = Effect.gen(function*() {
  const { info: { traits } } = yield* DeviceContext
  if (!traits.readsStaged) return
  const pool = yield* StagingPool.StagingPool
  const x = yield* written(counted(64, 0))
  const [held, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const holder = yield* Effect.forkChild(
    pool.use(64, Uint8Array, () => Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(done))),
    { startImmediately: true }
  )
  yield* Deferred.await(held)
  const reader = yield* Effect.forkChild(Effect.flip(CommandQueue.read(x, Uint8Array)), { startImmediately: true })
  while ((yield* pool.stats).waiters === 0) yield* Effect.yieldNow
  yield* Lease.release(x)
  yield* Deferred.succeed(done, undefined)
  Expect.reasonOf("the read", yield* Fiber.join(reader), "Released")
  yield* Fiber.join(holder)
})

/** With the whole pool reserved, a read that did not use the reservation would wait for it for ever. */
const readsWithin = Effect.gen(function*() {
  const { info: { traits } } = yield* DeviceContext
  const x = yield* written(counted(64, 1))
  const isCompared = yield* runsCommands
  const read = Effect.map(CommandQueue.read(x, Uint8Array), (found) => {
    if (isCompared) Expect.numbers("what was read", found, counted(64, 1))
  })
  const most = traits.readsStaged ? 64 : 0
  yield* StagingPool.reserve(read, 64)
  const pool = yield* StagingPool.StagingPool
  yield* pool.reserve(64, () => read)
  Expect.equal("requests for staging memory", yield* asked, traits.readsStaged ? 2 : 0)
  const { peakActiveBytes } = yield* StagingPool.withBudget(Effect.andThen(read, StagingPool.stats), 64)
  Expect.equal("bytes of the budget", peakActiveBytes, most)
  const large = yield* StagingPool.withBudget(Effect.andThen(read, StagingPool.stats), 32)
  Expect.equal("bytes of a budget that is too small", large.peakActiveBytes, 0)
  yield* StagingPool.exclusively(read)
})

/** Each owner uploads its own numbers through memory that the owners share, and reads them back. */
const owners = Effect.gen(function*() {
  const rounds = yield* scaled(16, 2)
  const owner = (number: number) =>
    Effect.scoped(Effect.gen(function*() {
      const x = yield* BufferPool.allocate(1024)
      for (let round = 0; round < rounds; round++) {
        const mine = number * rounds + round
        const sent = StagingPool.use(256, Uint32Array, (array) => {
          array.data.fill(mine)
          return StagingPool.upload(array, x)
        })
        const got = StagingPool.use(256, Uint32Array, (array) =>
          Effect.map(StagingPool.download(x, array), () =>
            array.data.slice()), { direction: "download" })
        yield* sent
        Expect.numbers(`what owner ${number} sent`, yield* got, new Uint32Array(256).fill(mine))
        Expect.numbers("read", yield* CommandQueue.read(x, Uint32Array), new Uint32Array(256).fill(mine))
      }
    }))
  yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], owner, { concurrency: "unbounded", discard: true })
})

const cleared = Effect.gen(function*() {
  for (const direction of ["upload", "both"] as const) {
    yield* StagingPool.use(16, Uint8Array, (array) => Effect.sync(() => array.data.fill(7)), { direction })
    const next = yield* StagingPool.allocate(16, Uint8Array, { direction })
    Expect.numbers(`the elements of the next owner of an array for ${direction}`, next.data, new Uint8Array(16))
  }
})

const operations: Readonly<Record<string, (x: PooledBuffer) => Effect.Effect<unknown, GpuError, Services>>> = {
  "an allocation": () => Effect.scoped(StagingPool.allocate(64, Uint8Array)),
  "an upload": (x) => StagingPool.use(64, Uint8Array, (array) => StagingPool.upload(array, x)),
  "a download": (x) =>
    StagingPool.use(64, Uint8Array, (array) => StagingPool.download(x, array), { direction: "download" }),
  "a transfer each way": (x) =>
    StagingPool.use(
      64,
      Uint8Array,
      (array) => Effect.andThen(StagingPool.upload(array, x), StagingPool.download(x, array)),
      { direction: "both" }
    ),
  "a read": (x) => CommandQueue.read(x, Uint8Array),
  "a view": (x) => CommandQueue.readView(x, Uint8Array, (view) => Effect.sync(() => view.length))
}

const interruptions = Object.entries(operations).map(([name, make]) =>
  test(
    `${name} that is interrupted at any step leaves no memory behind`,
    staged(Effect.gen(function*() {
      const x = yield* written(counted(64, 0))
      const steps = yield* scaled(60, 12)
      yield* interruptedAtEach(name, steps, () =>
        make(x), (step) =>
        Effect.map(StagingPool.stats, ({ activeBlocks }) =>
          Expect.equal(`leased after step ${step}`, activeBlocks, 0)))
      yield* CommandQueue.write(x, counted(64, 9))
      Expect.numbers("a read after all of them", yield* CommandQueue.read(x, Uint8Array), counted(64, 9))
    }))
  )
)

/**
 * The buffer is released, or the staging pool closes, at any step: the operation succeeds, or fails with Released. A
 * command on freed memory would fail the next finish.
 */
const endings = Object.entries(operations).map(([name, make]) =>
  test(
    `${name} is Released at most, whatever ends at any of its steps`,
    Effect.gen(function*() {
      const most = yield* scaled(400, 40)
      for (const ends of ["the buffer", "the staging pool"]) {
        for (let step = 0; step < most; step++) {
          const scope = yield* Scope.make()
          const pool = yield* Layer.buildWithScope(Layer.fresh(StagingPool.layer({ clear: "acquire" })), scope)
          const x = yield* written(counted(64, 0))
          const close = Scope.close(scope, Exit.void)
          // A closing pool waits for the stopped fiber's driver call.
          const act = ends === "the buffer" ? Lease.release(x) : Effect.forkChild(close, { startImmediately: true })
          const exit = yield* actAt(Effect.provide(make(x), pool), step, act)
          const what = `${name}: ${ends} ends at step ${step}`
          if (exit !== undefined && Exit.isFailure(exit)) yield* Expect.failsWith(what, exit, "Released")
          const finished = yield* Effect.exit(CommandQueue.finish)
          if (Exit.isFailure(finished)) Expect.fail(`${what}: the next finish: ${Cause.pretty(finished.cause)}`)
          yield* Effect.andThen(close, Effect.ignore(Lease.release(x)))
          if (exit === undefined) break
        }
      }
    })
  )
)

/** A read whose staging pool closes a few turns later returns the bytes, or fails with Released. */
const closedUnderReads = Effect.gen(function*() {
  const data = counted(4096, 3)
  const x = yield* written(data)
  for (let turns = 0; turns < 80; turns++) {
    const scope = yield* Scope.make()
    // In every second one the reads wait for each other's memory.
    const maxBytes = turns % 2 === 0 ? undefined : 4096
    const layer = StagingPool.layer({ maxBytes, onExhausted: "wait" })
    const pool = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
    const reads = Effect.forEach([0, 1, 2], () => CommandQueue.read(x, Uint8Array), { concurrency: "unbounded" })
    const fiber = yield* Effect.forkChild(Effect.provide(reads, pool), { startImmediately: true })
    yield* Effect.replicateEffect(Effect.yieldNow, Math.floor(turns / 2), { discard: true })
    yield* Scope.close(scope, Exit.void)
    const exit = yield* Fiber.await(fiber)
    if (Exit.isSuccess(exit)) {
      for (const found of exit.value) Expect.numbers(`closed after ${turns} turns`, found, data)
    } else yield* Expect.failsWith(`closed after ${turns} turns`, exit, "Released")
  }
})

const badRequests = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(64)
  const up = yield* StagingPool.allocate(16, Float32Array)
  const down = yield* StagingPool.allocate(16, Float32Array, { direction: "download" })
  yield* Expect.refused("an upload of a download", StagingPool.upload(down, x))
  yield* Expect.refused("a download to an upload", StagingPool.download(x, up))
  Expect.equal("elements after an upload that failed", up.data.length, 16)
  yield* Expect.refused(
    "a direction that there is not",
    StagingPool.allocate(4, Uint8Array, { direction: "sideways" as "both" })
  )
  yield* Expect.refused("a negative shape", StagingPool.allocate([2, -1], Uint8Array))
  yield* Expect.refused("more bytes than can be counted", StagingPool.allocate([2 ** 40, 2 ** 40], Uint8Array))
  yield* Expect.refused(
    "a view at half an element",
    CommandQueue.readView(x, Float64Array, () => Effect.void, { offset: 4 })
  )
  yield* Expect.refused("a command on mapped memory", CommandQueue.copy(up.lease, x))
  yield* Expect.refused("a kernel's read of staging memory", CommandQueue.read(down.lease, Uint8Array))
  const empty = yield* StagingPool.allocate([0, 4], Float32Array)
  yield* StagingPool.upload(empty, x)
  Expect.equal("elements of an empty array", empty.data.length, 0)
})

/** @internal */
export const tests: ReadonlyArray<ConformanceTest> = [
  test("what is uploaded arrives, in rows and columns", staged(uploads)),
  test("what is downloaded was recorded before", staged(downloads)),
  test("an array to download has elements before its first download, which reads go into", staged(readsInto)),
  test("elements that are over are no target of a read", staged(endedElements)),
  test("reads use the pool in context", staged(reads)),
  test("a read for which the pool is too small makes its own memory", staged(largeReads, { maxBytes: 1024 })),
  test(
    "reads draw from the reservation or budget of staging memory that they are in",
    { counting: true },
    staged(readsWithin, { maxBytes: 64, onExhausted: "wait", deadlockTimeout: Infinity })
  ),
  test("a view shows the bytes until its effect ends, and nothing later", staged(views)),
  test("a view ends with the lease", staged(releasedViews)),
  test("views need no pool", Effect.scoped(Effect.andThen(views, releasedViews))),
  test(
    "a source that is released while its read waits for memory is Released",
    staged(waitingReads, { maxBytes: 64, onExhausted: "wait", deadlockTimeout: Infinity })
  ),
  test("a read ends with its bytes or an error when its pool closes", closedUnderReads),
  test(
    "no owner gets memory that another one still uses",
    { pool: { onExhausted: "wait" } },
    staged(owners, { maxBytes: 4096, onExhausted: "wait" })
  ),
  test("a pool that clears shows no owner what another one wrote", staged(cleared, { clear: "acquire" })),
  test("wrong values are InvalidRequest", staged(badRequests)),
  ...endings,
  ...interruptions
]
