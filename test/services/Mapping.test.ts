/** Mappings on the host, with faults at each part. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { hasStats, layer, open, tagOf } from "../support/hostPool.ts"

const isDetached = (mapped: Mapping.MappedArray<Uint32Array>): void => {
  strictEqual(mapped.data.length, 0)
  assert.throws(() => mapped.getUnsafe(0), /has ended/)
}

const mapIn = (scope: Scope.Scope, buffer: PooledBuffer.PooledBuffer) =>
  Scope.provide(Mapping.map(buffer, Uint32Array), scope)

describe("a mapping", () => {
  it.effect("keeps what strides leave out, also where nothing is read", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(32)
      yield* CommandQueue.write(x, Uint32Array.from({ length: 8 }, (_, at) => at))
      yield* Effect.scoped(Effect.gen(function*() {
        const odd = yield* Mapping.map(x, Uint32Array, { access: "write", offset: 4, shape: [4], strides: [2] })
        for (let at = 0; at < 4; at++) odd.setUnsafe(100 + at, at)
      }))
      deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [0, 100, 2, 101, 4, 102, 6, 103])
    }).pipe(Effect.provide(layer())))

  it.effect("needs the usage of what it does, reading included where strides leave elements out", () =>
    Effect.gen(function*() {
      const source = yield* BufferPool.allocate(32, { usage: BufferUsage.storage | BufferUsage.copySrc })
      const target = yield* BufferPool.allocate(32, { usage: BufferUsage.storage | BufferUsage.copyDst })
      const strided = { shape: [4], strides: [2] }
      yield* Mapping.map(source, Uint32Array, { access: "read" })
      strictEqual(yield* tagOf(Mapping.map(source, Uint32Array, { access: "write" })), "InvalidRequest")
      strictEqual(yield* tagOf(Mapping.map(source, Uint32Array)), "InvalidRequest")
      strictEqual(yield* tagOf(Mapping.map(target, Uint32Array, { access: "write", ...strided })), "InvalidRequest")
      yield* Mapping.map(target, Uint32Array, { access: "write" })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("ends with its pool", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const scope = yield* Scope.make()
      const mapped = yield* Effect.gen(function*() {
        const x = yield* Scope.provide(BufferPool.allocate(64), scope)
        return yield* mapIn(scope, x)
      }).pipe(Effect.provide(opened.context))
      strictEqual(mapped.data.length, 16)
      yield* opened.closePool
      isDetached(mapped)
      yield* Scope.close(scope, Exit.void)
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("goes to the scope that it was made in, not with the lease", () =>
    Effect.gen(function*() {
      const outer = yield* Effect.scope
      const { mapped, x } = yield* Effect.scoped(Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const mapped = yield* Mapping.map(x, Uint32Array)
        mapped.data.fill(9)
        yield* Lease.transfer(x, outer)
        return { mapped, x }
      }))
      isDetached(mapped)
      strictEqual((yield* CommandQueue.read(x, Uint32Array))[15], 9)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("whose memory went elsewhere ends all the same, and says that nothing was written back", () =>
    Effect.gen(function*() {
      for (const access of ["read", "write"] as const) {
        const [x, y] = [yield* BufferPool.allocate(64), yield* BufferPool.allocate(64)]
        const mapped = yield* Mapping.map(x, Uint32Array, { access })
        const left = yield* Mapping.map(y, Uint32Array, { access })
        for (const { data } of [mapped, left]) structuredClone(data.buffer, { transfer: [data.buffer] })
        const ended = yield* Effect.exit(Mapping.unmap(mapped))
        strictEqual(ended._tag, access === "read" ? "Success" : "Failure")
        yield* Lease.release(y)
        yield* hasStats({ releaseFailures: access === "read" ? 0 : 1, heldBlocks: 1 })
        yield* Lease.release(x)
      }
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("ends on a lost device, and nothing is written there", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const mapped = yield* Effect.scoped(Effect.gen(function*() {
          const mapped = yield* Mapping.map(x, Uint32Array)
          opened.faults.lose("unplugged")
          mapped.data.fill(3)
          return mapped
        }))
        isDetached(mapped)
        strictEqual(yield* tagOf(Mapping.map(x, Uint32Array)), "DeviceLost")
        yield* Lease.release(x)
        yield* hasStats({ activeBlocks: 0, releaseFailures: 0 })
      }).pipe(Effect.scoped, Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
    }))

  it.effect.each(["read", "write", "readwrite"] as const)(
    "for %s whose array went to another thread ends all the same, and so does its lease",
    (access) =>
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        yield* CommandQueue.fill(x, 5)
        const other = yield* Mapping.map(x, Uint32Array, { access: "read", offset: 32 })
        const first = yield* Mapping.map(x, Uint32Array, { access, shape: [8] })
        structuredClone(first.data.buffer, { transfer: [first.data.buffer as ArrayBuffer] })
        const unmapped = yield* Effect.exit(Mapping.unmap(first))
        strictEqual(Exit.isSuccess(unmapped), access === "read")
        const second = yield* Mapping.map(x, Uint32Array, { access, shape: [8] })
        structuredClone(second.data.buffer, { transfer: [second.data.buffer as ArrayBuffer] })
        yield* Effect.exit(Lease.release(x))
        isDetached(other)
        yield* hasStats({ activeBlocks: 0, heldBlocks: 1, releaseFailures: access === "read" ? 0 : 1 })
      }).pipe(Effect.scoped, Effect.provide(layer()))
  )

  it.effect("fails with what failed before it, and maps nothing", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        opened.faults.failCommands()
        yield* CommandQueue.fill(x, 1)
        strictEqual(yield* tagOf(Mapping.map(x, Uint32Array)), "DriverError")
        yield* CommandQueue.fill(x, 2)
        strictEqual((yield* Mapping.map(x, Uint32Array)).getUnsafe(0), 2)
      }).pipe(Effect.scoped, Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
    }))

  it.effect("fails the next finish where it could not be written back", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const mapped = yield* Mapping.map(x, Uint32Array)
        opened.faults.failCommands()
        yield* Mapping.unmap(mapped)
        strictEqual(yield* tagOf(CommandQueue.finish), "DriverError")
        yield* CommandQueue.finish
      }).pipe(Effect.scoped, Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
    }))

  it.effect("that is interrupted while it reads is over: the buffer can be used", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const x = yield* BufferPool.allocate(64)
      faults.delay({ reads: "1 second" })
      const fiber = yield* Effect.forkChild(Mapping.map(x, Uint32Array), { startImmediately: true })
      strictEqual(yield* tagOf(CommandQueue.fill(x, 1)), "InvalidRequest")
      yield* Fiber.interrupt(fiber)
      yield* CommandQueue.fill(x, 1)
    }).pipe(Effect.provide(layer())))

  it.effect("fails when its lease is released while it reads", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const x = yield* BufferPool.allocate(64)
      faults.delay({ reads: "1 second" })
      const fiber = yield* Effect.forkChild(tagOf(Mapping.map(x, Uint32Array)), { startImmediately: true })
      yield* Lease.release(x)
      yield* TestClock.adjust("1 second")
      strictEqual(yield* Fiber.join(fiber), "Released")
    }).pipe(Effect.provide(layer())))

  it.effect("into a closed scope is refused", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      strictEqual(yield* tagOf(mapIn(scope, x)), "Released")
      yield* CommandQueue.fill(x, 1)
    }).pipe(Effect.provide(layer())))

  it.effect("of a sub-region ends with the region and with the lease, and blocks the whole buffer", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      yield* CommandQueue.fill(x, 1)
      const region = yield* SubRegion.make(x, { offset: 16, size: 16 })
      yield* Effect.scoped(Effect.gen(function*() {
        const mapped = yield* Mapping.map(region, Uint32Array)
        mapped.data.fill(2)
        strictEqual(yield* tagOf(CommandQueue.fill(x, 0)), "InvalidRequest")
        strictEqual(yield* tagOf(Mapping.map(x, Uint32Array, { offset: 28, shape: [1] })), "InvalidRequest")
        yield* Mapping.map(x, Uint32Array, { offset: 32 })
      }))
      deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))].slice(3, 9), [1, 2, 2, 2, 2, 1])
      const mapped = yield* Mapping.map(region, Uint32Array)
      yield* Lease.release(x)
      isDetached(mapped)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("of a device buffer ends when the buffer is freed", () =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const mapped = yield* Effect.scoped(Effect.gen(function*() {
        const x = yield* Allocator.allocate(64)
        return yield* Scope.provide(Mapping.map(x, Uint32Array), scope)
      }))
      isDetached(mapped)
      const { driverObjects } = yield* DeviceContext
      assert.isUndefined(driverObjects.liveByKind["buffer"])
    }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate), Effect.provide(layer())))
})
