/** A context and a queue that other code has made: how the library uses them, and that it leaves them unchanged. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl, OpenClMemory, Svm } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { nextTurn } from "../support/hostPool.ts"
import { interruptEverywhere } from "../support/nullDevice.ts"
import { allocate, onDevice, read, setCode } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"
import { CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, type OtherCode, otherCode } from "../support/sharedHandles.ts"
import { answering } from "../support/watchedOpenCl.ts"

const double = Kernel.make({
  name: "twice",
  args: [VectorArg("u32", "x")],
  body: { opencl: "x[i] = 2 * x[i];" }
})

type Services = OpenCl.Services | Allocator.Allocator | Scope.Scope

/** Waits for the counts of references, because PoCL's threads release theirs a little after the commands' end. */
const areAsBefore = Effect.fnUntraced(function*(other: OtherCode, before: ReturnType<OtherCode["references"]>) {
  const isAsBefore = () => other.references().every((count, at) => count === before[at])
  for (let turns = 0; turns < 10_000 && !isAsBefore(); turns++) yield* nextTurn
  deepStrictEqual(other.references(), before)
})

/** Runs a test on shared handles, and checks that the closed layer has left them unchanged and no object behind. */
const onShared = <A, E>(test: (other: OtherCode, memory: bigint) => Effect.Effect<A, E, Services>) =>
  Effect.gen(function*() {
    const other = yield* otherCode
    const memory = other.buffer(64)
    const before = other.references()
    const layer = Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFromHandles(other.handles)))
    const device = yield* Effect.scoped(Effect.andThen(test(other, memory), DeviceContext)).pipe(Effect.provide(layer))
    deepStrictEqual(device.driverObjects.liveByKind, {})
    yield* areAsBefore(other, before)
    assert.isTrue(other.works())
  }).pipe(Effect.scoped)

const failing = (handles: unknown, options?: OpenCl.HandleOptions) =>
  Effect.flip(Effect.scoped(Layer.build(OpenCl.layerFromHandles(handles as OpenCl.Handles, options))))

