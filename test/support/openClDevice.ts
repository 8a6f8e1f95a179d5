/**
 * OpenCL's devices for tests: the machine's driver, with every call watched.
 */
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { GpuError, Reason } from "../../src/domain/GpuError.ts"
import { OpenCl } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { type Bends, watch, type Watched } from "./watchedOpenCl.ts"

/** Runs a test on the machine's driver, watched, and proves that the closed layer leaves nothing but the handles named. */
export const onDevice = <A, E>(
  test: (watched: Watched) => Effect.Effect<A, E, OpenCl.Services | Allocator.Allocator | Scope.Scope>,
  bends?: Bends,
  left: Readonly<Record<string, number>> = {},
  options?: OpenCl.DeviceOptions
) =>
  Effect.gen(function*() {
    const watched = yield* watch(bends)
    const layer = Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFrom(watched.api, options)))
    const device = yield* Effect.scoped(Effect.andThen(test(watched), DeviceContext)).pipe(Effect.provide(layer))
    deepStrictEqual(device.driverObjects.liveByKind, {})
    deepStrictEqual(watched.alive(), left)
  })

/** The same with memory of the host, which devices of some types have by themselves. */
export const onHostMemory = (test: Parameters<typeof onDevice>[0]) =>
  onDevice(test, undefined, {}, { hostMemory: true })

export const reasonOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<Reason["_tag"], A, R> =>
  Effect.map(Effect.flip(effect), (error) => error.reason._tag)

export const allocate = (bytes: number, label?: string) => Allocator.allocate(bytes, { label })

export const read = (buffer: Effect.Success<ReturnType<typeof allocate>>) =>
  Effect.map(CommandQueue.read(buffer, Uint8Array), (bytes) => [...bytes])

export const setCode = (code: OpenCl.Pointer, value: number): null => {
  if (code instanceof Int32Array) code[0] = value
  return null
}
