/** What follows when hosts hang, are cut off, end and come back, and when the broker moves. */
import { FleetJob } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import type { GpuError, Reason } from "effect-gpu-pool/GpuError"
import { isGpuError } from "effect-gpu-pool/GpuError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { hostOf, make, type World } from "./support/world.ts"

/** A job that tells the test where it runs, and ends when the test says so. */
const scene = Effect.gen(function*() {
  const runs: Array<string> = []
  const ended: Array<string> = []
  const begun = new Map<string, Deferred.Deferred<void>>()
  const mayEnd = yield* Deferred.make<void>()
  const deferredOf = (host: string) => {
    const known = begun.get(host) ?? Deferred.makeUnsafe<void>()
    begun.set(host, known)
    return known
  }
  const work = Effect.gen(function*() {
    const { host } = yield* FleetJob.CurrentHost
    runs.push(host)
    yield* Deferred.succeed(deferredOf(host), undefined)
    yield* Effect.ensuring(Deferred.await(mayEnd), Effect.sync(() => ended.push(host)))
    return host
  })
  const schemas = { input: Schema.Void, output: Schema.String, bytes: 600 }
  const Repeatable = FleetJob.make("Repeatable", { ...schemas, isIdempotent: true })
  const Once = FleetJob.make("Once", schemas)
  const jobs = [FleetJob.handler(Repeatable, () => work), FleetJob.handler(Once, () => work)]
  return {
    Once,
    Repeatable,
    /** The hosts on which the jobs began, in this order. */
    runs,
    /** And those on which they ended. */
    ended,
    begins: (host: string) => Deferred.await(deferredOf(host)),
    finish: Deferred.succeed(mayEnd, undefined),
    jobs
  }
})

const reasonOf = (error: unknown): Reason => {
  assert.isTrue(isGpuError(error), String(error))
  return (error as GpuError).reason
}

const lostIn = (error: unknown) => {
  const reason = reasonOf(error)
  assert(reason._tag === "HostLost", String(error))
  return reason
}

const statesOf = (world: World) =>
  Effect.map(
    world.fleet.status,
    ({ hosts }) =>
      hosts.map(({ devices, name, state }) => [
        name,
        state,
        devices.reduce((sum, { reservedBytes }) => sum + reservedBytes, 0)
      ]).sort()
  )

const reservedOn = (world: World, name: string) =>
  Effect.map(world.host(name).stats, ({ reservedBytes }) => reservedBytes)

describe("a host that hangs", () => {
  it.effect("is lost to its client and to the broker within hostTimeout, and ends what it has", () =>
    Effect.gen(function*() {
      const { Once, begins, ended, jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const { fleet, timing } = world
      const running = yield* Effect.forkChild(Effect.flip(fleet.run(Once, undefined)))
      yield* begins("a")
      strictEqual(yield* reservedOn(world, "a"), 600)
      world.host("a").network.stall()
      yield* TestClock.adjust(timing.hostTimeout - timing.heartbeat - 1)
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust(timing.heartbeat + 1)
      const { detail, epoch, host, mayHaveRun } = lostIn(yield* Fiber.join(running))
      deepStrictEqual([host, mayHaveRun, detail], ["a", true, `it has said nothing for ${timing.hostTimeout} ms`])
      deepStrictEqual(yield* statesOf(world), [["a", "lost", 0]])
      // No broker confirms its epoch, so it ends the job by itself.
      deepStrictEqual(ended, ["a"])
      strictEqual(yield* reservedOn(world, "a"), 0)
      world.host("a").network.heal()
      yield* TestClock.adjust(2 * timing.heartbeat)
      deepStrictEqual(yield* statesOf(world), [["a", "current", 0]])
      assert.isAbove(world.host("a").state.epoch, epoch)
    }).pipe(Effect.scoped))

  it.effect("has its idempotent jobs run again on another host, and gives no late answer", () =>
    Effect.gen(function*() {
      const { Repeatable, begins, finish, jobs, runs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 700, jobs)] })
      const { fleet, timing } = world
      const running = yield* Effect.forkChild(fleet.run(Repeatable, undefined))
      yield* begins("a")
      yield* world.start(hostOf("b", 700, jobs))
      world.host("a").network.stall()
      yield* TestClock.adjust(timing.hostTimeout + timing.heartbeat)
      yield* begins("b")
      yield* finish
      world.host("a").network.heal()
      strictEqual(yield* Fiber.join(running), "b")
      deepStrictEqual(runs, ["a", "b"])
    }).pipe(Effect.scoped))

  it.effect("refuses a reservation of an epoch that is over", () =>
    Effect.gen(function*() {
      const { Once, jobs, runs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const { fleet, timing } = world
      const within = yield* fleet.reserve({ bytes: 600 })
      world.host("a").network.stall()
      yield* TestClock.adjust(timing.hostTimeout + 1)
      world.host("a").network.heal()
      yield* TestClock.adjust(2 * timing.heartbeat)
      assert.isAbove(world.host("a").state.epoch, within.epoch)
      const { mayHaveRun } = lostIn(yield* Effect.flip(fleet.run(Once, undefined, { within })))
      assert.isFalse(mayHaveRun)
      lostIn(yield* Effect.flip(fleet.allocate(within, 4)))
      deepStrictEqual(runs, [])
    }).pipe(Effect.scoped))

  it.effect("is not lost by a silence that ends in time", () =>
    Effect.gen(function*() {
      const { Once, begins, finish, jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const { fleet, timing } = world
      const running = yield* Effect.forkChild(fleet.run(Once, undefined))
      yield* begins("a")
      for (let times = 0; times < 5; times++) {
        world.host("a").network.stall()
        yield* TestClock.adjust(timing.hostTimeout - 2 * timing.heartbeat)
        world.host("a").network.heal()
        yield* TestClock.adjust(2 * timing.heartbeat)
      }
      yield* finish
      strictEqual(yield* Fiber.join(running), "a")
    }).pipe(Effect.scoped))
})

