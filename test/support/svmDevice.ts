/** Pools of shared virtual memory for tests, on the machine's driver with every call watched. */
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { OpenCl, Svm } from "../../src/opencl.ts"
import type { Allocator } from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { type Bends, watch, type Watched } from "./watchedOpenCl.ts"

export type SvmServices = OpenCl.Services | Allocator | BufferPool.BufferPool | Scope.Scope

/** Runs a test on a pool of shared memory, and proves that nothing is left of it but the handles that it names. */
export const onSvm = <A, E>(
  test: (watched: Watched) => Effect.Effect<A, E, SvmServices>,
  options: Svm.PoolOptions = {},
  bends?: Bends,
  left: Readonly<Record<string, number>> = {}
) =>
  Effect.gen(function*() {
    const watched = yield* watch(bends)
    const { alignment, atomics, grain, ...pool } = options
    const layer = BufferPool.layerNoDeps(pool).pipe(
      Layer.provideMerge(Svm.layerAllocator({ alignment, atomics, grain })),
      Layer.provideMerge(OpenCl.layerFrom(watched.api))
    )
    const device = yield* Effect.scoped(Effect.andThen(test(watched), DeviceContext)).pipe(Effect.provide(layer))
    deepStrictEqual(device.driverObjects.liveByKind, {})
    deepStrictEqual(watched.alive(), left)
  })

/** A command queue of the program's own, on the device that is open. */
export const ownQueue = (properties = 0) =>
  Effect.acquireRelease(
    Effect.map(OpenCl.OpenCl, ({ api, context, device }) =>
      api.clCreateCommandQueue(context, device.id, properties, new Int32Array(new ArrayBuffer(4)))!),
    (queue) =>
      Effect.map(OpenCl.OpenCl, ({ api }) =>
        api.clReleaseCommandQueue(queue))
  )
