import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import * as QueueEvent from "../../src/services/device/QueueEvent.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { create, destroy, held, mebi, nothing, onDevice, turn } from "../support/nullDevice.ts"
import { type Bends, watchedGpu } from "../support/watchedGpu.ts"

describe("WebGpu queue", () => {
  it.live("submits at the end of the turn of the event loop, at 64 commands, and when asked", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const buffer = yield* held(256)
        const fill = CommandQueue.fill(buffer, 0)
        yield* fill
        strictEqual(watched.count("GPUQueue.submit"), 0)
        yield* turn
        strictEqual(watched.count("GPUQueue.submit"), 1)
        for (let index = 0; index < 63; index++) yield* fill
        strictEqual(watched.count("GPUQueue.submit"), 1)
        yield* fill
        strictEqual(watched.count("GPUQueue.submit"), 2)
        yield* Effect.andThen(fill, CommandQueue.flush)
        strictEqual(watched.count("GPUQueue.submit"), 3)
        yield* CommandQueue.flush
        strictEqual(watched.count("GPUQueue.submit"), 3)
      })))

  it.live("submits recorded work before a write bypasses it", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const buffer = yield* held(256)
        yield* CommandQueue.fill(buffer, 0)
        yield* CommandQueue.write(buffer, new Uint8Array(256))
        strictEqual(watched.count("GPUQueue.submit"), 1)
        strictEqual(watched.count("GPUQueue.writeBuffer"), 1)
      })))

  it.live("asks the device once for however many fibers that wait for the same work", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const buffer = yield* held(256)
        yield* CommandQueue.write(buffer, new Uint8Array(256))
        const event = yield* CommandQueue.event
        yield* Effect.replicateEffect(QueueEvent.wait(event), 100, { concurrency: "unbounded", discard: true })
        strictEqual(watched.count("GPUQueue.onSubmittedWorkDone"), 1)
        yield* CommandQueue.write(buffer, new Uint8Array(256))
        yield* CommandQueue.finish
        strictEqual(watched.count("GPUQueue.onSubmittedWorkDone"), 2)
      })))

  it.live("writes the scalars of a whole flush at once", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const x = yield* held(256)
        for (let index = 0; index < 10; index++) yield* CommandQueue.dispatch(nothing, { x }, index + 1)
        yield* CommandQueue.flush
        strictEqual(watched.count("GPUQueue.writeBuffer"), 1)
        strictEqual(watched.count("GPUDevice.createBindGroup"), 1)
      })))

  it.live("makes one bind group for each set of buffers and sizes, in whatever order they are used", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const buffers = yield* Effect.forEach(Array.from({ length: 40 }), () => held(256))
        for (let round = 0; round < 3; round++) {
          for (const x of buffers) yield* CommandQueue.dispatch(nothing, { x }, 1)
        }
        yield* CommandQueue.finish
        strictEqual(watched.count("GPUDevice.createBindGroup"), 40)
      })))

  it.live("keeps no more bind groups than that, and makes the oldest again", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const buffers = yield* Effect.forEach(Array.from({ length: 70 }), () => held(256))
        for (const x of [...buffers, buffers[0]!, buffers[69]!]) yield* CommandQueue.dispatch(nothing, { x }, 1)
        yield* CommandQueue.finish
        strictEqual(watched.count("GPUDevice.createBindGroup"), 71)
      })))

  it.live("drops what was recorded and never submitted when its layer closes", () =>
    Effect.gen(function*() {
      const watched = watchedGpu()
      yield* Effect.flatMap(create(256), (buffer) => CommandQueue.fill(buffer, 0)).pipe(
        Effect.provide(WebGpu.layerFrom(watched.gpu))
      )
      const submitted = watched.count("GPUQueue.submit")
      yield* turn
      strictEqual(watched.count("GPUQueue.submit"), submitted)
    }))

  it.live("raises out-of-memory for a staging buffer that does not fit", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const source = yield* held(200 * mebi)
        yield* held(200 * mebi)
        const error = yield* Effect.flip(CommandQueue.read(source, Uint8Array))
        strictEqual(error.reason._tag, "OutOfMemory")
        strictEqual(device.driverObjects.liveByKind["staging"], undefined)
        yield* CommandQueue.finish
      })))

  it.live("destroys the staging buffer of an interrupted read", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const source = yield* held(256)
        const fiber = yield* Effect.forkChild(CommandQueue.read(source, Uint8Array), { startImmediately: true })
        strictEqual(device.driverObjects.liveByKind["staging"], 1)
        yield* Fiber.interrupt(fiber)
        strictEqual(device.driverObjects.liveByKind["staging"], undefined)
        yield* CommandQueue.finish
      })))

  it.live("reports each failure of recorded work once, with the labels of its flush, and harms nothing later", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const a = yield* held(256, "a")
        const b = yield* held(256, "b")
        yield* KernelCache.KernelCache.use((cache) => cache.get(nothing))
        ;(yield* WebGpu.handle(b)).destroy()
        yield* CommandQueue.copy(a, b, { size: 64 })
        yield* CommandQueue.dispatch(nothing, { x: a }, 64)
        yield* CommandQueue.flush
        yield* CommandQueue.fill(a, 7)
        const error = yield* Effect.flip(CommandQueue.finish)
        if (error.reason._tag !== "DriverError") throw error
        deepStrictEqual(error.reason.commands, ["copy 64 B a -> b", "dispatch nothing (64 items)"])
        strictEqual(error.reason.codeName, "GPUValidationError")
        assert.include(error.message, `[Buffer "b"] used in submit while destroyed`)
        yield* CommandQueue.fill(a, 7)
        yield* CommandQueue.finish
        yield* CommandQueue.read(a, Uint8Array)
      })))

  it.live("fails the next read too, and names a failed write", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const a = yield* held(256, "a")
        const b = yield* held(256, "b")
        ;(yield* WebGpu.handle(b)).destroy()
        yield* CommandQueue.write(b, new Uint8Array(8))
        const error = yield* Effect.flip(CommandQueue.read(a, Uint8Array))
        if (error.reason._tag !== "DriverError") throw error
        deepStrictEqual(error.reason.commands, ["write 8 B -> b"])
        yield* CommandQueue.read(a, Uint8Array)
      })))

  it.live("waits for error scopes that answer after the work is done", () => {
    const bends: Bends = {
      "GPUDevice.popErrorScope": (proceed) => {
        const popped = proceed()
        return new Promise((resolve) => setImmediate(() => setImmediate(resolve))).then(() => popped)
      }
    }
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const a = yield* held(256, "a")
        ;(yield* WebGpu.handle(a)).destroy()
        yield* CommandQueue.fill(a, 0)
        assert.include((yield* Effect.flip(CommandQueue.finish)).message, "fill 256 B -> a")
      }))
  })

  it.live("starts afresh after its own buffers did not fit", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const x = yield* held(4)
        yield* held(256 * mebi)
        const rest = yield* held(256 * mebi - 8)
        const work = Effect.gen(function*() {
          yield* CommandQueue.fill(x, 7)
          yield* CommandQueue.dispatch(nothing, { x }, 1)
          yield* CommandQueue.finish
        })
        assert.include((yield* Effect.flip(work)).message, "GPUOutOfMemoryError")
        yield* Effect.andThen(destroy(rest), Effect.ignore(CommandQueue.finish))
        yield* work
      })))

  it.live("asks for exactly the usage of a buffer, never for mapping", () => {
    const usages: Array<number> = []
    const bends: Bends = {
      "GPUDevice.createBuffer": (proceed, descriptor) => {
        usages.push((descriptor as GPUBufferDescriptor).usage)
        return proceed()
      }
    }
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const { copyDst, copySrc, hostMemory, index, indirect, kernelReadOnly, storage, uniform, vertex } = BufferUsage
        const all = [storage | kernelReadOnly | hostMemory, uniform, copySrc, copyDst, index, vertex, indirect]
        for (const usage of all) yield* device.createBuffer(256, usage)
        deepStrictEqual(usages, [0x80, 0x40, 0x4, 0x8, 0x10, 0x20, 0x100])
      }))
  })

  it.live("hands uncaptured errors of raw calls to the next finish", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { device } = yield* WebGpu.WebGpu
        device.createBuffer({ size: 4, usage: 0 })
        const error = yield* Effect.flip(CommandQueue.finish)
        assert.include(error.message, "Buffer usages must not be 0")
        assert.include(error.message, "No call of the library raised it")
        yield* CommandQueue.finish
      })))

  it.live("submits the program's own commands after what is recorded, in one step", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const x = yield* held(256)
        const part = yield* SubRegion.make(x, { offset: 0, size: 64 })
        yield* CommandQueue.fill(x, 7)
        const seen: Array<unknown> = []
        yield* WebGpu.submit([x, part], ([whole, region], { device }) => {
          seen.push(watched.count("GPUQueue.submit"), [whole.offset, whole.size], [region.offset, region.size])
          return [device.createCommandEncoder().finish()]
        })
        deepStrictEqual(seen, [1, [0, 256], [0, 64]])
        strictEqual(watched.count("GPUQueue.submit"), 2)
        yield* CommandQueue.finish
        yield* WebGpu.submit([x], ([{ buffer }], { device }) => {
          const encoder = device.createCommandEncoder()
          encoder.clearBuffer(buffer, 2)
          return [encoder.finish()]
        }, { label: "mine" })
        const error = yield* Effect.flip(CommandQueue.finish)
        assert.include(error.message, "webgpu: GPUQueue.submit failed (GPUValidationError)")
        assert.include(error.message, "Commands: mine.")
        const ended = yield* Effect.scoped(held(16))
        let calls = 0
        const refused = yield* Effect.flip(WebGpu.submit([x, ended], () => {
          calls += 1
          return []
        }))
        deepStrictEqual([refused.reason._tag, calls], ["Released", 0])
        assert.include(refused.message, "WebGpu.submit: ")
        assert.include((yield* Effect.flip(WebGpu.binding(ended))).message, "WebGpu.binding: ")
        assert.include((yield* Effect.flip(WebGpu.handle(ended))).message, "WebGpu.handle: ")
      })))

  it.live("waits anew in each finish, also for what the program has submitted itself", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const { device, queue } = yield* WebGpu.WebGpu
        yield* CommandQueue.finish
        queue.submit([device.createCommandEncoder().finish()])
        yield* CommandQueue.finish
        strictEqual(watched.count("GPUQueue.onSubmittedWorkDone"), 2)
        device.createBuffer({ size: 4, usage: 0 })
        const error = yield* Effect.flip(CommandQueue.finish)
        assert.include(error.message, "Buffer usages must not be 0")
      })))
})
