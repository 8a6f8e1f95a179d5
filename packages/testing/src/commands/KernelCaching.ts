/**
 * The cache of compiled kernels on a driver: what it releases, and when.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import * as Kernels from "./Kernels.ts"

const test = inGroup("kernel cache")

const stats = KernelCache.use((cache) => cache.stats)

/** How much the effect adds to each counter. */
const counting = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = yield* stats
    const result = yield* work
    const after = yield* stats
    return {
      result,
      hits: after.hits - before.hits,
      misses: after.misses - before.misses,
      evictions: after.evictions - before.evictions
    }
  })

/** The driver objects that are neither for commands nor for memory. */
const objectsOfKernels = DeviceContext.useSync(({ driverObjects }) => {
  const { buffer = 0, event = 0, part = 0, staging = 0 } = driverObjects.liveByKind
  return driverObjects.live - buffer - event - part - staging
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("clear releases every kernel, and the next use compiles it again", function*() {
    const cache = yield* KernelCache
    const y = yield* BufferPool.allocate(16)
    yield* cache.clear
    const before = yield* objectsOfKernels
    yield* CommandQueue.dispatch(Kernels.constant(5), { y }, 4)
    yield* CommandQueue.finish
    const compiled = yield* cache.get(Kernels.constant(6))
    yield* cache.clear
    Expect.equal("kernels", (yield* stats).size, 0)
    Expect.isTrue("released", compiled.released)
    Expect.equal("driver objects", yield* objectsOfKernels, before)
    const again = yield* counting(CommandQueue.dispatch(Kernels.constant(5), { y }, 4))
    Expect.equal("compilations after a clear", again.misses, 1)
    Expect.numbers("the kernel still works", yield* CommandQueue.read(y, Uint32Array), [5, 5, 5, 5])
  }),
  /** The cache releases the kernel after its commands are recorded, perhaps before they run. */
  test("recorded dispatches run although the cache has released their kernel", function*() {
    const cache = yield* KernelCache
    const y = yield* BufferPool.allocate(16)
    for (const value of [7, 8, 9]) {
      yield* CommandQueue.dispatch(Kernels.constant(value), { y }, 4)
      yield* cache.clear
    }
    Expect.numbers("the last kernel's output", yield* CommandQueue.read(y, Uint32Array), [9, 9, 9, 9])
  }),
  test("the cache keeps no more than its capacity", function*() {
    const cache = yield* KernelCache
    yield* cache.clear
    const { capacity } = yield* stats
    const y = yield* BufferPool.allocate(16)
    const values = Array.from({ length: capacity + 3 }, (_, index) => index + 100)
    const { evictions } = yield* counting(
      Effect.forEach(values, (value) => CommandQueue.dispatch(Kernels.constant(value), { y }, 4), { discard: true })
    )
    Expect.equal("kernels", (yield* stats).size, capacity)
    Expect.equal("evictions", evictions, 3)
    const last = capacity + 102
    Expect.numbers("the last kernel", yield* CommandQueue.read(y, Uint32Array), [last, last, last, last])
    const first = Kernels.constant(100)
    yield* CommandQueue.dispatch(first, { y }, 4)
    Expect.numbers("one that was evicted", yield* CommandQueue.read(y, Uint32Array), [100, 100, 100, 100])
  })
]