describe("a connection that breaks", () => {
  it.effect("ends the reservation at once, on both sides", () =>
    Effect.gen(function*() {
      const { Once, begins, ended, jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const running = yield* Effect.forkChild(Effect.flip(world.fleet.run(Once, undefined)))
      yield* begins("a")
      yield* world.host("a").network.break
      assert.isTrue(lostIn(yield* Fiber.join(running)).mayHaveRun)
      // The host itself is not lost.
      yield* TestClock.adjust(world.timing.heartbeat)
      deepStrictEqual(ended, ["a"])
      deepStrictEqual(yield* statesOf(world), [["a", "current", 0]])
      strictEqual(yield* reservedOn(world, "a"), 0)
    }).pipe(Effect.scoped))
})

describe("a broker that moves", () => {
  it.effect("leaves reservations as they are, and serves those that wait", () =>
    Effect.gen(function*() {
      const { Once, begins, finish, jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const { fleet, timing } = world
      const running = yield* Effect.forkChild(fleet.run(Once, undefined))
      yield* begins("a")
      const { epoch } = world.host("a").state
      const waiting = yield* Effect.forkChild(Effect.scoped(fleet.reserve({ bytes: 700 })))
      yield* TestClock.adjust(1)
      strictEqual((yield* fleet.status).waiters, 1)
      yield* world.failOver
      yield* TestClock.adjust(4 * timing.heartbeat)
      deepStrictEqual(yield* statesOf(world), [["a", "current", 600]])
      strictEqual((yield* fleet.status).waiters, 1)
      strictEqual(world.host("a").state.epoch, epoch)
      yield* finish
      strictEqual(yield* Fiber.join(running), "a")
      strictEqual((yield* Fiber.join(waiting)).bytes, 700)
    }).pipe(Effect.scoped))

  it.effect("keeps a host's name for it, though another process comes first, and lets that one in once the host has left", () =>
    Effect.gen(function*() {
      const world = yield* make({ hosts: [hostOf("a", 1000, [])] })
      const { fleet, timing } = world
      const { epoch } = world.host("a").state
      const scope = yield* Scope.make()
      yield* Scope.provide(fleet.reserve({ bytes: 600 }), scope)
      const first = world.host("a")
      yield* world.failOver
      const second = yield* Effect.forkChild(world.start(hostOf("a", 1000, [])), { startImmediately: true })
      yield* TestClock.adjust(5 * timing.heartbeat)
      deepStrictEqual(yield* statesOf(world), [["a", "current", 600]])
      strictEqual(first.state.epoch, epoch)
      yield* Scope.close(scope, Exit.void)
      yield* first.close
      yield* TestClock.adjust(timing.heartbeat)
      assert.isAbove((yield* Fiber.join(second)).state.epoch, epoch)
    }).pipe(Effect.scoped))

  it.effect("serves with the hosts that are left, and the one that it never hears of loses its reservations", () =>
    Effect.gen(function*() {
      const { jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs), hostOf("b", 500, jobs)] })
      const { fleet, timing } = world
      const held = yield* fleet.reserve({ bytes: 600 })
      strictEqual(held.host, "a")
      world.host("a").network.stall()
      yield* world.failOver
      const waiting = yield* Effect.forkChild(Effect.scoped(fleet.reserve({ bytes: 500 })))
      yield* TestClock.adjust(4 * timing.heartbeat)
      strictEqual((yield* Fiber.join(waiting)).host, "b")
      deepStrictEqual(yield* statesOf(world), [["b", "current", 0]])
      yield* TestClock.adjust(timing.hostTimeout)
      lostIn(
        yield* Effect.flip(
          fleet.run(FleetJob.make("Once", { input: Schema.Void, output: Schema.String, bytes: 1 }), undefined, {
            within: held
          })
        )
      )
      strictEqual(yield* reservedOn(world, "a"), 0)
    }).pipe(Effect.scoped))
})

