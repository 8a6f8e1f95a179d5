/**
 * The purpose of the pool: a loop of array expressions runs on the memory of its first iteration.
 *
 * @internal
 */
import type { DeviceArray } from "@effect-gpu-pool/arrays/DeviceArray"
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import { BufferPool, Lease } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

const test = inGroup("arrays")

const elements = 256

type Words = DeviceArray<"u32">

/** Ten operations of four kinds, so four kernels are enough. At its end ten results are alive. */
const next = (x: Words): Effect.Effect<Words, GpuError, DeviceArrays.ArrayServices> =>
  Effect.gen(function*() {
    const a = yield* DeviceArrays.multiply(x, 1664525)
    const b = yield* DeviceArrays.multiply(x, 69069)
    const c = yield* DeviceArrays.bitwiseXor(a, b)
    const d = yield* DeviceArrays.multiply(c, 5)
    const e = yield* DeviceArrays.add(d, x)
    const f = yield* DeviceArrays.bitwiseXor(e, a)
    const g = yield* DeviceArrays.multiply(f, 3)
    const h = yield* DeviceArrays.add(g, c)
    const i = yield* DeviceArrays.bitwiseXor(h, b)
    return yield* DeviceArrays.add(i, 12345)
  })

/** The same on one element. */
const nextElement = (x: number): number => {
  const a = Math.imul(x, 1664525)
  const b = Math.imul(x, 69069)
  const c = a ^ b
  const e = Math.imul(c, 5) + x | 0
  const h = Math.imul(e ^ a, 3) + c | 0
  return ((h ^ b) + 12345) >>> 0
}

const operations = 10

type InScope = typeof DeviceArrays.scoped | typeof DeviceArrays.lazy

const looped = (inScope: InScope, liveAtMost: number): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const iterations = yield* scaled(1000, 10)
    const { driverObjects } = yield* DeviceContext
    const start = Uint32Array.from({ length: elements }, (_, at) => at * 0x01010101)
    let x: Words = yield* DeviceArrays.fromHost(start)
    const iterate = Effect.gen(function*() {
      const result = yield* inScope(next(x))
      yield* Lease.release(x.lease!)
      x = result
      Expect.equal("active blocks between iterations", (yield* BufferPool.stats).activeBlocks, 1)
    })
    yield* iterate
    const first = yield* BufferPool.stats
    const buffers = driverObjects.liveByKind.buffer
    for (let iteration = 1; iteration < iterations; iteration++) yield* iterate
    const last = yield* BufferPool.stats
    Expect.equal("driver allocations after the first iteration", last.driverAllocations, first.driverAllocations)
    Expect.equal("driver buffers after the last iteration", driverObjects.liveByKind.buffer, buffers)
    Expect.isTrue(
      `${last.peakActiveBlocks} blocks were active at once, of ${liveAtMost} arrays alive`,
      last.peakActiveBlocks <= liveAtMost
    )
    const expected = start.map((element) => {
      for (let iteration = 0; iteration < iterations; iteration++) element = nextElement(element)
      return element
    })
    Expect.numbers(`after ${iterations} iterations`, yield* DeviceArrays.toHost(x), expected)
  })

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a thousand iterations of ten operations run on the memory of the first, eagerly", {
    heavy: true
  }, looped(DeviceArrays.scoped, operations + 1)),
  test("a thousand iterations of ten operations run on the memory of the first, fused, with no intermediate", {
    heavy: true
  }, looped(DeviceArrays.lazy, 2))
]
