/**
 * The owner of a lease: `use`, release, transfer and extract, with data that must stay.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease } from "effect-gpu-pool"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

const test = inGroup("ownership")

const expectWords = (what: string, lease: PooledBuffer, word: number) =>
  Effect.map(
    CommandQueue.read(lease, Uint32Array),
    (found) => Expect.numbers(what, found, new Uint32Array(found.length).fill(word))
  )

const filled = (word: number) => Effect.tap(BufferPool.allocate(256), (lease) => CommandQueue.fill(lease, word))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("use releases its lease, however its effect ends", function*() {
    const leases: Array<PooledBuffer> = []
    const found = yield* BufferPool.use(256, (lease) => {
      leases.push(lease)
      return Effect.andThen(CommandQueue.fill(lease, 6), CommandQueue.read(lease, Uint32Array))
    })
    Expect.numbers("the loan's data", found, new Uint32Array(64).fill(6))
    const failed = yield* Effect.exit(BufferPool.use(256, (lease) => {
      leases.push(lease)
      return Effect.fail("f failed")
    }))
    Expect.isTrue("the failure of f", Exit.isFailure(failed))
    for (const lease of leases) Expect.isTrue("the lease of `use` has ended", !Lease.isLive(lease))
    const { hits, misses } = yield* BufferPool.stats
    Expect.same("one block for both", { hits, misses }, { hits: 1, misses: 1 })
  }),
  test("a transferred lease outlives its `use`", function*() {
    const outer = yield* Effect.scope
    const kept = yield* BufferPool.use(256, (lease) =>
      Effect.gen(function*() {
        yield* CommandQueue.fill(lease, 8)
        yield* Lease.transfer(lease, outer)
        return lease
      }))
    yield* expectWords("a lease that was transferred", kept, 8)
  }),
  test("an ended lease never reaches the next owner's memory", function*() {
    const first = yield* filled(1)
    const block = BufferLike.deviceBuffer(first)
    yield* Lease.release(first)
    const second = yield* filled(2)
    Expect.isTrue("the block is reused", BufferLike.deviceBuffer(second) === block)
    yield* Expect.failsWith("the first lease", CommandQueue.read(first, Uint32Array), "Released")
    yield* Expect.failsWith("the first lease", CommandQueue.fill(first, 9), "Released")
    yield* Expect.failsWith("releasing it again", Lease.release(first), "Released")
    yield* expectWords("the second owner's data", second, 2)
  }),
  test("a transferred lease lives as long as its new scope", function*() {
    const outer = yield* Scope.make()
    const kept = yield* Effect.scoped(Effect.gen(function*() {
      const lease = yield* filled(3)
      yield* Lease.transfer(lease, outer)
      return lease
    }))
    yield* expectWords("after the first scope", kept, 3)
    yield* Scope.close(outer, Exit.void)
    yield* Expect.failsWith("after the second scope", CommandQueue.read(kept, Uint32Array), "Released")
  })
]
