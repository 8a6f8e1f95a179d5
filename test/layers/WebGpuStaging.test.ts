/** Staging memory on Dawn's null device: mappings, interruptions and losses at awkward moments. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { actAt } from "../../packages/testing/src/StoppedFiber.ts"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { type Bends, watchedGpu } from "../support/watchedGpu.ts"

type Services = WebGpu.Services | BufferPool.BufferPool | StagingPool.StagingPool

/** Runs a program on a device of its own, and checks that no driver object is left. */
const onPools = <A, E>(bends: Bends, program: Effect.Effect<A, E, Services | Scope.Scope>) =>
  Effect.gen(function*() {
    const watched = watchedGpu(bends)
    const scope = yield* Scope.make()
    const layer = Layer.merge(BufferPool.layer(), StagingPool.layer()).pipe(
      Layer.provideMerge(WebGpu.layerFrom(watched.gpu))
    )
    const context = yield* Layer.buildWithScope(layer, scope)
    const exit = yield* Effect.exit(Effect.provide(Effect.scoped(program), context))
    yield* Scope.close(scope, Exit.void)
    const { driverObjects } = Context.get(context, DeviceContext)
    strictEqual(driverObjects.live, 0, JSON.stringify(driverObjects.liveByKind))
    return yield* exit
  })

/** The numbers of GPUBufferUsage. */
const mapRead = 0x1
const mapWrite = 0x2
const copySrc = 0x4
const copyDst = 0x8

const gpuUsageOf = (usage: BufferUsage.BufferUsage) =>
  Effect.scoped(
    Effect.flatMap(Allocator.allocate(16, { usage }), (buffer) => Effect.map(WebGpu.handle(buffer), (gpu) => gpu.usage))
  ).pipe(Effect.provide(Allocator.layerImmediate))

