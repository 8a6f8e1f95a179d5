/** What the scratch memory of a queue does to the driver: how much there is of it, and when it ends. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { PoolStrategy } from "../../src/allocators.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { interruptEverywhere, mebi, onDevice } from "../support/nullDevice.ts"
import { type Bends, watchedGpu } from "../support/watchedGpu.ts"

const add = Kernel.make({
  name: "add",
  args: [
    VectorArg("u32", "a", { access: "read" }),
    VectorArg("u32", "b", { access: "read" }),
    VectorArg("u32", "c", { access: "write" })
  ],
  body: { wgsl: "c[i] = a[i] + b[i];" }
})

const pool = (slabBytes = mebi, unitBytes?: number) =>
  BufferPool.layer({ strategy: PoolStrategy.arena({ slabBytes, unitBytes }) })

const live = DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind)

/** The sizes of the scratch buffers that a device is asked for. */
const scratchSizes = (): { readonly sizes: Array<number>; readonly bends: Bends } => {
  const sizes: Array<number> = []
  const createBuffer = (proceed: () => unknown, descriptor: unknown): unknown => {
    const { label, size } = descriptor as GPUBufferDescriptor
    if (label === "effect-gpu-pool scratch") sizes.push(size)
    return proceed()
  }
  return { sizes, bends: { "GPUDevice.createBuffer": createBuffer } }
}

