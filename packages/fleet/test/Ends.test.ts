/** How calls end that cannot go on: in a closed scope, without a broker, in jobs that fail in unusual ways. */
import { DurableJob, Fleet, FleetJob, FleetModel } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import { isGpuError } from "effect-gpu-pool/GpuError"
import * as Host from "effect-gpu-pool/Host"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as FleetClient from "../src/client/FleetClient.ts"
import * as Timing from "../src/protocol/Timing.ts"
import { hostOf, make } from "./support/world.ts"

const reasonOf = (error: unknown): string => isGpuError(error) ? error.reason._tag : String(error)

const schemas = { input: Schema.Void, output: Schema.Void, bytes: 100 }
const Wait = FleetJob.make("Wait", schemas)
const Dies = FleetJob.make("Dies", schemas)
const Interrupts = FleetJob.make("Interrupts", { ...schemas, isIdempotent: true })

describe("a reservation", () => {
  it.effect("in a closed scope is released", () =>
    Effect.gen(function*() {
      const { fleet } = yield* make({ hosts: [hostOf("a", 1000)] })
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      strictEqual(reasonOf(yield* Effect.flip(Scope.provide(fleet.reserve({ bytes: 4 }), scope))), "Released")
      strictEqual((yield* fleet.status).placed, 0)
    }).pipe(Effect.scoped))

  it.effect("whose scope closes while it waits is released, and waits no more", () =>
    Effect.gen(function*() {
      const { fleet } = yield* make({ hosts: [hostOf("a", 1000)] })
      yield* fleet.reserve({ bytes: 600 })
      const scope = yield* Scope.make()
      const waiting = yield* Effect.forkChild(Effect.flip(Scope.provide(fleet.reserve({ bytes: 600 }), scope)))
      yield* TestClock.adjust(1)
      strictEqual((yield* fleet.status).waiters, 1)
      yield* Scope.close(scope, Exit.void)
      strictEqual(reasonOf(yield* Fiber.join(waiting)), "Released")
      yield* TestClock.adjust(1)
      strictEqual((yield* fleet.status).waiters, 0)
    }).pipe(Effect.scoped))

  it.effect("whose scope closes while a job runs in it ends the job, which is released", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const job = FleetJob.handler(Wait, () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const { fleet } = yield* make({ hosts: [hostOf("a", 1000, [job])] })
      const scope = yield* Scope.make()
      const within = yield* Scope.provide(fleet.reserve({ bytes: 600 }), scope)
      const running = yield* Effect.forkChild(Effect.flip(fleet.run(Wait, undefined, { within })))
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      strictEqual(reasonOf(yield* Fiber.join(running)), "Released")
    }).pipe(Effect.scoped))
})

describe("without a broker", () => {
  const timing = Effect.runSync(Timing.make())
  const silent = FleetClient.make(
    {
      join: () => Effect.never,
      report: () => Effect.never,
      leave: () => Effect.never,
      place: () => Effect.never,
      cancel: () => Effect.never,
      status: Effect.never
    },
    { connect: () => Effect.never, failed: () => Effect.void },
    timing
  )

  it.effect.each(
    [
      ["status", 1, silent.status],
      ["a reservation that does not wait", 1, Effect.scoped(silent.reserve({ bytes: 4, onExhausted: "fail" }))],
      ["a reservation that waits", 2, Effect.scoped(silent.reserve({ bytes: 4 }))],
      ["a job", 2, silent.run(Wait, undefined)]
    ] as const
  )("%s ends after hostTimeout, or twice that", ([, times, call]) =>
    Effect.gen(function*() {
      const calling = yield* Effect.forkChild(Effect.flip(call as Effect.Effect<unknown, unknown>))
      yield* TestClock.adjust(times * timing.hostTimeout - 1)
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust(1)
      strictEqual(reasonOf(yield* Fiber.join(calling)), "DeviceUnavailable")
    }))

  it.effect("one that may wait for a second ends a second later", () =>
    Effect.gen(function*() {
      const call = Effect.scoped(silent.reserve({ bytes: 4, waitAtMost: "1 second" }))
      const calling = yield* Effect.forkChild(Effect.flip(call))
      yield* TestClock.adjust(timing.hostTimeout + 1000)
      strictEqual(reasonOf(yield* Fiber.join(calling)), "DeviceUnavailable")
    }))
})

describe("a job", () => {
  const pools = BufferPools.layer(() => Host.layer())
  const fleetOf = (...jobs: ReadonlyArray<FleetJob.Handler>) =>
    Layer.provide(Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 1000 } }, jobs }), pools)

  it.live("that dies ends no other, and leaves nothing", () => {
    const mayEnd = Deferred.makeUnsafe<void>()
    const begun = Deferred.makeUnsafe<void>()
    const wait = FleetJob.handler(
      Wait,
      () => Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(mayEnd))
    )
    return Effect.gen(function*() {
      const other = yield* Effect.forkChild(Fleet.run(Wait, undefined))
      yield* Deferred.await(begun)
      const exit = yield* Effect.exit(Fleet.run(Dies, undefined))
      assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit))
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(other)
      strictEqual((yield* Effect.scoped(Fleet.reserve({ bytes: 1000 }))).bytes, 1000)
    }).pipe(Effect.provide(fleetOf(wait, FleetJob.handler(Dies, () => Effect.die("it dies")))))
  })

  it.live("that interrupts itself fails, and does not run again", () => {
    let runs = 0
    const interrupts = FleetJob.handler(Interrupts, () =>
      Effect.suspend(() => {
        runs++
        return Effect.interrupt
      }))
    return Effect.gen(function*() {
      strictEqual(reasonOf(yield* Effect.flip(Fleet.run(Interrupts, undefined))), "InvalidRequest")
      const durable = DurableJob.execute(Interrupts, undefined, { id: "1" })
      strictEqual(reasonOf(yield* Effect.flip(durable)), "InvalidRequest")
      strictEqual(runs, 2)
    }).pipe(Effect.provide(fleetOf(interrupts)))
  })

  it.effect("that is given a buffer of another host fails, and does not run again", () =>
    Effect.gen(function*() {
      const Uses = FleetJob.make("Uses", {
        input: FleetModel.FleetBuffer,
        output: Schema.Void,
        bytes: 4,
        isIdempotent: true
      })
      const uses = FleetJob.handler(Uses, (buffer) =>
        Effect.asVoid(Effect.flatMap(FleetJob.CurrentHost, (host) => host.buffer(buffer))))
      const { fleet } = yield* make({ hosts: [hostOf("a", 1000, [uses]), hostOf("b", 1000, [uses])] })
      const within = yield* fleet.reserve({ bytes: 600, where: { host: "a" } })
      const buffer = yield* fleet.allocate(within, 8)
      const error = yield* Effect.flip(fleet.run(Uses, buffer, { where: { host: "b" } }))
      deepStrictEqual([reasonOf(error), error.message.includes("on the host \"a\""), error.message.includes("near")], [
        "InvalidRequest",
        true,
        true
      ])
    }).pipe(Effect.scoped))
})
