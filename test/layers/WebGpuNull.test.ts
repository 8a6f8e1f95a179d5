import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/Kernel.ts"
import { VectorArg } from "../../src/domain/KernelArgument.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as CommandQueue from "../../src/services/CommandQueue.ts"
import { DeviceContext } from "../../src/services/DeviceContext.ts"
import * as KernelCache from "../../src/services/KernelCache.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { type Bends, type Watched, watchedGpu } from "../support/watchedGpu.ts"

const mebi = 1024 * 1024

const create = (bytes: number, label?: string) =>
  DeviceContext.use((device) => device.createBuffer(bytes, BufferUsage.defaultUsage, label))

const destroy = (buffer: Effect.Success<ReturnType<typeof create>>) =>
  DeviceContext.use((device) => device.destroyBufferUnsafe(buffer))

const held = (bytes: number, label?: string) =>
  Effect.acquireRelease(create(bytes, label), (b) => Effect.orDie(destroy(b)))

const nothing = Kernel.make({ name: "nothing", args: [VectorArg("f32", "x")], body: { wgsl: "" } })

const turn = Effect.promise(() => Promise.resolve())

/** Runs a test on a watched null device and proves that the closed layer leaves nothing behind. */
const onDevice = <A, E>(
  bends: Bends,
  test: (watched: Watched) => Effect.Effect<A, E, WebGpu.Services | Scope.Scope>
) =>
  Effect.gen(function*() {
    const watched = watchedGpu(bends)
    const layer = WebGpu.layerFrom(watched.gpu)
    const device = yield* Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test(watched)), device))
      .pipe(
        Effect.provide(layer)
      )
    deepStrictEqual(device.driverObjects.liveByKind, {})
    assert.isAbove(watched.count("GPUDevice.destroy"), 0)
    strictEqual(device.status.error?.reason._tag, "DeviceLost")
  })

/** Interrupts a fiber at one step of its run, before or after whatever it waits for. */
class InterruptAt extends Scheduler.MixedScheduler {
  constructor(step: number) {
    super()
    this.shouldYield = (fiber) => {
      if (step-- !== 0) return false
      fiber.interruptUnsafe()
      return true
    }
  }
}

/** Runs an effect anew for each of its steps, interrupted there, until it gets through; the number of steps. */
const interruptEverywhere = <A, E, R>(effect: Effect.Effect<A, E, R>, check: (step: number) => void) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<R>()
    for (let step = 0;; step++) {
      const fiber = Effect.runForkWith(context)(
        Effect.provideService(effect, Scheduler.Scheduler, new InterruptAt(step))
      )
      const exit = yield* Fiber.await(fiber)
      check(step)
      if (Exit.isSuccess(exit)) return step
    }
  })

const failing = (gpu: GPU) => Effect.flip(Effect.scoped(Layer.build(WebGpu.layerFrom(gpu))))

