/** One pool for what other libraries allocate and for the program's leases. */
import { InstalledPool } from "@effect-gpu-pool/interop/effect"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, type GpuError, Lease } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { create } from "webgpu"
import { describeWith } from "../../../test/support/required.ts"
import { bytesOf, fails, rules, soil } from "./BufferRules.ts"

const gpu = create([])
const nullGpu = create(["backend=null"])

const openOn = (one: GPU): Effect.Effect<GPUDevice> =>
  Effect.promise(async () => await (await one.requestAdapter())!.requestDevice())

const usage = 0x8c

const write = (device: GPUDevice, buffer: GPUBuffer): void =>
  device.queue.writeBuffer(buffer, 0, new Uint8Array(buffer.size).fill(1))

const own = (object: object) =>
  Reflect.ownKeys(object).map((key) => [key, Object.getOwnPropertyDescriptor(object, key)])

type Services = InstalledPool.InstalledPool | BufferPool.BufferPool | WebGpu.Services | Scope.Scope

/** Runs a test on a device with a pool for all, and checks that nothing of the layer is left. */
const onPool = <A, E>(
  options: BufferPool.BufferPoolOptions,
  test: (device: GPUDevice) => Effect.Effect<A, E, Services>,
  { one = gpu, libraries = {} }: { readonly one?: GPU; readonly libraries?: InstalledPool.LibraryOptions } = {}
) =>
  Effect.gen(function*() {
    const device = yield* openOn(one)
    const before = [own(device), own(device.queue)]
    const objects = yield* Effect.provide(
      Effect.flatMap(DeviceContext, ({ driverObjects }) => Effect.as(Effect.scoped(test(device)), driverObjects)),
      InstalledPool.layer(device, options, libraries)
    )
    deepStrictEqual(objects.liveByKind, {})
    deepStrictEqual([own(device), own(device.queue)], before)
    device.destroy()
  })

const error = <A, E>(effect: Effect.Effect<A, E>) => Effect.map(Effect.flip(effect), (one) => one as GpuError.GpuError)

describeWith(["webgpu"], "WebGPU's rules of buffers, with the program's pool", () => {
  it.live.each(rules)("$name", ({ check }) =>
    onPool({}, (device) =>
      Effect.gen(function*() {
        soil(device)
        yield* Effect.scoped(Effect.forEach([1044, 256, 2088], (size) =>
          Effect.flatMap(BufferPool.allocate(size), (lease) => CommandQueue.fill(lease, Uint8Array.of(0xff)))))
        strictEqual(
          yield* Effect.promise(async () =>
            await check(device)
          ),
          undefined
        )
      })))
})

