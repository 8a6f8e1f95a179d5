/**
 * Events: a fiber waits for some commands of a queue, or a queue waits for another queue.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, QueueEvent } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { layer as hostLayer } from "effect-gpu-pool/Host"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "../memory/BadRequests.ts"
import * as Kernels from "./Kernels.ts"

const test = inGroup("events")

/** One turn of the event loop, in which a device may report progress. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 0)))

/** A second queue, for which the host's serves. */
const other = Effect.map(
  Layer.build(Layer.provideMerge(BufferPool.layer(), hostLayer())),
  (context) => ({ context, pool: Context.get(context, BufferPool.BufferPool) })
)

export const tests: ReadonlyArray<ConformanceTest> = [
  test("an awaited event has happened", { heavy: true }, function*() {
    const items = yield* scaled(50_000, 500)
    const x = yield* BufferPool.allocate(items * 4)
    yield* CommandQueue.finish
    yield* QueueEvent.wait(yield* CommandQueue.event)
    yield* CommandQueue.fill(x, 0)
    yield* CommandQueue.dispatch(Kernels.busy, { y: x }, items)
    const [first] = yield* CommandQueue.withEvent(CommandQueue.fill(x, 7))
    yield* CommandQueue.dispatch(Kernels.busy, { y: x }, items)
    const last = yield* CommandQueue.event
    Expect.isTrue("an event of later work is later", last.position >= first.position)
    yield* QueueEvent.wait(first)
    Expect.isTrue("an awaited event has happened", yield* QueueEvent.isDone(first))
    yield* QueueEvent.wait(last)
    Expect.isTrue("and so has the last", yield* QueueEvent.isDone(last))
    yield* QueueEvent.wait(first)
  }),
  test("an event happens although no fiber waits for it", function*() {
    const x = yield* BufferPool.allocate(64)
    yield* CommandQueue.fill(x, 1)
    const filled = yield* CommandQueue.event
    yield* Effect.repeat(turn, { until: () => QueueEvent.isDone(filled) })
    yield* CommandQueue.write(x, new Uint8Array(64))
    const written = yield* CommandQueue.event
    yield* Effect.repeat(turn, { until: () => QueueEvent.isDone(written) })
  }),
  test("events are values without driver objects", { counting: true }, function*() {
    const { driverObjects } = yield* DeviceContext
    const x = yield* BufferPool.allocate(64)
    yield* CommandQueue.fill(x, 1)
    yield* CommandQueue.finish
    const [one, two] = [yield* CommandQueue.event, yield* CommandQueue.event]
    Expect.isTrue("two events at the same place of a queue are equal", Equal.equals(one, two))
    yield* CommandQueue.fill(x, 2)
    const later = yield* CommandQueue.event
    Expect.isTrue("an event of later work is a later one", later.position > one.position && !Equal.equals(one, later))
    yield* CommandQueue.finish
    const recorded = driverObjects.created
    yield* QueueEvent.wait(one)
    yield* QueueEvent.wait(later)
    Expect.equal("driver objects for events", driverObjects.created, recorded)
  }),
  /** Every kind of command counts. */
  test("every kind of command has its place in an event", function*() {
    const x = yield* BufferPool.allocate(64)
    const y = yield* BufferPool.allocate(64)
    const commands = [
      CommandQueue.write(x, new Uint8Array(64)),
      CommandQueue.fill(x, 1),
      CommandQueue.copy(x, y),
      CommandQueue.copyRect(x, y, { region: [8, 2], source: { rowPitch: 16 } }),
      CommandQueue.writeRect(x, new Uint8Array(64), { region: [8, 2], buffer: { rowPitch: 16 } }),
      CommandQueue.dispatch(Kernels.iota, { y, start: 5 }, 16)
    ]
    for (const command of commands) {
      const [event] = yield* CommandQueue.withEvent(command)
      yield* QueueEvent.wait(event)
      Expect.isTrue("an awaited event has happened", yield* QueueEvent.isDone(event))
    }
    Expect.equal("the last command's result", (yield* CommandQueue.read(y, Uint32Array))[15], 20)
  }),
  test("a queue goes on after events of another", function*() {
    const there = yield* other
    const x = yield* BufferPool.allocate(64)
    const y = yield* there.pool.allocate(64)
    const [filled] = yield* Effect.provide(CommandQueue.withEvent(CommandQueue.fill(y, 3)), there.context)
    const [written] = yield* CommandQueue.withEvent(CommandQueue.fill(x, 1))
    yield* CommandQueue.fill(x, 4).pipe(CommandQueue.after([filled, written]))
    Expect.isTrue("the other queue's event has happened", yield* QueueEvent.isDone(filled))
    yield* Effect.provide(CommandQueue.after(CommandQueue.fill(y, 5), [written]), there.context)
    Expect.isTrue("this queue's event has happened", yield* QueueEvent.isDone(written))
    Expect.equal("here", (yield* CommandQueue.read(x, Uint32Array))[0], 4)
  }),
  /**
   * The test destroys a buffer under recorded commands, which no allocator does. The driver may keep the buffer until
   * the commands have run, or refuse them. Then one wait or finish fails, once, and names them.
   */
  test("a wait or a finish reports the failures of recorded commands, once", { counting: true }, function*() {
    const device = yield* DeviceContext
    const source = yield* BufferPool.allocate(64, { label: "source" })
    for (const reported of [QueueEvent.wait, () => CommandQueue.finish]) {
      const doomed = yield* device.createBuffer(64, BufferUsage.defaultUsage, "doomed")
      yield* CommandQueue.copy(source, doomed)
      const event = yield* CommandQueue.event
      yield* device.destroyBufferUnsafe(doomed)
      const result = yield* Effect.result(reported(event))
      if (Result.isFailure(result)) {
        const { commands } = Expect.reasonOf("a destroyed buffer", result.failure, "DriverError")
        Expect.isTrue(`the commands are named: ${commands.join()}`, commands.some((label) => /copy 64 B/.test(label)))
      }
      Expect.isTrue("the event has happened although commands failed", yield* QueueEvent.isDone(event))
      yield* QueueEvent.wait(event)
      yield* expectUsable
    }
  }),
  test("many fibers wait for events, and some are interrupted", { heavy: true, interrupts: true }, function*() {
    const items = yield* scaled(100_000, 1000)
    const x = yield* BufferPool.allocate(items * 4)
    yield* CommandQueue.fill(x, 0)
    const events: Array<QueueEvent.QueueEvent> = []
    for (let at = 0; at < 20; at++) {
      yield* CommandQueue.dispatch(Kernels.busy, { y: x }, Math.ceil(items / 20))
      events.push(yield* CommandQueue.event)
    }
    const fibers = yield* Effect.forEach(
      events,
      (event) => Effect.forkChild(QueueEvent.wait(event), { startImmediately: true })
    )
    yield* Effect.forEach(fibers, (fiber, at) => at % 2 === 0 ? Fiber.interrupt(fiber) : Effect.void)
    for (let at = 1; at < fibers.length; at += 2) {
      Expect.isTrue(`waiter ${at} ended well`, Exit.isSuccess(yield* Fiber.await(fibers[at]!)))
      Expect.isTrue(`event ${at} has happened`, yield* QueueEvent.isDone(events[at]!))
    }
  })
]
