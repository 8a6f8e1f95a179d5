import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type GpuError, invalidRequest } from "../../src/domain/GpuError.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { ScopedAttachment } from "../../src/services/device/ScopedAttachment.ts"
import * as Attachments from "../../src/services/lease/Attachments.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { hasStats, layer, logsTo, open, reasonOf } from "../support/hostPool.ts"

const failure: GpuError = invalidRequest("test", "it does not end", "Nothing helps.")

/** Records what ends, and for which reason. */
const noting = (name: string, ended: Array<string>, exit: Exit.Exit<void, GpuError> = Exit.void) => ({
  endUnsafe: (why: string) => {
    ended.push(`${name} ${why}`)
    return exit
  }
})

/** The number of finalizers that a scoped region adds to a scope. */
const finalizers = (scope: Scope.Scope): number => {
  const { state } = scope
  if (state._tag !== "Open") return 0
  return (state.finalizer === undefined ? 0 : 1) + (state.finalizers?.size ?? 0)
}

describe("attachments", () => {
  it("end in the reverse order, once, and all of them although one fails", () => {
    const ended: Array<string> = []
    const owner: Attachments.Attachable = { attached: undefined }
    strictEqual(Attachments.endAll(owner, "released"), Exit.void)
    const [first, second, third] = [noting("a", ended), noting("b", ended, Exit.fail(failure)), noting("c", ended)]
    for (const one of [first, second, third, first]) Attachments.attach(owner, one)
    strictEqual(owner.attached?.size, 3)
    Attachments.detach(owner, third)
    const exit = Attachments.endAll(owner, "poolClosed")
    deepStrictEqual(ended, ["b poolClosed", "a poolClosed"])
    assert(Exit.isFailure(exit))
    deepStrictEqual(Attachments.endAll(owner, "released"), Exit.void)
    strictEqual(ended.length, 2)
    strictEqual(owner.attached?.size, 0)
  })

  it.effect("that fail are counted by the pool and logged, and the block goes back all the same", () => {
    const lines: Array<string> = []
    return Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(64)
      Attachments.attach(lease, noting("a", [], Exit.fail(failure)))
      yield* Lease.release(lease)
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1, releaseFailures: 1 })
      strictEqual(lines.length, 1)
      assert.include(lines[0], "it does not end")
    }).pipe(Effect.scoped, Effect.provide(layer()), Effect.provide(logsTo(lines)))
  })

  it.effect("end before the block of a lease goes back", () => {
    const order: Array<string> = []
    return Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(64)
      yield* BufferPool.stopHolding
      const { driverObjects } = yield* DeviceContext
      Attachments.attach(lease, {
        endUnsafe: () => {
          order.push(`${driverObjects.liveByKind["buffer"]} buffers`)
          return Exit.void
        }
      })
      yield* Lease.release(lease)
      deepStrictEqual(order, ["1 buffers"])
      deepStrictEqual(driverObjects.liveByKind, { device: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer()))
  })

  it.effect("of a buffer without a pool end when it is freed", () => {
    const ended: Array<string> = []
    return Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const buffer = yield* Allocator.allocate(64)
        Attachments.attach(buffer, noting("a", ended))
      }))
      deepStrictEqual(ended, ["a released"])
    }).pipe(Effect.provide(Allocator.layerImmediate), Effect.provide(layer()))
  })
})

const acquired = (owner: Attachments.Attachable, ended: Array<string>) =>
  ScopedAttachment.acquire("test", "buffer", (attachment) => {
    attachment.begin(owner, (why) => {
      ended.push(why)
      return Exit.void
    })
    return Exit.succeed("made")
  })