describe("a host that ends", () => {
  it.effect("lets its reservations end, takes no more, and leaves", () =>
    Effect.gen(function*() {
      const { Once, begins, finish, jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const { fleet, timing } = world
      const running = yield* Effect.forkChild(fleet.run(Once, undefined))
      yield* begins("a")
      const closing = yield* Effect.forkChild(world.host("a").close)
      yield* TestClock.adjust(timing.heartbeat)
      deepStrictEqual(yield* statesOf(world), [["a", "draining", 600]])
      const waiting = yield* Effect.forkChild(Effect.scoped(fleet.reserve({ bytes: 4 })))
      yield* world.start(hostOf("b", 1000, jobs))
      yield* TestClock.adjust(timing.heartbeat)
      strictEqual((yield* Fiber.join(waiting)).host, "b")
      yield* finish
      strictEqual(yield* Fiber.join(running), "a")
      yield* TestClock.adjust(timing.heartbeat)
      yield* Fiber.join(closing)
      deepStrictEqual(yield* statesOf(world), [["b", "current", 0]])
    }).pipe(Effect.scoped))

  it.effect("ends what is left after drainTimeout", () =>
    Effect.gen(function*() {
      const { Once, begins, ended, jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const { fleet, timing } = world
      const running = yield* Effect.forkChild(Effect.flip(fleet.run(Once, undefined)))
      yield* begins("a")
      const closing = yield* Effect.forkChild(world.host("a").close)
      yield* TestClock.adjust(timing.drainTimeout + timing.heartbeat)
      yield* Fiber.join(closing)
      assert.isTrue(lostIn(yield* Fiber.join(running)).mayHaveRun)
      deepStrictEqual(ended, ["a"])
      deepStrictEqual(yield* statesOf(world), [])
    }).pipe(Effect.scoped))
})

describe("a second process of one name", () => {
  it.effect("waits until the first is lost, and fails if it stays", () =>
    Effect.gen(function*() {
      const { jobs } = yield* scene
      const world = yield* make({ hosts: [hostOf("a", 1000, jobs)] })
      const { timing } = world
      const refused = yield* Effect.forkChild(Effect.flip(Effect.scoped(world.start(hostOf("a", 1000, jobs)))))
      yield* TestClock.adjust(3 * timing.hostTimeout)
      strictEqual(reasonOf(yield* Fiber.join(refused))._tag, "InvalidRequest")
      const first = world.host("a")
      first.network.stall()
      const second = yield* Effect.forkChild(world.start(hostOf("a", 2000, jobs)))
      yield* TestClock.adjust(timing.hostTimeout + timing.heartbeat)
      const { state } = yield* Fiber.join(second)
      assert.isAbove(state.epoch, first.state.epoch)
      first.network.heal()
      yield* TestClock.adjust(5 * timing.heartbeat)
      strictEqual(first.state.membership, "joining")
      const held = yield* world.fleet.reserve({ bytes: 2000 })
      strictEqual(held.epoch, state.epoch)
    }).pipe(Effect.scoped))
})