describe("WebGpu opening", () => {
  it.effect("says what to install when no adapter answers", () =>
    Effect.gen(function*() {
      const error = yield* failing(watchedGpu({ "GPU.requestAdapter": () => Promise.resolve(null) }).gpu)
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "requestAdapter found none")
      assert.include(error.message, "Mesa 23 or newer")
      assert.include(error.message, "npm run drivers")
    }))

  it.effect("says why an adapter or a device was refused", () =>
    Effect.gen(function*() {
      const adapter = yield* failing(
        watchedGpu({
          "GPU.requestAdapter": () => {
            throw new TypeError("no such preference")
          }
        }).gpu
      )
      strictEqual(adapter.reason._tag, "DeviceUnavailable")
      assert.include(adapter.message, "no such preference")
      const device = yield* failing(
        watchedGpu({ "GPUAdapter.requestDevice": () => Promise.reject(new Error("limit too high")) }).gpu
      )
      strictEqual(device.reason._tag, "DeviceUnavailable")
      assert.include(device.message, "null-backend: limit too high")
    }))

  it.effect("destroys the device when a later step fails", () =>
    Effect.gen(function*() {
      const watched = watchedGpu()
      const layer = WebGpu.layerFrom(watched.gpu, { kernelCacheCapacity: 0 })
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      strictEqual(error.reason._tag, "InvalidRequest")
      strictEqual(watched.count("GPUDevice.destroy"), 1)
    }))

  it.effect("asks for the adapter's largest limits, and passes its choices on", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const watched = watchedGpu({
        "GPU.requestAdapter": (proceed, options) => {
          asked.push(options)
          return proceed()
        },
        "GPUAdapter.requestDevice": (proceed, descriptor) => {
          asked.push((descriptor as GPUDeviceDescriptor).label)
          return proceed()
        }
      })
      const options = { powerPreference: "low-power", forceFallbackAdapter: false, label: "mine" } as const
      yield* Effect.gen(function*() {
        const { adapter, device } = yield* WebGpu.WebGpu
        deepStrictEqual(asked, [{ powerPreference: "low-power", forceFallbackAdapter: false }, "mine"])
        for (
          const name of ["maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage"] as const
        ) {
          strictEqual(device.limits[name], adapter.limits[name])
        }
      }).pipe(Effect.provide(WebGpu.layerFrom(watched.gpu, options)))
    }))

  it.live("leaves no device behind, wherever it is interrupted", () =>
    Effect.gen(function*() {
      const { count, gpu } = watchedGpu()
      const use = Effect.gen(function*() {
        const x = yield* held(256)
        yield* CommandQueue.dispatch(nothing, { x }, 1)
        yield* CommandQueue.read(x, Uint8Array)
      })
      let devices: Array<DeviceContext["Service"]> = []
      const program = Effect.suspend(() => {
        const keep = Effect.tap(DeviceContext, (device) => Effect.sync(() => devices.push(device)))
        return Effect.scoped(Effect.provide(Effect.andThen(keep, use), WebGpu.layerFrom(gpu)))
      })
      const steps = yield* interruptEverywhere(program, (step) => {
        strictEqual(count("GPUDevice.destroy"), count("GPUAdapter.requestDevice"), `step ${step}`)
        for (const { driverObjects } of devices) deepStrictEqual(driverObjects.liveByKind, {}, `step ${step}`)
        devices = []
      })
      assert.isAbove(steps, 50)
      assert.isAbove(count("GPUQueue.submit"), 0)
    }))

  it.live("leaves no device behind when it is interrupted while the driver opens it", () =>
    Effect.gen(function*() {
      const gate = Deferred.makeUnsafe<void>()
      const asked = Deferred.makeUnsafe<void>()
      const watched = watchedGpu({
        "GPUAdapter.requestDevice": (proceed) => {
          Deferred.doneUnsafe(asked, Exit.void)
          return Effect.runPromise(Deferred.await(gate)).then(proceed)
        }
      })
      const fiber = yield* Effect.forkChild(Effect.scoped(Layer.build(WebGpu.layerFrom(watched.gpu))))
      yield* Deferred.await(asked)
      fiber.interruptUnsafe()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.await(fiber)
      strictEqual(watched.count("GPUDevice.destroy"), 1)
    }))
})

