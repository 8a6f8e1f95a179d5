/**
 * Queue order: the results are as if the commands ran one after the other, however they were recorded and submitted.
 *
 * @internal
 */
import { Backpressure, BufferPool, CommandQueue, Lease, SizePolicy } from "effect-gpu-pool"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { filled } from "../pool/Leases.ts"
import * as Kernels from "./Kernels.ts"

const test = inGroup("queue order")
const exact = { sizePolicy: SizePolicy.exact }

const expectAll = Effect.fnUntraced(function*(what: string, lease: BufferLike.BufferLike, word: number) {
  const found = yield* CommandQueue.read(lease, Uint32Array)
  Expect.numbers(what, found, new Uint32Array(found.length).fill(word))
})

/** An allocator may give more than the block. */
const blockContents = (lease: PooledBuffer) =>
  Effect.map(
    CommandQueue.read(BufferLike.deviceBuffer(lease)!, Uint8Array),
    (bytes) => bytes.subarray(0, lease.capacity)
  )

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a write comes after what was recorded before it, and before what follows", function*() {
    const a = yield* filled(256, 1)
    const b = yield* BufferPool.allocate(256)
    const c = yield* BufferPool.allocate(256)
    yield* CommandQueue.copy(a, b)
    yield* CommandQueue.write(a, new Uint32Array(64).fill(2))
    yield* CommandQueue.copy(a, c)
    yield* CommandQueue.write(a, new Uint32Array(64).fill(3))
    yield* expectAll("copied before the first write", b, 1)
    yield* expectAll("copied between the writes", c, 2)
    yield* expectAll("written last", a, 3)
  }),
  test("commands that wait for room are recorded in the order of the program", function*() {
    const x = yield* BufferPool.allocate(64)
    const y = yield* BufferPool.allocate(64)
    const rounds = 100
    const recorded = Effect.gen(function*() {
      for (let round = 0; round < rounds; round++) {
        yield* CommandQueue.write(x, new Uint32Array(16).fill(round))
        yield* CommandQueue.copy(x, y)
        yield* CommandQueue.fill(x, round + 1, { size: 32 })
        yield* CommandQueue.dispatch(Kernels.addTo, { x, y, a: 1 }, 8)
      }
    })
    for (const limits of [{ maxCommands: 1 }, { maxCommands: 7, maxBytes: 64 }, { maxBytes: 100 }]) {
      yield* CommandQueue.fill(y, 0)
      yield* Effect.acquireUseRelease(
        Backpressure.set(limits),
        () => recorded,
        () => Effect.ignore(Backpressure.set({}))
      )
      const expected = Uint32Array.from({ length: 16 }, (_, at) => at < 8 ? rounds + 1 : rounds - 1)
      Expect.numbers(JSON.stringify(limits), yield* CommandQueue.read(y, Uint32Array), expected)
    }
  }),
  test("flush and finish may come at any time", function*() {
    yield* CommandQueue.flush
    yield* CommandQueue.finish
    const lease = yield* filled(16, 4)
    yield* CommandQueue.flush
    yield* CommandQueue.flush
    yield* CommandQueue.finish
    yield* CommandQueue.finish
    yield* expectAll("after flush and finish", lease, 4)
  }),
  /** The next owner of the block writes while the last owner's copy may still run. */
  test("a block reused right after recording mixes no data of its owners", { pool: exact }, function*() {
    for (let round = 1; round <= 20; round++) {
      const b = yield* BufferPool.allocate(512)
      const a = yield* BufferPool.allocate(1024)
      const block = BufferLike.deviceBuffer(a)
      yield* CommandQueue.write(a, new Uint32Array(256).fill(round))
      yield* CommandQueue.copy(a, b, { size: 512 })
      yield* Lease.release(a)
      const c = yield* BufferPool.allocate(1024)
      Expect.isTrue("the block is reused at once", BufferLike.deviceBuffer(c) === block)
      if (round % 2 === 0) yield* CommandQueue.write(c, new Uint32Array(256).fill(1000 + round))
      else yield* CommandQueue.fill(c, 1000 + round)
      yield* expectAll("the copy of the first owner's data", b, round)
      yield* expectAll("the second owner's data", c, 1000 + round)
      yield* Lease.release(c)
      yield* Lease.release(b)
    }
  }),
  /**
   * A driver writes to a buffer before it runs commands that are recorded and not submitted. So without care, a program
   * that reuses a block for the next parameters overwrites those of earlier kernels.
   *
   * @see https://github.com/tracel-ai/cubecl/issues/56
   */
  test("recorded commands read a block as it was before its next owner's writes (cubecl#56)", {
    pool: exact
  }, function*() {
    // An allocation may submit the recorded commands, so all of them come first, except those of the parameters.
    const results = yield* Effect.forEach(Array.from({ length: 20 }), () => BufferPool.allocate(256))
    yield* BufferPool.use(128, () => Effect.void)
    const blocks = new Set<unknown>()
    for (const [round, result] of results.entries()) {
      yield* BufferPool.use(128, (parameters) => {
        blocks.add(BufferLike.deviceBuffer(parameters))
        return Effect.gen(function*() {
          yield* CommandQueue.write(parameters, new Uint32Array(32).fill(1000 * round))
          yield* CommandQueue.dispatch(Kernels.addTo, { x: parameters, y: result, a: round }, 32)
          yield* CommandQueue.copy(parameters, result, { targetOffset: 128 })
        })
      })
    }
    Expect.equal("one block for all parameters", blocks.size, 1)
    for (const [round, result] of results.entries()) {
      const expected = Uint32Array.from({ length: 64 }, (_, at) => 1000 * round + (at < 32 ? round : 0))
      Expect.numbers(`the parameters of round ${round}`, yield* CommandQueue.read(result, Uint32Array), expected)
    }
  }),
  /** An encoder that is not submitted names the buffer. Destroying the buffer must not void the encoder's other commands. */
  test("a block destroyed while recorded commands name it disturbs no other lease", function*() {
    yield* BufferPool.stopHolding
    const source = yield* filled(256, 6)
    const doomed = yield* BufferPool.allocate(256)
    const kept = yield* BufferPool.allocate(256)
    const other = yield* BufferPool.allocate(256)
    yield* CommandQueue.copy(source, doomed)
    yield* CommandQueue.fill(other, 8)
    yield* CommandQueue.copy(doomed, kept)
    yield* CommandQueue.dispatch(Kernels.addTo, { x: doomed, y: source, a: 1 }, 64)
    yield* Lease.release(doomed)
    yield* CommandQueue.finish
    yield* expectAll("a copy out of the destroyed block", kept, 6)
    yield* expectAll("a kernel's output from the destroyed block", source, 7)
    yield* expectAll("a lease that these commands do not name", other, 8)
  }),
  test("a block destroyed while submitted commands use it disturbs no other lease", { heavy: true }, function*() {
    yield* BufferPool.stopHolding
    const items = yield* scaled(20_000, 500)
    const kept = yield* BufferPool.allocate(items * 4)
    yield* BufferPool.use(items * 4, (scratch) =>
      Effect.gen(function*() {
        yield* CommandQueue.fill(scratch, 0)
        yield* CommandQueue.dispatch(Kernels.busy, { y: scratch }, items)
        yield* CommandQueue.dispatch(Kernels.iota, { y: scratch, start: 3 }, items)
        yield* CommandQueue.copy(scratch, kept)
        yield* CommandQueue.flush
      }))
    const expected = Uint32Array.from({ length: items }, (_, at) => at + 3)
    Expect.numbers("the copy of scratch memory", yield* CommandQueue.read(kept, Uint32Array), expected)
  }),
  test("a pool that clears hands out blocks of zeros, slack included", { pool: { clear: "acquire" } }, function*() {
    const expectClear = Effect.fnUntraced(function*(what: string, lease: PooledBuffer) {
      Expect.isTrue("the block has slack", lease.capacity > lease.size)
      Expect.numbers(what, yield* blockContents(lease), new Uint8Array(lease.capacity))
    })
    const first = yield* BufferPool.allocate(1001)
    yield* expectClear("a fresh block", first)
    const block = BufferLike.deviceBuffer(first)!
    yield* CommandQueue.fill(block, 0xffffffff)
    yield* Lease.release(first)
    const second = yield* BufferPool.allocate(1003)
    Expect.isTrue("the block is reused", BufferLike.deviceBuffer(second) === block)
    yield* expectClear("a recycled block", second)
    yield* CommandQueue.fill(block, 0xffffffff)
    yield* Lease.release(second)
    yield* BufferPool.use(1002, (third) => expectClear("a block of a lease of `use`", third))
    const { hits, misses } = yield* BufferPool.stats
    Expect.same("one block for all", { hits, misses }, { hits: 2, misses: 1 })
  }),
  test("a pool that clears does so in queue order", { pool: { clear: "acquire", ...exact } }, function*() {
    const kept = yield* BufferPool.allocate(1024)
    const first = yield* filled(1024, 3)
    yield* CommandQueue.copy(first, kept)
    yield* Lease.release(first)
    const second = yield* BufferPool.allocate(1024)
    yield* CommandQueue.fill(second, 5, { size: 512 })
    yield* expectAll("copied out before the clear", kept, 3)
    const expected = Uint32Array.from({ length: 256 }, (_, at) => at < 128 ? 5 : 0)
    Expect.numbers("filled after the clear", yield* CommandQueue.read(second, Uint32Array), expected)
  })
]
