import { Conformance } from "@effect-gpu-pool/testing"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { markAsUntransferable } from "node:worker_threads"
import { inGroup } from "../../packages/testing/src/ConformanceTest.ts"
import { buffers, endedAnywhere } from "../../packages/testing/src/pool/EndedLeases.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"

const layer = Host.layer({ rangeItems: 4 })

const onHost = <A, E>(
  test: Effect.Effect<A, E, Host.Host | BufferPool.BufferPool | CommandQueue.CommandQueue | Scope.Scope>
) => test.pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(layer))

/** Elements one by one: methods of an array that has ended throw. */
const elements = (view: Uint8Array) => Array.from({ length: view.length }, (_, at) => view[at]!)

const repeated = (byte: number, length: number) => Array.from({ length }, () => byte)

const increment = Kernel.make({
  name: "increment",
  args: [VectorArg("u32", "x")],
  body: {
    host: (from, to, { x }) => {
      for (let i = from; i < to; i++) x[i]! += 1
    }
  }
})

const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }

const law = inGroup("ended leases")(
  "a view in place never reaches the next owner's bytes, whenever its lease ends",
  Effect.gen(function*() {
    const host = Option.getOrThrow(yield* Effect.serviceOption(Host.Host))
    yield* endedAnywhere(buffers, (lease) =>
      Effect.gen(function*() {
        const view = yield* host.bytes(lease)
        yield* Effect.void
        return Uint8Array.from(elements(view))
      }))
    yield* endedAnywhere(buffers, (lease) =>
      Effect.gen(function*() {
        const view = yield* host.bytes(yield* SubRegion.make(lease, { offset: 512 }))
        yield* Effect.void
        // Nothing that is stored late reaches the next owner.
        const found = Uint8Array.from(elements(view))
        for (let at = 0; at < view.length; at++) view[at] = 0x22
        return found
      }))
  })
)

describe("Host.bytes", () => {
  for (const [name, device] of [["at once", layer], ["with latency", Host.layer({ latency: "1 millis" })]] as const) {
    describe(`on a host that answers ${name}`, () => {
      Conformance.register({ describe, it, afterAll }, device, [law])
    })
  }

  it.effect("shows the lease until it ends, and leaves the contents where they are", () =>
    onHost(Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      const view = yield* Host.bytes(x)
      view.fill(7)
      deepStrictEqual(elements(yield* CommandQueue.read(x, Uint8Array)), repeated(7, 64))
      yield* Lease.release(x)
      strictEqual(view.length, 0)
      const next = yield* BufferPool.allocate(64)
      deepStrictEqual(elements(yield* Host.bytes(next)), repeated(7, 64))
      strictEqual((yield* BufferPool.stats).hits, 1)
    })))

  it.live("ends after the lease's own work and before that of the next owner", () =>
    onHost(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const x = yield* Scope.provide(BufferPool.allocate(64), scope)
      yield* CommandQueue.fill(x, 0x01010101)
      yield* CommandQueue.finish
      const view = yield* Host.bytes(x)
      // 16 items in 4 ranges: it still runs when the lease ends.
      yield* CommandQueue.dispatch(increment, { x }, 16)
      yield* CommandQueue.flush
      yield* Scope.close(scope, Exit.void)
      const next = yield* BufferPool.allocate(64)
      assert.isAbove(view.length, 0)
      yield* CommandQueue.fill(next, 0x33333333)
      const nextView = yield* Host.bytes(next)
      strictEqual(view.length, 0)
      yield* CommandQueue.finish
      deepStrictEqual(elements(nextView), repeated(0x33, 64))
      strictEqual((yield* BufferPool.stats).hits, 1)
    })))

  it.effect("that a program transfers away takes the memory from its own lease alone", () =>
    onHost(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const x = yield* Scope.provide(BufferPool.allocate(64), scope)
      yield* CommandQueue.write(x, new Uint8Array(64).fill(1))
      const kept = new Uint8Array(transfer.call((yield* Host.bytes(x)).buffer))
      const uses: ReadonlyArray<Effect.Effect<unknown, GpuError, CommandQueue.CommandQueue | Host.Host>> = [
        CommandQueue.write(x, new Uint8Array(64)),
        CommandQueue.read(x, Uint8Array),
        CommandQueue.fill(x, 0),
        Host.bytes(x)
      ]
      for (const use of uses) {
        const error = yield* Effect.flip(use)
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, "transferred to another ArrayBuffer")
      }
      yield* Scope.close(scope, Exit.void)
      const next = yield* BufferPool.allocate(64)
      yield* CommandQueue.write(next, new Uint8Array(64).fill(2))
      deepStrictEqual(elements(yield* CommandQueue.read(next, Uint8Array)), repeated(2, 64))
      deepStrictEqual([...kept], repeated(1, 64))
    })))

  it.effect("that is transferred while a read waits fails the read", () =>
    onHost(Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      const view = yield* Host.bytes(x)
      yield* CommandQueue.dispatch(increment, { x: yield* BufferPool.allocate(64) }, 16)
      const read = yield* Effect.forkChild(Effect.flip(CommandQueue.read(x, Uint8Array)), { startImmediately: true })
      transfer.call(view.buffer)
      strictEqual((yield* Fiber.join(read)).reason._tag, "DriverError")
    })))

  it.effect("that a program keeps from being transferred goes on with memory of its own", () =>
    onHost(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const x = yield* Scope.provide(BufferPool.allocate(64), scope)
      const view = yield* Host.bytes(x)
      markAsUntransferable(view.buffer)
      view.fill(1)
      yield* Scope.close(scope, Exit.void)
      const next = yield* BufferPool.allocate(64)
      yield* CommandQueue.fill(next, 0x02020202)
      yield* CommandQueue.finish
      deepStrictEqual(elements(view), repeated(1, 64))
      deepStrictEqual(elements(yield* CommandQueue.read(next, Uint8Array)), repeated(2, 64))
    })))
})
