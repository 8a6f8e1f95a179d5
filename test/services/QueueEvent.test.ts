/** Events on the host, where the test knows which work has run. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as QueueEvent from "../../src/services/device/QueueEvent.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { layer, open, tagOf } from "../support/hostPool.ts"

describe("an event", () => {
  it.live("is over before what comes after it", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(4000)
      let items = 0
      const tally = Kernel.make({
        name: "tally",
        args: [VectorArg("u32", "y")],
        body: { host: (from, to) => void (items += to - from) }
      })
      yield* CommandQueue.dispatch(tally, { y: x }, 500)
      const half = yield* CommandQueue.event
      yield* CommandQueue.dispatch(tally, { y: x }, 1000)
      const whole = yield* CommandQueue.event
      yield* QueueEvent.wait(half)
      assert.isAtLeast(items, 500)
      assert.isBelow(items, 1500)
      strictEqual(yield* QueueEvent.isDone(whole), false)
      yield* QueueEvent.wait(whole)
      strictEqual(items, 1500)
    }).pipe(Effect.provide(layer({ host: { rangeItems: 10 } }))))

  it.effect("equals another of the same moment of the same queue", () =>
    Effect.gen(function*() {
      const one = yield* open()
      const two = yield* open()
      const here = Effect.provide(CommandQueue.event, one.context)
      const first = yield* here
      const again = yield* here
      assert.isTrue(Equal.equals(first, again))
      strictEqual(Hash.hash(first), Hash.hash(again))
      assert.isFalse(Equal.equals(first, yield* Effect.provide(CommandQueue.event, two.context)))
      const x = yield* Effect.provide(BufferPool.allocate(4), one.context)
      yield* Effect.provide(CommandQueue.fill(x, 1), one.context)
      assert.isFalse(Equal.equals(first, yield* here))
    }).pipe(Effect.scoped))

  it.effect("of a refused submit has happened, and its wait fails with the reason", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64, { label: "x" })
        opened.faults.failCommands()
        const [event] = yield* CommandQueue.withEvent(CommandQueue.fill(x, 1))
        const error = yield* Effect.flip(QueueEvent.wait(event))
        assert(error.reason._tag === "DriverError")
        deepStrictEqual(error.reason.commands, ["fill 64 B -> x"])
        strictEqual(yield* QueueEvent.isDone(event), true)
        yield* QueueEvent.wait(event)
      }).pipe(Effect.scoped, Effect.provide(opened.context))
    }))

  it.effect("never happens on a device that is lost, and its waiters fail", () =>
    Effect.gen(function*() {
      const opened = yield* open({ host: { rangeItems: 1 } })
      yield* Effect.gen(function*() {
        const x = yield* BufferPool.allocate(4000)
        const idle = Kernel.make({ name: "idle", args: [VectorArg("u32", "y")], body: { host: () => {} } })
        const [event] = yield* CommandQueue.withEvent(CommandQueue.dispatch(idle, { y: x }, 1000))
        const fiber = yield* Effect.forkChild(tagOf(QueueEvent.wait(event)), { startImmediately: true })
        opened.faults.lose("unplugged")
        strictEqual(yield* Fiber.join(fiber), "DeviceLost")
        strictEqual(yield* tagOf(QueueEvent.wait(event)), "DeviceLost")
        strictEqual(yield* QueueEvent.isDone(event), false)
      }).pipe(Effect.scoped, Effect.provide(opened.context))
    }))

  it.effect("of another queue that fails keeps the effect from running", () =>
    Effect.gen(function*() {
      const one = yield* open()
      const two = yield* open()
      let ran = false
      const x = yield* Effect.provide(BufferPool.allocate(64), one.context)
      one.faults.failCommands()
      const [event] = yield* Effect.provide(CommandQueue.withEvent(CommandQueue.fill(x, 1)), one.context)
      const work = Effect.sync(() => void (ran = true))
      const after = yield* Effect.exit(Effect.provide(CommandQueue.after(work, [event]), two.context))
      assert.isTrue(Exit.isFailure(after))
      assert.isFalse(ran)
      yield* Effect.provide(CommandQueue.after([])(work), two.context)
      assert.isTrue(ran)
    }).pipe(Effect.scoped))

  it.effect("of its own queue costs no wait", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const program = Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        const [event] = yield* CommandQueue.withEvent(CommandQueue.fill(x, 1))
        const before = opened.faults.operations
        yield* CommandQueue.after(Effect.void, [event])
        strictEqual(opened.faults.operations, before)
        strictEqual(yield* QueueEvent.isDone(event), false)
      })
      yield* program.pipe(Effect.scoped, Effect.provide(opened.context))
    }))
})
