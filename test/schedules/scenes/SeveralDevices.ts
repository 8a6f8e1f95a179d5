/** Scenes of one service over several devices, each with the host's faults. An intruder may lose the first of them at any step. */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import type { GpuError, Reason } from "../../../src/domain/GpuError.ts"
import * as PoolStrategy from "../../../src/domain/pool/PoolStrategy.ts"
import * as BufferPools from "../../../src/services/backend/several/BufferPools.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import { again } from "../../support/reconnecting.ts"
import { type Several, several, type SeveralOptions } from "../../support/severalDevices.ts"
import { onOwnDevices } from "../OwnDevices.ts"
import type { Scene } from "../Stage.ts"

type Run = (own: Several) => Effect.Effect<unknown, GpuError, BufferPools.BufferPools | Scope.Scope>

/**
 * A scene whose own first device is lost together with the stage's. It must leave no driver object, however it ends.
 */
const scene = (name: string, options: SeveralOptions, run: Run): Scene =>
  onOwnDevices(
    name,
    (faults) => several({ ...options, faults }),
    run,
    (own) => {
      Expect.equal(`driver objects, ${JSON.stringify(own.left())}`, own.live(), 0)
      Expect.equal("open devices", own.alive(), 0)
    },
    ["a look"]
  )

const { on, onDeviceOf } = BufferPools

/** Short, since each of its steps is a place for a deviation. */
const use = CommandQueue.finish

const job = again(on("0", use))

const together = <R>(...effects: ReadonlyArray<Effect.Effect<unknown, GpuError, R>>) =>
  Effect.all(effects, { concurrency: "unbounded", discard: true })

const sleep = Effect.sleep("1 millis")

/** Accepts the errors that another fiber may cause. */
const may = <A, R>(effect: Effect.Effect<A, GpuError, R>, ...tags: ReadonlyArray<Reason["_tag"]>) =>
  Effect.catchIf(effect, (error) => tags.includes(error.reason._tag), () => Effect.void)

/** A scope that the effect can close. */
const inScope = <A, E, R>(f: (scope: Scope.Closeable) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(Scope.make(), f, (scope, exit) => Scope.close(scope, exit))

const lease = BufferPool.allocate(64)

/** Leaves a lease in a scope, which keeps the device open for it. */
const leaving = inScope((scope) =>
  Effect.gen(function*() {
    const x = yield* Scope.provide(on("0", lease), scope)
    yield* onDeviceOf(x, CommandQueue.fill(x, 7))
    yield* Scope.close(scope, Exit.void)
    Expect.isTrue("a lease ends with its scope", !Lease.isLive(x))
  })
)

/** The scope around an effect closes at any step of it. An allocation after that fails. */
const closingAround = inScope((scope) =>
  Effect.gen(function*() {
    const run = Effect.andThen(Effect.flatMap(lease, (x) => may(CommandQueue.fill(x, 7), "Released")), use)
    const fiber = yield* Effect.forkChild(Effect.exit(Scope.provide(on("0", run), scope)), { startImmediately: true })
    yield* Scope.close(scope, Exit.void)
    const exit = yield* Fiber.join(fiber)
    if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) yield* may(exit, "Released")
  })
)

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

const numbers = DeviceArray.fromHost(Int32Array.of(1, 2, 3))

/** Three chunks, two at a time. */
const options = { chunkSize: 4, inFlight: 2 } as const

const transfer = (from: string, to: string) =>
  Effect.gen(function*() {
    const x = yield* on(from, numbers)
    const y = yield* DeviceArray.to(x, to, options)
    Expect.same("elements", Array.from(yield* onDeviceOf(y, DeviceArray.toHost(y))), [1, 2, 3])
  }).pipe(Effect.scoped)

/** One chunk, and nothing else. */
const crossing = (from: string, to: string) =>
  Effect.scoped(
    Effect.flatMap(on(from, BufferPool.allocate(4)), (x) =>
      Effect.flatMap(on(to, BufferPool.allocate(4)), (y) => BufferPools.copy(x, y)))
  )

/** The source of a transfer ends at any step. */
const withoutSource = Effect.gen(function*() {
  const x = yield* on("0", numbers)
  yield* together(may(DeviceArray.to(x, "1", options), "Released"), Lease.release(x.lease!))
})