describeWith(["opencl"], "OpenCl.layerFromHandles", () => {
  it.live("runs commands in the order of the other code's queue, and leaves its references as they were", () =>
    onShared(({ handles, references }) =>
      Effect.gen(function*() {
        const cl = yield* OpenCl.OpenCl
        deepStrictEqual([cl.context, cl.queue, cl.device.id], [handles.context, handles.queue, handles.device])
        const [context, queue] = references()
        assert.isAtLeast(Math.min(context, queue), 2)
        const x = yield* allocate(16)
        yield* CommandQueue.write(x, Uint32Array.of(1, 2, 3, 4))
        const pattern = new Uint32Array(new ArrayBuffer(4)).fill(5)
        const theirs = cl.api.clEnqueueFillBuffer(
          handles.queue,
          yield* OpenCl.handle(x),
          pattern,
          4,
          0,
          4,
          0,
          null,
          null
        )
        strictEqual(theirs, 0)
        yield* CommandQueue.dispatch(double, { x }, 4)
        deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [10, 4, 6, 8])
      })
    ))

  it.live("works on memory of the other code's, which stays its own", () =>
    onShared((_, memory) =>
      Effect.gen(function*() {
        const adopted = yield* OpenClMemory.adopt(memory)
        yield* CommandQueue.fill(adopted, 0x03030303)
        deepStrictEqual(yield* read(adopted), Array.from({ length: 64 }, () => 3))
      })
    ))

  it.live("frees what a program left: buffers, mappings, kernels, shared memory, work under way", () =>
    onShared(() =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        yield* CommandQueue.fill(yield* Effect.orDie(device.createBuffer(1024, 13, undefined)), 7)
        const x = yield* allocate(1024)
        yield* CommandQueue.dispatch(double, { x }, 64)
        yield* BufferPool.use(64, (lease) => CommandQueue.fill(lease, 1)).pipe(Effect.provide(Svm.layerPool()))
      })
    ))

  it.live("serves several layers at once, and goes on when one of them closes", () =>
    Effect.gen(function*() {
      const other = yield* otherCode
      const before = other.references()
      const layer = OpenCl.layerFromHandles(other.handles)
      const pooled = Allocator.layerImmediate.pipe(Layer.provideMerge(Layer.fresh(layer)))
      const [one, two] = [yield* Scope.make(), yield* Scope.make()]
      const [first, second] = [yield* Layer.buildWithScope(pooled, one), yield* Layer.buildWithScope(pooled, two)]
      const x = yield* Effect.provide(Scope.provide(allocate(64), one), first)
      const y = yield* Effect.provide(Scope.provide(allocate(64), two), second)
      strictEqual((yield* Effect.flip(Effect.provide(CommandQueue.fill(x, 0), second))).reason._tag, "ForeignDevice")
      yield* Effect.provide(CommandQueue.fill(x, 0x04040404), first)
      const handle = yield* Effect.provide(OpenCl.handle(x), first)
      const seen = yield* Effect.provide(Scope.provide(OpenClMemory.adopt(handle), two), second)
      yield* Effect.provide(CommandQueue.copy(seen, y), second)
      yield* Scope.close(one, Exit.void)
      deepStrictEqual(Context.get(first, DeviceContext).driverObjects.liveByKind, {})
      deepStrictEqual(yield* Effect.provide(read(y), second), Array.from({ length: 64 }, () => 4))
      yield* Scope.close(two, Exit.void)
      deepStrictEqual(Context.get(second, DeviceContext).driverObjects.liveByKind, {})
      yield* areAsBefore(other, before)
      assert.isTrue(other.works())
    }).pipe(Effect.scoped))

  it.live("does not wait at its close for what the other code enqueued later", () =>
    Effect.gen(function*() {
      const other = yield* otherCode
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(OpenCl.layerFromHandles(other.handles), scope)
      yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        yield* CommandQueue.fill(yield* device.createBuffer(1024, 13, undefined), 7)
        yield* CommandQueue.flush
      }).pipe(Effect.provide(context))
      const unblock = other.block()
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(Context.get(context, DeviceContext).driverObjects.liveByKind, {})
      unblock()
      assert.isTrue(other.works())
    }).pipe(Effect.scoped))

  it.live("waits at its close for its own commands, behind those that the other code enqueued before", () =>
    Effect.gen(function*() {
      const other = yield* otherCode
      const before = other.references()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(OpenCl.layerFromHandles(other.handles), scope)
      const unblock = other.block()
      yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        yield* CommandQueue.fill(yield* device.createBuffer(1024, 13, undefined), 7)
      }).pipe(Effect.provide(context))
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* Effect.yieldNow
      strictEqual(closing.pollUnsafe(), undefined)
      unblock()
      yield* Fiber.join(closing)
      deepStrictEqual(Context.get(context, DeviceContext).driverObjects.liveByKind, {})
      yield* areAsBefore(other, before)
    }).pipe(Effect.scoped))

  it.live("leaves nothing behind, wherever it is interrupted", () =>
    Effect.gen(function*() {
      const other = yield* otherCode
      const memory = other.buffer(64)
      const before = other.references()
      let devices: Array<DeviceContext["Service"]> = []
      const use = Effect.gen(function*() {
        devices.push(yield* DeviceContext)
        const x = yield* allocate(64)
        yield* CommandQueue.dispatch(double, { x }, 16)
        yield* CommandQueue.copy(x, yield* OpenClMemory.adopt(memory))
        yield* CommandQueue.read(x, Uint8Array)
      })
      const layer = Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFromHandles(other.handles)))
      const program = Effect.suspend(() => Effect.scoped(Effect.provide(use, layer)))
      const steps = yield* interruptEverywhere(program, (step) => {
        for (const { driverObjects } of devices) deepStrictEqual(driverObjects.liveByKind, {}, `step ${step}`)
        devices = []
      })
      assert.isAbove(steps, 50)
      yield* areAsBefore(other, before)
      assert.isTrue(other.works())
    }).pipe(Effect.scoped))

  it.live("ends what waits when the device is lost in the middle, and gives its references back", () =>
    Effect.gen(function*() {
      const other = yield* otherCode
      const before = other.references()
      const device = yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        const x = yield* allocate(64)
        const unblock = other.block()
        const jobs = [CommandQueue.read(x, Uint8Array), CommandQueue.finish]
        const waiting = yield* Effect.forEach(
          jobs,
          (job) => Effect.forkChild(Effect.flip(Effect.asVoid(job)), { startImmediately: true })
        )
        device.status.lose("unplugged")
        for (const fiber of waiting) strictEqual((yield* Fiber.join(fiber)).reason._tag, "DeviceLost")
        unblock()
        return device
      }).pipe(
        Effect.scoped,
        Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFromHandles(other.handles))))
      )
      deepStrictEqual(device.driverObjects.liveByKind, {})
      yield* areAsBefore(other, before)
      assert.isTrue(other.works())
    }).pipe(Effect.scoped))

  it.live("takes the functions of the program's, and gives the context back where the queue cannot be retained", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { context, device, queue } = yield* OpenCl.OpenCl
        const handles = { context, queue, device: device.id }
        const api = { ...watched.api, clRetainCommandQueue: () => -6 }
        const error = yield* failing(handles, { api })
        strictEqual(error.reason._tag, "DriverError")
        assert.include(error.message, "clRetainCommandQueue")
        strictEqual(watched.count("clReleaseContext"), 1)
        const none = yield* failing(handles, { api: { ...watched.api, clRetainContext: () => -34 } })
        assert.include(none.message, "clRetainContext")
        strictEqual(watched.count("clReleaseContext"), 1)
        yield* Effect.scoped(Layer.build(OpenCl.layerFromHandles(handles, { api: watched.api })))
        strictEqual(watched.count("clReleaseContext"), 2)
        strictEqual(watched.count("clReleaseCommandQueue"), 1)
      })
    ))

  it.live("compiles for the device of the queue alone", () =>
    Effect.gen(function*() {
      const other = yield* otherCode
      const lists: Array<ReadonlyArray<bigint>> = []
      const driver = yield* OpenCl.load()
      const api: OpenCl.OpenClApi = {
        ...driver,
        clBuildProgramAsync: (...args) => {
          lists.push([...args[2] as BigUint64Array])
          return driver.clBuildProgramAsync(...args)
        }
      }
      const layer = Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFromHandles(other.handles, { api })))
      yield* Effect.gen(function*() {
        yield* CommandQueue.dispatch(double, { x: yield* allocate(64) }, 16)
        yield* CommandQueue.finish
      }).pipe(Effect.scoped, Effect.provide(layer))
      deepStrictEqual(lists, [[other.handles.device]])
    }).pipe(Effect.scoped))
})