describe("scratch memory of a WebGPU queue", () => {
  it.live("has a buffer for each argument that is copied, and the next dispatches and copies use the same", () => {
    const { bends, sizes } = scratchSizes()
    return onDevice(bends, (watched) =>
      Effect.gen(function*() {
        const a = yield* BufferPool.allocate(1000)
        const b = yield* BufferPool.allocate(5000)
        const c = yield* BufferPool.allocate(9000)
        for (let round = 0; round < 100; round++) {
          yield* CommandQueue.dispatch(add, { a, b, c }, 250)
          yield* CommandQueue.copy(a, b)
          yield* CommandQueue.dispatch(add, { a, b: a, c }, 250)
        }
        yield* CommandQueue.finish
        deepStrictEqual(sizes, [4096, 8192])
        strictEqual(watched.count("GPUDevice.createBindGroup"), 2)
      }).pipe(Effect.scoped, Effect.provide(pool())))
  })

  it.live("grows within a flush, whose earlier commands keep what they use", () => {
    const { bends, sizes } = scratchSizes()
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const leases = yield* Effect.forEach([4096, 8192, 16384, 32768], (bytes) => BufferPool.allocate(bytes))
        const c = yield* BufferPool.allocate(32768)
        for (const a of leases) yield* CommandQueue.dispatch(add, { a, b: a, c }, 1024)
        yield* CommandQueue.finish
        deepStrictEqual(sizes, [4096, 8192, 16384, 32768])
        strictEqual((yield* live).scratch, 1)
      }).pipe(Effect.scoped, Effect.provide(pool())))
  })

  it.live("fails the flush that lacks memory for it, by name, and the next one has some again", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const [a, c] = [yield* BufferPool.allocate(100 * mebi), yield* BufferPool.allocate(100 * mebi)]
        strictEqual((yield* BufferPool.stats).driverAllocations, 1)
        const rest = yield* BufferPool.allocate(250 * mebi)
        yield* CommandQueue.dispatch(add, { a, b: a, c }, 1)
        const error = yield* Effect.flip(CommandQueue.finish)
        assert.include(error.message, "dispatch add")
        assert.include(error.message, "memory")
        strictEqual((yield* live).scratch, undefined)
        yield* Lease.release(rest)
        yield* BufferPool.freeHeld
        yield* CommandQueue.dispatch(add, { a, b: a, c }, 1)
        yield* CommandQueue.finish
        strictEqual((yield* live).scratch, 1)
      }).pipe(Effect.scoped, Effect.provide(pool(256 * mebi)))))

  it.live("ends with a device that is lost between commands and their flush", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { device } = yield* WebGpu.WebGpu
        const [a, c] = [yield* BufferPool.allocate(1000), yield* BufferPool.allocate(1000)]
        yield* CommandQueue.dispatch(add, { a, b: a, c }, 1)
        yield* CommandQueue.finish
        yield* CommandQueue.dispatch(add, { a, b: a, c }, 1)
        yield* CommandQueue.copy(a, c)
        device.destroy()
        strictEqual((yield* Effect.flip(CommandQueue.finish)).reason._tag, "DeviceLost")
        strictEqual((yield* Effect.flip(BufferPool.allocate(10))).reason._tag, "DeviceLost")
      }).pipe(Effect.scoped, Effect.provide(pool()))))

  it.live("ends with a pool, and with a layer, that close while commands are recorded", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const opened = yield* Effect.provide(BufferPool.BufferPool, yield* Layer.buildWithScope(pool(), scope))
        const [a, c] = [yield* opened.allocate(1000), yield* opened.allocate(1000)]
        yield* CommandQueue.dispatch(add, { a, b: a, c }, 1)
        yield* CommandQueue.copy(a, c)
        yield* Scope.close(scope, Exit.void)
        strictEqual((yield* Effect.flip(CommandQueue.copy(a, c))).reason._tag, "Released")
        yield* CommandQueue.finish
        strictEqual((yield* live).buffer, undefined)
        const other = yield* Layer.buildWithScope(pool(), yield* Scope.Scope)
        const late = yield* Effect.provide(BufferPool.BufferPool, other)
        const [x, y] = [yield* late.allocate(1000), yield* late.allocate(1000)]
        yield* CommandQueue.dispatch(add, { a: x, b: x, c: y }, 1)
      })))

  it.live("stays whole wherever a program is interrupted", () => {
    const watched = watchedGpu({})
    const step = Effect.gen(function*() {
      const [a, b, c] = [
        yield* BufferPool.allocate(1000),
        yield* BufferPool.allocate(60),
        yield* BufferPool.allocate(900)
      ]
      yield* CommandQueue.dispatch(add, { a, b, c }, 1)
      yield* CommandQueue.copy(a, c, { size: 900 })
      yield* CommandQueue.flush
      yield* CommandQueue.copy(b, c, { size: 60 })
      yield* CommandQueue.read(c, Uint32Array)
    }).pipe(Effect.scoped)
    return Effect.gen(function*() {
      const device = yield* DeviceContext
      yield* step
      const before = device.driverObjects.liveByKind
      const steps = yield* interruptEverywhere(step, () => {})
      yield* CommandQueue.finish
      strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      deepStrictEqual(device.driverObjects.liveByKind, before)
      assert.isAbove(steps, 20)
      return device
    }).pipe(
      Effect.provide(pool()),
      Effect.provide(WebGpu.layerFrom(watched.gpu)),
      Effect.map(({ driverObjects }) => deepStrictEqual(driverObjects.liveByKind, {}))
    )
  })

  it.live("serves a hundred thousand leases in few GPUBuffers", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        yield* Effect.gen(function*() {
          const leases = yield* Effect.replicateEffect(BufferPool.allocate(100), 100_000)
          assert.isBelow((yield* live).buffer!, 40)
          for (let index = 0; index < leases.length; index += 997) {
            const [a, b, c] = [leases[index]!, leases[(index * 7) % 100_000]!, leases[(index * 13 + 1) % 100_000]!]
            yield* CommandQueue.dispatch(add, { a, b, c }, 25)
            yield* CommandQueue.copy(a, c)
          }
          yield* CommandQueue.finish
        }).pipe(Effect.scoped)
        yield* BufferPool.freeHeld
        strictEqual(device.driverObjects.liveByKind.buffer, undefined)
      }).pipe(Effect.provide(pool()))), 60_000)
})