describeWith(["webgpu"], "InstalledPool.layer", () => {
  it.live("lends a block to a library and to the program in turn, and counts both", () =>
    onPool({}, (device) =>
      Effect.gen(function*() {
        const { device: shown, handleUnsafe } = yield* WebGpu.WebGpu
        strictEqual(shown, device)
        const theirs = device.createBuffer({ size: 4000, usage, label: "weights" })
        deepStrictEqual([theirs.size, theirs.label], [4000, "weights"])
        write(device, theirs)
        const stats = yield* BufferPool.stats
        deepStrictEqual([stats.activeBlocks, stats.activeBytes, stats.managedBytes], [1, 4000, 4096])
        deepStrictEqual((yield* BufferPool.holders()).map(({ label }) => label), ["weights"])
        theirs.destroy()
        const lease = yield* BufferPool.allocate(4096)
        strictEqual(yield* handleUnsafe(lease), theirs)
        strictEqual(theirs.size, 4096)
        yield* CommandQueue.fill(lease, Uint8Array.of(9))
        yield* Lease.release(lease)
        const again = device.createBuffer({ size: 4096, usage })
        strictEqual(again, theirs)
        const bytes = yield* Effect.promise(() => bytesOf(device, again))
        assert.isTrue(bytes.every((byte) => byte === 0))
        strictEqual((yield* BufferPool.stats).driverAllocations, 1)
        again.destroy()
      })))

  it.live("ignores what a library does with a buffer that it no longer has, where the program has it", () =>
    onPool({}, (device) =>
      Effect.gen(function*() {
        const theirs = device.createBuffer({ size: 256, usage })
        const commands = device.createCommandEncoder()
        commands.clearBuffer(theirs)
        const late = commands.finish()
        theirs.destroy()
        const lease = yield* BufferPool.allocate(256)
        yield* CommandQueue.write(lease, new Uint8Array(256).fill(5))
        theirs.destroy()
        strictEqual(yield* Effect.promise(() => fails(device, () => device.queue.submit([late]))), true)
        yield* WebGpu.submit([lease], ([{ buffer }], raw) => {
          const encoder = raw.device.createCommandEncoder()
          encoder.clearBuffer(buffer, 0, 4)
          return [encoder.finish()]
        })
        const bytes = yield* CommandQueue.read(lease, Uint8Array)
        deepStrictEqual([bytes[0], bytes[4]], [0, 5])
      })))

  it.live("zeros a library's buffer before the program uses it, in commands of its own or of the library's", () =>
    onPool({}, (device) =>
      Effect.gen(function*() {
        soil(device)
        const read = device.createBuffer({ size: 256, usage })
        deepStrictEqual(yield* CommandQueue.read(yield* WebGpu.adopt(read), Uint8Array), new Uint8Array(256))
        soil(device)
        const written = yield* WebGpu.adopt(device.createBuffer({ size: 256, usage }))
        yield* CommandQueue.fill(written, Uint8Array.of(3))
        yield* CommandQueue.flush
        device.queue.submit([])
        deepStrictEqual(yield* CommandQueue.read(written, Uint8Array), new Uint8Array(256).fill(3))
      })))

  it.live("clears a library's buffer before the library writes it, where the pool clears blocks", () =>
    onPool({ clear: "acquire" }, (device) =>
      Effect.gen(function*() {
        soil(device)
        for (const size of [256, 512]) {
          const theirs = device.createBuffer({ size, usage })
          write(device, theirs)
          yield* CommandQueue.finish
          deepStrictEqual(yield* Effect.promise(() => bytesOf(device, theirs)), new Uint8Array(size).fill(1))
        }
      })))

  it.live("asks no handlers for a library, since they may take their time", () =>
    onPool({ maxBytes: 8192 }, (device) =>
      Effect.gen(function*() {
        let asked = 0
        yield* BufferPool.onOutOfMemory(() =>
          Effect.as(Effect.andThen(Effect.sync(() => asked++), Effect.yieldNow), true)
        )
        yield* BufferPool.allocate(8192)
        const isRefused = yield* Effect.promise(() =>
          fails(device, () => device.createBuffer({ size: 4096, usage }), "out-of-memory")
        )
        deepStrictEqual([isRefused, asked], [true, 0])
        strictEqual((yield* Effect.flip(BufferPool.allocate(4096))).reason._tag, "OutOfMemory")
        assert.isAbove(asked, 0)
      })))

  it.live("serves the program's request that waits with what a library destroys", () =>
    onPool({ maxBytes: 8192, onExhausted: "wait", deadlockTimeout: Infinity }, (device) =>
      Effect.gen(function*() {
        const theirs = device.createBuffer({ size: 8192, usage })
        const waiting = yield* Effect.forkChild(BufferPool.allocate(4096), { startImmediately: true })
        strictEqual((yield* BufferPool.stats).waiters, 1)
        theirs.destroy()
        strictEqual((yield* Fiber.join(waiting)).size, 4096)
      })))

  it.live("refuses a library what the limit does not have, and names who does", () =>
    onPool({ maxBytes: 8192 }, (device) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(8192, { label: "frames" })
        device.pushErrorScope("out-of-memory")
        const refused = device.createBuffer({ size: 4096, usage })
        const told = yield* Effect.promise(() => device.popErrorScope())
        assert.include(told?.message, "frames")
        strictEqual(refused.size, 4096)
        strictEqual((yield* InstalledPool.InstalledPool).stats().refused, 1)
      })))

  it.live("evicts for a library what is held", () =>
    onPool({ maxBytes: 8192 }, (device) =>
      Effect.gen(function*() {
        yield* Effect.scoped(BufferPool.allocate(8192))
        const theirs = device.createBuffer({ size: 512, usage })
        strictEqual((yield* BufferPool.stats).managedBytes, 512)
        theirs.destroy()
      })))

  it.live("keeps blocks as the strategy of its options says", () => {
    let made = 0
    const strategy: PoolStrategy.PoolStrategy = {
      ...PoolStrategy.blocks,
      core: (...args) => {
        made++
        return PoolStrategy.blocks.core(...args)
      }
    }
    return onPool({ strategy }, () => Effect.sync(() => strictEqual(made, 1)))
  })

  it.live("tells a library's scope of memory that the driver did not have, and never lends it again", () =>
    onPool({}, (device) =>
      Effect.gen(function*() {
        const size = 200 * 2 ** 20
        const all: Array<GPUBuffer> = []
        const make = () => fails(device, () => all.push(device.createBuffer({ size, usage })), "out-of-memory")
        deepStrictEqual(
          [yield* Effect.promise(make), yield* Effect.promise(make), yield* Effect.promise(make)],
          [false, false, true]
        )
        for (const buffer of all) buffer.destroy()
        yield* CommandQueue.finish
        const { driverFrees, heldBlocks } = yield* BufferPool.stats
        deepStrictEqual([driverFrees, heldBlocks], [1, 2])
      }), { one: nullGpu }))

  it.live("holds no buffer that the driver has refused after its end", () =>
    onPool({}, (device) =>
      Effect.gen(function*() {
        const size = 200 * 2 ** 20
        const theirs = [device.createBuffer({ size, usage }), device.createBuffer({ size, usage })]
        const make = () => fails(device, () => device.createBuffer({ size, usage }).destroy(), "out-of-memory")
        strictEqual(yield* Effect.promise(make), true)
        deepStrictEqual((yield* BufferPool.stats).heldBlocks, 0)
        theirs[0]!.destroy()
        yield* CommandQueue.fill(yield* BufferPool.allocate(size), Uint8Array.of(1))
        yield* CommandQueue.finish
      }), { one: nullGpu }))

  it.live("destroys a library's buffers when it closes, and gives the device its methods back", () =>
    Effect.gen(function*() {
      const device = yield* openOn(gpu)
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(InstalledPool.layer(device), scope)
      const [theirs, held] = [device.createBuffer({ size: 256, usage }), device.createBuffer({ size: 256, usage })]
      held.destroy()
      yield* Scope.close(scope, Exit.void)
      for (const buffer of [theirs, held]) {
        strictEqual(yield* Effect.promise(() => fails(device, () => write(device, buffer))), true)
      }
      theirs.destroy()
      const after = device.createBuffer({ size: 256, usage })
      strictEqual(yield* Effect.promise(() => fails(device, () => write(device, after))), false)
      yield* Effect.scoped(Layer.build(InstalledPool.layer(device)))
      device.destroy()
    }))

  it.live("ends with a device that is lost", () =>
    Effect.gen(function*() {
      const device = yield* openOn(gpu)
      yield* Effect.gen(function*() {
        const theirs = device.createBuffer({ size: 256, usage })
        device.destroy()
        theirs.destroy()
        yield* Effect.promise(() => device.lost)
        strictEqual(
          (yield* error(
            BufferPool.allocate(64).pipe(Effect.scoped, Effect.provide(yield* Effect.context<BufferPool.BufferPool>()))
          )).reason._tag,
          "DeviceLost"
        )
        device.createBuffer({ size: 64, usage }).destroy()
      }).pipe(Effect.provide(InstalledPool.layer(device)))
    }))

  it.live("is refused for a device that has a pool, for options that are none, and for slabs", () =>
    Effect.gen(function*() {
      const device = yield* openOn(gpu)
      const build = (...args: [BufferPool.BufferPoolOptions?, InstalledPool.LibraryOptions?]) =>
        Effect.map(
          error(Effect.scoped(Layer.build(InstalledPool.layer(device, ...args)))),
          ({ reason }) => reason._tag
        )
      const clear = "sometimes" as "never"
      deepStrictEqual([
        yield* build({}, { clear }),
        yield* build({ maxBytes: -1 }),
        yield* build({ strategy: PoolStrategy.arena() }),
        yield* Effect.scoped(Effect.andThen(InstalledPool.make(device), build()))
      ], ["InvalidRequest", "InvalidRequest", "Unsupported", "InvalidRequest"])
      for (const none of [undefined, null, {}, 5, Promise.resolve(device)]) {
        const { message } = yield* error(
          Effect.scoped(Layer.build(InstalledPool.layer(none as GPUDevice)))
        )
        assert.include(message, "was given for a GPUDevice")
        strictEqual(
          (yield* error(Effect.scoped(InstalledPool.make(none as GPUDevice)))).reason._tag,
          "InvalidRequest"
        )
      }
      deepStrictEqual(own(device.queue), [])
      device.destroy()
    }))
})

describe("InstalledPool.make", () => {
  it.live("puts a pool under a device until its scope closes", () =>
    Effect.gen(function*() {
      const device = yield* openOn(nullGpu)
      const before = own(device)
      yield* Effect.scoped(Effect.gen(function*() {
        const { stats } = yield* InstalledPool.make(device, { maxBytes: 4096 })
        strictEqual(typeof stats, "function")
        assert.notDeepEqual(own(device), before)
      }))
      deepStrictEqual(own(device), before)
      strictEqual(
        (yield* error(Effect.scoped(InstalledPool.make(device, { maxBytes: -1 })))).reason._tag,
        "InvalidRequest"
      )
      device.destroy()
    }))
})