/** The scope of a transfer's target closes at any step. */
const withoutTarget = inScope((scope) =>
  Effect.gen(function*() {
    const x = yield* on("0", numbers)
    const fiber = yield* Effect.forkChild(Effect.exit(Scope.provide(DeviceArray.to(x, "1", options), scope)), {
      startImmediately: true
    })
    yield* Scope.close(scope, Exit.void)
    const exit = yield* Fiber.join(fiber)
    if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) yield* may(exit, "Released")
  })
)

/** A layer of its own, which closes at any step of a job on it. */
const closing = (run: Effect.Effect<unknown, GpuError, BufferPools.BufferPools>): Run => ({ layer }) =>
  Effect.gen(function*() {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
    const pools = Context.get(context, BufferPools.BufferPools)
    const fiber = yield* Effect.forkChild(Effect.exit(Effect.provideContext(again(run), context)), {
      startImmediately: true
    })
    yield* Scope.close(scope, Exit.void)
    const exit = yield* Fiber.join(fiber)
    if (Exit.isFailure(exit)) {
      const { reason } = yield* Effect.orDie(Effect.flip(exit))
      Expect.isTrue(
        `a job on a closed layer: ${reason.message}`,
        ["DeviceUnavailable", "Released", "InvalidRequest"].includes(reason._tag)
      )
    }
    yield* Expect.failsWith("a late job", pools.on("0", use), "DeviceUnavailable")
    Expect.equal("devices of a closed layer", (yield* pools.devices).length, 0)
  })

const short = { idleTimeToLive: 0 } as const

const brief = { idleTimeToLive: "1 millis" } as const

export const severalDevices: ReadonlyArray<Scene> = [
  scene("two devices at the same time", {}, () => together(job, on("1", use), job)),
  scene("a device closes after each use", short, () => together(job, job)),
  scene(
    "a device that is idle is used again in the moment when it closes",
    brief,
    () => together(job, Effect.andThen(sleep, job), Effect.andThen(sleep, BufferPools.freeHeld()))
  ),
  scene("a lease outlives the effect that made it", short, () => leaving),
  scene("the scope around an effect closes", short, () => closingAround),
  scene("an effect is interrupted in the scope around it", brief, () =>
    inScope((scope) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Scope.provide(on("0", Effect.andThen(lease, use)), scope), {
          startImmediately: true
        })
        yield* Fiber.interrupt(fiber)
      })
    )),
  scene("one of two who wait for a device is interrupted", { before: sleep, ...brief }, () => oneInterrupted),
  scene("all who wait for a device are interrupted, and another comes", { before: sleep }, () => allInterrupted),
  scene(
    "openings fail",
    { schedule: Schedule.recurs(1) },
    (own) =>
      Effect.suspend(() => {
        own.faults.failOpenings({ times: 3 })
        return Effect.andThen(may(together(on("0", use), on("1", use)), "DeviceUnavailable"), job)
      })
  ),
  scene("a device is lost under two jobs", short, (own) => together(job, job, Effect.sync(() => own.faults.lose()))),
  scene("counters and freed memory of devices that come and go", brief, () =>
    together(
      again(on("0", Effect.scoped(lease))),
      BufferPools.freeHeld("0"),
      Effect.andThen(BufferPools.stats, BufferPools.freeHeld())
    )),
  scene("an array goes to another device", short, () => transfer("0", "1")),
  scene("an array comes from another device", {}, () => transfer("1", "0")),
  scene("an array is copied on its device", short, () => transfer("0", "0")),
  scene(
    "copies cross each other, with staging memory for one chunk",
    { staging: { maxBytes: 4, onExhausted: "wait", strategy: PoolStrategy.blocks } },
    () => together(crossing("0", "1"), crossing("1", "0"))
  ),
  scene("the source of a transfer is released", {}, () => withoutSource),
  scene("the scope of a transfer closes", short, () => withoutTarget),
  scene("a layer closes while its device opens", { before: sleep }, closing(on("0", use))),
  scene("a layer closes under a job", brief, closing(on("0", Effect.scoped(Effect.andThen(lease, use))))),
  scene("a layer closes under a transfer", {}, closing(crossing("0", "1"))),
  scene("a layer closes beside a lease in another scope", {}, closing(leaving))
]