describe("a scoped attachment", () => {
  it.effect("leaves nothing in its scope when the owner ends, and nothing with the owner when the scope closes", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const owner: Attachments.Attachable = { attached: undefined }
      const scope = yield* Scope.make()
      for (let at = 0; at < 3; at++) yield* Scope.provide(acquired(owner, ended), scope)
      deepStrictEqual([finalizers(scope), owner.attached?.size], [3, 3])
      strictEqual(Attachments.endAll(owner, "released"), Exit.void)
      deepStrictEqual([finalizers(scope), owner.attached?.size], [0, 0])
      yield* Scope.provide(acquired(owner, ended), scope)
      yield* Scope.close(scope, Exit.void)
      strictEqual(owner.attached?.size, 0)
      deepStrictEqual(ended, ["parentReleased", "parentReleased", "parentReleased", "scopeClosed"])
    }))

  it.effect("is not made in a closed scope, and leaves nothing where its making fails", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const failing = ScopedAttachment.acquire("test", "buffer", () => Exit.fail(failure))
      strictEqual((yield* reasonOf(Scope.provide(failing, scope)))._tag, "InvalidRequest")
      strictEqual(finalizers(scope), 0)
      yield* Scope.close(scope, Exit.void)
      const ended: Array<string> = []
      const reason = yield* reasonOf(Scope.provide(acquired({ attached: undefined }, ended), scope))
      assert(reason._tag === "Released")
      strictEqual(reason.why, "scopeClosed")
      deepStrictEqual(ended, [])
    }))
})

describe("a region of a lease", () => {
  const endings = {
    "the lease is released": (lease: PooledBuffer.PooledBuffer) => Lease.release(lease),
    "the lease moves to a closed scope": (lease: PooledBuffer.PooledBuffer) =>
      Effect.gen(function*() {
        const closed = yield* Scope.make()
        yield* Scope.close(closed, Exit.void)
        yield* Effect.exit(Lease.transfer(lease, closed))
      })
  }

  for (const [when, end] of Object.entries(endings)) {
    it.effect(`ends when ${when}`, () =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const lease = yield* BufferPool.allocate(64, { label: "x" })
        const region = yield* SubRegion.make(lease, { offset: 16, size: 16 })
        yield* end(lease)
        const reason = yield* reasonOf(CommandQueue.fill(region, 0))
        assert(reason._tag === "Released")
        deepStrictEqual([reason.label, reason.size, reason.why], ["x[16:32]", 16, "parentReleased"])
        assert.include(reason.message, "is over a lease that has ended. Keep the lease")
        deepStrictEqual(driverObjects.liveByKind, { device: 1, buffer: 1 })
      }).pipe(Effect.scoped, Effect.provide(layer())))
  }

  it.effect("ends with a pool that closes first, and its scope has nothing left to do", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(64)
        const region = yield* SubRegion.make(lease, {})
        yield* opened.closePool
        deepStrictEqual(opened.driverObjects.liveByKind, { device: 1 })
        strictEqual((yield* reasonOf(CommandQueue.fill(region, 0)))._tag, "Released")
      }).pipe(Effect.scoped, Effect.provide(opened.context))
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("of a lost device answers DeviceLost, and goes without a failure", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(64)
        const region = yield* SubRegion.make(lease, {})
        yield* CommandQueue.fill(region, 0)
        opened.faults.lose("unplugged")
        strictEqual((yield* reasonOf(CommandQueue.fill(region, 0)))._tag, "DeviceLost")
        strictEqual((yield* reasonOf(SubRegion.make(region, {})))._tag, "DeviceLost")
        yield* Lease.release(lease)
        yield* hasStats({ releaseFailures: 0, managedBlocks: 0 })
      }).pipe(Effect.scoped, Effect.provide(opened.context))
      deepStrictEqual(opened.driverObjects.liveByKind, { device: 1 })
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("that a layer closes before goes with it", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const scope = yield* Scope.make()
      yield* Effect.gen(function*() {
        const buffer = yield* Allocator.allocate(64)
        yield* SubRegion.make(buffer, {})
      }).pipe(Scope.provide(scope), Effect.provide(Allocator.layerImmediate), Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
      yield* Scope.close(scope, Exit.void)
      strictEqual(opened.driverObjects.live, 0)
    }))
})
