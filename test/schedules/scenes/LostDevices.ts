/** Scenes of devices that are opened one after another, each in place of one that was lost. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import type { GpuError } from "../../../src/domain/GpuError.ts"
import { generation, provide, Reconnecting } from "../../../src/services/backend/reconnecting/Reconnecting.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import { again, lose, type Series, series, type SeriesOptions } from "../../support/reconnecting.ts"
import { onOwnDevices } from "../OwnDevices.ts"
import type { Scene } from "../Stage.ts"

type Run = (series: Series) => Effect.Effect<unknown, GpuError, Reconnecting | Scope.Scope>

/** A scene whose own devices are lost together with the stage's. It must leave no driver object, however it ends. */
const scene = (name: string, options: SeriesOptions, run: Run, mostAlive = 1): Scene =>
  onOwnDevices(name, (faults) => series({ ...options, faults }), run, (own) => {
    Expect.equal("driver objects of all devices", own.live(), 0)
    Expect.isTrue(`${own.mostAlive()} devices at a time`, own.mostAlive() <= mostAlive)
  })

/** Short, since each of its steps is a place for a deviation. */
const use = CommandQueue.finish

const job = again(provide(use))

const together = (...effects: ReadonlyArray<Effect.Effect<unknown, GpuError, Reconnecting | Scope.Scope>>) =>
  Effect.all(effects, { concurrency: "unbounded", discard: true })

/** Leases half of the pool, and yields so that the device can be lost. */
const half = BufferPool.use(64, (lease) => Effect.andThen(Effect.yieldNow, CommandQueue.fill(lease, 7)))

const sleep = Effect.sleep("1 millis")

/** One effect is interrupted at any step, while another runs the same effect. */
const oneInterrupted = Effect.gen(function*() {
  const first = yield* Effect.forkChild(job, { startImmediately: true })
  const second = yield* Effect.forkChild(job, { startImmediately: true })
  yield* together(Fiber.interrupt(first), Fiber.join(second))
})

/** Both effects are interrupted, and a third starts. */
const allInterrupted = Effect.gen(function*() {
  const first = yield* Effect.forkChild(job, { startImmediately: true })
  const second = yield* Effect.forkChild(job, { startImmediately: true })
  yield* together(Fiber.interrupt(first), Fiber.interrupt(second), job)
})

/** A layer of its own, which closes at any step of a job on it. */
const closing = ({ layer }: Series) =>
  Effect.gen(function*() {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
    const own = Context.get(context, Reconnecting)
    const fiber = yield* Effect.forkChild(Effect.exit(again(own.provide(use))), { startImmediately: true })
    yield* Scope.close(scope, Exit.void)
    const exit = yield* Fiber.join(fiber)
    if (Exit.isFailure(exit)) {
      const { reason } = yield* Effect.orDie(Effect.flip(exit))
      Expect.isTrue(
        `a job on a closed layer: ${reason.message}`,
        ["DeviceUnavailable", "Released"].includes(reason._tag)
      )
    }
    yield* Expect.failsWith("a late job", own.provide(use), "DeviceUnavailable")
  })

export const lostDevices: ReadonlyArray<Scene> = [
  scene("two jobs go on when their device is lost", {}, (own) => together(job, job, lose(own))),
  scene("a device is lost again and again", {}, (own) =>
    Effect.gen(function*() {
      for (let loss = 0; loss < 2; loss++) yield* together(job, lose(own))
      yield* job
      Expect.isTrue("a loss costs one device", (yield* generation) <= 4)
    })),
  scene(
    "a device is lost that opens",
    { before: sleep, after: sleep, schedule: Schedule.recurs(3) },
    (own) => together(job, job, Effect.andThen(Effect.sleep("2 millis"), lose(own)))
  ),
  scene(
    "openings fail",
    { schedule: Schedule.spaced("1 millis").pipe(Schedule.upTo({ times: 4 })) },
    (own) =>
      Effect.suspend(() => {
        own.faults.failOpenings({ times: 3 })
        return together(job, job)
      })
  ),
  scene("one of two who wait for a device is interrupted", { before: sleep, after: sleep }, () => oneInterrupted),
  // A device that no fiber waits for any more may open in the same step, and then closes.
  scene("all who wait for a device are interrupted, and another comes", { before: sleep }, () => allInterrupted, 2),
  scene("a layer closes while its device opens", { before: sleep, after: sleep }, closing),
  scene("a layer closes under a job", {}, closing),
  scene(
    "a device is lost under a request that waits",
    { pool: { maxBytes: 100, onExhausted: "wait" } },
    (own) => together(again(provide(half)), again(provide(half)), lose(own))
  ),
  scene(
    "an observer never ends",
    { onLost: () => Effect.never },
    (own) => Effect.andThen(together(job, lose(own)), job)
  ),
  scene(
    "an observer uses the next device",
    { onLost: () => Effect.ignore(sleep) },
    (own) => Effect.andThen(together(job, lose(own)), job)
  )
]
