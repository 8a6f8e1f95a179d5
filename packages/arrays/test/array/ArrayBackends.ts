/** Runs laws of device arrays on every backend, with a pool whose counters show what they allocate. */
import { assert, describe } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { GpuError, Reason } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as KernelCache from "effect-gpu-pool/KernelCache"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { describeWith } from "../../../../test/support/required.ts"

export type Gpu = BufferPool.BufferPool | CommandQueue | KernelCache.KernelCache
export type GpuLayer = Layer.Layer<Gpu, GpuError>
type Laws = (gpu: GpuLayer) => void

/** The strictest host: kernels run in many turns, and memory is freed late. */
export const strictHost = BufferPool.layer().pipe(
  Layer.provideMerge(Host.layer({ granularity: 4, lateFree: true, rangeItems: 7 }))
)

export const onEveryBackend = (laws: Laws): void => {
  describe("on the host", () => {
    laws(strictHost)
  })
  describeWith(["webgpu"], "on WebGPU", () => {
    laws(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())))
  })
  describeWith(["opencl"], "on OpenCL", () => {
    laws(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer())))
  })
}

/** A property whose runs each have a scope of their own, on one device. */
export const property = <A>(
  arbitrary: fc.Arbitrary<A>,
  holds: (value: A) => Effect.Effect<void, GpuError, Gpu | Scope.Scope>,
  parameters?: fc.Parameters<[A]>
): Effect.Effect<void, never, Gpu> =>
  Effect.flatMap(Effect.context<Gpu>(), (context) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, (value) => Effect.runPromiseWith(context)(Effect.scoped(holds(value)))),
        parameters
      )
    ))

/** The error of an effect, after a check that it took nothing from the pool. */
export const refusal = <A, R>(effect: Effect.Effect<A, GpuError, R>) =>
  Effect.gen(function*() {
    const before = yield* taken
    const { reason } = yield* Effect.flip(effect)
    deepStrictEqual(yield* taken, before)
    return reason
  })

/** The number of requests to the pool. */
export const taken = Effect.map(BufferPool.stats, ({ hits, misses }) => hits + misses)

/** What an effect took: leases of the pool, kernels recorded, and kernels that had to be compiled. */
export const costOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const [leases, kernels] = [yield* taken, yield* KernelCache.stats]
    const value = yield* effect
    const { hits, misses } = yield* KernelCache.stats
    return {
      value,
      leases: (yield* taken) - leases,
      kernels: hits + misses - kernels.hits - kernels.misses,
      compiled: misses - kernels.misses
    }
  })

/** Checks that the effect is refused with a message that contains all of these. */
export const refuses = <A, R>(
  tag: Reason["_tag"],
  effect: Effect.Effect<A, GpuError, R>,
  ...mentions: ReadonlyArray<string>
) =>
  Effect.map(refusal(effect), (reason) => {
    assert.strictEqual(reason._tag, tag, reason.message)
    for (const mention of mentions) assert.include(reason.message, mention)
  })