describe("WebGpu buffers", () => {
  it.live("raises the driver's out-of-memory, keeps nothing of the failed buffer, and recovers", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        yield* held(256 * mebi)
        const second = yield* create(256 * mebi)
        const error = yield* Effect.flip(create(256 * mebi))
        strictEqual(error.reason._tag, "OutOfMemory")
        deepStrictEqual(device.driverObjects.liveByKind["buffer"], 2)
        yield* destroy(second)
        yield* held(256 * mebi)
      })))

  it.live("keeps the scopes of concurrent fibers apart", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        yield* held(256 * mebi)
        const sizes = [200 * mebi, 4, 200 * mebi, 4, 4, 200 * mebi]
        const exits = yield* Effect.forEach(sizes, (size) => Effect.exit(held(size)), { concurrency: "unbounded" })
        deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true, true, false])
      })))

  it.live("reports a refused size as the driver's error", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(create(512 * mebi))
        strictEqual(error.reason._tag, "DriverError")
        assert.include(error.message, "GPUDevice.createBuffer")
      })))

  it.live("turns an exception of createBuffer into an error and leaves the scope stack as it was", () => {
    let broken = true
    const bends: Bends = {
      "GPUDevice.createBuffer": (proceed) => {
        if (!broken) return proceed()
        throw new RangeError("no host memory")
      }
    }
    return onDevice(bends, (watched) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(create(256))
        assert.include(error.message, "no host memory")
        strictEqual(watched.count("GPUDevice.pushErrorScope"), watched.count("GPUDevice.popErrorScope"))
        broken = false
        yield* held(256)
      }))
  })

  it.live("destroys what an interrupted creation has made", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const fiber = yield* Effect.forkChild(create(4096), { startImmediately: true })
        strictEqual(watched.count("GPUDevice.createBuffer"), 1)
        yield* Fiber.interrupt(fiber)
        strictEqual(device.driverObjects.liveByKind["buffer"], undefined)
      })))

  it.live("leaks nothing wherever a scoped creation or a read is interrupted", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const program = Effect.scoped(Effect.flatMap(held(256), (buffer) => CommandQueue.read(buffer, Uint8Array)))
        const steps = yield* interruptEverywhere(program, (step) => {
          deepStrictEqual(driverObjects.liveByKind, { device: 1 }, `step ${step}`)
        })
        assert.isAbove(steps, 20)
      })))

  it.live("leaves a pool's ledger and the driver agreed wherever a miss is interrupted", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const steps = yield* interruptEverywhere(
          Effect.scoped(Effect.provide(BufferPool.allocate(256), BufferPool.layer())),
          (step) => deepStrictEqual(driverObjects.liveByKind, { device: 1 }, `step ${step}`)
        )
        assert.isAbove(steps, 20)
      })))

  it.live("rounds odd sizes up, so that every byte can be copied and bound", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const buffer = yield* held(7)
        strictEqual(buffer.size, 7)
        strictEqual((yield* WebGpu.handle(buffer)).size, 8)
        const { size } = yield* WebGpu.binding(buffer)
        strictEqual(size, 8)
      })))

  it.live("submits now and then while buffers come and go, or the driver would never free them", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        for (let index = 0; index < 256; index++) yield* Effect.flatMap(create(4096), destroy)
        strictEqual(watched.count("GPUQueue.submit"), 4)
      })))

  it.live("reclaims with an empty submit, since destroyed memory only returns with a later one", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const { driver } = yield* CommandQueue.CommandQueue
        yield* driver.reclaim
        strictEqual(watched.count("GPUQueue.submit"), 1)
        strictEqual(watched.count("GPUQueue.onSubmittedWorkDone"), 1)
      })))

  it.live("destroys a buffer once, and none of another device", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const buffer = yield* held(256)
        yield* destroy(buffer)
        yield* destroy(buffer)
        strictEqual(device.driverObjects.live, 1)
        const foreign = yield* Effect.provide(Effect.scoped(held(256)), WebGpu.layer({ flags: ["backend=null"] }))
        foreign.destroyed = false
        const error = yield* Effect.flip(destroy(foreign))
        strictEqual(error.reason._tag, "ForeignBuffer")
        strictEqual((yield* Effect.flip(WebGpu.handle(foreign))).reason._tag, "ForeignBuffer")
        strictEqual((yield* Effect.flip(WebGpu.binding(buffer))).reason._tag, "BufferReleased")
      })))
})

describe("WebGpu queue", () => {
  it.live("submits at the end of the turn, at 64 commands, and when asked", () =>
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

  it.live("submits recorded work before a write overtakes it", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const buffer = yield* held(256)
        yield* CommandQueue.fill(buffer, 0)
        yield* CommandQueue.write(buffer, new Uint8Array(256))
        strictEqual(watched.count("GPUQueue.submit"), 1)
        strictEqual(watched.count("GPUQueue.writeBuffer"), 1)
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

  it.live("tells each failure of recorded work once, with the labels of its flush, and harms nothing later", () =>
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
        yield* CommandQueue.finish
      })))
})

