/** What a host refuses, whatever the broker or a client believes. */
import { FleetJob } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import { isGpuError } from "effect-gpu-pool/GpuError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { hostOf, make, type World } from "./support/world.ts"

/** Asks a host directly, as if a broker had placed it there. Fails, or succeeds when it is granted and held until the scope closes. */
const hold = Effect.fnUntraced(
  function*(world: World, id: string, bytes: number, epoch = world.host("a").state.epoch, device = "0") {
    const calls = yield* world.host("a").calls
    const pull = yield* Stream.toPull(calls.Hold({ id, bytes, device, epoch }))
    return yield* pull
  }
)

/** The reason of a GpuError. */
const reasonOf = (error: unknown): string => isGpuError(error) ? error.reason._tag : String(error)

const refusal = <A, E>(call: Effect.Effect<A, E, Scope.Scope>) => Effect.map(Effect.flip(call), reasonOf)

describe("a host", () => {
  it.effect("grants only what its device offers, even if the broker is wrong", () =>
    Effect.gen(function*() {
      const world = yield* make({ hosts: [hostOf("a", 1000)] })
      yield* hold(world, "one", 600)
      strictEqual(yield* refusal(hold(world, "two", 401)), "OutOfMemory")
      yield* hold(world, "three", 400)
      strictEqual((yield* world.host("a").stats).reservedBytes, 1000)
    }).pipe(Effect.scoped))

  it.effect("refuses wrong sizes, devices, repeated reservations, and other epochs", () =>
    Effect.gen(function*() {
      const world = yield* make({ hosts: [hostOf("a", 1000)] })
      for (const bytes of [0, -1, 0.5, NaN, Infinity, 2 ** 60]) {
        strictEqual(yield* refusal(hold(world, "bytes", bytes)), "InvalidRequest")
      }
      strictEqual(yield* refusal(hold(world, "device", 4, undefined, "7")), "InvalidRequest")
      yield* hold(world, "one", 4)
      strictEqual(yield* refusal(hold(world, "one", 4)), "InvalidRequest")
      const { epoch } = world.host("a").state
      strictEqual(yield* refusal(hold(world, "old", 4, epoch - 1)), "HostLost")
      strictEqual(yield* refusal(hold(world, "new", 4, epoch + 1)), "HostLost")
      deepStrictEqual([...world.host("a").state.grants.keys()], ["one"])
    }).pipe(Effect.scoped))

  it.effect("does nothing more when no broker has confirmed its epoch in time, before its timers have run", () =>
    Effect.gen(function*() {
      const world = yield* make({ hosts: [hostOf("a", 1000)] })
      const { state } = world.host("a")
      yield* hold(world, "one", 4)
      // What a process finds that was stopped and goes on: the time has passed, and nothing has run since.
      state.confirmedAt -= world.timing.hostTimeout
      strictEqual(yield* refusal(hold(world, "two", 4)), "HostLost")
      const calls = yield* world.host("a").calls
      const allocation = calls.Allocate({ lease: "one", epoch: state.epoch, buffer: "b", bytes: 4, label: undefined })
      strictEqual(yield* refusal(allocation), "HostLost")
    }).pipe(Effect.scoped))

  it.effect("that uses its pool itself refuses, and the reservation goes elsewhere, or waits until it has room", () =>
    Effect.gen(function*() {
      const world = yield* make({
        hosts: [{ ...hostOf("a", 1000), devices: { "0": { maxBytes: 1000 } } }],
        poolBytes: 1000
      })
      const { fleet, timing } = world
      const taken = yield* Deferred.make<void>()
      const giveBack = yield* Deferred.make<void>()
      const own = yield* Effect.forkChild(
        world.host("a").own(
          BufferPools.on(
            "0",
            BufferPool.use(600, () => Effect.andThen(Deferred.succeed(taken, undefined), Deferred.await(giveBack)))
          )
        )
      )
      yield* Deferred.await(taken)
      const waiting = yield* Effect.forkChild(Effect.scoped(fleet.reserve({ bytes: 700 })))
      // It is asked once for each of the host's reports, not again and again.
      yield* TestClock.adjust(3 * timing.heartbeat)
      assert.isUndefined(waiting.pollUnsafe())
      assert.isAtMost((yield* fleet.status).placed, 5)
      yield* Deferred.succeed(giveBack, undefined)
      yield* Fiber.join(own)
      yield* TestClock.adjust(2 * timing.heartbeat)
      strictEqual((yield* Fiber.join(waiting)).host, "a")
      yield* Effect.forkChild(world.host("a").own(BufferPools.on("0", BufferPool.use(600, () => Effect.never))))
      yield* world.start(hostOf("b", 900))
      strictEqual((yield* fleet.reserve({ bytes: 800 })).host, "b")
    }).pipe(Effect.scoped))

  it.effect("takes the chunks of an input in their order, once each, within its limit", () =>
    Effect.gen(function*() {
      const Length = FleetJob.make("Length", { input: Schema.Uint8Array, output: Schema.Int, bytes: 4 })
      const jobs = [FleetJob.handler(Length, (bytes) => Effect.succeed(bytes.length))]
      const world = yield* make({ hosts: [{ ...hostOf("a", 1000, jobs), maxInputBytes: 1_000_000 }] })
      const { epoch } = world.host("a").state
      yield* hold(world, "one", 4)
      const calls = yield* world.host("a").calls
      const send = (transfer: string, size: number, offset: number, length: number) =>
        calls.Send({ lease: "one", epoch, transfer, size, offset, data: new Uint8Array(length) })
      strictEqual(yield* refusal(send("a", 100, 50, 50)), "InvalidRequest")
      yield* send("b", 100, 0, 60)
      for (const [size, offset, length] of [[100, 0, 10], [100, 61, 10], [99, 60, 10], [100, 60, 41]] as const) {
        strictEqual(yield* refusal(send("b", size, offset, length)), "InvalidRequest")
      }
      strictEqual(yield* refusal(send("c", 1_000_001, 0, 1)), "LimitExceeded")
      for (const size of [-1, 0.5, NaN]) strictEqual(yield* refusal(send("d", size, 0, 0)), "InvalidRequest")
      const run = calls.Run({ lease: "one", epoch, job: "Length", input: undefined, transfer: "b" })
      strictEqual(yield* refusal(Stream.runDrain(run)), "InvalidRequest")
      // One that is larger than what is left waits for the others.
      const large = yield* Effect.forkChild(send("e", 1_000_000, 0, 10))
      yield* TestClock.adjust(1000)
      assert.isUndefined(large.pollUnsafe())
    }).pipe(Effect.scoped))

  it.effect("whose client no longer waits is asked for nothing", () =>
    Effect.gen(function*() {
      const world = yield* make({ hosts: [hostOf("a", 1000)] })
      const { fleet } = world
      yield* fleet.reserve({ bytes: 600 })
      const waiting = yield* Effect.forkChild(Effect.scoped(fleet.reserve({ bytes: 600 })))
      yield* TestClock.adjust(1)
      strictEqual((yield* fleet.status).waiters, 1)
      yield* Fiber.interrupt(waiting)
      yield* TestClock.adjust(1)
      strictEqual((yield* fleet.status).waiters, 0)
    }).pipe(Effect.scoped))
})
