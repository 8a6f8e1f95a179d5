/**
 * Random programs on a fleet whose hosts hang, are cut off, end and begin, and whose broker moves, at random times: no device has more
 * reserved than it offers, no job that must not runs twice, every client gets an answer in time, and nothing is left.
 */
import { FleetJob } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { isGpuError } from "effect-gpu-pool/GpuError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import { runs } from "../../../test/support/explore.ts"
import { hostOf, make, type World } from "./support/world.ts"

const names = ["a", "b", "c"] as const
const capacity: Readonly<Record<string, number>> = { a: 1000, b: 600, c: 300 }

const name = fc.constantFrom(...names)
const millis = fc.integer({ min: 0, max: 30_000 })

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("run" as const),
      bytes: fc.integer({ min: 1, max: 1000 }),
      millis,
      isIdempotent: fc.boolean()
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("reserve" as const), bytes: fc.integer({ min: 1, max: 1000 }), millis })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("interrupt" as const), nth: fc.nat() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("wait" as const), millis: fc.integer({ min: 1, max: 8000 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("stall" as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("heal" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("break" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("failOver" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close" as const), name }) }
)

type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

const schemas = { input: Schema.Struct({ id: Schema.Int, bytes: Schema.Int, millis: Schema.Int }), output: Schema.Int }

class Run {
  /** How often each job began. */
  readonly begun = new Map<number, number>()
  readonly clients: Array<Fiber.Fiber<unknown, unknown>> = []
  /** The hosts of jobs that run once. */
  readonly onceOn = new Map<number, string>()
  readonly stalledSince = new Map<string, number>()
  readonly closed = new Set<string>()

  readonly Again = FleetJob.make("Again", { ...schemas, bytes: ({ bytes }) => bytes, isIdempotent: true })
  readonly Once = FleetJob.make("Once", { ...schemas, bytes: ({ bytes }) => bytes })

  readonly work = ({ id, millis }: { readonly id: number; readonly millis: number }) =>
    Effect.suspend(() => {
      this.begun.set(id, (this.begun.get(id) ?? 0) + 1)
      return Effect.as(Effect.sleep(millis), id)
    })

  readonly jobs = [
    FleetJob.handler(this.Again, this.work),
    FleetJob.handler(this.Once, (input) =>
      Effect.flatMap(FleetJob.CurrentHost, ({ host }) => {
        this.onceOn.set(input.id, host)
        return this.work(input)
      }))
  ]

  readonly client = Effect.fnUntraced(function*(this: Run, effect: (id: number) => Effect.Effect<unknown, unknown>) {
    this.clients.push(yield* Effect.forkScoped(effect(this.clients.length)))
  })

  /** The client of a job on a host that has been silent for `hostTimeout` knows that it is lost. */
  readonly expectTold = Effect.fnUntraced(function*(this: Run, { timing }: World) {
    const now = yield* Clock.currentTimeMillis
    for (const [id, host] of this.onceOn) {
      const silence = now - (this.stalledSince.get(host) ?? now)
      if (silence >= timing.hostTimeout) assert.isDefined(this.clients[id]!.pollUnsafe(), `client ${id} of ${host}`)
    }
  })

  readonly take = Effect.fnUntraced(function*(this: Run, world: World, step: Step) {
    switch (step.do) {
      case "run":
        return yield* this.client((id) =>
          Effect.map(
            world.fleet.run(step.isIdempotent ? this.Again : this.Once, { id, bytes: step.bytes, millis: step.millis }),
            (answer) => assert.strictEqual(answer, id)
          )
        )
      case "reserve":
        return yield* this.client(() =>
          Effect.scoped(Effect.andThen(world.fleet.reserve({ bytes: step.bytes }), Effect.sleep(step.millis)))
        )
      case "interrupt": {
        const fiber = this.clients[step.nth % Math.max(1, this.clients.length)]
        return fiber === undefined ? undefined : yield* Fiber.interrupt(fiber)
      }
      case "wait":
        return yield* TestClock.adjust(step.millis)
      case "stall":
        if (!this.stalledSince.has(step.name)) this.stalledSince.set(step.name, yield* Clock.currentTimeMillis)
        return world.host(step.name).network.stall()
      case "heal":
        this.stalledSince.delete(step.name)
        return world.host(step.name).network.heal()
      case "break":
        return yield* world.host(step.name).network.break
      case "failOver":
        return yield* world.failOver
      case "close":
        if (this.closed.has(step.name)) return
        this.closed.add(step.name)
        yield* Effect.forkScoped(world.host(step.name).close)
    }
  })
}

/** No host has granted more than it offers, nor has its pool reserved more. */
const expectLimits = Effect.fnUntraced(function*(world: World) {
  for (const name of names) {
    const { state, stats } = world.host(name)
    const granted = [...state.grants.values()].reduce((sum, { bytes }) => sum + bytes, 0)
    assert.isAtMost(granted, capacity[name]!, `granted on ${name}`)
    assert.isAtMost((yield* stats).reservedBytes, capacity[name]!, `reserved on ${name}`)
  }
})

const program = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function*() {
    const run = new Run()
    const world = yield* make({ hosts: names.map((name) => hostOf(name, capacity[name]!, run.jobs)) })
    for (const step of steps) {
      yield* run.take(world, step)
      yield* expectLimits(world)
      yield* run.expectTold(world)
    }
    for (const name of names) world.host(name).network.heal()
    // Reservations that no host can have wait for one: a last host that lets all end.
    yield* Effect.forkScoped(world.start({ ...hostOf("last", 1000, run.jobs) }))
    for (let minutes = 0; minutes < 60 && run.clients.some((fiber) => fiber.pollUnsafe() === undefined); minutes++) {
      yield* TestClock.adjust(60_000)
      yield* expectLimits(world)
    }
    for (const [id, fiber] of run.clients.entries()) {
      const exit = fiber.pollUnsafe()
      assert(exit !== undefined, `client ${id} has no answer`)
      if (Exit.isSuccess(exit)) continue
      for (const reason of exit.cause.reasons) {
        if (reason._tag === "Fail") assert.isTrue(isGpuError(reason.error), String(reason.error))
        else assert.strictEqual(reason._tag, "Interrupt", String(exit.cause))
      }
    }
    yield* TestClock.adjust(world.timing.claimTimeout + world.timing.hostTimeout)
    const { hosts, waiters } = yield* world.fleet.status
    deepStrictEqual({
      waiters,
      reserved: hosts.flatMap(({ devices }) => devices.map(({ reservedBytes }) => reservedBytes)).filter((bytes) =>
        bytes > 0
      )
    }, {
      waiters: 0,
      reserved: []
    })
    for (const name of names) {
      const { activeBytes, pendingBytes, reservedBytes, waiters } = yield* world.host(name).stats
      deepStrictEqual([name, activeBytes, pendingBytes, reservedBytes, waiters], [name, 0, 0, 0, 0])
    }
    const isOnce = steps.filter((step) => step.do === "run" || step.do === "reserve")
      .map((step) => step.do === "run" && !step.isIdempotent)
    for (const [id, times] of run.begun) {
      if (isOnce[id] === true) assert.strictEqual(times, 1, `job ${id} ran ${times} times`)
    }
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))

describe("random programs", () => {
  it("keep every limit, run what must not run again once, and leave nothing", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), (steps) => Effect.runPromise(program(steps))),
      { numRuns: runs(300) }
    ))
})