describeWith(["opencl"], "What are no handles", () => {
  it.live.each([
    ["{}", {}],
    ["numbers", { context: 1, queue: 1, device: 1 }],
    ["a null address", { context: 0n, queue: 1n, device: 1n }],
    ["a negative one", { context: 1n, queue: -1n, device: 1n }],
    ["one of more than 64 bits", { context: 1n, queue: 1n, device: 2n ** 64n }]
  ])("is refused before a driver sees it: %s", ([, handles]) =>
    Effect.gen(function*() {
      const error = yield* failing(handles)
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.match(error.message, /^OpenCl\.layerFromHandles: /)
    }))

  it.live("is a device that the loader does not list; its queue is not looked at", () =>
    Effect.gen(function*() {
      const error = yield* failing({ context: 0xdeadn, queue: 0xdeadn, device: 0xdeadn })
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "the loader lists no device 57005n")
      assert.include(error.message, "It lists ")
    }))

  it.live("is a queue that executes out of order, one of another context, and one of another device", () =>
    Effect.gen(function*() {
      const other = yield* otherCode
      const { handles } = other
      const before = other.references()
      const unordered = yield* failing({ ...handles, queue: other.queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) })
      strictEqual(unordered.reason._tag, "InvalidRequest")
      assert.include(unordered.message, "out of order")
      const foreign = yield* failing({ ...handles, context: other.context() })
      assert.include(foreign.message, "the queue belongs to another context")
      const api = yield* OpenCl.load()
      const elsewhere = { ...api, clGetCommandQueueInfo: answering(api.clGetCommandQueueInfo, 0x1091, 17n) }
      assert.include((yield* failing(handles, { api: elsewhere })).message, "the queue belongs to another device")
      const released = { ...api, clGetCommandQueueInfo: () => -36 }
      assert.include((yield* failing(handles, { api: released })).message, "the driver knows no command queue")
      const broken = yield* failing(handles, { api: { ...api, clGetCommandQueueInfo: () => -5 } })
      strictEqual(broken.reason._tag, "DriverError")
      const absent = { ...api, clGetDeviceInfo: answering(api.clGetDeviceInfo, 0x1027, 0) }
      const unavailable = yield* failing(handles, { api: absent })
      strictEqual(unavailable.reason._tag, "DeviceUnavailable")
      assert.include(unavailable.message, "Make the context and the queue on another device.")
      deepStrictEqual(other.references().slice(1), before.slice(1))
    }).pipe(Effect.scoped))

  it.live("are refused with options that there are not, and functions that are none", () =>
    Effect.gen(function*() {
      const { handles } = yield* otherCode
      for (
        const options of [{ platform: 0 }, { hostMemory: 1 }, { byteGranular: "yes" }, 7]
      ) {
        const error = yield* failing(handles, options as never)
        strictEqual(error.reason._tag, "InvalidRequest", String(options))
        assert.match(error.message, /^OpenCl\.layerFromHandles: /)
      }
      const api = {
        ...(yield* OpenCl.load()),
        clCreateBuffer: (...args: ReadonlyArray<unknown>) => setCode(args.at(-1) as OpenCl.Pointer, -6)
      }
      const full = yield* Effect.flip(Effect.scoped(Effect.provide(
        DeviceContext.use((device) => device.createBuffer(64, 13, undefined)),
        OpenCl.layerFromHandles(handles, { api })
      )))
      strictEqual(full.reason._tag, "OutOfMemory")
    }).pipe(Effect.scoped))
})
