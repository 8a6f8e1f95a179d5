/**
 * Arrays whose memory is parts of few GPUBuffers. A kernel may not read and write one of these, and gets a copy of what it
 * reads there. Results are allocated apart from what they are computed of, so that no copy is needed.
 */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import type { QueueDriver } from "effect-gpu-pool/QueueDriver"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import { watchedGpu } from "../../../../test/support/watchedGpu.ts"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as ReductionKernel from "../../src/kernels/ReductionKernel.ts"
import * as ScanKernel from "../../src/kernels/ScanKernel.ts"

const totals = ScanKernel.make({
  name: "totals",
  args: [VectorArg("f32", "x", { access: "read" })],
  map: ({ x }) => x,
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const products = ReductionKernel.make({
  name: "products",
  args: [VectorArg("f32", "x", { access: "read" }), VectorArg("f32", "y", { access: "read" })],
  map: ({ x, y }) => Expr.multiply(x, y),
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const steps = fc.record({
  operation: fc.constantFrom(
    "new",
    "add",
    "root",
    "sum",
    "rows",
    "matmul",
    "take",
    "totals",
    "products",
    "drop",
    "lazy"
  ),
  x: fc.nat(1000),
  y: fc.nat(1000)
})

type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never

/** Squares of few sizes, so that most operations find operands. */
const sides = [2, 16, 100, 600]

const run = (program: ReadonlyArray<Step>) =>
  Effect.scoped(Effect.gen(function*() {
    const arrays = [yield* DeviceArray.ones([16, 16])]
    for (const { operation, x: first, y: second } of program) {
      const x = arrays[first % arrays.length]!
      const alike = arrays.filter(({ shape }) => shape[0] === x.shape[0])
      const y = alike[second % alike.length]!
      const { lease } = yield* DeviceArray.evaluate(x)
      switch (operation) {
        case "new": {
          arrays.push(yield* DeviceArray.full([sides[second % 4]!, sides[second % 4]!], first))
          break
        }
        case "add": {
          arrays.push(yield* DeviceArray.add(x, y))
          break
        }
        case "root": {
          arrays.push(yield* DeviceArray.sqrt(yield* DeviceArray.transpose(x)))
          break
        }
        case "sum": {
          arrays.push(yield* DeviceArray.add(x, yield* DeviceArray.sum(x)))
          break
        }
        case "rows": {
          arrays.push(yield* DeviceArray.subtract(x, yield* DeviceArray.max(y, { axis: second % 2 })))
          break
        }
        case "matmul": {
          arrays.push(yield* DeviceArray.matmul(x, y))
          break
        }
        case "take": {
          const side = x.shape[0]!
          const indices = Int32Array.from({ length: side }, (_, index) => (index * second) % side)
          arrays.push(yield* DeviceArray.take(x, indices, { axis: first % 2 }))
          break
        }
        case "totals": {
          yield* ScanKernel.run(totals, { x: lease! }, x.size, { exclusive: second % 2 === 0 })
          break
        }
        case "products": {
          yield* ReductionKernel.run(products, { x: lease!, y: (yield* DeviceArray.evaluate(y)).lease! }, x.size)
          break
        }
        case "drop": {
          if (arrays.length > 1) arrays.splice(first % arrays.length, 1)
          break
        }
        case "lazy": {
          const both = Effect.gen(function*() {
            const sum = yield* DeviceArray.add(x, y)
            return [yield* DeviceArray.square(sum), yield* DeviceArray.multiply(x, sum)] as const
          })
          arrays.push(...yield* DeviceArray.lazy(both))
        }
      }
    }
    yield* CommandQueue.finish
  }))

/** The same pool for programs that say nothing of what should be apart. */
const withoutHints = Layer.effect(
  BufferPool.BufferPool,
  Effect.map(BufferPool.BufferPool, (pool) =>
    BufferPool.BufferPool.of({
      ...pool,
      allocate: (size, options) => pool.allocate(size, { ...options, apart: undefined }),
      use: (size, f, options) => pool.use(size, f, { ...options, apart: undefined })
    }))
)

const programs = fc.sample(fc.array(steps, { minLength: 5, maxLength: 30 }), { numRuns: runs(300, 30), seed: 7 })

/**
 * The dispatches of random programs, and the copies of what they may not read where it is, on a device that validates all
 * commands and runs none.
 */
const copiesOn = (pool: Layer.Layer<BufferPool.BufferPool, GpuError, DeviceContext | QueueDriver>) =>
  Effect.gen(function*() {
    let copies = 0
    const copyBufferToBuffer = (proceed: () => unknown, ...args: ReadonlyArray<unknown>): unknown => {
      if ((args[2] as GPUBuffer).label === "effect-gpu-pool scratch") copies++
      return proceed()
    }
    const watched = watchedGpu({ "GPUCommandEncoder.copyBufferToBuffer": copyBufferToBuffer })
    const gpu = pool.pipe(Layer.provideMerge(WebGpu.layerFrom(watched.gpu)))
    yield* Effect.forEach(programs, run, { discard: true }).pipe(Effect.provide(gpu))
    return { copies, dispatches: watched.count("GPUComputePassEncoder.dispatchWorkgroups") }
  })

const arena = BufferPool.layer({ strategy: PoolStrategy.arena({ slabBytes: 2 ** 22 }) })

describe("programs of arrays in few GPUBuffers", () => {
  it.live("need no copies, since results are apart from what they are computed of", () =>
    Effect.gen(function*() {
      const { copies, dispatches } = yield* copiesOn(arena)
      assert.isAbove(dispatches, 100)
      strictEqual(copies, 0)
      const without = yield* copiesOn(withoutHints.pipe(Layer.provide(arena)))
      strictEqual(without.dispatches, dispatches)
      assert.isAbove(without.copies, 0)
    }), 60_000)
})