describe("staging memory on WebGPU", () => {
  it.live("has the MAP usage of its direction, and other memory has none", () =>
    onPools(
      {},
      Effect.gen(function*() {
        strictEqual(yield* gpuUsageOf(BufferUsage.download), mapRead | copyDst)
        strictEqual(yield* gpuUsageOf(BufferUsage.upload), mapWrite | copySrc)
        const more = yield* gpuUsageOf(BufferUsage.upload | BufferUsage.copyDst)
        strictEqual(more & (mapRead | mapWrite), 0)
      })
    ))

  it.live("is mapped once at a time, and only for its direction", () =>
    onPools(
      {},
      Effect.gen(function*() {
        const memory = yield* BufferPool.allocate(64, { usage: BufferUsage.download })
        const first = yield* Mapping.map(memory, Uint32Array, { shape: [4] })
        strictEqual(first.data.length, 4)
        for (
          const wrong of [
            Mapping.map(memory, Uint32Array, { offset: 32 }),
            Mapping.map(memory, Uint32Array, { access: "write" })
          ]
        ) {
          strictEqual((yield* Effect.flip(Effect.scoped(wrong))).reason._tag, "InvalidRequest")
        }
        yield* Mapping.unmap(first)
        const aligned = yield* Effect.flip(Effect.scoped(Mapping.map(memory, Uint32Array, { offset: 4 })))
        assert.include(aligned.message, "no multiple of 8 bytes")
        strictEqual((yield* Mapping.map(memory, Uint8Array, { offset: 8, shape: [4] })).data.length, 4)
      })
    ))

  it.live("is never leased again while the driver still has to answer a mapping that was given up", () => {
    const pending: Array<() => void> = []
    const bends: Bends = {
      "GPUDevice.createBuffer": (proceed) => {
        const buffer = proceed() as GPUBuffer
        const mapAsync = buffer.mapAsync.bind(buffer)
        buffer.mapAsync = (...range) => new Promise((resolve) => pending.push(() => resolve(mapAsync(...range))))
        return buffer
      }
    }
    return onPools(
      bends,
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const reader = yield* Effect.forkChild(CommandQueue.read(x, Uint8Array), { startImmediately: true })
        while (pending.length === 0) yield* Effect.promise(() => new Promise(setImmediate))
        yield* Fiber.interrupt(reader)
        const { activeBlocks, heldBlocks } = yield* StagingPool.stats
        deepStrictEqual({ activeBlocks, heldBlocks }, { activeBlocks: 0, heldBlocks: 0 })
        for (const answer of pending.splice(0)) answer()
        yield* CommandQueue.finish
      })
    )
  })

  it.live("is mapped for a download only after the mapping of an interrupted one", () => {
    const pending: Array<() => void> = []
    let isHeldBack = false
    const bends: Bends = {
      "GPUDevice.createBuffer": (proceed) => {
        const buffer = proceed() as GPUBuffer
        const mapAsync = buffer.mapAsync.bind(buffer)
        buffer.mapAsync = (...range) =>
          isHeldBack ? new Promise((resolve) => pending.push(() => resolve(mapAsync(...range)))) : mapAsync(...range)
        return buffer
      }
    }
    return onPools(
      bends,
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        for (const direction of ["download", "both"] as const) {
          const array = yield* StagingPool.allocate(64, Uint8Array, { direction })
          isHeldBack = true
          const transfer = direction === "both" ? StagingPool.upload(array, x) : StagingPool.download(x, array)
          const first = yield* Effect.forkChild(transfer, { startImmediately: true })
          while (pending.length === 0) yield* Effect.promise(() => new Promise(setImmediate))
          yield* Fiber.interrupt(first)
          strictEqual(array.data.length, direction === "both" ? 0 : 64)
          isHeldBack = false
          const second = yield* Effect.forkChild(StagingPool.download(x, array), { startImmediately: true })
          // The second one, given up while its mapping waits for the first, leaves nothing mapped.
          yield* Fiber.interrupt(second)
          const third = yield* Effect.forkChild(StagingPool.download(x, array), { startImmediately: true })
          for (const answer of pending.splice(0)) answer()
          yield* Fiber.join(third)
          strictEqual(array.data.length, 64)
        }
        yield* CommandQueue.finish
      })
    )
  })

  it.live("survives 1,000 reads that are interrupted while the driver maps", () =>
    onPools(
      {},
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const { driverObjects } = yield* DeviceContext
        for (let read = 0; read < 1000; read++) {
          const reader = yield* Effect.forkChild(CommandQueue.read(x, Uint8Array), { startImmediately: true })
          if (read % 3 !== 0) yield* Effect.yieldNow
          yield* Fiber.interrupt(reader)
          const { activeBlocks, managedBlocks } = yield* StagingPool.stats
          strictEqual(activeBlocks, 0)
          assert.isAtMost(managedBlocks, 1)
        }
        assert.isAtMost(driverObjects.liveByKind["buffer"] ?? 0, 2)
        strictEqual((yield* CommandQueue.read(x, Uint8Array)).length, 64)
      })
    ))

  it.live("ends with DeviceLost when the device goes while it is mapped, or is to be", () =>
    onPools(
      {},
      Effect.gen(function*() {
        const { device } = yield* WebGpu.WebGpu
        const x = yield* BufferPool.allocate(64)
        const staged = yield* StagingPool.allocate(16, Float32Array)
        const jobs = [
          Effect.asVoid(CommandQueue.read(x, Uint8Array)),
          CommandQueue.readView(x, Uint8Array, () => Effect.never),
          StagingPool.upload(staged, x)
        ]
        const waiting = yield* Effect.forEach(
          jobs,
          (job) => Effect.forkChild(Effect.flip(job), { startImmediately: true })
        )
        device.destroy()
        const [read, view, upload] = waiting
        for (const fiber of [read!, upload!]) {
          strictEqual((yield* Fiber.join(fiber)).reason._tag, "DeviceLost")
        }
        // After mapping, a read only runs the program's own code; a device that is lost before ends the read.
        yield* Fiber.interrupt(view!)
        strictEqual((yield* Effect.flip(StagingPool.allocate(4, Uint8Array))).reason._tag, "DeviceLost")
      })
    ))

  it.live("ends with DeviceLost or Released when the device is destroyed at any step", () => {
    const jobs = [
      StagingPool.use(64, Uint8Array, () => Effect.void),
      StagingPool.use(
        64,
        Uint8Array,
        (array) => Effect.flatMap(BufferPool.allocate(64), (x) => StagingPool.upload(array, x))
      ),
      StagingPool.use(
        64,
        Uint8Array,
        (array) => Effect.flatMap(BufferPool.allocate(64), (x) => StagingPool.download(x, array)),
        { direction: "both" }
      ),
      Effect.flatMap(BufferPool.allocate(64), CommandQueue.read(Uint8Array)),
      Effect.flatMap(BufferPool.allocate(64), CommandQueue.readView(Uint8Array, () => Effect.void))
    ]
    const destroyedAt = (job: (typeof jobs)[number], step: number) =>
      onPools(
        {},
        Effect.gen(function*() {
          const { device } = yield* WebGpu.WebGpu
          const exit = yield* actAt(Effect.scoped(job), step, Effect.sync(() => device.destroy()))
          if (exit === undefined || Exit.isSuccess(exit)) return exit !== undefined
          const error = yield* Effect.flip(exit)
          assert.include(["DeviceLost", "Released"], error.reason._tag, `step ${step}: ${error.message}`)
          return true
        })
      )
    return Effect.gen(function*() {
      for (const job of jobs) {
        let steps = 0
        while (yield* destroyedAt(job, steps)) steps++
        assert.isAbove(steps, 20)
      }
    })
  })
})
