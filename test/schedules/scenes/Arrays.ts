/** Scenes of device arrays, and of regions of them that are computed together. */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import * as Effect from "effect/Effect"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import * as CommandList from "../../../src/services/queue/CommandList.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene } from "../Stage.ts"

const sumOf = Effect.fnUntraced(function*(x: DeviceArray.DeviceArray<"f32">) {
  const y = yield* DeviceArray.add(x, 3)
  return yield* DeviceArray.multiply(y, x)
})

export const sum = Effect.flatMap(DeviceArray.full([4], 2), sumOf)

const compiledSum = DeviceArray.compile((x: DeviceArray.DeviceArray<"f32">) => DeviceArray.lazy(sumOf(x)))

/** Writes to its argument, and keeps an array in between. */
const compiledStep = DeviceArray.compile(Effect.fnUntraced(function*(x: DeviceArray.DeviceArray<"f32">) {
  const before = yield* Effect.tap(DeviceArray.multiply(x, 2), DeviceArray.evaluate)
  yield* DeviceArray.update(x, DeviceArray.add(before))
  return yield* DeviceArray.sum(before)
}))

export const arrays: ReadonlyArray<Scene> = [
  {
    name: "arrays are computed one by one, in a region",
    run: (stage) =>
      Effect.gen(function*() {
        const result = yield* DeviceArray.scoped(sum)
        if (result.lease !== undefined) yield* stage.share(result.lease)
      })
  },
  {
    name: "arrays are recorded and computed together",
    run: (stage) =>
      Effect.gen(function*() {
        const result = yield* DeviceArray.lazy(sum)
        if (result.lease !== undefined) yield* stage.share(result.lease)
      })
  },
  {
    name: "two regions in room for both, one after the other",
    pool: { maxBytes: 96, onExhausted: "wait" },
    run: () =>
      Effect.all([Effect.scoped(DeviceArray.lazy(sum)), Effect.scoped(DeviceArray.lazy(sum))], {
        concurrency: "unbounded"
      })
  },
  {
    name: "a reduction needs scratch memory",
    run: () => Effect.scoped(Effect.flatMap(DeviceArray.arange(8), (x) => DeviceArray.sum(x)))
  },
  {
    name: "a region within a budget",
    pool: { maxBytes: 256 },
    run: () => BufferPool.withBudget(Effect.scoped(DeviceArray.lazy(sum)), 128)
  },
  {
    name: "a compiled function is traced, and runs again on its result",
    run: (stage) =>
      Effect.gen(function*() {
        let x = yield* DeviceArray.full([4], 1)
        for (const elements of [4, 28, 868]) {
          if (x.lease !== undefined) yield* stage.share(x.lease)
          x = yield* compiledSum(x)
          Expect.equal("the first element", (yield* DeviceArray.toHost(x))[0], elements)
        }
      })
  },
  {
    name: "a compiled function writes to its argument",
    run: (stage) =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.full([4], 1)
        const first = yield* compiledStep(x)
        if (first.lease !== undefined) yield* stage.share(first.lease)
        const second = yield* compiledStep(x)
        Expect.equal("the sum", yield* DeviceArray.toNumber(second), 24)
        Expect.equal("the argument", (yield* DeviceArray.toHost(x))[0], 9)
      })
  },
  {
    name: "two fibers trace and run a compiled function in room for one run",
    pool: { maxBytes: 72, onExhausted: "wait" },
    run: () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.full([4], 1)
        const run = Effect.scoped(Effect.flatMap(compiledSum(x), DeviceArray.toHost))
        const both = yield* Effect.all([Effect.andThen(run, run), run], { concurrency: "unbounded" })
        for (const result of both) Expect.equal("the first element", result[0], 4)
      })
  },
  {
    name: "a compiled function within a budget",
    pool: { maxBytes: 256 },
    run: () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.full([4], 1)
        yield* BufferPool.withBudget(Effect.scoped(Effect.andThen(compiledStep(x), compiledStep(x))), 96)
      })
  },
  {
    name: "two command lists on leases that another fiber may end",
    run: (stage) =>
      Effect.gen(function*() {
        const [from, to] = yield* Effect.all([BufferPool.allocate(64), BufferPool.allocate(64)])
        yield* CommandQueue.fill(from, 1)
        const list = yield* CommandList.trace([from], ([from]) =>
          Effect.gen(function*() {
            const copied = yield* BufferPool.allocate(64)
            yield* CommandQueue.copy(from!, copied)
            yield* CommandQueue.copy(copied, to)
            yield* Lease.release(from!)
            return copied
          }))
        yield* stage.share(from)
        yield* stage.share(to)
        const [copied] = yield* list.run([from])
        const [again] = yield* list.run([copied!])
        Expect.equal("copied twice", (yield* CommandQueue.read(again!, Uint32Array))[15], 1)
      })
  }
]