describe("WebGpu loss", () => {
  it.live("ends everything that waits, and everything later, with DeviceLost", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const gpu = yield* WebGpu.WebGpu
        const buffer = yield* held(256)
        const jobs: ReadonlyArray<Effect.Effect<void, GpuError, WebGpu.Services>> = [
          Effect.asVoid(create(4096)),
          Effect.asVoid(CommandQueue.read(buffer, Uint8Array)),
          CommandQueue.finish,
          CommandQueue.dispatch(nothing, { x: buffer }, 1)
        ]
        const waiting = yield* Effect.forEach(
          jobs,
          (job) => Effect.forkChild(Effect.flip(job), { startImmediately: true })
        )
        gpu.device.destroy()
        for (const fiber of waiting) {
          const error = yield* Fiber.join(fiber)
          strictEqual(error.reason._tag, "DeviceLost")
          assert.include(error.message, "destroyed")
        }
        for (const effect of [CommandQueue.fill(buffer, 0), CommandQueue.flush, CommandQueue.finish]) {
          strictEqual((yield* Effect.flip(effect)).reason._tag, "DeviceLost")
        }
        strictEqual((yield* Effect.flip(create(4))).reason._tag, "DeviceLost")
        deepStrictEqual(device.driverObjects.liveByKind, { device: 1, buffer: 1 })
      })))

  it.live("does not take the buffer of a lost device for a good one, although its scopes stay silent", () => {
    let lose: (() => void) | undefined
    const bends: Bends = {
      "GPUDevice.popErrorScope": () => {
        lose?.()
        return Promise.resolve(null)
      }
    }
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const { status } = yield* DeviceContext
        lose = () => {
          status.lose("unplugged")
        }
        assert.include((yield* Effect.flip(create(256))).message, "unplugged")
      }))
  })

  it.live("does not hang when the promises of a lost device never settle", () =>
    onDevice({ "GPUQueue.onSubmittedWorkDone": () => new Promise(() => {}) }, () =>
      Effect.gen(function*() {
        const { device } = yield* WebGpu.WebGpu
        const fiber = yield* Effect.forkChild(Effect.flip(CommandQueue.finish), { startImmediately: true })
        device.destroy()
        strictEqual((yield* Fiber.join(fiber)).reason._tag, "DeviceLost")
      })))

  it.live("answers calls after its layer has closed", () =>
    Effect.gen(function*() {
      const watched = watchedGpu()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(WebGpu.layerFrom(watched.gpu), scope)
      const buffer = yield* Effect.provide(create(256), context)
      const pending = yield* Effect.forkChild(Effect.flip(Effect.provide(create(256), context)), {
        startImmediately: true
      })
      yield* Scope.close(scope, Exit.void)
      assert.include((yield* Fiber.join(pending)).message, "its layer is closed")
      const created = watched.count("GPUDevice.createBuffer")
      const late: ReadonlyArray<Effect.Effect<void, GpuError, WebGpu.Services>> = [
        Effect.asVoid(create(4)),
        CommandQueue.fill(buffer, 0),
        CommandQueue.write(buffer, new Uint8Array(4))
      ]
      for (const effect of late) {
        assert.include((yield* Effect.flip(Effect.provide(effect, context))).message, "its layer is closed")
      }
      strictEqual(watched.count("GPUDevice.createBuffer"), created)
      strictEqual(Context.get(context, DeviceContext).driverObjects.live, 0)
    }))
})

const dispatch = (kernel: Kernel.Kernel<readonly []>) => Effect.flip(CommandQueue.dispatch(kernel, {}, 1))

describe("WebGpu kernels", () => {
  it.live("shows the compiler's log with the lines it is about", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const error = yield* dispatch(Kernel.make({ name: "bad", args: [], body: { wgsl: "  let y = nope + 1;" } }))
        if (error.reason._tag !== "DriverError") throw error
        strictEqual(error.reason.call, "GPUDevice.createShaderModule")
        strictEqual(error.reason.log, "10:11 error: unresolved value 'nope'\n    let y = nope + 1;")
        deepStrictEqual(error.reason.commands, ["kernel bad"])
        yield* CommandQueue.finish
      })))

  it.live("checks the device's limits before it compiles", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const { limits } = (yield* DeviceContext).info
        const big = Kernel.make({
          name: "big",
          args: [],
          body: { wgsl: "" },
          workgroupSize: limits.maxWorkgroupSize + 1
        })
        assert.include((yield* dispatch(big)).message, "maxWorkgroupSize")
        const args = Array.from({ length: limits.maxVectorArguments + 1 }, (_, index) => VectorArg("f32", `v${index}`))
        const many = yield* Effect.flip(
          Effect.flatMap(
            KernelCache.KernelCache,
            (cache) => cache.get(Kernel.make({ name: "many", args, body: { wgsl: "" } }))
          )
        )
        strictEqual(many.reason._tag, "LimitExceeded")
        strictEqual(watched.count("GPUDevice.createShaderModule"), 0)
      })))

  it.live("binds as many vectors as the device says", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { limits } = (yield* DeviceContext).info
        const args = Array.from({ length: limits.maxVectorArguments }, (_, index) => VectorArg("f32", `v${index}`))
        const cache = yield* KernelCache.KernelCache
        yield* cache.get(Kernel.make({ name: "many", args, body: { wgsl: "v0[i] = 1.0;" } }))
      })))

  it.live("refuses more items than two dimensions of workgroups hold", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const x = yield* held(256)
        const single = Kernel.make({
          name: "single",
          args: [VectorArg("f32", "x")],
          body: { wgsl: "" },
          workgroupSize: 1
        })
        const error = yield* Effect.flip(CommandQueue.dispatch(single, { x }, 0xffffffff))
        strictEqual(error.reason._tag, "LimitExceeded")
      })))
})
