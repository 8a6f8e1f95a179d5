import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { actAt } from "../../packages/testing/src/StoppedFiber.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { layer, reasonOf } from "../support/hostPool.ts"

const doubles = Kernel.make({
  name: "doubles",
  args: [VectorArg("f64", "x")],
  body: {
    host: (from, to, { x }) => {
      for (let i = from; i < to; i++) x[i] = i
    }
  }
})

describe("regions on the host", () => {
  it.effect("begin where their elements can", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(64)
      const odd = yield* SubRegion.make(lease, { offset: 4, size: 16 })
      const reason = yield* reasonOf(CommandQueue.dispatch(doubles, { x: odd }, 2))
      assert(reason._tag === "InvalidRequest")
      assert.include(reason.message, "from byte 4 on, where no f64 can begin. Begin the sub-region at a multiple of 8")
      const even = yield* SubRegion.make(lease, { offset: 8, size: 16 })
      yield* CommandQueue.dispatch(doubles, { x: even }, 2)
      deepStrictEqual([...(yield* CommandQueue.read(even, Float64Array))], [0, 1])
      deepStrictEqual([...(yield* Host.bytes(odd))].length, 16)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("have the alignment that the device is to have", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(1024)
      strictEqual((yield* reasonOf(SubRegion.make(lease, { offset: 128 })))._tag, "InvalidRequest")
      strictEqual((yield* SubRegion.make(lease, { offset: 256 })).size, 768)
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { regionAlignment: 256 } }))))
})

describe("the program's data on the host", () => {
  it.effect("is the memory of a buffer that uses it, takes none of the device's, and stays the program's", () => {
    const data = new Uint8Array(24).fill(1)
    return Effect.gen(function*() {
      const { driverObjects } = yield* DeviceContext
      yield* Effect.scoped(Effect.gen(function*() {
        const buffer = yield* MemoryObjects.fromHost(data.subarray(8, 16), { mode: "use" })
        strictEqual(yield* Host.usedBytes, 0)
        yield* CommandQueue.fill(buffer, 0x05050505)
        deepStrictEqual([...(yield* MemoryObjects.hostArray(buffer, Uint8Array))], Array.from({ length: 8 }, () => 5))
        const region = yield* SubRegion.make(buffer, { offset: 4 })
        yield* CommandQueue.write(region, Uint8Array.of(9, 9, 9, 9))
        yield* MemoryObjects.migrate([buffer, region])
      }))
      deepStrictEqual([data[7], data[8], data[12], data[15], data[16]], [1, 5, 9, 9, 1])
      deepStrictEqual(driverObjects.liveByKind, { device: 1 })
    }).pipe(Effect.provide(layer({ host: { capacityBytes: 4 } })))
  })

  it.effect("meets the failures that a test plans", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      for (const mode of ["copy", "use"] as const) {
        faults.failAllocations()
        strictEqual((yield* reasonOf(MemoryObjects.fromHost(new Uint8Array(8), { mode })))._tag, "OutOfMemory")
        faults.clear()
      }
      faults.lose("unplugged")
      strictEqual((yield* reasonOf(MemoryObjects.fromHost(new Uint8Array(8))))._tag, "DeviceLost")
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("is refused when its data has gone before the copy", () =>
    Effect.gen(function*() {
      const data = new Uint8Array(8)
      const made = yield* Effect.forkChild(MemoryObjects.fromHost(data), { startImmediately: true })
      structuredClone(data.buffer, { transfer: [data.buffer] })
      yield* TestClock.adjust("1 second")
      const reason = yield* reasonOf(Fiber.join(made))
      assert(reason._tag === "InvalidRequest")
      assert.include(reason.message, "the data had 8 bytes and has 0 now")
      strictEqual(yield* Host.usedBytes, 0)
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ latency: "1 second" }))))
})

describe("data that is copied to the host's memory", () => {
  const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }

  /** What happens between two steps, and how the copy may then fail. */
  const disturbances = [
    ["the layer closes", (scope: Scope.Closeable) => Scope.close(scope, Exit.void), "DeviceLost"],
    ["the device is lost", () => Host.Host.useSync(({ faults }) => faults.lose("unplugged")), "DeviceLost"],
    [
      "the data is transferred",
      (_: Scope.Closeable, data: Uint8Array<ArrayBuffer>) => Effect.sync(() => transfer.call(data.buffer)),
      "InvalidRequest"
    ]
  ] as const

  for (const latency of [undefined, "1 millis"] as const) {
    it.live.each(disturbances)(
      `fails typed and leaves nothing, or is there, when %s at any step${
        latency === undefined ? "" : ", with latency"
      }`,
      ([, disturb, tag]) =>
        Effect.gen(function*() {
          const tags = new Set<string>()
          for (let step = 0, isInside = true; isInside; step++) {
            const scope = yield* Scope.make()
            const host = yield* Layer.buildWithScope(Host.layer({ latency }), scope)
            const data = new Uint8Array(64).fill(3)
            const copy = Effect.scoped(MemoryObjects.fromHost(data))
            const exit = yield* actAt(copy, step, disturb(scope, data)).pipe(Effect.provideContext(host))
            yield* Scope.close(scope, Exit.void)
            deepStrictEqual(Context.get(host, DeviceContext).driverObjects.liveByKind, {})
            isInside = exit !== undefined
            if (exit === undefined || Exit.isSuccess(exit)) continue
            const error = Cause.findErrorOption(exit.cause)
            assert(Option.isSome(error), String(exit.cause))
            tags.add(error.value.reason._tag)
          }
          deepStrictEqual([...tags], [tag])
        })
    )
  }
})
